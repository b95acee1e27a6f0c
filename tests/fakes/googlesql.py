"""Google's own GoogleSQL evaluator, offline: what BigQuery would answer to a query over some rows.

It takes some milliseconds a row: ask it few and large questions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa

TABLE = "finola-global.ola_monitoring.view_ola_monitoring"
# The columns of the production view, SPEC 1.1.
CHAT_ROWS = pa.schema(
    [
        *((name, pa.string()) for name in ("user_input", "llm_response")),
        *((name, pa.float64()) for name in ("input_tokens", "output_tokens")),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("tenant_id", pa.string()),
        ("request_metadata", pa.struct([("session_id", pa.string()), ("x_enc_data", pa.string())])),
    ]
)


def answers(sql: str, chat_rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows that `sql` gives, in order, when the production view holds `chat_rows`.

    Chat rows have flat columns (`session_id`); a missing column is NULL. NULL is None, arrays are lists.
    """
    rows = [{**row, "request_metadata": {"session_id": row.get("session_id")}} for row in chat_rows]
    return answers_over(sql, {TABLE: (CHAT_ROWS, rows)})


def answers_over(
    sql: str,
    tables: Mapping[str, tuple[pa.Schema, Iterable[Mapping[str, Any]]]],
    parameters: Mapping[str, tuple[pa.DataType, Any]] | None = None,
) -> list[dict[str, Any]]:
    """The rows that `sql` gives, in order, over tables of these names, schemas and rows.

    `parameters` are the types and values of what the query names with an `@`.
    """
    from tests.fakes.googlesql_evaluator import encoded, evaluated, prepared

    bound = parameters or {}
    query = prepared(sql, tables, **{name: kind for name, (kind, _) in bound.items()})
    return evaluated(query, **{name: encoded(value, kind) for name, (kind, value) in bound.items()})


def answers_of_days(
    sql: str, days: Iterable[date], tables: Mapping[str, tuple[pa.Schema, Iterable[Mapping[str, Any]]]]
) -> list[list[dict[str, Any]]]:
    """The rows that `sql` gives for each of the days as its `@day`, and as the only one of `@days`.

    Analyzing a query takes longer than running it.
    """
    from tests.fakes.googlesql_evaluator import encoded, evaluated, prepared

    one, some = pa.date32(), pa.list_(pa.date32())
    query = prepared(sql, tables, day=one, days=some)
    return [evaluated(query, day=encoded(day, one), days=encoded([day], some)) for day in days]


def refuse_wrong_syntax(sql: str) -> None:
    """Raises what Google's own parser says of a statement; the local BigQuery also takes names that are keywords."""
    from tests.fakes.googlesql_evaluator import parse

    parse(sql)


def in_any_order(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Rows without their order. `repr` tells 1 from 1.0 and shows every digit, but also the two zeros of a float."""

    def shown(value: Any) -> Any:
        return str(value) if isinstance(value, datetime) else value + 0.0 if isinstance(value, float) else value

    return Counter(repr({name: shown(value) for name, value in row.items()}) for row in rows)
