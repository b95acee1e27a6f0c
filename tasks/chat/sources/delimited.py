"""Reads chat rows from CSV and TSV files, whose header names the columns.

A well-formed block is split at its quotes: the text outside of quotes gives all rows and cells at once. Any other block
is read row by row by the csv module, which reports the errors.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, NamedTuple

import polars as pl

from scoring.chat.cell_rows import cell_rows
from scoring.chat.reading import Reading, SoughtKeys, column_places, value_in
from scoring.chat.row_ids import TEXTS
from scoring.chat.rows import BATCH_ROWS, RowBatch, RowBuilder, Unreadable
from scoring.days import Window
from scoring.errors import InputError
from scoring.headers import bare_name
from scoring.inputs import BrokenRow
from tasks.chat.sources.pieces import BLOCK_BYTES, FilePiece, refuse_replaced
from tasks.files.csv_reader import Border, DelimitedRows, DelimitedText

_Columns = Mapping[str, tuple[int, tuple[str, ...]]]
"""The index of each column in a row, and the keys inside its JSON text."""


def read_delimited(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Yields batches of the rows of a file, whose delimiter is the comma, or the tab if its name ends in `.tsv`.

    An empty cell is the empty string in the two text columns and NULL in all others; a row of empty cells is skipped as
    a blank line. A column `session_id` takes precedence over `request_metadata`, which is JSON text here. Raises
    InputError for a file without a header or required columns, or if no JSON object has the key that
    `[monitoring.columns]` names.

    Source: SPEC 1.1.
    """
    text = _opened(piece.path)
    names = {name: bare_name(called) for name, called in reading.names.items()}
    places = column_places(str(piece.path), text.columns, names)
    columns = {name: (text.columns.index(place.column), place.keys) for name, place in places.items()}
    border = Border(piece.start, piece.first_line) if piece.start else text.below_header
    with text.opened() as file:
        refuse_replaced(piece, file)
        _refuse_missing_keys(DelimitedRows(text, file, text.below_header), str(piece.path), columns, reading)
        while block := _block(file, border, piece.stop):
            plain = _plain_rows(block, text)
            batches = plain and _plain_batches(str(piece.path), plain, border.line, columns, window, reading)
            if plain and batches is not None:
                yield from batches
                border = plain.after(border)
            else:
                rows = DelimitedRows(text, file, border, border.position + len(block))
                builder = RowBuilder(str(piece.path), window, reading.naive_zone)
                yield from builder.batches(_row_by_row(rows, columns))
                border = rows.border


def _refuse_missing_keys(rows: DelimitedRows, where: str, columns: _Columns, reading: Reading) -> None:
    """Refuses a file of whose JSON objects none has a configured key; reads one row of a usual file."""
    sought = SoughtKeys({name: keys for name, (_, keys) in columns.items()}, reading.names)
    whole = (row for row in rows if not isinstance(row, BrokenRow))
    sought.refuse_lacking(where, ({name: [row.cells[columns[name][0]]] for name in sought.left} for row in whole))


def cut_delimited(path: Path, piece_bytes: int) -> Iterator[FilePiece]:
    """Splits a file at ends of rows into pieces of about `piece_bytes`; if reading fails, the rest is one piece.

    Raises:
        InputError, OSError: as `read_delimited`, before the first piece.
    """
    text = _opened(path)
    with text.opened() as file:
        status = os.fstat(file.fileno())
        start = text.below_header
        border = start
        while status.st_size - start.position > piece_bytes and border.position < status.st_size:
            try:
                border = _next_border(text, file, border)
            except (InputError, OSError):
                break  # the reader of the rest says what is wrong, in its place
            if piece_bytes <= border.position - start.position and border.position < status.st_size:
                size = border.position - start.position
                yield FilePiece(path, start.position, border.position, start.line, size, status.st_ino)
                start = border
        yield FilePiece(path, start.position, None, start.line, status.st_size - start.position, status.st_ino)


def _next_border(text: DelimitedText, file: BinaryIO, border: Border) -> Border:
    """Where the rows of the block at a border end."""
    block = _block(file, border, None)
    if plain := _plain_rows(block, text):
        return plain.after(border)
    rows = DelimitedRows(text, file, border, border.position + len(block))
    for _ in rows:
        pass
    return rows.border


def _opened(path: Path) -> DelimitedText:
    return DelimitedText(path, "\t" if path.suffix.lower() == ".tsv" else ",")


def _block(file: BinaryIO, border: Border, stop: int | None) -> bytes:
    file.seek(border.position)
    return file.read(BLOCK_BYTES if stop is None else max(0, min(BLOCK_BYTES, stop - border.position)))


class _PlainRows(NamedTuple):
    """The rows of a well-formed block: the text outside of quotes, and the text inside each pair of quotes.

    `outside` has all cells, separated by delimiters, with one quote in place of each pair of quotes and its text:
    `"a""b"` has two pairs. `outline` is the same with one quote for each quoted cell, and line ends as delimiters.
    `rows` is the number of rows, `size` their bytes in the block.
    """

    outside: bytes
    outline: bytes
    inside: list[bytes]
    delimiter: bytes
    rows: int
    size: int

    def after(self, border: Border) -> Border:
        """The start of the row after these."""
        lines = self.rows + sum(text.count(b"\n") for text in self.inside)
        return Border(border.position + self.size, border.line + lines)

    def cells(self) -> tuple[list[bytes], list[int]]:
        """All cells, row after row, and the number of physical lines of each row."""
        cells = self.outside.split(self.delimiter)
        heights, width = [1] * self.rows, len(cells) // self.rows
        taken = 0
        for place in accumulate(between.count(b"\n") for between in self.outline.split(b'"')[:-1]):
            pairs = len(cells[place])
            cells[place] = self.inside[taken] if pairs == 1 else b'"'.join(self.inside[taken : taken + pairs])
            heights[place // width] += cells[place].count(b"\n")
            taken += pairs
        return cells, heights


def _plain_rows(block: bytes, text: DelimitedText) -> _PlainRows | None:
    """The complete rows at the start of a block; None if one is malformed, there is none, or the text is not UTF-8.

    Each cell is unquoted or quoted as a whole, and each row has all its cells, so the csv module would read the same.
    """
    if text.encoding != "utf-8":
        return None
    pieces = block.split(b'"')
    outside, inside = b'"'.join(pieces[::2]), pieces[1::2]
    if len(block) < BLOCK_BYTES and len(pieces) % 2 and not outside.endswith(b"\n"):
        outside += b"\n"  # the last row of the file
    outside = outside[: outside.rfind(b"\n") + 1]
    inside = inside[: outside.count(b'"')]
    size = min(len(block), len(outside) + len(inside) + sum(map(len, inside)))
    if outside.count(b"\r") != outside.count(b"\r\n"):
        return None
    delimiter = text.delimiter.encode()
    rows = outside.replace(b"\r\n", b"\n").split(b"\n")[:-1]
    if not rows or {row.count(delimiter) for row in rows} != {len(text.columns) - 1}:
        return None
    outline = joined = delimiter.join(rows)
    while b'""' in outline:
        outline = outline.replace(b'""', b'"')
    # Each cell has a line end of its own on both sides.
    apart = b"\n%b\n" % outline.replace(delimiter, b"\n\n")
    if apart.count(b'\n"\n') != outline.count(b'"'):
        return None
    return _PlainRows(joined, outline.replace(delimiter, b"\n"), inside, delimiter, len(rows), size)


def _plain_batches(
    file: str, plain: _PlainRows, line: int, columns: _Columns, window: Window | None, reading: Reading
) -> list[RowBatch] | None:
    """The rows of a block in batches; None if they have to be read one by one, as for keys inside JSON text."""
    if any(keys for _, keys in columns.values()):
        return None
    cells, heights = plain.cells()
    width = len(cells) // plain.rows
    lines = pl.Series([*accumulate(heights, initial=line)][:-1], dtype=pl.Int64)
    batches = []
    for start in range(0, len(lines), BATCH_ROWS):
        stop = start + BATCH_ROWS
        found = {name: cells[start * width + place : stop * width : width] for name, (place, _) in columns.items()}
        batch = cell_rows(file, found, lines[start:stop], window, reading.naive_zone)
        if batch is None:
            return None
        batches.append(batch)
    return batches


def _row_by_row(rows: DelimitedRows, columns: _Columns) -> Iterator[tuple[int, dict[str, object] | Unreadable]]:
    """Yields the rows that are not blank with their lines."""
    for row in rows:
        if isinstance(row, BrokenRow):
            yield row.line, Unreadable(row.code, row.reason)
        elif not row.is_blank:
            cells = row.cells
            yield row.line, {name: _cell_value(name, cells[place], keys) for name, (place, keys) in columns.items()}


def _cell_value(name: str, cell: str, keys: tuple[str, ...]) -> object:
    if keys:
        return value_in(cell, keys)
    return cell if name in TEXTS else cell or None
