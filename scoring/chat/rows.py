"""The output of every source of chat rows: batches of one schema, rejects with their reasons, failed files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from scoring.chat import cells
from scoring.chat.reading import value_in
from scoring.days import Window
from scoring.errors import InputError
from scoring.inputs import Reject, UnreadableCell

CHAT_ROW_SCHEMA = pl.Schema(
    {
        "user_input": pl.String(),
        "llm_response": pl.String(),
        "input_tokens": pl.Float64(),
        "output_tokens": pl.Float64(),
        "timestamp": pl.Datetime("us", "UTC"),
        "tenant_id": pl.String(),
        "session_id": pl.String(),
        "source_id": pl.String(),
        "line": pl.Int64(),
    }
)
# Large enough for columnar processing, small enough that several fit in memory.
BATCH_ROWS = 16384
BATCH_BYTES = 48 * 1024 * 1024


@dataclass(frozen=True)
class RowBatch:
    """Consecutive rows of one file: those within the window, and the counts of the others.

    `rows` has CHAT_ROW_SCHEMA; its `line` is the physical line on which a row starts (CSV, JSON Lines; the first line
    is 1) or the row number from 1 (Parquet). `naive_timestamps` counts those whose timestamp had no zone. `rows_in`
    must equal the sum of the other counts: a batch that does not add up cannot be built.
    """

    file: str
    rows: pl.DataFrame
    rejects: tuple[Reject, ...]
    naive_timestamps: int
    rows_in: int
    outside_window: int

    def __post_init__(self) -> None:
        if self.rows_in != self.rows.height + len(self.rejects) + self.outside_window:
            raise AssertionError(f"{self.file}: of {self.rows_in} rows some were lost or counted twice")


@dataclass(frozen=True)
class FileFailure:
    """A file that cannot be read at all, or beyond some point: its earlier batches stay valid.

    It is kept until all files are read, so its error drops the traceback frames, which reference rows.
    """

    file: str
    error: InputError

    def __post_init__(self) -> None:
        self.error.__traceback__ = self.error.__context__ = self.error.__cause__ = None


class Unreadable(NamedTuple):
    """Why a record cannot be read as a row: a code in English, a reason in Korean; nothing of its content."""

    code: str
    reason: str


class RowBuilder:
    """Builds batches of a file that is read row by row; a row is rejected for its first problem.

    The timestamp is read first: a row outside the window does not belong to this run, whatever else is wrong with it.
    """

    def __init__(self, file: str, window: Window | None, naive_zone: str) -> None:
        self._file = file
        self._naive_zone = cells.other_zone(naive_zone)
        self._bounds = window and (cells.microseconds_of(window.start), cells.microseconds_of(window.end))
        self._clear()

    def batches(self, rows: Iterable[tuple[int, Mapping[str, object] | Unreadable]]) -> Iterator[RowBatch]:
        """Yields batches of `rows`, each with its line; the last one may be empty.

        A row has values by the names of `READ_COLUMNS`; a flat `session_id` takes precedence over `request_metadata`.
        """
        for line, row in rows:
            self._rows_in += 1
            if isinstance(row, Unreadable):
                self._rejects.append(Reject(self._file, line, None, row.code, row.reason))
            else:
                self._add(line, row)
            if self._rows_in >= BATCH_ROWS or self._bytes >= BATCH_BYTES:
                yield self._take()
        yield self._take()

    def _add(self, line: int, row: Mapping[str, object]) -> None:
        """Adds a row within the window, or its reject; a row outside the window is only counted."""
        moment = None
        try:
            moment = cells.instant(row.get("timestamp"), self._naive_zone)
            if moment and self._bounds and not self._bounds[0] <= moment.microseconds < self._bounds[1]:
                self._outside += 1
                return
            flat = "session_id" in row
            session = row["session_id"] if flat else value_in(row.get("request_metadata"), ["session_id"])
            user_input = cells.text("user_input", row.get("user_input"))
            llm_response = cells.text("llm_response", row.get("llm_response"))
            values = (  # one by one: loops over the names, and a copy of the row, would take a sixth longer
                user_input,
                llm_response,
                cells.number("input_tokens", row.get("input_tokens")),
                cells.number("output_tokens", row.get("output_tokens")),
                moment and moment.microseconds,
                cells.label("tenant_id", row.get("tenant_id")),
                cells.label("session_id", session),
                cells.label("source_id", row.get("source_id")),
                line,
            )
        except UnreadableCell as problem:
            at = moment and moment.microseconds
            self._rejects.append(Reject(self._file, line, problem.column, problem.code, problem.reason, at))
            return
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self._naive += moment is not None and moment.naive
        self._bytes += len(user_input or b"") + len(llm_response or b"")

    def _take(self) -> RowBatch:
        """The batch since the last call."""
        collected = zip(CHAT_ROW_SCHEMA.items(), self._columns, strict=True)
        rows = pl.DataFrame([_series(name, kind, values) for (name, kind), values in collected])
        batch = RowBatch(self._file, rows, tuple(self._rejects), self._naive, self._rows_in, self._outside)
        self._clear()
        return batch

    def _clear(self) -> None:
        self._columns: list[list[object]] = [[] for _ in CHAT_ROW_SCHEMA]
        self._rejects: list[Reject] = []
        self._naive = self._rows_in = self._outside = self._bytes = 0


def _series(name: str, kind: pl.DataType, values: list[object]) -> pl.Series:
    """A column of the schema; its texts are bytes known to be valid UTF-8."""
    as_read = pl.Binary() if kind == pl.String() else kind
    return pl.Series(name, values, dtype=as_read).cast(kind)
