"""Converts the columns of a view to the columns of chat rows, in one SQL for both engines.

Exported tables differ: other names, a prefix, tokens and times as text, JSON instead of structs. This query finds the
names and unifies the types, so that both engines (this machine and BigQuery) score the same values, and detects
unreadable values in one place. A value that is not NULL and that BigQuery's SAFE_CAST cannot read makes its row
unreadable; NULLs, negative and infinite tokens are for the rules of the rubric, as with files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from scoring.chat.cells import not_a_number, not_an_instant
from scoring.chat.reading import REQUIRED_COLUMNS, UTC_ZONE
from scoring.chat.row_ids import LABELS, TOKENS
from scoring.chat.rubric import RejectRule, RowRubric
from scoring.errors import InputError
from scoring.rules.expressions import Column, Compare, Value
from scoring.rules.googlesql_backend import literal

_NUMBERS = ("INTEGER", "INT64", "FLOAT", "FLOAT64", "NUMERIC", "BIGNUMERIC", "STRING")
_TYPES: Mapping[str, Sequence[str]] = {
    "user_input": ("STRING",),
    "llm_response": ("STRING",),
    **dict.fromkeys(TOKENS, _NUMBERS),
    "timestamp": ("TIMESTAMP", "DATETIME", "DATE", "STRING"),
    **dict.fromkeys(LABELS, ("STRING", "INTEGER", "INT64")),
}
_RECORDS = ("RECORD", "STRUCT")
_WITHOUT_ZONE = r"r'^\s*[0-9]+-[0-9]+-[0-9]+(?:[Tt ][0-9:.]*)?\s*$'"
_BEYOND_MICROSECONDS = r"r'(\.[0-9]{6})[0-9]+'"  # BigQuery reads no finer times: they are truncated, as in files
_NAMES_SHOWN = 30
_CLOCK_CHANGE_HOURS = 3

# By unreadable column: the code and the reason of its reject.
UNREADABLE: Mapping[str, tuple[str, str]] = {
    cell.column: (cell.code, cell.reason) for cell in (not_an_instant(), *map(not_a_number, TOKENS))
}


_UNREADABLE_RULES = tuple(
    RejectRule(code, column, Compare(Column("unreadable"), "=", Value(column)), reason)
    for column, (code, reason) in UNREADABLE.items()
)


class ViewField(Protocol):
    """A column of a view as BigQuery's client describes it; `fields` are those of a struct."""

    @property
    def name(self) -> str: ...
    @property
    def field_type(self) -> str: ...
    @property
    def mode(self) -> str: ...
    @property
    def fields(self) -> Sequence["ViewField"]: ...


class _ViewColumn(NamedTuple):
    """A column of the view: its SQL expression, and its type. A value inside JSON is `hoped` for: it may be missing."""

    sql: str
    kind: str
    hoped: bool = False


def chat_rows_query(
    view: str,
    schema: Sequence[ViewField] = (),
    *,
    prefix: str = "",
    names: Mapping[str, str] | None = None,
    period: tuple[str, str] | None = None,
    naive_zone: str = UTC_ZONE,
) -> str:
    """A SELECT of the chat rows of `view` (`project.dataset.view`), to be used as it is or as a subquery.

    `schema`: the columns of the view; without it those of the production view, called as `prefix` and `names` say
    (`[bigquery]` `prefix` and `columns`). `period`: GoogleSQL of the first instant and the one after the last; rows
    without a timestamp, which the rules reject, belong to every period. `naive_zone`: the zone of timestamps that name
    none.

    Columns: `user_input`, `llm_response`, `input_tokens`, `output_tokens` (FLOAT64, NaN is NULL), `timestamp`,
    `tenant_id`, `session_id`, `source_id`, `unreadable` (the name of the column that cannot be read, a key of
    `UNREADABLE`; NULL where all can), `naive` (whether the timestamp named no zone).

    Raises:
        InputError: a required column is missing, or one has a type that cannot hold what it should.

    Source: SPEC 1.1.
    """
    names = names or {}
    columns = _columns(view, schema, prefix, names) if schema else _production_columns(prefix, names)
    _refuse_wrong_types(view, columns)
    timestamp = _timestamp(columns["timestamp"], naive_zone)
    values = {
        "user_input": columns["user_input"].sql,
        "llm_response": columns["llm_response"].sql,
        **{name: _number(columns[name]) for name in TOKENS},
        "timestamp": timestamp,
        **{name: _label(columns.get(name)) for name in LABELS},
        "unreadable": _unreadable(columns, timestamp),
        "naive": _naive(columns["timestamp"]),
    }
    selected = ",\n  ".join(f"{sql} AS {name}" for name, sql in values.items())
    where = f"\nWHERE {_in_period(columns['timestamp'], timestamp, period, naive_zone)}" if period else ""
    return f"SELECT\n  {selected}\nFROM `{view}` AS source{where}"


def rejecting_unreadable(rubric: RowRubric) -> RowRubric:
    """The rubric for rows of `chat_rows_query`: its first rule rejects the rows that are `unreadable`."""
    return replace(rubric, rejects=(*_UNREADABLE_RULES, *rubric.rejects))


def _production_columns(prefix: str, names: Mapping[str, str]) -> dict[str, _ViewColumn]:
    """The columns of the production view under other names, which may be paths into structs, by chat-row name."""
    kinds = {name: "FLOAT64" if name in TOKENS else kinds[0] for name, kinds in _TYPES.items()}
    paths = {name: names.get(name, name) for name in kinds if name in names or name != "source_id"}
    if "session_id" not in names:
        paths["session_id"] = f"{names.get('request_metadata', 'request_metadata')}.session_id"
    in_source = {name: f"source.`{(prefix + path).replace('.', '`.`')}`" for name, path in paths.items()}
    return {name: _ViewColumn(sql, kinds[name]) for name, sql in in_source.items()}


def _columns(view: str, schema: Sequence[ViewField], prefix: str, names: Mapping[str, str]) -> dict[str, _ViewColumn]:
    """The columns of the view, by chat-row name."""

    def look_up(path: str) -> _ViewColumn | None:
        found = [column for start in (prefix, "") if (column := _find(start + path, schema))]
        return min(found, key=lambda column: column.hoped, default=None)

    found = {}
    for name in _TYPES:
        called = names.get(name, name)
        if column := look_up(called):
            found[name] = column
        elif name in names or name in REQUIRED_COLUMNS:
            raise _missing(view, called, name, schema)
    flat = found.get("session_id")
    if flat is None or flat.hoped:
        metadata = names.get("request_metadata", "request_metadata")
        inner, text = look_up(f"{metadata}.session_id"), look_up(metadata)
        if inner is None and text and text.kind == "STRING":
            inner = _ViewColumn(f"SAFE.JSON_VALUE({text.sql}, '$.session_id')", "STRING")
        if inner:
            found["session_id"] = _ViewColumn(f"IFNULL({flat.sql}, {inner.sql})", "STRING") if flat else inner
    return found


def _find(path: str, schema: Sequence[ViewField]) -> _ViewColumn | None:
    """The column at a dotted path, through structs and into JSON; None if it does not exist."""
    fields, sql, kind = schema, "source", "RECORD"
    parts = path.split(".")
    for depth, part in enumerate(parts, start=1):
        field = next((field for field in fields if field.name.lower() == part.lower()), None)
        if field is None or kind not in _RECORDS:
            return None
        sql += f".`{field.name}`"
        kind = "ARRAY" if field.mode == "REPEATED" else field.field_type
        if kind == "JSON":
            inside = "".join(f".`{name}`" for name in parts[depth:])
            return _ViewColumn(f"JSON_VALUE({sql}{inside})", "STRING", hoped=True)
        fields = field.fields
    return _ViewColumn(sql, kind)


def _refuse_wrong_types(view: str, columns: Mapping[str, _ViewColumn]) -> None:
    wrong = [
        f"{name} is {column.kind}, expected {' or '.join(_TYPES[name])}"
        for name, column in columns.items()
        if column.kind not in _TYPES[name]
    ]
    if wrong:
        raise InputError(f"columns of a wrong type: {'; '.join(wrong)}", where=view, fix="cast them in the view")


def _missing(view: str, called: str, name: str, schema: Sequence[ViewField]) -> InputError:
    shown = ", ".join(field.name for field in schema[:_NAMES_SHOWN])
    return InputError(
        f"there is no column {called}" + (f" for {name}" if called != name else "") + f"; found {shown}",
        where=view,
        fix="name it in bigquery.columns, put what stands before all names in bigquery.prefix, or correct the view",
    )


def _number(column: _ViewColumn) -> str:
    number = _number_in(column) if column.kind == "STRING" else f"CAST({column.sql} AS FLOAT64)"
    return number if column.kind in ("INTEGER", "INT64") else f"IF(IS_NAN({number}), NULL, {number})"


def _timestamp(column: _ViewColumn, naive_zone: str) -> str:
    """The instant; the zone of naive timestamps is explicit, since a project may have a default other than UTC.

    NULL where the zone puts it before year 1 or after 9999: exporters write such times in place of none.
    """
    zone = literal(naive_zone)
    match column.kind:
        case "TIMESTAMP":
            return column.sql
        case "STRING":
            text = f"REGEXP_REPLACE(TRIM({column.sql}), {_BEYOND_MICROSECONDS}, r'\\1')"
            local = f"SAFE.TIMESTAMP(SAFE_CAST({text} AS DATETIME), {zone})"
            return f"IF({_naive(column)}, {local}, SAFE_CAST({text} AS TIMESTAMP))"
        case _:
            return f"SAFE.TIMESTAMP({column.sql}, {zone})"


def _in_period(column: _ViewColumn, timestamp: str, period: tuple[str, str], naive_zone: str) -> str:
    """Whether a row is of the period, or has no timestamp.

    BigQuery reads only the partitions of the period if a filter uses the bare column. Those of local times are a little
    more than the period: clocks may be put back or forward at its ends.
    """
    start, end = period
    is_in = f"{timestamp} >= {start} AND {timestamp} < {end} OR {timestamp} IS NULL"
    if column.kind not in ("DATETIME", "DATE"):
        return is_in
    zone, around = literal(naive_zone), f"INTERVAL {_CLOCK_CHANGE_HOURS} HOUR"
    first = f"{column.kind}(TIMESTAMP_SUB({start}, {around}), {zone})"
    last = f"{column.kind}(TIMESTAMP_ADD({end}, {around}), {zone})"
    return f"({column.sql} BETWEEN {first} AND {last} OR {column.sql} IS NULL)\n  AND ({is_in})"


def _label(column: _ViewColumn | None) -> str:
    if column is None:
        return "CAST(NULL AS STRING)"
    return column.sql if column.kind == "STRING" else f"CAST({column.sql} AS STRING)"


def _unreadable(columns: Mapping[str, _ViewColumn], timestamp: str) -> str:
    """The first column whose text is neither blank nor valid."""
    read = {"timestamp": timestamp, **{name: _number_in(columns[name]) for name in TOKENS}}
    cases = [
        f"WHEN TRIM({columns[name].sql}) != '' AND {value} IS NULL THEN '{name}'"
        for name, value in read.items()
        if columns[name].kind == "STRING"
    ]
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS STRING)"


def _naive(column: _ViewColumn) -> str:
    match column.kind:
        case "TIMESTAMP":
            return "FALSE"
        case "STRING":
            return f"IFNULL(REGEXP_CONTAINS({column.sql}, {_WITHOUT_ZONE}), FALSE)"
        case _:
            return f"{column.sql} IS NOT NULL"


def _number_in(column: _ViewColumn) -> str:
    return f"SAFE_CAST(NULLIF(TRIM({column.sql}), '') AS FLOAT64)"
