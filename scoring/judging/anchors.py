"""Anchors: questions that the judge has answered and is asked again, so that a judge that was replaced is noticed.

Source: SPEC 11.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.judging.requests import canonical_json

ANCHORS = 100
ANCHOR_QUERIES = 30
"""From how many queries anchors should come; fewer are asked all the same, and people are told."""
_FREE_TEXT = "reason"  # every schema has it, and no two answers have the same


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its verdict; `key` is that of the verdict store, `query` what the agent was asked."""

    key: str
    rubric: str
    kind: str
    query: str
    answer: Mapping[str, Any]


def decision(answer: Mapping[str, Any]) -> str:
    """What an answer decides, as JSON: everything but its reason. The same for answers that give the same scores."""
    return canonical_json({name: value for name, value in answer.items() if name != _FREE_TEXT})


def chosen_anchors(answered: Iterable[AnsweredQuestion]) -> list[AnsweredQuestion]:
    """At most `ANCHORS` questions, the same for the same answers in any order.

    Every kind and score level has its turn until there are enough, each with the query that has the fewest so far.
    """
    levels: dict[tuple[str, str, str], list[AnsweredQuestion]] = defaultdict(list)
    for one in sorted(answered, key=lambda one: one.key):
        levels[one.rubric, one.kind, _level(one.answer)].append(one)
    chosen: list[AnsweredQuestion] = []
    of_query: Counter[str] = Counter()
    while any(levels.values()):
        for level in filter(None, (levels[name] for name in sorted(levels))):
            if len(chosen) == ANCHORS:
                return chosen
            one = min(level, key=lambda one: (of_query[one.query], one.key))
            level.remove(one)
            of_query[one.query] += 1
            chosen.append(one)
    return chosen


def _level(answer: Mapping[str, Any]) -> str:
    """What is decided, of a list how many different values: groups of answers can be drawn in too many ways."""
    return decision({name: len(set(value)) if isinstance(value, list) else value for name, value in answer.items()})
