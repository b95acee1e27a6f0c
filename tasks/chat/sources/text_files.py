"""Chat rows from text: CSV and TSV by the names in the header, JSON Lines by the keys of an object a line."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO

from scoring.chat.reading import READ_COLUMNS, REQUIRED_COLUMNS, Reading, column_places, place_of, value_in
from scoring.chat.row_ids import TEXTS
from scoring.chat.rows import RowBatch, RowBuilder
from scoring.days import Window
from scoring.errors import InputError
from scoring.inputs import BrokenRow
from scoring.limits import LONGEST_LINE
from tasks.chat.sources.pieces import FilePiece, refuse_replaced
from tasks.files.csv_reader import DelimitedText


def read_json_lines(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Batches of the rows of a file; null and the empty text stay apart, blank lines are no rows.

    BigQuery writes NULL by leaving the key out: a lacking key is NULL, and a column is missing only when no object of
    the file has it. A flat `session_id` stands above `request_metadata`. Raises InputError for a file without objects
    or a required column.

    Source: SPEC 1.1.
    """
    path = piece.path
    builder = RowBuilder(str(path), window, reading.naive_zone)
    # Opened once: a file that is replaced meanwhile is another one.
    with path.open("rb") as file:
        refuse_replaced(piece, os.fstat(file.fileno()).st_ino)
        _refuse_missing_keys(path, file, reading.names)
        for line, text in _lines(piece, file):
            found = _parsed(text)
            if isinstance(found, dict):
                builder.add(line, _named(found, reading.names) if reading.names else found)
            elif isinstance(found, _NotJson):
                builder.reject(line, "not_json", f"JSON으로 읽을 수 없습니다: {found}")
            else:
                builder.reject(line, "not_an_object", "JSON 객체가 아닙니다: 한 줄에 객체 하나가 있어야 합니다.")
            if builder.full:
                yield builder.take()
    yield builder.take()


class _NotJson(str):
    """Where and why a line stops being JSON, without its content."""


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return _NotJson(f"{error.pos + 1}번째 글자에서 {error.msg}")
    except (ValueError, RecursionError) as error:
        return _NotJson("너무 깊습니다." if isinstance(error, RecursionError) else "너무 긴 정수가 있습니다.")


def _lines(piece: FilePiece, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Number and text of each line that is not blank; bytes that are no UTF-8 become lone surrogates."""
    file.seek(piece.start)
    left = math.inf if piece.stop is None else piece.stop - piece.start
    for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), start=piece.first_line):
        if left <= 0:
            return
        left -= len(raw)
        if len(raw) == LONGEST_LINE:
            raise InputError(
                f"line {number} is longer than {LONGEST_LINE:,} bytes: expected one JSON object a line",
                where=str(piece.path),
                fix="check that it is JSON Lines, and export it again",
            )
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if text := raw.decode("utf-8", "surrogateescape").strip(" \t\r\n"):
            yield number, text


def _named(found: dict[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """The values of an object by the names of chat rows; what is not there is left out."""
    places = {name: place_of(names.get(name, name), found) for name in READ_COLUMNS}
    return {name: value_in(found[place.column], place.keys) for name, place in places.items() if place}


def _refuse_missing_keys(path: Path, file: BinaryIO, names: Mapping[str, str]) -> None:
    """Reads until every required key was seen: one line of a usual file, all of a wrong one."""
    called = {name: names.get(name, name) for name in READ_COLUMNS}
    seen: dict[str, None] = {}
    for _, text in _lines(FilePiece(path), file):
        found = _parsed(text)
        if isinstance(found, dict):
            seen.update(dict.fromkeys(place.column for name in called.values() if (place := place_of(name, found))))
            if all(place_of(called[name], seen) for name in REQUIRED_COLUMNS):
                return
    if not seen:
        raise InputError(
            "no line holds an object with one of the expected keys",
            where=str(path),
            fix=f"write one JSON object a line, with the keys {', '.join(called[name] for name in REQUIRED_COLUMNS)}",
        )
    column_places(str(path), tuple(seen), names)


def read_delimited(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Batches of the rows of a file, split at commas, or at tabs when its name ends in `.tsv`.

    An empty cell of the two texts is the empty text, elsewhere NULL; a row of empty cells is a blank line, and no row.
    A flat `session_id` stands above `request_metadata`, which holds JSON here. Raises InputError for a file without
    header or required columns.

    Source: SPEC 1.1.
    """
    path = piece.path
    table = DelimitedText(path, "\t" if path.suffix.lower() == ".tsv" else ",")
    found = column_places(str(path), table.columns, reading.names)
    places = [(name, table.columns.index(place.column), place.keys) for name, place in found.items()]
    builder = RowBuilder(str(path), window, reading.naive_zone)
    for row in table.rows():
        if isinstance(row, BrokenRow):
            builder.reject(row.line, row.code, row.reason)
        elif not row.is_blank:
            cells = row.cells
            builder.add(row.line, {name: _cell_value(name, cells[place], keys) for name, place, keys in places})
        if builder.full:
            yield builder.take()
    yield builder.take()


def _cell_value(name: str, cell: str, keys: tuple[str, ...]) -> object:
    if keys:
        return value_in(cell, keys)
    return cell if name in TEXTS else cell or None
