"""Settings for reading chat rows: the file format, the names and locations of columns, the zone of naive timestamps.

Source: SPEC 1.1.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from scoring.chat.row_ids import TEXTS, TOKENS
from scoring.errors import InputError, counted
from scoring.judging.masking import masked

REQUIRED_COLUMNS = (*TEXTS, "timestamp", *TOKENS)
# `total_tokens`, `success` and `message_length` are not used for scores, `x_enc_data` is personal: none of them is ever
# read.
READ_COLUMNS = (*REQUIRED_COLUMNS, "tenant_id", "session_id", "request_metadata", "source_id")
UTC_ZONE = "UTC"
ROWS: Literal["rows"] = "rows"
Format = Literal["rows", "otel-genai", "langfuse", "openai-log", "phoenix"]
"""File formats: `rows` is a table with a row per turn, the others are exports of other tools."""
_NAMES_SHOWN, _NAME_CHARACTERS = 30, 30


@dataclass(frozen=True)
class Reading:
    """The column names in the files, by chat-row name, and the zone of timestamps without one.

    A name may be a dotted path into structs and JSON text. `format` is the export format of another tool.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    naive_zone: str = UTC_ZONE
    format: Format = ROWS


AS_IT_IS = Reading()


class Place(NamedTuple):
    """Location of a chat-row column: a column of the table, or a value inside it, below these keys."""

    column: str
    keys: tuple[str, ...] = ()


def column_places(where: str, found: Sequence[str], names: Mapping[str, str] | None = None) -> dict[str, Place]:
    """The locations of the chat-row columns in a table with the columns `found`, by chat-row name.

    `names` are the configured column names; None if the source has no setting for them.

    Raises:
        InputError: a required column is missing, or a column that is read exists more than once.
    """
    fix = f"chat rows have the columns {', '.join(REQUIRED_COLUMNS)}: give a table with these"
    if names is not None:
        fix += ', or say in aqb.toml under [monitoring.columns] what they are called here: user_input = "question"'
        fix += "; of what another tool wrote, set monitoring.format (aqb score: --format)"
        fix += "; a test run is CSV, TSV or XLSX"
    names = names or {}
    places = {name: place for name in READ_COLUMNS if (place := place_of(names.get(name, name), found))}
    missing = [name for name in REQUIRED_COLUMNS if name not in places]
    if wrong := [name for name in names if name not in places]:
        raise no_column(where, names[wrong[0]], wrong[0], _described(found, names))
    if missing:
        raise InputError(
            f"required columns are missing: {', '.join(missing)}; {_described(found, names)}",
            where=where,
            fix=fix,
        )
    read = {place.column for place in places.values()}
    if doubled := [name for name in found if name in read and found.count(name) > 1]:
        raise InputError(
            f"columns are there more than once: {', '.join(dict.fromkeys(doubled))}",
            where=where,
            fix="keep one column of each name: it is unclear which one is meant",
        )
    return places


def value_in(value: object, keys: Sequence[str]) -> object:
    """The value below these keys in an object or its JSON text; None if it is missing or cannot be read."""
    for key in keys:
        value = _object_in(value).get(key)
    return value


def holds(value: object, keys: Sequence[str]) -> bool:
    """Whether these keys exist in an object or its JSON text, even with the value null."""
    return not keys or keys[-1] in _object_in(value_in(value, keys[:-1]))


def _object_in(value: object) -> Mapping[str, object]:
    """An object, or the object in a JSON text; an empty one if there is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def no_column(where: str, called: str, name: str, found: str) -> InputError:
    """The error for a name in `[monitoring.columns]` that does not exist in the table."""
    return InputError(
        f"there is no column {called} for {name}; {found}", where=where, fix=f"correct monitoring.columns.{name}"
    )


class SoughtKeys:
    """Checks, while the cells of a file are read, that the JSON keys named in `[monitoring.columns]` exist.

    `keys` are the keys of each column, by chat-row name; `names` are the configured names in the file.
    """

    def __init__(self, keys: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> None:
        self._left = {name: keys[name] for name in names if keys.get(name)}
        self._names = names
        self._lacking: set[str] = set()

    @property
    def left(self) -> tuple[str, ...]:
        """The columns whose keys have not been found in any cell yet."""
        return tuple(self._left)

    def refuse_lacking(self, where: str, found: Iterable[Mapping[str, Iterable[object]]]) -> None:
        """Looks for all keys in cells, given by column, until they are found; cells without an object are ignored.

        Raises InputError for a column that has objects, none of them with the keys.
        """
        for cells in found if self._left else ():
            for name in self.left:
                self._search(name, cells[name])
            if not self._left:
                return
        if lacking := [name for name in self._left if name in self._lacking]:
            raise no_column(where, self._names[lacking[0]], lacking[0], "no object has it")

    def _search(self, name: str, cells: Iterable[object]) -> None:
        for cell in cells:
            if holds(cell, self._left[name]):
                del self._left[name]
                return
            if _object_in(cell):
                self._lacking.add(name)


def naive_text(count: int, zone: str) -> str:
    """A sentence that naive timestamps were read in a zone, and how to change it; '' if there were none."""
    if not count:
        return ""
    return (
        f"{counted(count, 'timestamp')} without a time zone, read as {zone}; "
        "monitoring.naive_timestamps (aqb score: --naive-timestamps) names another"
    )


def place_of(called: str, found: Collection[str]) -> Place | None:
    """The column with this name, else the longest prefix of a path that is a column."""
    parts = called.split(".")
    for length in range(len(parts), 0, -1):
        column = ".".join(parts[:length])
        if column in found:
            return Place(column, tuple(parts[length:]))
    return None


def _described(found: Sequence[str], names: Mapping[str, str]) -> str:
    """The column names of a file for an error message, masked; only their number if its first line may be data."""
    if not any(name.casefold() in READ_COLUMNS or name in names.values() for name in found):
        columns = counted(len(found), "column")
        return f"found {columns} without a known name: is the header line there, the delimiter right?"
    shown = ", ".join(masked(name, end=_NAME_CHARACTERS) for name in found[:_NAMES_SHOWN])
    return f"found {shown}" + (f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else "")
