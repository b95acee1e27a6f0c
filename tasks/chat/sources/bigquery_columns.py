"""The columns of a view as the columns of chat rows, in one SQL that both engines read.

Exported tables differ: other names, a prefix, tokens and times as text, JSON where others have structs. Here the names
are found and the types made alike, so that whoever scores (this machine or BigQuery) sees the same values, and what
cannot be read is told apart in one place. A value that is there and that BigQuery's own SAFE_CAST cannot read makes
its row unreadable; NULLs, negative and infinite tokens are for the rules of the rubric, as with files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from google.cloud.bigquery import SchemaField

from scoring.chat.rows import REQUIRED_COLUMNS
from scoring.errors import InputError
from tasks.config.addresses import TableName
from tasks.config.bigquery import BigQuerySettings

_TOKENS = ("input_tokens", "output_tokens")
_NUMBERS = ("INTEGER", "INT64", "FLOAT", "FLOAT64", "NUMERIC", "BIGNUMERIC", "STRING")
_LABELS = ("STRING", "INTEGER", "INT64")
_TYPES: Mapping[str, Sequence[str]] = {
    "user_input": ("STRING",),
    "llm_response": ("STRING",),
    "input_tokens": _NUMBERS,
    "output_tokens": _NUMBERS,
    "timestamp": ("TIMESTAMP", "DATETIME", "DATE", "STRING"),
    "tenant_id": _LABELS,
    "session_id": _LABELS,
}
_RECORDS = ("RECORD", "STRUCT")
_WITHOUT_ZONE = r"r'^\s*[0-9]+-[0-9]+-[0-9]+(?:[Tt ][0-9:.]*)?\s*$'"
_NAMES_SHOWN = 30

# By the column that cannot be read: the code and the reason of its reject.
UNREADABLE: Mapping[str, tuple[str, str]] = {
    "timestamp": ("not_a_timestamp", "timestamp 값을 시각으로 읽을 수 없습니다."),
    **{name: ("not_a_number", f"{name} 값을 숫자로 읽을 수 없습니다.") for name in _TOKENS},
}


class _Column(NamedTuple):
    """A column of the view: how SQL writes it, and its type. What stands inside JSON is only `hoped` to be there."""

    sql: str
    kind: str
    hoped: bool = False


def chat_rows_sql(
    view: TableName, schema: Sequence[SchemaField], chosen: BigQuerySettings, *, windowed: bool = True
) -> str:
    """A SELECT of the chat rows of `view`, to be used as it is or as a subquery.

    Columns: `user_input`, `llm_response`, `input_tokens`, `output_tokens` (FLOAT64, NaN is NULL), `timestamp`,
    `tenant_id`, `session_id`, `unreadable` (the name of the column that cannot be read, a key of `UNREADABLE`; NULL
    where all can), `naive` (whether the timestamp named no zone and was read as UTC). With `windowed` only the rows
    from @start to before @end, and those without a timestamp, which the rules reject.

    Raises:
        InputError: a required column is missing, or one has a type that cannot hold what it should.
    """
    columns = _columns(view, schema, chosen)
    _refuse_wrong_types(view, columns)
    timestamp = _timestamp(columns["timestamp"])
    values = {
        "user_input": columns["user_input"].sql,
        "llm_response": columns["llm_response"].sql,
        **{name: _number(columns[name]) for name in _TOKENS},
        "timestamp": timestamp,
        **{name: _label(columns.get(name)) for name in ("tenant_id", "session_id")},
        "unreadable": _unreadable(columns),
        "naive": _naive(columns["timestamp"]),
    }
    selected = ",\n  ".join(f"{sql} AS {name}" for name, sql in values.items())
    # A bare column here is what lets BigQuery read one day's partition only.
    where = f"\nWHERE {timestamp} >= @start AND {timestamp} < @end OR {timestamp} IS NULL" if windowed else ""
    return f"SELECT\n  {selected}\nFROM {view.quoted} AS source{where}"


def _columns(view: TableName, schema: Sequence[SchemaField], chosen: BigQuerySettings) -> dict[str, _Column]:
    """The columns that the view has, by the names of chat rows."""

    def look_up(path: str) -> _Column | None:
        found = [column for start in (chosen.prefix, "") if (column := _find(start + path, schema))]
        return min(found, key=lambda column: column.hoped, default=None)

    given: Mapping[str, str] = {str(name): path for name, path in chosen.columns.items()}
    found = {}
    for name in _TYPES:
        called = given.get(name, name)
        if column := look_up(called):
            found[name] = column
        elif name in given or name in REQUIRED_COLUMNS:
            raise _missing(view, called, name, schema)
    flat = found.get("session_id")
    if flat is None or flat.hoped:
        metadata = given.get("request_metadata", "request_metadata")
        inner, text = look_up(f"{metadata}.session_id"), look_up(metadata)
        if inner is None and text and text.kind == "STRING":
            inner = _Column(f"SAFE.JSON_VALUE({text.sql}, '$.session_id')", "STRING")
        if inner:
            found["session_id"] = _Column(f"IFNULL({flat.sql}, {inner.sql})", "STRING") if flat else inner
    return found


def _find(path: str, schema: Sequence[SchemaField]) -> _Column | None:
    """A column by its dotted path, through structs and into JSON; None where there is none."""
    fields, sql, kind = schema, "source", "RECORD"
    parts = path.split(".")
    for depth, part in enumerate(parts, start=1):
        field = next((field for field in fields if field.name.lower() == part.lower()), None)
        if field is None or kind not in _RECORDS:
            return None
        sql += f".`{field.name}`"
        kind = "ARRAY" if field.mode == "REPEATED" else str(field.field_type)
        if kind == "JSON":
            inside = "".join(f".`{name}`" for name in parts[depth:])
            return _Column(f"JSON_VALUE({sql}{inside})", "STRING", hoped=True)
        fields = field.fields
    return _Column(sql, kind)


def _refuse_wrong_types(view: TableName, columns: Mapping[str, _Column]) -> None:
    wrong = [
        f"{name} is {column.kind}, expected {' or '.join(_TYPES[name])}"
        for name, column in columns.items()
        if column.kind not in _TYPES[name]
    ]
    if wrong:
        raise InputError(f"columns of a wrong type: {'; '.join(wrong)}", where=str(view), fix="cast them in the view")


def _missing(view: TableName, called: str, name: str, schema: Sequence[SchemaField]) -> InputError:
    shown = ", ".join(field.name for field in schema[:_NAMES_SHOWN])
    return InputError(
        f"there is no column {called}" + (f" for {name}" if called != name else "") + f"; found {shown}",
        where=str(view),
        fix="name it in bigquery.columns, put what stands before all names in bigquery.prefix, or correct the view",
    )


def _number(column: _Column) -> str:
    number = _cast(column, "FLOAT64") if column.kind == "STRING" else f"CAST({column.sql} AS FLOAT64)"
    return number if column.kind in ("INTEGER", "INT64") else f"IF(IS_NAN({number}), NULL, {number})"


def _timestamp(column: _Column) -> str:
    match column.kind:
        case "TIMESTAMP":
            return column.sql
        case "STRING":
            return _cast(column, "TIMESTAMP")
        case _:
            return f"TIMESTAMP({column.sql})"


def _label(column: _Column | None) -> str:
    if column is None:
        return "CAST(NULL AS STRING)"
    return column.sql if column.kind == "STRING" else f"CAST({column.sql} AS STRING)"


def _unreadable(columns: Mapping[str, _Column]) -> str:
    """The first column whose text is neither blank nor what it should be."""
    targets = {"timestamp": "TIMESTAMP", **dict.fromkeys(_TOKENS, "FLOAT64")}
    cases = [
        f"WHEN TRIM({columns[name].sql}) != '' AND {_cast(columns[name], target)} IS NULL THEN '{name}'"
        for name, target in targets.items()
        if columns[name].kind == "STRING"
    ]
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS STRING)"


def _naive(column: _Column) -> str:
    match column.kind:
        case "TIMESTAMP":
            return "FALSE"
        case "STRING":
            return f"IFNULL(REGEXP_CONTAINS({column.sql}, {_WITHOUT_ZONE}), FALSE)"
        case _:
            return f"{column.sql} IS NOT NULL"


def _cast(column: _Column, kind: str) -> str:
    return f"SAFE_CAST(NULLIF(TRIM({column.sql}), '') AS {kind})"
