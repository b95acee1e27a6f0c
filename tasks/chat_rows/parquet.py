"""Chat rows from Parquet: only the columns that are scored are decoded, a few thousand rows at a time.

A file may be one row group of gigabytes. It is read through a small buffer, page by page, so memory does not grow
with the group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from scoring.days import Window
from scoring.errors import InputError
from tasks.chat_rows.arrow_columns import (
    Column,
    Timestamps,
    holds_labels,
    holds_numbers,
    holds_text,
    holds_timestamps,
    label_column,
    number_column,
    session_column,
    text_column,
    timestamp_column,
)
from tasks.chat_rows.rows import (
    BATCH_BYTES,
    BATCH_ROWS,
    CHAT_ROW_SCHEMA,
    Reject,
    RowBatch,
    microseconds,
    refuse_wrong_columns,
)

_BUFFER_BYTES = 1024 * 1024
_TICKS_IN_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}
_NO_ROWS = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in CHAT_ROW_SCHEMA.types], schema=CHAT_ROW_SCHEMA)


def read_parquet(path: Path, window: Window | None) -> Iterator[RowBatch]:
    """Batches of the rows of `path`; row groups outside the window by their statistics are only counted.

    Timestamps of any unit, dates and the spellings of the text files are read; what is finer than microseconds is
    cut. Without a zone they are UTC. A flat `session_id` stands above `request_metadata`, a struct or JSON text.
    Raises InputError for a missing column, or one whose type cannot hold what it should.

    Source: SPEC 1.1.
    """
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER_BYTES, coerce_int96_timestamp_unit="us") as file:
        refuse_wrong_columns(path, file.schema_arrow.names)
        _refuse_impossible_types(path, file.schema_arrow)
        columns = _leaves_to_read(file.schema_arrow)
        line = 1
        for outside, groups, rows in _runs_of_row_groups(file, window):
            if outside:
                yield RowBatch(str(path), _NO_ROWS, (), 0, rows, rows)
                line += rows
                continue
            # One thread: two decode no faster here, and hold twice the pages.
            for batch in file.iter_batches(_batch_rows(file, columns), groups, columns, use_threads=False):
                yield _checked(str(path), batch, line, window)
                line += batch.num_rows


def _refuse_impossible_types(path: Path, schema: pa.Schema) -> None:
    kinds = {
        "user_input": (holds_text, "text"),
        "llm_response": (holds_text, "text"),
        "timestamp": (holds_timestamps, "a timestamp, a date or text"),
        "input_tokens": (holds_numbers, "a number"),
        "output_tokens": (holds_numbers, "a number"),
        "tenant_id": (holds_labels, "text"),
        "session_id": (holds_labels, "text"),
        "request_metadata": (_holds_metadata, "a struct with a session_id of text, or JSON text"),
    }
    wrong = [
        f"{field.name} is {field.type}, expected {kinds[field.name][1]}"
        for field in schema
        if field.name in kinds and not kinds[field.name][0](field.type)
    ]
    if wrong:
        raise InputError(
            f"columns of a wrong type: {'; '.join(wrong)}",
            where=str(path),
            fix="export them with the expected types",
        )


def _holds_metadata(kind: pa.DataType) -> bool:
    if not types.is_struct(kind):
        return holds_text(kind)
    position = kind.get_field_index("session_id")
    return position < 0 or holds_labels(kind.field(position).type)


def _leaves_to_read(schema: pa.Schema) -> list[str]:
    """Paths of the columns to decode: of a metadata struct the session alone, its other half is personal."""
    wanted = ["user_input", "llm_response", "input_tokens", "output_tokens", "timestamp"]
    wanted += [name for name in ("tenant_id", "session_id") if name in schema.names]
    if "session_id" not in schema.names and "request_metadata" in schema.names:
        kind = schema.field("request_metadata").type
        if not types.is_struct(kind):
            wanted.append("request_metadata")
        elif kind.get_field_index("session_id") >= 0:
            wanted.append("request_metadata.session_id")
    return wanted


def _batch_rows(file: pq.ParquetFile, columns: list[str]) -> int:
    """Rows whose texts make about BATCH_BYTES, by the sizes in the file's own footer."""
    size = 0
    for group in range(file.metadata.num_row_groups):
        chunks = map(file.metadata.row_group(group).column, range(file.metadata.num_columns))
        size += sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in columns)
    rows: int = file.metadata.num_rows
    return max(1, min(BATCH_ROWS, BATCH_BYTES * rows // max(1, size)))


def _runs_of_row_groups(file: pq.ParquetFile, window: Window | None) -> Iterator[tuple[bool, list[int], int]]:
    """Neighbouring row groups that are alike: surely outside the window or not, their numbers, their rows."""
    leaves = [file.schema.column(position).path for position in range(len(file.schema))]
    timestamp = leaves.index("timestamp")
    unit = json.loads(file.schema.column(timestamp).logical_type.to_json()).get("timeUnit")

    def outside(group: int) -> bool:
        statistics = file.metadata.row_group(group).column(timestamp).statistics
        return window is not None and _surely_outside(statistics, _TICKS_IN_SECOND.get(unit), window)

    for is_outside, groups in groupby(range(file.metadata.num_row_groups), outside):
        numbers = list(groups)
        yield is_outside, numbers, sum(file.metadata.row_group(group).num_rows for group in numbers)


def _surely_outside(statistics: pq.Statistics | None, ticks: int | None, window: Window) -> bool:
    """Whether no row of the group is in the window. A NULL timestamp always is: a later stage rejects it."""
    if ticks is None or statistics is None or not statistics.has_min_max:
        return False
    if not statistics.has_null_count or statistics.null_count:
        return False
    # Raw counts, because pyarrow imports pandas to make a datetime of them.
    starts_late = statistics.min_raw * 1_000_000 >= microseconds(window.end) * ticks
    ends_early = statistics.max_raw * 1_000_000 < microseconds(window.start) * ticks
    return bool(starts_late or ends_early)


def _checked(file: str, batch: pa.RecordBatch, first_line: int, window: Window | None) -> RowBatch:
    """The rows of one decoded batch that are readable and in the window, and an account of the others."""
    timestamps = timestamp_column(batch.column("timestamp"))
    moments = timestamps.microseconds
    lines = pl.int_range(first_line, first_line + batch.num_rows, eager=True)
    columns = _columns(batch, timestamps, lines)
    problems = dict(timestamps.problems)
    for column in columns:
        for row, problem in column.problems.items():
            problems.setdefault(row, problem)

    in_window = pl.repeat(True, batch.num_rows, eager=True)
    if window is not None:
        in_window = (moments >= microseconds(window.start)) & (moments < microseconds(window.end))
        in_window = in_window.fill_null(True)
    kept = in_window
    if problems:
        kept = in_window & ~lines.is_in([first_line + row for row in problems])
    rows = pa.RecordBatch.from_arrays([column.values for column in columns], schema=CHAT_ROW_SCHEMA)
    if not kept.all():
        rows = rows.filter(kept.to_arrow())
    rejects = tuple(
        Reject(file, first_line + row, problem.column, problem.code, problem.reason)
        for row, problem in sorted(problems.items())
        if in_window[row]
    )
    naive = timestamps.naive & moments.is_not_null() & kept
    return RowBatch(file, rows, rejects, int(naive.sum()), batch.num_rows, int((~in_window).sum()))


def _columns(batch: pa.RecordBatch, timestamps: Timestamps, lines: pl.Series) -> list[Column]:
    """The columns of the batch in the order of the schema."""
    if "request_metadata" in batch.schema.names:
        sessions = session_column(batch.column("request_metadata"))
    else:
        sessions = _optional_labels("session_id", batch)
    return [
        text_column("user_input", batch.column("user_input")),
        text_column("llm_response", batch.column("llm_response")),
        number_column("input_tokens", batch.column("input_tokens")),
        number_column("output_tokens", batch.column("output_tokens")),
        Column(timestamps.microseconds.cast(pl.Datetime("us", "UTC")).to_arrow(), timestamps.problems),
        _optional_labels("tenant_id", batch),
        sessions,
        Column(lines.to_arrow(), {}),
    ]


def _optional_labels(name: str, batch: pa.RecordBatch) -> Column:
    if name not in batch.schema.names:
        return Column(pa.nulls(batch.num_rows, pa.string()), {})
    return label_column(name, batch.column(name))
