"""Selects anchors: answered questions that the judge is asked again, so that a replaced judge is noticed.

Source: SPEC 11.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.judging.requests import canonical_json

ANCHORS = 100
ANCHOR_QUERIES = 30
"""Minimum number of queries of the anchors; with fewer they are asked all the same, and reported as too few."""
_FREE_TEXT = "reason"  # every schema has it, and no two answers have the same


@dataclass(frozen=True)
class Anchor:
    """A question with its expected answer; `key` is that of the verdict store, `material` is masked: as it was sent.

    `model` and `epoch` are those that gave the answer.
    """

    key: str
    rubric: str
    rubric_version: str
    kind: str
    material: Mapping[str, Any]
    answer: Mapping[str, Any]
    model: str
    epoch: str

    @property
    def query(self) -> str:
        """The question to the agent, '' if the material does not contain it."""
        return str(self.material.get("query") or self.material.get("query_text") or "")  # the latter of rubric files


def decision(answer: Mapping[str, Any]) -> str:
    """The decision of an answer, as JSON: all but its reason. Answers with equal scores have equal decisions."""
    return canonical_json({name: value for name, value in answer.items() if name != _FREE_TEXT})


def chosen_anchors(answered: Iterable[Anchor]) -> list[Anchor]:
    """At most `ANCHORS` questions, the same for the same answers in any order.

    Kinds and score levels take turns until there are enough; each turn selects a query with the fewest anchors so far.
    """
    levels: dict[tuple[str, str, str], list[Anchor]] = defaultdict(list)
    for one in sorted(answered, key=lambda one: one.key):
        levels[one.rubric, one.kind, _level(one.answer)].append(one)
    chosen: list[Anchor] = []
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
    """The level of a decision; for a list the number of distinct values: there are too many ways to group answers."""
    return decision({name: len(set(value)) if isinstance(value, list) else value for name, value in answer.items()})
