"""Orders the definitions of a rubric: what can be computed together, and what has to wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from scoring.errors import RuleError
from scoring.expressions import Column, Definition, MostLost


def steps(definitions: Sequence[Definition]) -> list[list[Definition]]:
    """Definitions grouped so that each uses only input columns and columns of earlier groups.

    Raises:
        RuleError: two definitions of one name, or one that uses a column defined after it.
    """
    names = [definition.name for definition in definitions]
    if len(set(names)) != len(names):
        raise RuleError(f"a column is defined twice: {sorted({n for n in names if names.count(n) > 1})}")
    level: dict[str, int] = {}
    for position, definition in enumerate(definitions):
        used = set(_columns(definition.expression))
        if late := used & set(names[position:]):
            raise RuleError(f"{definition.name} uses {sorted(late)} before it is defined")
        level[definition.name] = 1 + max((level[name] for name in used if name in level), default=-1)
    grouped: list[list[Definition]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for definition in definitions:
        grouped[level[definition.name]].append(definition)
    return grouped


def _columns(node: object) -> Iterator[str]:
    """The names of all columns that a node uses, at any depth."""
    if isinstance(node, Column):
        yield node.name
    elif isinstance(node, MostLost):
        yield from (name for name, _ in node.components)
    elif isinstance(node, tuple):
        for item in node:
            yield from _columns(item)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _columns(getattr(node, field.name))
