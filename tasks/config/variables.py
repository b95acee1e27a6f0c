"""Names of settings: dotted in files and texts, with double underscores as a variable `AQB_...`."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

PREFIX = "AQB_"


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
