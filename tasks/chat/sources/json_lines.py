"""Chat rows from JSON Lines: by the keys of an object a line.

A block of lines is read by pyarrow where that reads it as Python would; where anything is odd, the block is read line
by line, which tells what is wrong with each.
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
# Python refuses integers of more than 4,300 digits and a thousand levels, wherever they stand in an object.
_DIGITS_APART, _LONG_INTEGER = 512, re.compile(rb"[0-9]{8}")
_MOST_BRACKETS = 500
_OPENS, _CLOSES = b"{}"


def read_json_lines(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Batches of the rows of a file; null and the empty text stay apart, blank lines are no rows.

    BigQuery writes NULL by leaving the key out: a lacking key is NULL, and a column is missing only when no object of
    the file has it. A flat `session_id` stands above `request_metadata`. Raises InputError for a file without objects,
    a required column, or one that `[monitoring.columns]` names.

    Source: SPEC 1.1.
    """
    path = piece.path
    # Opened once: a file that is replaced meanwhile is another one.
    with path.open("rb") as file:
        refuse_replaced(piece, file)
        _refuse_missing_keys(path, file, reading.names)
        line, start = piece.first_line, piece.start
        block = bytearray()  # one for all blocks: new memory for each takes longer than reading it
        while _read_whole_lines(file, start, piece.stop, block):
            # Columns of other names may stand inside objects, which Python finds.
            plain = None if reading.names else _plain_table(block.removeprefix(BOM) if line == 1 else block)
            if plain is None:
                lines = FilePiece(path, start, start + len(block), line)
                yield from _line_by_line(lines, file, window, reading)
                line += block.count(b"\n")
            else:
                leaves = leaves_to_read(str(path), plain.schema)
                for batch in plain.to_batches(BATCH_ROWS):
                    yield read_batch(str(path), batch, leaves, line, None, window, reading.naive_zone)
                    line += batch.num_rows
            start += len(block)


def _read_whole_lines(file: BufferedReader, start: int, stop: int | None, block: bytearray) -> bool:
    """Makes `block` the lines from `start` on, about a block of them; False at `stop` and at the end of the file."""
    left = (os.fstat(file.fileno()).st_size if stop is None else stop) - start
    size = max(0, min(BLOCK_BYTES, left))  # most files are smaller than a block
    block.extend(bytes(max(0, size - len(block))))
    file.seek(start)
    with memoryview(block) as view:
        read = file.readinto(view[:size])
    block[read:] = b"" if start + read == stop else file.readline(LONGEST_LINE)
    return bool(block)


def _plain_table(block: bytearray) -> pa.Table | None:
    """The columns of the objects of a block, a row a line; None where Python might see anything else in it."""
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
    """Whether a line begins and ends as an object does; Windows ends it with two signs."""
    return start < end and block[start] == _OPENS and (block[end - 1] == _CLOSES or block.endswith(b"}\r", start, end))


def _lines(block: bytearray) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, without its line break: cutting them out takes a tenth of reading them."""
    start, end = 0, block.find(b"\n")
    while end >= 0:
        yield start, end
        start = end + 1
        end = block.find(b"\n", start)
    if start < len(block):
        yield start, len(block)


def _much_unread(lines: Sequence[tuple[int, int]], table: pa.Table) -> Iterator[tuple[int, int]]:
    """The lines that hold enough beside their texts to be nested deeply."""
    unread = pl.Series([end - start for start, end in lines])
    for name in TEXTS:  # Polars counts: a zero of Python's makes pyarrow import pandas
        unread -= pl.Series(pc.binary_length(table[name])).fill_null(0)
    return (lines[row] for row in (unread > 2 * _MOST_BRACKETS).arg_true())


def _are_odd(tokens: pl.Series) -> bool:
    """Whether there may be a -0, of which Python makes an integer without sign, or an integer beyond all floats."""
    return bool((((tokens == 0) & (1 / tokens < 0)) | tokens.is_infinite()).any())


def _with_one_session(table: pa.Table, block: bytearray) -> pa.Table | None:
    """The table with the flat session or that of the metadata; None where both keys may be there.

    A flat session stands above the other also where it is null, which cannot be told from one that is lacking.
    """
    sessions = pc.struct_field(table["request_metadata"], "session_id")
    found = len(sessions) - sessions.null_count
    if not found:
        return table
    only_these = block.count(b'"session_id"') == found and b"\\u00" not in block
    return table.drop_columns(["session_id"]) if only_these else None


def _line_by_line(piece: FilePiece, file: BinaryIO, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """The lines one by one, and what is wrong with those that cannot be read."""
    builder = RowBuilder(str(piece.path), window, reading.naive_zone)
    for line, found in json_objects(piece, file):
        if isinstance(found, Unreadable):
            builder.reject(line, *found)
        else:
            builder.add(line, _named(found, reading.names) if reading.names else found)
        if builder.full:
            yield builder.take()
    yield builder.take()


def _named(found: dict[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """The values of an object by the names of chat rows; what is not there is left out."""
    places = {name: place_of(names.get(name, name), found) for name in READ_COLUMNS}
    return {name: value_in(found[place.column], place.keys) for name, place in places.items() if place}


def _refuse_missing_keys(path: Path, file: BinaryIO, names: Mapping[str, str]) -> None:
    """Reads until every key was seen that is required or named: one line of a usual file, all of a wrong one.

    Without a line nothing is missing: so is a day without rows exported, and a log begun.
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
