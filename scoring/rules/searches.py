"""Optimises text searches, which cost most of the time of scoring: each runs once, and only on rows that need it.

The meaning of the rules does not change. Only `polars_backend` uses this.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from scoring.rules.expressions import AllOf, AnyOf, Column, ContainsAny, Count, Definition, Expression, Length, Matches

SEARCH_PREFIX = "_search_"
"""Prefix of internal columns that only the rules themselves use."""

_SEARCHES = (Length, Count, Matches, ContainsAny)
_REPEATED_AT_START = re.compile(r"(\[\^?+\]?+(?:\\.|[^\]\\])*\]\{[0-9]+),[0-9]*\}(?!\?)")
_ONCE_OR_MORE_AT_END = re.compile(r"(?<!\\)\+\Z")


def with_searches(definitions: Sequence[Definition]) -> list[Definition]:
    """The definitions, preceded by a column for each search that they use; a search that is itself a definition is
    reused. A search in a text that a definition gives follows that definition.

    Searches after the first term of an AND or an OR stay there: they run only where that term does not decide.
    """
    named: dict[Any, Column] = {
        one.expression: Column(one.name) for one in definitions if isinstance(one.expression, _SEARCHES)
    }
    for search in _searches(tuple(one.expression for one in definitions)):
        named.setdefault(search, Column(f"{SEARCH_PREFIX}{len(named)}"))
    # The longest first, so that each follows those that imply it.
    ordered = sorted(named, key=lambda search: -len(search.pattern.regex) if isinstance(search, Matches) else 0)
    searched: dict[str, list[Definition]] = defaultdict(list)
    for search in ordered:
        searched[search.text.name].append(Definition(named[search].name, _unless_implied(search, named), "", ""))
    names = {one.name for one in definitions}
    found = [search for text, searches in searched.items() if text not in names for search in searches]
    for one in definitions:
        if named.get(one.expression) != Column(one.name):
            found.append(replace(one, expression=_rewritten(one.expression, named)))
        found += searched.get(one.name, [])
    return found


def shortest(regex: str) -> str:
    """A shorter regex that matches in the same texts: `[0-9]{1}(,[0-9]{3})` for `[0-9]{1,3}(,[0-9]{3})+`."""
    if found := _REPEATED_AT_START.match(regex):
        regex = f"{found[1]}}}{regex[found.end() :]}"
    return _ONCE_OR_MORE_AT_END.sub("", regex)


def _searches(node: object) -> Iterator[Any]:
    """The searches that run on every row."""
    match node:
        case Length() | Count() | Matches() | ContainsAny():
            yield node
        case AllOf((first, *others)) | AnyOf((first, *others)):
            yield from _searches((first, *(term for term in others if not isinstance(term, (Matches, ContainsAny)))))
        case tuple():
            for item in node:
                yield from _searches(item)
        case _ if is_dataclass(node):
            for field in fields(node):
                yield from _searches(getattr(node, field.name))


def _unless_implied(search: Expression, named: Mapping[Expression, Column]) -> Expression:
    """A search that is skipped where another one implies its result: a text with `2026-02-13` has `2026-02`."""
    implying = next((column for other, column in named.items() if _implies(other, search)), None)
    return AnyOf((implying, search)) if implying else search


def _implies(one: Expression, other: Expression) -> bool:
    """Whether the regex of the first begins with the whole regex of the second."""
    if not isinstance(one, Matches) or not isinstance(other, Matches) or one.text != other.text:
        return False
    long, short = one.pattern.regex, other.pattern.regex
    return len(long) > len(short) and long.startswith(short) and "|" not in long and long[len(short)] not in "*+?{"


def _rewritten(node: Any, named: Mapping[Any, Column]) -> Any:
    """The same expression with columns instead of searches."""
    if isinstance(node, tuple):
        return tuple(_rewritten(item, named) for item in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    if isinstance(node, _SEARCHES):
        return named.get(node, node)
    return replace(node, **{field.name: _rewritten(getattr(node, field.name), named) for field in fields(node)})
