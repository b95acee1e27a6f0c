"""Reads chat rows from exports of other tools: JSON Lines, or Parquet of Langfuse, whose objects a format converts.

Source: SPEC 13.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime

import pyarrow as pa
from pyarrow import types

from scoring.chat.exports import Names, Turn
from scoring.chat.exports.langfuse import FIELDS, langfuse_turns
from scoring.chat.exports.openai_log import openai_turns
from scoring.chat.exports.otel_genai import otel_turns
from scoring.chat.exports.phoenix import phoenix_turns
from scoring.chat.reading import Format, Reading, no_column
from scoring.chat.rows import RowBatch, RowBuilder, Unreadable
from scoring.days import Window
from scoring.errors import InputError
from tasks.chat.sources.json_objects import json_objects
from tasks.chat.sources.parquet import opened_parquet
from tasks.chat.sources.pieces import FilePiece, refuse_replaced

_TurnReader = Callable[[dict[str, object], Names], Iterator[Turn | Unreadable]]
_FORMATS: Mapping[Format, _TurnReader] = {
    "otel-genai": otel_turns,
    "langfuse": langfuse_turns,
    "openai-log": openai_turns,
    "phoenix": phoenix_turns,
}
_LINES = (".jsonl", ".ndjson", ".json")
_PARQUET = ".parquet"
_PARQUET_FIELDS: Mapping[Format, Collection[str]] = {"langfuse": FIELDS}
_ROWS_AT_ONCE = 64


def export_endings(form: Format) -> tuple[str, ...]:
    """The file name endings of a format."""
    return (*_LINES, _PARQUET) if form in _PARQUET_FIELDS else _LINES


def read_export(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Yields batches of the turns of a file in the order of its lines or rows; each may hold any number of turns.

    Raises InputError if the file has lines and none is of the format, and for a name of `[monitoring.columns]` that no
    turn has.
    """
    turns_in = _FORMATS[reading.format]
    _refuse_other(piece, reading)
    turns = (
        (line, turn)
        for line, found in _objects(piece, reading)
        for turn in ([found] if isinstance(found, Unreadable) else turns_in(found, reading.names))
    )
    yield from RowBuilder(str(piece.path), window, reading.naive_zone).batches(turns)


def _objects(piece: FilePiece, reading: Reading) -> Iterator[tuple[int, dict[str, object] | Unreadable]]:
    """Yields the objects of a piece with the number of their line or row."""
    if piece.path.suffix.lower() == _PARQUET:
        yield from _parquet_objects(piece, reading)
        return
    with piece.path.open("rb") as file:
        refuse_replaced(piece, file)
        yield from json_objects(piece, file)


def _parquet_objects(piece: FilePiece, reading: Reading) -> Iterator[tuple[int, dict[str, object]]]:
    """Yields the number of each row, from 1, with its values in the columns that are read.

    Times are text in ISO 8601, maps are objects, and bytes that are not UTF-8 become lone surrogates. Raises InputError
    for texts that are much larger than their file.
    """
    with opened_parquet(piece.path) as source:
        refuse_replaced(piece, source.opened)
        read = [*_PARQUET_FIELDS[reading.format], *reading.names.values()]
        columns = [
            name for name in source.file.schema_arrow.names if any(f"{one}.".startswith(f"{name}.") for one in read)
        ]
        rows = min(source.rows_that_fit(columns, source.groups), _ROWS_AT_ONCE)
        number = 1
        for batch in source.file.iter_batches(rows, columns=columns, use_threads=False):
            source.count_text(batch.nbytes)
            values = [_values(column) for column in batch.columns]
            for place in range(batch.num_rows):
                yield number, {name: of_column[place] for name, of_column in zip(columns, values, strict=True)}
                number += 1


def _values(column: pa.Array) -> list[object]:
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = column.cast(pa.large_binary())  # which may hold bytes that are not UTF-8
    elif types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return [_plain(value) for value in column.to_pylist(maps_as_pydicts="lossy")]


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value.isoformat() if isinstance(value, datetime) else value


def _refuse_other(piece: FilePiece, reading: Reading) -> None:
    """Refuses a file of another format, or in which no turn has a configured name; reads one line of a usual file."""
    # By the names of their settings, because a format itself fills columns.
    named = {f"monitoring.columns.{name}": called for name, called in reading.names.items()}
    is_empty, is_other, turns, missing = True, True, 0, named
    for _, found in _objects(FilePiece(piece.path, inode=piece.inode), reading):
        is_empty = False
        if isinstance(found, Unreadable):
            continue
        held = list(_FORMATS[reading.format](found, named))
        is_other = (
            is_other
            and held != []
            and all(isinstance(turn, Unreadable) and turn.code == "other_format" for turn in held)
        )
        for turn in held:
            if not isinstance(turn, Unreadable):
                turns += 1
                missing = {setting: called for setting, called in missing.items() if setting not in turn}
        if not is_other and not missing:
            return
    if is_other and not is_empty:
        raise InputError(
            f"no line holds an object of the format {reading.format}",
            where=str(piece.path),
            fix="export it as JSON Lines in UTF-8 that are not packed, "
            "or set monitoring.format (aqb score: --format) to what wrote it",
        )
    if turns and missing:
        setting, called = next(iter(missing.items()))
        raise no_column(str(piece.path), called, setting.rpartition(".")[2], f"none of {turns:,} turns has it")
