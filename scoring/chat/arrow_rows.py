"""Chat rows from Arrow columns: finds the required columns, checks their types, and parses each row.

Timestamps of any unit, dates and the timestamp formats of text files are read; precision beyond microseconds is
truncated. A flat `session_id` takes precedence over `request_metadata`, a struct or JSON text.

Parquet guarantees the type of a column, not valid values: text may be invalid UTF-8, numbers and timestamps may be
text. Columns are parsed in bulk wherever their type allows. Polars does the arithmetic, because the first value that
pyarrow takes from Python makes it import pandas, which costs more than reading 50 MB.

Source: SPEC 1.1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from scoring.chat import cells
from scoring.chat.reading import UTC_ZONE, column_places, no_column, value_in
from scoring.chat.row_ids import LABELS, TEXTS, TOKENS
from scoring.chat.rows import CHAT_ROW_SCHEMA, RowBatch
from scoring.chat.text_columns import ParsedColumn, Timestamps, cell_instants, cells_column, instants, numbers
from scoring.days import Window
from scoring.errors import InputError
from scoring.inputs import Reject, UnreadableCell

_TICKS_IN_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}  # nanoseconds end in 2262: nothing to check
_TEXT_TYPES = (
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.binary(), pa.large_binary(), pa.binary_view(), pa.null()),
)


class Leaf(NamedTuple):
    """Location of a column: its path through structs, the type there, and the keys inside its JSON text."""

    path: tuple[str, ...]
    kind: pa.DataType
    keys: tuple[str, ...] = ()


def leaves_to_read(where: str, schema: pa.Schema, names: Mapping[str, str] | None = None) -> dict[str, Leaf]:
    """The columns to read, by chat-row name; of the metadata only the session, because the rest is personal data.

    `names` are the column names in the schema.

    Raises:
        InputError: a required column is missing, a column exists twice, or its type cannot hold chat rows.
    """
    found: dict[str, Leaf] = {}
    for name, place in column_places(where, schema.names, names).items():
        if leaf := _below(Leaf((place.column,), schema.field(place.column).type), place.keys):
            found[name] = leaf
        else:
            called = ".".join([place.column, *place.keys])
            raise no_column(where, called, name, f"{place.column} is {schema.field(place.column).type}")
    expected = {
        **dict.fromkeys(TEXTS, (holds_text, "text")),
        **dict.fromkeys(TOKENS, (_holds_numbers, "a number")),
        **dict.fromkeys(LABELS, (_holds_labels, "text")),
        "timestamp": (_holds_timestamps, "a timestamp, a date or text"),
        "request_metadata": (_holds_metadata, "a struct with a session_id of text, or JSON text"),
    }
    wrong = [
        f"{name} is {leaf.kind}, expected {'JSON text' if leaf.keys else expected[name][1]}"
        for name, leaf in found.items()
        if not (holds_text if leaf.keys else expected[name][0])(leaf.kind)
    ]
    if wrong:
        fix = "export them with the expected types"
        if names is None:
            fix = "convert them first: ids with gaps are numbers in pandas unless read with dtype=str, "
            fix += 'and pd.to_datetime(..., unit="s") makes times of numbers'
        raise InputError(f"columns of a wrong type: {'; '.join(wrong)}", where=where, fix=fix)
    metadata = found.pop("request_metadata", None)
    if metadata and "session_id" not in found and (session := _below(metadata, ("session_id",))):
        found["session_id"] = session
    return found


def _below(leaf: Leaf, keys: Sequence[str]) -> Leaf | None:
    """The location below these keys; None if a struct lacks one of them."""
    path, kind, waiting = list(leaf.path), leaf.kind, [*leaf.keys, *keys]
    while waiting and types.is_struct(kind):
        position = kind.get_field_index(waiting[0])
        if position < 0:
            return None
        path.append(waiting.pop(0))
        kind = kind.field(position).type
    return Leaf(tuple(path), kind, tuple(waiting))


def holds_text(kind: pa.DataType) -> bool:
    """Whether a type holds text: any text layout, binary (which old writers use for text), or an all-NULL column."""
    return (kind.value_type if types.is_dictionary(kind) else kind) in _TEXT_TYPES


def _holds_labels(kind: pa.DataType) -> bool:
    """Text, or the integers that some exports write instead."""
    return holds_text(kind) or bool(types.is_integer(kind))


def _holds_numbers(kind: pa.DataType) -> bool:
    return _holds_labels(kind) or bool(types.is_floating(kind) or types.is_decimal(kind))


def _holds_timestamps(kind: pa.DataType) -> bool:
    return holds_text(kind) or bool(types.is_timestamp(kind) or types.is_date(kind))


def _holds_metadata(kind: pa.DataType) -> bool:
    if not types.is_struct(kind):
        return holds_text(kind)
    position = kind.get_field_index("session_id")
    return position < 0 or _holds_labels(kind.field(position).type)


def read_batch(
    file: str,
    batch: pa.RecordBatch,
    leaves: Mapping[str, Leaf],
    first_line: int,
    texts: pl.DataFrame | None = None,
    window: Window | None = None,
    naive_zone: str = UTC_ZONE,
) -> RowBatch:
    """The readable rows of the batch within the window, and the counts of the others.

    `batch` has the columns of `leaves`; the two texts may be passed separately if they are known to be UTF-8.
    Timestamps without a zone are in `naive_zone`.
    """

    def column(name: str) -> ParsedColumn:
        if texts is not None and name in TEXTS:
            return ParsedColumn(texts[name], {})
        if name not in leaves:
            return ParsedColumn(pl.repeat(None, batch.num_rows, dtype=pl.String, eager=True), {})
        values = _values(batch, leaves[name])
        if isinstance(values, list):
            return cells_column(name, values)
        if name in TOKENS:
            return _number_column(name, values)
        return _text_column(name, values.cast(pa.string()) if types.is_integer(values.type) else values)

    timestamps = _timestamp_column(_values(batch, leaves["timestamp"]), cells.other_zone(naive_zone))
    lines = pl.int_range(first_line, first_line + batch.num_rows, eager=True)
    return row_batch(file, column, timestamps, lines, window)


def row_batch(
    file: str,
    column_of: Callable[[str], ParsedColumn],
    timestamps: Timestamps,
    lines: pl.Series,
    window: Window | None,
) -> RowBatch:
    """The readable rows within the window from their parsed columns.

    A row is rejected for its timestamp, else for its first column with a problem.
    """
    columns = [
        *map(column_of, (*TEXTS, *TOKENS)),
        ParsedColumn(timestamps.microseconds.cast(CHAT_ROW_SCHEMA["timestamp"]), timestamps.problems),
        *map(column_of, LABELS),
        ParsedColumn(lines, {}),
    ]
    moments = timestamps.microseconds
    problems = dict(timestamps.problems)
    for column in columns:
        for row, problem in column.problems.items():
            problems.setdefault(row, problem)

    in_window = pl.repeat(True, len(lines), eager=True)
    if window is not None:
        in_window = (moments >= cells.microseconds_of(window.start)) & (moments < cells.microseconds_of(window.end))
        in_window = in_window.fill_null(True)
    kept = in_window
    if problems:
        kept = in_window & ~pl.int_range(len(lines), eager=True).is_in([*problems])
    rows = pl.DataFrame([column.values.alias(name) for name, column in zip(CHAT_ROW_SCHEMA, columns, strict=True)])
    if not kept.all():
        rows = rows.filter(kept)
    rejects = tuple(
        Reject(file, lines[row], problem.column, problem.code, problem.reason, moments[row])
        for row, problem in sorted(problems.items())
        if in_window[row]
    )
    naive = timestamps.naive & moments.is_not_null() & kept
    return RowBatch(file, rows, rejects, int(naive.sum()), len(lines), int((~in_window).sum()))


def _values(batch: pa.RecordBatch, leaf: Leaf) -> pa.Array | list[object]:
    """The column unchanged, or the values inside its JSON text."""
    return [value_in(text, leaf.keys) for text in texts_at(batch, leaf)] if leaf.keys else array_at(batch, leaf)


def texts_at(batch: pa.RecordBatch, leaf: Leaf) -> list[str | None]:
    """The texts at the end of a column's path, which may lead into JSON."""
    return _texts(array_at(batch, leaf))


def array_at(batch: pa.RecordBatch, leaf: Leaf) -> pa.Array:
    """The column at the end of its path through structs."""
    array = batch.column(leaf.path[0])
    for key in leaf.path[1:]:
        array = pc.struct_field(array, key)
    return array


def _text_column(name: str, array: pa.Array) -> ParsedColumn:
    """Text, unchanged once it is known to be valid UTF-8."""
    raw = _decoded(array).cast(pa.binary())
    try:
        # As bytes, because Polars does not validate Arrow's text type; it validates bytes twenty times faster than
        # Arrow.
        return ParsedColumn(pl.Series(raw).cast(pl.String), {})
    except pl.exceptions.ComputeError:
        return cells_column(name, _texts(raw))


def _number_column(name: str, array: pa.Array) -> ParsedColumn:
    """Numbers of any type as FLOAT64, NaN as NULL."""
    array = _decoded(array)
    if holds_text(array.type):
        texts = _text_column(name, array)
        return cells_column(name, _texts(array)) if texts.problems else numbers(name, texts.values)
    return ParsedColumn(pl.Series(array.cast(pa.float64(), safe=False)).fill_nan(None), {})


def _timestamp_column(values: pa.Array | list[object], naive_zone: ZoneInfo | None) -> Timestamps:
    """Timestamps of any unit, dates (midnight) or text as UTC instants, truncated to microseconds."""
    if isinstance(values, list):
        return cell_instants(values, naive_zone)
    array = _decoded(values)
    if holds_text(array.type):
        texts = _text_column("timestamp", array)
        return cell_instants(_texts(array), naive_zone) if texts.problems else instants(texts.values, naive_zone)
    if types.is_date(array.type):
        array = array.cast(pa.date32()).cast(pa.timestamp("s"))
    ticks, problems = _within_years(pl.Series(array.view(pa.int64())), array.type.unit)
    microseconds = (
        ticks // 1000 if array.type.unit == "ns" else ticks * (1_000_000 // _TICKS_IN_SECOND[array.type.unit])
    )
    is_naive = array.type.tz is None
    if is_naive and naive_zone:
        microseconds, shifted = _within_years(_in_zone(microseconds, naive_zone), "us")
        problems |= shifted
    return Timestamps(microseconds, problems, pl.repeat(is_naive, len(array), eager=True))


def _in_zone(microseconds: pl.Series, zone: ZoneInfo) -> pl.Series:
    """Local times as instants; an ambiguous time (clock set back) is the earlier one, a nonexistent one is shifted."""
    local = microseconds.cast(pl.Datetime("us"))
    moments = local.dt.replace_time_zone(zone.key, ambiguous="earliest", non_existent="null").dt.epoch("us")
    for row in (moments.is_null() & microseconds.is_not_null()).arg_true():
        moments[row] = cells.in_zone(microseconds[row], zone)
    return moments


def _within_years(ticks: pl.Series, unit: str) -> tuple[pl.Series, dict[int, UnreadableCell]]:
    """The timestamps, NULL outside the years in which every instant has a local date."""
    if unit not in _TICKS_IN_SECOND:
        return ticks, {}
    first, after_last = (second * _TICKS_IN_SECOND[unit] for second in (cells.FIRST_SECOND, cells.SECOND_AFTER_LAST))
    outside = ((ticks < first) | (ticks >= after_last)).fill_null(False)
    problems = {row: cells.timestamp_out_of_range() for row in outside.arg_true()}
    return ticks.set(outside, None) if problems else ticks, problems


def _decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if types.is_dictionary(array.type) else array


def _texts(array: pa.Array) -> list[str | None]:
    """The texts of a column; bytes that are invalid UTF-8 become lone surrogates, as in text files."""
    raw = _decoded(array).cast(pa.binary()).to_pylist()
    return [value if value is None else value.decode("utf-8", "surrogateescape") for value in raw]
