"""Reads chat rows from exports of other tools: JSON Lines, or Parquet of Langfuse, whose objects a format converts.

Source: SPEC 13.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

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
from tasks.chat.sources.parquet_objects import parquet_objects
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
    builder = RowBuilder(str(piece.path), window, reading.naive_zone)
    for line, found in _objects(piece, reading):
        for turn in [found] if isinstance(found, Unreadable) else turns_in(found, reading.names):
            if isinstance(turn, Unreadable):
                builder.reject(line, *turn)
            else:
                builder.add(line, turn)
            if builder.full:
                yield builder.take()
    yield builder.take()


def _objects(piece: FilePiece, reading: Reading) -> Iterator[tuple[int, dict[str, object] | Unreadable]]:
    """Yields the objects of a piece with the number of their line or row."""
    if piece.path.suffix.lower() == _PARQUET:
        fields, names = _PARQUET_FIELDS[reading.format], reading.names.values()
        yield from parquet_objects(
            piece, lambda column: column in fields or any(f"{name}.".startswith(f"{column}.") for name in names)
        )
        return
    with piece.path.open("rb") as file:
        refuse_replaced(piece, file)
        yield from json_objects(piece, file)


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
