"""The checks that an expected result asks for: values only, how they are written and judged stands
elsewhere."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from scoring.testruns.cells import truth
from scoring.testruns.json_path import JsonPath

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


@dataclass(frozen=True, slots=True)
class MessageCheck:
    """The assistant message names every keyword, or with `any_of` at least one."""

    text: str
    source: Source
    keywords: tuple[str, ...]
    any_of: bool = False
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class NumberCheck:
    """The assistant message states every number."""

    text: str
    source: Source
    numbers: tuple[Fraction, ...]
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Condition:
    """A key of `ENTRY_KEYS` has one of the values."""

    key: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class EntryCheck:
    """An entry of `dataUIList` meets every condition."""

    text: str
    source: Source
    conditions: tuple[Condition, ...]
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """An opener ("존재하는가") and its followers ("해당 항목의"), to be met by one and the same entry."""

    opener: EntryCheck
    followers: tuple[EntryCheck, ...] = ()

    @property
    def checks(self) -> tuple[EntryCheck, ...]:
        return (self.opener, *self.followers)


@dataclass(frozen=True, slots=True)
class PathCheck:
    """What a literal path of the response leads to exists, equals, contains, is among or matches `value`."""

    text: str
    source: Source
    path: JsonPath
    op: Op
    value: object
    weight: Fraction = Fraction(1)


Check: TypeAlias = MessageCheck | NumberCheck | EntryCheck | PathCheck
Item: TypeAlias = MessageCheck | NumberCheck | EntryGroup | PathCheck


def declared_as(item: Item) -> tuple[str, str, str] | None:
    """The path, operation and value that a `@check` or a JSON check asks for; None for checklists.

    Two declared checks with the same three ask one question. A `dataKey` of a `@check` looks anywhere
    inside `value`, so it is another question than the literal path. Source: seed 004, 정확성.
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
