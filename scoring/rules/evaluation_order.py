"""Orders the definitions of a rubric by their dependencies."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from scoring.errors import RuleError
from scoring.rules.expressions import Column, Definition, MostLost


def steps(definitions: Sequence[Definition]) -> list[list[Definition]]:
    """Definitions grouped so that each uses only input columns and columns of earlier groups.

    The number of groups is minimal, and each definition is placed in the last group before its users: definitions of
    one group share a common search.

    Raises:
        RuleError: two definitions of one name, or one that uses a column defined after it.
    """
    names = [definition.name for definition in definitions]
    if len(set(names)) != len(names):
        raise RuleError(f"a column is defined twice: {sorted({n for n in names if names.count(n) > 1})}")
    uses = {definition.name: set(columns_of(definition.expression)) for definition in definitions}
    earliest: dict[str, int] = {}
    for position, name in enumerate(names):
        if late := uses[name] & set(names[position:]):
            raise RuleError(f"{name} uses {sorted(late)} before it is defined")
        earliest[name] = 1 + max((earliest[used] for used in uses[name] if used in earliest), default=-1)
    groups = max(earliest.values(), default=-1) + 1
    latest: dict[str, int] = dict.fromkeys(names, groups - 1)
    for name in reversed(names):
        for used in uses[name] & latest.keys():
            latest[used] = min(latest[used], latest[name] - 1)
    return [[one for one in definitions if latest[one.name] == group] for group in range(groups)]


def columns_of(node: object) -> Iterator[str]:
    """The names of all columns that a node uses, at any depth."""
    if isinstance(node, Column):
        yield node.name
    elif isinstance(node, MostLost):
        yield from (name for name, _ in node.components)
    elif isinstance(node, tuple):
        for item in node:
            yield from columns_of(item)
    elif is_dataclass(node):
        for field in fields(node):
            yield from columns_of(getattr(node, field.name))
