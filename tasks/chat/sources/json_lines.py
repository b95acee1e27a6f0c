"""Reads chat rows from JSON Lines: one object per line, whose keys are the columns.

A block of lines is read by pyarrow if it certainly reads the same as Python's json module. Any other block is read line
by line, which reports the error of each line.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from scoring.chat.arrow_rows import leaves_to_read, read_batch
from scoring.chat.reading import (
    READ_COLUMNS,
    REQUIRED_COLUMNS,
    Reading,
    column_places,
    holds,
    no_column,
    place_of,
    value_in,
)
from scoring.chat.row_ids import TEXTS, TOKENS
from scoring.chat.rows import BATCH_ROWS, RowBatch, RowBuilder, Unreadable
from scoring.days import Window
from scoring.errors import InputError
from scoring.limits import LONGEST_LINE
from tasks.chat.sources.json_objects import BOM, json_objects
from tasks.chat.sources.pieces import BLOCK_BYTES, FilePiece, refuse_replaced

_KINDS = {
    **dict.fromkeys(TOKENS, pa.float64()),
    "request_metadata": pa.struct([("session_id", pa.string())]),
}
_SCHEMA = pa.schema([(name, _KINDS.get(name, pa.string())) for name in READ_COLUMNS])
# Python refuses integers of more than 4,300 digits and nesting of a thousand levels, anywhere in an object.
_DIGITS_APART, _LONG_INTEGER = 512, re.compile(rb"[0-9]{8}")
_MOST_BRACKETS = 500
_OPENS, _CLOSES = b"{}"


def read_json_lines(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Yields batches of the rows of a file; null is not the empty string, and blank lines are skipped.

    BigQuery exports NULL by omitting the key: an absent key is NULL, and a column is missing only if no object of the
    file has it. A key `session_id` of the object takes precedence over `request_metadata`. Raises InputError for a file
    of which no line has an object with an expected key, that lacks a required column, or one that
    `[monitoring.columns]` names; a file without lines has no rows.

    Source: SPEC 1.1.
    """
    path = piece.path
    # Opened once, because the file may be replaced meanwhile.
    with path.open("rb") as file:
        refuse_replaced(piece, file)
        _refuse_missing_keys(path, file, reading.names)
        line, start = piece.first_line, piece.start
        block = bytearray()  # reused for all blocks: allocating memory for each takes longer than reading it
        while _read_whole_lines(file, start, piece.stop, block):
            # Columns with configured names may be nested in objects, which only the reading by line finds.
            plain = None if reading.names else _plain_table(block.removeprefix(BOM) if line == 1 else block)
            if plain is None:
                lines = json_objects(FilePiece(path, start, start + len(block), line), file)
                named = ((number, _named(found, reading.names)) for number, found in lines)
                yield from RowBuilder(str(path), window, reading.naive_zone).batches(named)
                line += block.count(b"\n")
            else:
                leaves = leaves_to_read(str(path), plain.schema)
                for batch in plain.to_batches(BATCH_ROWS):
                    yield read_batch(str(path), batch, leaves, line, None, window, reading.naive_zone)
                    line += batch.num_rows
            start += len(block)


def _read_whole_lines(file: BufferedReader, start: int, stop: int | None, block: bytearray) -> bool:
    """Fills `block` with about BLOCK_BYTES of whole lines from `start` on; False at `stop` and at the end of file."""
    left = (os.fstat(file.fileno()).st_size if stop is None else stop) - start
    size = max(0, min(BLOCK_BYTES, left))  # most files are smaller than a block
    block.extend(bytes(max(0, size - len(block))))
    file.seek(start)
    with memoryview(block) as view:
        read = file.readinto(view[:size])
    block[read:] = b"" if start + read == stop else file.readline(LONGEST_LINE)
    return bool(block)


def _plain_table(block: bytearray) -> pa.Table | None:
    """The columns of the objects of a block, one row per line; None if Python's json might read it differently."""
    lines = [*_lines(block)]
    if not all(_is_object(block, *line) for line in lines):
        return None
    if len(block) >= LONGEST_LINE or _LONG_INTEGER.search(block[::_DIGITS_APART]):
        return None
    try:
        table = pa_json.read_json(
            pa.BufferReader(block),
            pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pa_json.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowException:
        return None
    if table.num_rows != len(lines) or any(_are_odd(pl.Series(table[name])) for name in TOKENS):
        return None
    if any(block.count(b"{", *line) + block.count(b"[", *line) > _MOST_BRACKETS for line in _much_unread(lines, table)):
        return None
    return _with_one_session(table, block)


def _is_object(block: bytearray, start: int, end: int) -> bool:
    """Whether a line begins and ends like an object; on Windows a carriage return follows."""
    return start < end and block[start] == _OPENS and (block[end - 1] == _CLOSES or block.endswith(b"}\r", start, end))


def _lines(block: bytearray) -> Iterator[tuple[int, int]]:
    """Yields start and end of each line, without its line break; copying the lines would take a tenth of the time."""
    start, end = 0, block.find(b"\n")
    while end >= 0:
        yield start, end
        start = end + 1
        end = block.find(b"\n", start)
    if start < len(block):
        yield start, len(block)


def _much_unread(lines: Sequence[tuple[int, int]], table: pa.Table) -> Iterator[tuple[int, int]]:
    """The lines with enough bytes besides their texts to be deeply nested."""
    unread = pl.Series([end - start for start, end in lines])
    for name in TEXTS:  # with Polars, because a Python zero makes pyarrow import pandas
        unread -= pl.Series(pc.binary_length(table[name])).fill_null(0)
    return (lines[row] for row in (unread > 2 * _MOST_BRACKETS).arg_true())


def _are_odd(tokens: pl.Series) -> bool:
    """Whether there may be a -0, which Python reads as an integer without sign, or an integer too large for a float."""
    return bool((((tokens == 0) & (1 / tokens < 0)) | tokens.is_infinite()).any())


def _with_one_session(table: pa.Table, block: bytearray) -> pa.Table | None:
    """The table with either `session_id` or the one in `request_metadata`; None if the block may have both keys.

    The former takes precedence even if it is null, and the table does not distinguish null from an absent key.
    """
    sessions = pc.struct_field(table["request_metadata"], "session_id")
    found = len(sessions) - sessions.null_count
    if not found:
        return table
    only_these = block.count(b'"session_id"') == found and b"\\u00" not in block
    return table.drop_columns(["session_id"]) if only_these else None


def _named(found: dict[str, object] | Unreadable, names: Mapping[str, str]) -> dict[str, object] | Unreadable:
    """The values of an object by chat-row name; absent ones are left out."""
    if isinstance(found, Unreadable) or not names:
        return found
    places = {name: place_of(names.get(name, name), found) for name in READ_COLUMNS}
    return {name: value_in(found[place.column], place.keys) for name, place in places.items() if place}


def _refuse_missing_keys(path: Path, file: BinaryIO, names: Mapping[str, str]) -> None:
    """Refuses a file in which a required or configured key never occurs; reads until all do: one line of a usual file.

    A file without lines lacks nothing: it may be the export of a day without rows, or a log that has just begun.
    """
    called = {name: names.get(name, name) for name in READ_COLUMNS}
    wanted = {*REQUIRED_COLUMNS, *names}
    is_empty = True
    seen: dict[str, None] = {}
    inside = {name for name, path_inside in names.items() if "." in path_inside}
    first: dict[str, object] = {}
    for _, found in json_objects(FilePiece(path), file):
        is_empty = False
        if not isinstance(found, Unreadable):
            first = first or found
            seen.update(dict.fromkeys(place.column for name in called.values() if (place := place_of(name, found))))
            inside -= {
                name for name in inside if (at := place_of(called[name], found)) and holds(found[at.column], at.keys)
            }
            if not inside and all(place_of(called[name], seen) for name in wanted):
                return
    if is_empty:
        return
    if not seen:
        raise InputError(
            "no line holds an object with one of the expected keys",
            where=str(path),
            fix="write one JSON object a line in UTF-8, not packed, with the keys "
            f"{', '.join(called[name] for name in REQUIRED_COLUMNS)}, "
            "or set monitoring.format (aqb score: --format) to what wrote it",
        )
    column_places(str(path), tuple(dict.fromkeys((*first, *seen))), names)
    if inside:
        name = min(inside)
        raise no_column(str(path), called[name], name, "no object has it")
