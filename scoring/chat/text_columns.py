"""Parses columns of texts with numbers and times, a whole column at a time.

Plain formats are parsed in bulk; every other text goes through `scoring.chat.cells`, which returns its value or the
reason for rejecting it. Both give the same values.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from scoring.chat import cells
from scoring.chat.row_ids import TEXTS, TOKENS
from scoring.inputs import UnreadableCell

# At most 15 digits: exact for every reader.
_PLAIN_NUMBER = r"^[0-9]{1,15}(?:\.[0-9]{1,6})?$"
_PLAIN_TIME = (
    r"^(?<at>[12][0-9]{3}-[0-9]{2}-[0-9]{2}[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])"
    r"(?:\.(?<fraction>[0-9]{1,6}))?"
    r" ?(?:Z|UTC|(?<sign>[+-])(?<hours>0[0-9]|1[0-4]):?(?<minutes>[0-5][0-9]))$"
)


class ParsedColumn(NamedTuple):
    """Values of the schema's type, and the problem of each row that is NULL because it cannot be read."""

    values: pl.Series
    problems: dict[int, UnreadableCell]


class Timestamps(NamedTuple):
    """Microseconds since 1970 in UTC (Int64), problems as in a ParsedColumn, and which values had no zone."""

    microseconds: pl.Series
    problems: dict[int, UnreadableCell]
    naive: pl.Series


def numbers(name: str, texts: pl.Series) -> ParsedColumn:
    """Token counts."""
    plain = texts.str.contains(_PLAIN_NUMBER)
    values = texts.set(~plain, None).cast(pl.Float64)
    others = (~plain).fill_null(False).arg_true()
    if not len(others):
        return ParsedColumn(values, {})
    each = cells_column(name, texts.gather(others))
    return ParsedColumn(values.scatter(others, each.values), _at(others, each.problems))


def instants(texts: pl.Series, naive_zone: ZoneInfo | None) -> Timestamps:
    """Timestamps; those without a zone are in `naive_zone` (None: UTC)."""
    part = pl.col("text").struct.field
    microseconds = (
        pl.DataFrame({"text": texts.str.extract_groups(_PLAIN_TIME)})
        .select(
            part("at")
            .str.replace("T", " ", literal=True)
            .str.to_datetime("%F %T", time_unit="us", strict=False)
            .dt.epoch()
            + part("fraction").str.pad_end(6, "0").cast(pl.Int64).fill_null(0)
            - (part("hours").cast(pl.Int64) * 60 + part("minutes").cast(pl.Int64)).fill_null(0)
            * pl.when(part("sign") == "-").then(-60_000_000).otherwise(60_000_000)
        )
        .to_series()
    )
    first, after_last = (second * 1_000_000 for second in (cells.FIRST_SECOND, cells.SECOND_AFTER_LAST))
    microseconds = microseconds.set((microseconds < first) | (microseconds >= after_last), None)
    others = (microseconds.is_null() & texts.is_not_null()).arg_true()
    naive = pl.repeat(False, len(texts), eager=True)
    if not len(others):
        return Timestamps(microseconds, {}, naive)
    each = cell_instants(texts.gather(others), naive_zone)
    return Timestamps(
        microseconds.scatter(others, each.microseconds), _at(others, each.problems), naive.scatter(others, each.naive)
    )


def cells_column(name: str, values: Sequence[object] | pl.Series) -> ParsedColumn:
    """A column parsed cell by cell, as in text files."""
    cell = cells.number if name in TOKENS else cells.text if name in TEXTS else cells.label
    found, problems = _read_each(values, lambda value: cell(name, value))
    if name in TOKENS:
        return ParsedColumn(pl.Series(found, dtype=pl.Float64), problems)
    return ParsedColumn(pl.Series(found, dtype=pl.Binary).cast(pl.String), problems)


def cell_instants(values: Sequence[object] | pl.Series, naive_zone: ZoneInfo | None) -> Timestamps:
    """The same for timestamps."""
    found, problems = _read_each(values, lambda value: cells.instant(value, naive_zone))
    microseconds = pl.Series([moment and moment.microseconds for moment in found], dtype=pl.Int64)
    naive = pl.Series([moment is not None and moment.naive for moment in found], dtype=pl.Boolean)
    return Timestamps(microseconds, problems, naive)


def _at(rows: pl.Series, problems: dict[int, UnreadableCell]) -> dict[int, UnreadableCell]:
    """The problems of some rows, by their positions in the column."""
    return {rows[row]: problem for row, problem in problems.items()}


def _read_each(
    values: Sequence[object] | pl.Series, read: Callable[[Any], Any]
) -> tuple[list[Any], dict[int, UnreadableCell]]:
    """The result of `read` for each value; None if it raises, with the problem."""
    found: list[Any] = []
    problems: dict[int, UnreadableCell] = {}
    for row, value in enumerate(values):
        try:
            found.append(read(value))
        except UnreadableCell as problem:
            found.append(None)
            # Not the raised error: its traceback would keep all columns of the batch in memory.
            problems[row] = UnreadableCell(problem.column, problem.code, problem.reason)
    return found, problems
