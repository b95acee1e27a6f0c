"""Names of settings: dotted in files and texts, with double underscores as a variable `AQB_...`, and of wrong ones
the nearest known ones.
"""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, get_args

from pydantic import BaseModel

PREFIX = "AQB_"

_ELEMENT = re.compile(r"\.([0-9]+)(?=\.|$)")


def nearest_names(unknown: Collection[str], known: Collection[str]) -> str:
    """The remedy for unknown names: the same name in other tables, else the nearest known ones, and where all are
    documented.
    """
    near = dict.fromkeys(one for name in unknown for one in _nearest(_ELEMENT.sub("[]", name), known))
    return (f"did you mean {', '.join(near)}? " if near else "") + "docs/reference/settings.md lists all that exist"


def _nearest(name: str, known: Collection[str]) -> list[str]:
    """The known names that end alike in other tables, else the one of its table whose end begins alike
    (`alerts.webhook`: `alerts.default.webhook_env`), else the one that is most like it.
    """
    between = "__" if name.startswith(PREFIX) else "."
    bare = {one: one.removeprefix(PREFIX) for one in sorted(known)}
    table, _, end = name.removeprefix(PREFIX).rpartition(between)
    alike = [one for one, other in bare.items() if other.rpartition(between)[2] == end and "[]" not in one]
    of_table = (one for one, other in bare.items() if table and other.startswith(f"{table}{between}"))
    longer = (one for one in of_table if f"{between}{end}" in one)
    return alike or [*islice(longer, 1)] or get_close_matches(name, known, 1)


def names_in_lists(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The names of settings in tables that stand in lists: `alerts.route[].mention`."""
    for name, field in section.model_fields.items():
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                inner = f"{prefix}{name}{'' if kind is field.annotation else '[]'}."
                yield from (f"{inner}{each}" for each in kind.model_fields if "[]" in inner)
                yield from names_in_lists(kind, inner)


def problem_text(name: str, message: str) -> str:
    """The problem of a setting; a problem of several settings together has no name. Tables of a list count from 1."""
    said = message.removeprefix("Value error, ")
    number = _ELEMENT.search(name)
    shown = _ELEMENT.sub("[]", name) + (f" (table {int(number[1]) + 1})" if number else "")
    return f"{shown}: {said}" if name else said


def leaves(tree: Mapping[str, Any], prefix: str = "", *, empty_tables: bool = False) -> Iterator[tuple[str, Any]]:
    """Each value of a tree with its dotted name."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and (value or not empty_tables):
            yield from leaves(value, f"{prefix}{name}.", empty_tables=empty_tables)
        else:
            yield prefix + name, value


def environment() -> dict[str, str]:
    """The variables of settings, with names in capitals."""
    return {name.upper(): value for name, value in os.environ.items() if name.upper().startswith(PREFIX)}


def variable_of(name: str) -> str:
    """The variable of the setting with a dotted name."""
    return PREFIX + name.upper().replace(".", "__")


def is_json(text: str) -> bool:
    """Whether a variable has the syntax used for lists and tables."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
