"""One column of a Parquet batch as a column of the chat rows, in bulk wherever its type allows.

Parquet says what type a column has, not that its values are sound: text may be no UTF-8, numbers and timestamps may
come as text. The arithmetic is Polars', because the first value that pyarrow takes from Python makes it import
pandas, which costs more than reading 50 MB.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from scoring.chat import cells
from scoring.rejects import UnreadableCell

_FIRST_SECOND, _SECOND_AFTER_LAST = -62_135_596_800, 253_402_300_800  # the years 0001 to 9999
_TICKS_IN_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}  # nanoseconds end in 2262: nothing to check
_TEXT_TYPES = (
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.binary(), pa.large_binary(), pa.binary_view(), pa.null()),
)


class ParsedColumn(NamedTuple):
    """Values of the schema's type, and for each row that is NULL because it cannot be read its problem."""

    values: pl.Series
    problems: dict[int, UnreadableCell]


class Timestamps(NamedTuple):
    """Microseconds since 1970 in UTC (Int64), problems as in a ParsedColumn, and which values named no zone."""

    microseconds: pl.Series
    problems: dict[int, UnreadableCell]
    naive: pl.Series


def holds_text(kind: pa.DataType) -> bool:
    """Text of any layout, the bytes that old writers call text, and a column that is NULL throughout."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return kind in _TEXT_TYPES


def holds_labels(kind: pa.DataType) -> bool:
    """Tenants or sessions: text, or the integers that some exports write instead."""
    return holds_text(kind) or bool(types.is_integer(kind))


def holds_numbers(kind: pa.DataType) -> bool:
    """Token counts: any type of number, or numbers written as text."""
    return holds_labels(kind) or bool(types.is_floating(kind) or types.is_decimal(kind))


def holds_timestamps(kind: pa.DataType) -> bool:
    """Timestamps of any unit, dates, or either written as text."""
    return holds_text(kind) or bool(types.is_timestamp(kind) or types.is_date(kind))


def text_column(name: str, array: pa.Array) -> ParsedColumn:
    """Text as it stands once it is known to be UTF-8."""
    raw = _decoded(array).cast(pa.binary())
    try:
        # As bytes, because Polars takes Arrow's text on trust; it checks twenty times faster than Arrow.
        return ParsedColumn(pl.Series(raw).cast(pl.String), {})
    except pl.exceptions.ComputeError:
        found, problems = _read(_texts(raw), lambda value: cells.text(name, value))
        return ParsedColumn(pl.Series(found, dtype=pl.Binary).cast(pl.String), problems)


def label_column(name: str, array: pa.Array) -> ParsedColumn:
    """Tenants or sessions: text, or integers in decimal."""
    return (
        ParsedColumn(pl.Series(array.cast(pa.string())), {})
        if types.is_integer(array.type)
        else text_column(name, array)
    )


def session_column(array: pa.Array) -> ParsedColumn:
    """Sessions from `request_metadata`: its struct (NULL where the struct is) or its JSON text."""
    if types.is_struct(array.type):
        return label_column("session_id", pc.struct_field(array, "session_id"))
    found, problems = _read(_texts(array), lambda value: cells.label("session_id", cells.session_in(value)))
    return ParsedColumn(pl.Series(found, dtype=pl.Binary).cast(pl.String), problems)


def number_column(name: str, array: pa.Array) -> ParsedColumn:
    """Numbers of any type as FLOAT64, NaN as NULL."""
    array = _decoded(array)
    if holds_text(array.type):
        found, problems = _read(_texts(array), lambda value: cells.number(name, value))
        return ParsedColumn(pl.Series(found, dtype=pl.Float64), problems)
    return ParsedColumn(pl.Series(array.cast(pa.float64(), safe=False)).fill_nan(None), {})


def timestamp_column(array: pa.Array) -> Timestamps:
    """Timestamps of any unit, dates (their midnight) or text as UTC instants, cut to microseconds."""
    array = _decoded(array)
    if holds_text(array.type):
        found, problems = _read(_texts(array), cells.instant)
        microseconds = pl.Series([moment and moment.microseconds for moment in found], dtype=pl.Int64)
        naive = pl.Series([moment is not None and moment.naive for moment in found], dtype=pl.Boolean)
        return Timestamps(microseconds, problems, naive)
    if types.is_date(array.type):
        array = array.cast(pa.date32()).cast(pa.timestamp("s"))
    ticks, problems = _within_years(pl.Series(array.view(pa.int64())), array.type.unit)
    microseconds = (
        ticks // 1000 if array.type.unit == "ns" else ticks * (1_000_000 // _TICKS_IN_SECOND[array.type.unit])
    )
    return Timestamps(microseconds, problems, pl.repeat(array.type.tz is None, len(array), eager=True))


def _within_years(ticks: pl.Series, unit: str) -> tuple[pl.Series, dict[int, UnreadableCell]]:
    """The timestamps, NULL where they stand outside the years that BigQuery and Python know."""
    if unit not in _TICKS_IN_SECOND:
        return ticks, {}
    first, after_last = (second * _TICKS_IN_SECOND[unit] for second in (_FIRST_SECOND, _SECOND_AFTER_LAST))
    outside = ((ticks < first) | (ticks >= after_last)).fill_null(False)
    problems = {row: cells.timestamp_out_of_range(f"{ticks[row]} {unit}") for row in outside.arg_true()}
    return ticks.set(outside, None) if problems else ticks, problems


def _decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if types.is_dictionary(array.type) else array


def _texts(array: pa.Array) -> list[str | None]:
    """The texts of a column; bytes that are no UTF-8 become lone surrogates, as in text files."""
    raw = _decoded(array).cast(pa.binary()).to_pylist()
    return [value if value is None else value.decode("utf-8", "surrogateescape") for value in raw]


def _read(values: list[str | None], read: Callable[[str | None], Any]) -> tuple[list[Any], dict[int, UnreadableCell]]:
    found: list[Any] = []
    problems: dict[int, UnreadableCell] = {}
    for row, value in enumerate(values):
        try:
            found.append(read(value))
        except UnreadableCell as problem:
            found.append(None)
            problems[row] = problem
    return found, problems
