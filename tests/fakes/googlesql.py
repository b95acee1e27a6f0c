"""Google's own GoogleSQL evaluator, offline: what BigQuery would answer to a query over chat rows.

The evaluator takes 16 s to start, once a process, and some milliseconds a row: ask it few and large questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]
from zetasql.api import CatalogBuilder, PreparedQuery, TableBuilder, TypeFactory
from zetasql.core import ZetaSqlLocalService
from zetasql.types import (
    AnalyzerOptions,
    EvaluateQueryRequest,
    LanguageOptions,
    TableContent,
    TableData,
    TypeKind,
    Value,
    ZetaSQLBuiltinFunctionOptions,
)
from zetasql.wasi._pb2.zetasql.local_service.local_service_pb2 import EvaluateQueryResponse

TABLE = "finola-global.ola_monitoring.view_ola_monitoring"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STRUCT = "request_metadata"
_STRUCT_FIELDS = ("session_id", "x_enc_data")
# The columns of the production view, SPEC 1.1.
_COLUMNS = {
    "user_input": TypeKind.TYPE_STRING,
    "llm_response": TypeKind.TYPE_STRING,
    "input_tokens": TypeKind.TYPE_DOUBLE,
    "output_tokens": TypeKind.TYPE_DOUBLE,
    "timestamp": TypeKind.TYPE_TIMESTAMP,
    "tenant_id": TypeKind.TYPE_STRING,
}


def answers(sql: str, chat_rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows that `sql` gives, in order, when the production view holds `chat_rows`.

    Chat rows have flat columns (`session_id`); a missing column is NULL. NULL is None, arrays are lists.
    """
    language = LanguageOptions.maximum_features()
    functions = ZetaSQLBuiltinFunctionOptions(language_options=language)
    query = (
        PreparedQuery.builder()
        .set_sql(sql)
        .set_analyzer_options(AnalyzerOptions(language_options=language))
        .set_catalog(CatalogBuilder("chat").add_table(_table()).with_builtin_functions(functions).build())
        .set_table_content({TABLE: TableContent(table_data=TableData(row=[_row(row) for row in chat_rows]))})
        .prepare()
    )
    names = [column.name for column in query.columns]
    return [dict(zip(names, map(_decoded, row.cell), strict=True)) for row in _evaluated(query)]


def _evaluated(query: PreparedQuery) -> Any:
    """The rows as protocol messages: the package's own models lose timestamps and cannot tell [] from NULL."""
    request = EvaluateQueryRequest(prepared_query_id=query.prepared_query_id).to_proto()
    client = ZetaSqlLocalService.get_instance().wasm_client
    response = client.call_grpc_func("ZetaSqlLocalService_EvaluateQuery", request, EvaluateQueryResponse)
    return response.content.table_data.row


def _table() -> Any:
    text = TypeFactory.create_simple_type(TypeKind.TYPE_STRING)
    table = TableBuilder(TABLE)
    for name, kind in _COLUMNS.items():
        table = table.add_column(name, kind)
    return table.add_column(_STRUCT, TypeFactory.create_struct_type([(name, text) for name in _STRUCT_FIELDS])).build()


def _row(row: Mapping[str, Any]) -> Any:
    metadata = Value.Struct(field=[_encoded(row.get(name)) for name in _STRUCT_FIELDS])
    return TableData.Row(cell=[*(_encoded(row.get(name)) for name in _COLUMNS), Value(struct_value=metadata)])


def _encoded(value: str | float | datetime | None) -> Any:
    if value is None:
        return Value()
    if isinstance(value, str):
        return Value(string_value=value)
    if isinstance(value, datetime):
        instant = Timestamp()
        instant.FromDatetime(value)
        return Value(timestamp_value=instant)
    return Value(double_value=value)


def _decoded(cell: Any) -> Any:
    kind = cell.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(cell, kind)
    match kind:
        case "array_value":
            return list(map(_decoded, value.element))
        case "timestamp_value":
            return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        case "date_value":
            return _EPOCH.date() + timedelta(days=value)
        case _:
            return value
