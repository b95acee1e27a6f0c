"""The checks of an expected result, as values; other modules parse and evaluate them."""

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from scoring.testruns.cells import truth

Source: TypeAlias = Literal["check", "checklist", "json"]
Op: TypeAlias = Literal["exists", "eq", "contains", "in", "regex"]
OPS: tuple[Op, ...] = ("exists", "eq", "contains", "in", "regex")

ENTRY_KEYS = (
    "formType", "actionType", "dataKey", "buttonKey", "buttonUrlContains", "multiSelectAllowYn", "filterType",
    "setting",
)  # fmt: skip
CHECK_KEYS = (*ENTRY_KEYS, "assistantMessageContains", "numberContains")
# "value 내": these are looked for anywhere inside `value`.
VALUE_KEYS = ("dataKey", "buttonKey")
# The page of a `buttonUrl`, which only a URL as expected result asks for.
PAGE_KEY = "buttonUrl"

_STEP = re.compile(r"\.?([^\s.\[\]'\"*]+)|\[\s*(\*|[0-9]{1,9})\s*\]|\[\s*(?:'([^']+)'|\"([^\"]+)\")\s*\]")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """The steps of a path from the top of a response: a name, an index from 0, or None for every item of a list."""

    steps: tuple[str | int | None, ...]

    def __str__(self) -> str:
        parts = (f".{s}" if isinstance(s, str) else f"[{'*' if s is None else s}]" for s in self.steps)
        return "".join(parts).removeprefix(".")

    @classmethod
    def parse(cls, text: str) -> "JsonPath | None":
        """Parses a path, with or without a leading `$`; None if the text is no path."""
        text = text.strip().removeprefix("$")
        steps: list[str | int | None] = []
        position = 0
        while position < len(text):
            match = _STEP.match(text, position)
            if not match or (position and match.group(1) and not match.group().startswith(".")):
                return None
            name = match.group(1) or match.group(3) or match.group(4)
            place = match.group(2)
            steps.append(name or (None if place == "*" else int(place)))
            position = match.end()
        return cls(tuple(steps)) if steps else None

    def find(self, document: object) -> list[object]:
        """All values at the path, in order; [] if there are none."""
        found = [document]
        for step in self.steps:
            found = [item for value in found for item in _step_into(value, step)]
        return found


def _step_into(value: object, step: str | int | None) -> list[object]:
    if isinstance(step, str):
        return [value[step]] if isinstance(value, dict) and step in value else []
    if not isinstance(value, list):
        return []
    if step is None:
        return value
    return [value[step]] if step < len(value) else []


@dataclass(frozen=True, slots=True)
class _Written:
    """How a check was written, and its weight."""

    text: str
    source: Source
    weight: Fraction = field(default=Fraction(1), kw_only=True)


@dataclass(frozen=True, slots=True)
class MessageCheck(_Written):
    """The assistant message names every keyword, or with `any_of` at least one."""

    keywords: tuple[str, ...]
    any_of: bool = False


@dataclass(frozen=True, slots=True)
class NumberCheck(_Written):
    """The assistant message states every number."""

    numbers: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A key of `ENTRY_KEYS` has one of the values."""

    key: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class EntryCheck(_Written):
    """An entry of `dataUIList` meets every condition."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """An opener ("존재하는가") and its followers ("해당 항목의"), to be met by one and the same entry."""

    opener: EntryCheck
    followers: tuple[EntryCheck, ...] = ()

    @property
    def checks(self) -> tuple[EntryCheck, ...]:
        return (self.opener, *self.followers)

    @property
    def source(self) -> Source:
        return self.opener.source


@dataclass(frozen=True, slots=True)
class PathCheck(_Written):
    """What a literal path of the response leads to exists, equals, contains, is among or matches `value`."""

    path: JsonPath
    op: Op
    value: object


Check: TypeAlias = MessageCheck | NumberCheck | EntryCheck | PathCheck
Item: TypeAlias = MessageCheck | NumberCheck | EntryGroup | PathCheck


def declared_as(item: Item) -> tuple[str, str, str] | None:
    """Path, operation and value of a `@check` or a JSON check; None for checklists.

    Two declared checks with the same three values are one question. A `dataKey` of a `@check` is searched anywhere
    inside `value`, so it differs from the literal path. Source: seed 004, 정확성.
    """
    match item:
        case PathCheck(path=path, op=op, value=value):
            return str(path), op, _canonical(value)
        case MessageCheck(source="check" | "json", keywords=(keyword,)):
            return "assistantMessage", "contains", _canonical(keyword)
        case NumberCheck(source="check" | "json", numbers=numbers):
            return "assistantMessage", "numbers", str(numbers)
        case EntryGroup(opener=EntryCheck(source="check" | "json", conditions=(only,))):
            key, op = only.key.removesuffix("Contains"), "contains" if only.key.endswith("Contains") else "eq"
            inside = "value.." if key in VALUE_KEYS else ""
            return f"dataUIList[*].uiValue.{inside}{key}", op, "|".join(map(_canonical, only.values))
    return None


def _canonical(value: object) -> str:
    boolean = truth(value) if isinstance(value, bool | str) and str(value).strip().isalpha() else None
    if boolean is not None:
        return str(boolean)
    try:
        return value.strip() if isinstance(value, str) else json.dumps(value, sort_keys=True)
    except RecursionError:
        return str(id(value))
