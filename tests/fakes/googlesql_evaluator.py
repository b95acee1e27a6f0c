"""The evaluator behind `tests.fakes.googlesql`: a second of imports that only those pay for who ask it something.

It is compiled when it first starts, for 22 CPU seconds, and kept beside pytest's cache.
"""

import fcntl
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]
from zetasql.api import CatalogBuilder, Parser, PreparedQuery, TableBuilder, TypeFactory
from zetasql.core import ZetaSqlLocalService, wasm_client
from zetasql.types import (
    AnalyzerOptions,
    EvaluateQueryRequest,
    LanguageFeature,
    LanguageOptions,
    TypeKind,
    ZetaSQLBuiltinFunctionOptions,
)
from zetasql.wasi._pb2.zetasql.local_service.local_service_pb2 import EvaluateQueryResponse, TableContent, TableData
from zetasql.wasi._pb2.zetasql.public.value_pb2 import ValueProto

_FINER_THAN_BIGQUERY = (LanguageFeature.FEATURE_TIMESTAMP_NANOS, LanguageFeature.FEATURE_TIMESTAMP_PICOS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = {
    pa.string(): TypeKind.TYPE_STRING,
    pa.float64(): TypeKind.TYPE_DOUBLE,
    pa.int64(): TypeKind.TYPE_INT64,
    pa.bool_(): TypeKind.TYPE_BOOL,
    pa.date32(): TypeKind.TYPE_DATE,
    pa.timestamp("us", "UTC"): TypeKind.TYPE_TIMESTAMP,
}


def prepared(
    sql: str, tables: Mapping[str, tuple[pa.Schema, Iterable[Mapping[str, Any]]]], **parameters: pa.DataType
) -> PreparedQuery:
    """A query over tables of these names, schemas and rows, with parameters of these types."""
    start_evaluator()
    language = LanguageOptions.maximum_features()
    features = language.enabled_language_features
    language.enabled_language_features = [one for one in features if one not in _FINER_THAN_BIGQUERY]
    functions = ZetaSQLBuiltinFunctionOptions(language_options=language)
    typed = [AnalyzerOptions.QueryParameter(name=name, type=_type(kind)) for name, kind in parameters.items()]
    catalog = CatalogBuilder("chat")
    for name, (schema, _) in tables.items():
        catalog = catalog.add_table(_table(name, schema))
    contents = {
        name: TableContent(table_data=TableData(row=[_row(schema, row) for row in rows]))
        for name, (schema, rows) in tables.items()
    }
    return (
        PreparedQuery.builder()
        .set_sql(sql)
        .set_analyzer_options(AnalyzerOptions(language_options=language, query_parameters=typed))
        .set_catalog(catalog.with_builtin_functions(functions).build())
        .set_table_content(contents)
        .prepare()
    )


def parse(sql: str) -> None:
    """Parses a statement; raises where its syntax is wrong."""
    start_evaluator()
    Parser.parse_statement_static(sql)


@cache
def start_evaluator() -> None:
    """Starts the evaluator of this process; of several that start at once one compiles it."""
    folder = Path(__file__).parents[2] / ".pytest_cache" / "googlesql"
    folder.mkdir(parents=True, exist_ok=True)

    plain = wasm_client.Config

    def caching() -> Any:
        config = plain()
        config.cache = str(folder / "wasmtime.toml")
        return config

    wasm_client.Config = caching
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "wasmtime.toml").write_text(f'[cache]\ndirectory = "{folder / "compiled"}"\n')
        ZetaSqlLocalService.get_instance()


def evaluated(query: PreparedQuery, **parameters: ValueProto) -> list[dict[str, Any]]:
    """The rows, from protocol messages: the package's own models lose timestamps and cannot tell [] from NULL."""
    request = EvaluateQueryRequest(prepared_query_id=query.prepared_query_id).to_proto()
    for name, value in parameters.items():
        request.params.add(name=name, value=value)
    client = ZetaSqlLocalService.get_instance().wasm_client
    response = client.call_grpc_func("ZetaSqlLocalService_EvaluateQuery", request, EvaluateQueryResponse)
    names = [column.name for column in query.columns]
    return [dict(zip(names, map(_decoded, row.cell), strict=True)) for row in response.content.table_data.row]


def _table(name: str, schema: pa.Schema) -> Any:
    table = TableBuilder(name)
    for column in schema:
        table = table.add_column(column.name, _type(column.type))
    return table.build()


def _type(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return TypeFactory.create_struct_type([(field.name, _type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return TypeFactory.create_array_type(_type(kind.value_type))
    return TypeFactory.create_simple_type(_KINDS[kind])


def _row(schema: pa.Schema, row: Mapping[str, Any]) -> Any:
    """A row as protocol messages: through the package's own models it takes several times as long."""
    return TableData.Row(cell=[encoded(row.get(column.name), column.type) for column in schema])


def encoded(value: Any, kind: pa.DataType) -> Any:
    """A value as a protocol message."""
    if value is None:
        return ValueProto()
    if pa.types.is_struct(kind):
        return ValueProto(
            struct_value=ValueProto.Struct(field=[encoded(value.get(field.name), field.type) for field in kind])
        )
    if pa.types.is_list(kind):
        return ValueProto(array_value=ValueProto.Array(element=[encoded(one, kind.value_type) for one in value]))
    if pa.types.is_timestamp(kind):
        instant = Timestamp()
        instant.FromDatetime(value)
        return ValueProto(timestamp_value=instant)
    if pa.types.is_date(kind):
        return ValueProto(date_value=(value - _EPOCH.date()).days)
    if pa.types.is_boolean(kind):
        return ValueProto(bool_value=value)
    if pa.types.is_integer(kind):
        return ValueProto(int64_value=value)
    return ValueProto(string_value=value) if kind == pa.string() else ValueProto(double_value=value)


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
