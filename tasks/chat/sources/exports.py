"""Chat rows from what other tools export: JSON Lines whose objects a format turns into rows.

Source: SPEC 13.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from scoring.chat.exports import Names, Turn
from scoring.chat.exports.langfuse import langfuse_turns
from scoring.chat.exports.openai_log import openai_turns
from scoring.chat.exports.otel_genai import otel_turns
from scoring.chat.exports.phoenix import phoenix_turns
from scoring.chat.reading import Format, Reading, no_column
from scoring.chat.rows import RowBatch, RowBuilder, Unreadable
from scoring.days import Window
from scoring.errors import InputError
from tasks.chat.sources.json_objects import json_objects
from tasks.chat.sources.pieces import FilePiece, refuse_replaced

_TurnReader = Callable[[dict[str, object], Names], Iterator[Turn | Unreadable]]
_FORMATS: Mapping[Format, _TurnReader] = {
    "otel-genai": otel_turns,
    "langfuse": langfuse_turns,
    "openai-log": openai_turns,
    "phoenix": phoenix_turns,
}
EXPORT_ENDINGS = (".jsonl", ".ndjson", ".json")


def read_export(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Batches of the turns of a file in the order of its lines, of which each may hold any number of them.

    Raises InputError for a file of which no line is of the format, and for a name of `[monitoring.columns]` that no
    turn has.
    """
    turns_in = _FORMATS[reading.format]
    with piece.path.open("rb") as file:
        refuse_replaced(piece, file)
        _refuse_other(piece.path, file, reading)
        builder = RowBuilder(str(piece.path), window, reading.naive_zone)
        for line, found in json_objects(piece, file):
            for turn in [found] if isinstance(found, Unreadable) else turns_in(found, reading.names):
                if isinstance(turn, Unreadable):
                    builder.reject(line, *turn)
                else:
                    builder.add(line, turn)
                if builder.full:
                    yield builder.take()
        yield builder.take()


def _refuse_other(path: Path, file: BinaryIO, reading: Reading) -> None:
    """Reads until there is an object of the format and a turn with each of the names: a line of a usual file."""
    # Under the names of their settings, for a format fills columns itself.
    named = {f"monitoring.columns.{name}": called for name, called in reading.names.items()}
    is_empty, is_other, turns, missing = True, True, 0, named
    for _, found in json_objects(FilePiece(path), file):
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
            where=str(path),
            fix="export it as JSON Lines in UTF-8 that are not packed, "
            "or set monitoring.format (aqb score: --format) to what wrote it",
        )
    if turns and missing:
        setting, called = next(iter(missing.items()))
        raise no_column(str(path), called, setting.rpartition(".")[2], f"none of {turns:,} turns has it")
