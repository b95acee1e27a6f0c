"""Chat rows that come as Arrow columns: which columns and types they need, and what each row says.

Timestamps of any unit, dates and the spellings of the text files are read; what is finer than microseconds is cut.
Without a zone they are UTC. A flat `session_id` stands above `request_metadata`, a struct or JSON text.

Source: SPEC 1.1.
"""

import polars as pl
import pyarrow as pa
from pyarrow import types

from scoring.chat.arrow_columns import (
    ParsedColumn,
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
from scoring.chat.row_ids import TEXTS
from scoring.chat.rows import CHAT_ROW_SCHEMA, RowBatch, microseconds, refuse_wrong_columns
from scoring.days import Window
from scoring.errors import InputError
from scoring.rejects import Reject


def refuse_wrong_types(where: str, schema: pa.Schema) -> None:
    """Raises InputError unless the required columns are there, each once, of types that can hold chat rows."""
    refuse_wrong_columns(where, schema.names)
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
            where=where,
            fix="export them with the expected types",
        )


def _holds_metadata(kind: pa.DataType) -> bool:
    if not types.is_struct(kind):
        return holds_text(kind)
    position = kind.get_field_index("session_id")
    return position < 0 or holds_labels(kind.field(position).type)


def leaves_to_read(schema: pa.Schema) -> list[str]:
    """Paths of the columns to read: of a metadata struct the session alone, its other half is personal."""
    wanted = [*TEXTS, "input_tokens", "output_tokens", "timestamp"]
    wanted += [name for name in ("tenant_id", "session_id") if name in schema.names]
    if "session_id" not in schema.names and "request_metadata" in schema.names:
        kind = schema.field("request_metadata").type
        if not types.is_struct(kind):
            wanted.append("request_metadata")
        elif kind.get_field_index("session_id") >= 0:
            wanted.append("request_metadata.session_id")
    return wanted


def read_batch(
    file: str,
    batch: pa.RecordBatch,
    first_line: int,
    texts: pl.DataFrame | None = None,
    window: Window | None = None,
) -> RowBatch:
    """The rows of a batch that are readable and in the window, and an account of the others.

    `batch` has the columns of `leaves_to_read`; the two texts may be apart, when they are known to be UTF-8.
    """
    timestamps = timestamp_column(batch.column("timestamp"))
    moments = timestamps.microseconds
    lines = pl.int_range(first_line, first_line + batch.num_rows, eager=True)
    columns = _columns(batch, texts, timestamps, lines)
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
    rows = pl.DataFrame([column.values.alias(name) for name, column in zip(CHAT_ROW_SCHEMA, columns, strict=True)])
    if not kept.all():
        rows = rows.filter(kept)
    rejects = tuple(
        Reject(file, first_line + row, problem.column, problem.code, problem.reason)
        for row, problem in sorted(problems.items())
        if in_window[row]
    )
    naive = timestamps.naive & moments.is_not_null() & kept
    return RowBatch(file, rows, rejects, int(naive.sum()), batch.num_rows, int((~in_window).sum()))


def _columns(
    batch: pa.RecordBatch, texts: pl.DataFrame | None, timestamps: Timestamps, lines: pl.Series
) -> list[ParsedColumn]:
    """The columns of the batch in the order of the schema."""
    if "request_metadata" in batch.schema.names:
        sessions = session_column(batch.column("request_metadata"))
    else:
        sessions = _optional_labels("session_id", batch)
    return [
        *(text_column(name, batch.column(name)) if texts is None else ParsedColumn(texts[name], {}) for name in TEXTS),
        number_column("input_tokens", batch.column("input_tokens")),
        number_column("output_tokens", batch.column("output_tokens")),
        ParsedColumn(timestamps.microseconds.cast(CHAT_ROW_SCHEMA["timestamp"]), timestamps.problems),
        _optional_labels("tenant_id", batch),
        sessions,
        ParsedColumn(lines, {}),
    ]


def _optional_labels(name: str, batch: pa.RecordBatch) -> ParsedColumn:
    if name not in batch.schema.names:
        return ParsedColumn(pl.repeat(None, batch.num_rows, dtype=pl.String, eager=True), {})
    return label_column(name, batch.column(name))
