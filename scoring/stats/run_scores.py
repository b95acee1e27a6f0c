"""The scores of a test run as they are compared with those of another: by query, and by round."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from scoring.stats.outages import NO_EXECUTIONS, Failures

TOTAL: Final = "weighted_total"
TOTAL_TITLE: Final = "종합 점수"


class ScoreOfRound(NamedTuple):
    """The points of one execution in a metric, None where they are not known, and why (Korean)."""

    points: float | None
    reason: str = ""


@dataclass(frozen=True)
class QueryScores:
    """One query of a run: its text, its score per metric (None where unknown), and the number of its executions.

    `reasons`: metric -> why its worst execution has its score (Korean); `rounds`: round -> metric -> the score of its
    execution, {} where they are not known. `groups`: what people sort it by (Korean) -> where it belongs, as its file
    says. `rates`: rate -> its share, 0 to 1, of the executions that count, else None. `expected` is the same where two
    runs expect the same of a query, '' where it is not known.
    """

    text: str
    scores: Mapping[str, float | None]
    executions: int = 1
    reasons: Mapping[str, str] = field(default_factory=dict)
    rounds: Mapping[str, Mapping[str, ScoreOfRound]] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, float | None] = field(default_factory=dict)
    expected: str = ""


@dataclass(frozen=True)
class TestRunScores:
    """One scored run: its name and rubric, its queries by id. `withheld` metrics have too many undecided queries.

    `epochs`: metric -> what judged it; those that rules score are not among them. `failures` counts its executions.
    `sha256` is the hash of its file, '' where it is not known.
    """

    name: str
    rubric: str
    rubric_version: str
    queries: Mapping[str, QueryScores]
    withheld: frozenset[str] = frozenset()
    epochs: Mapping[str, str] = field(default_factory=dict)
    failures: Failures = NO_EXECUTIONS
    sha256: str = ""


def expect_otherwise(before: QueryScores, after: QueryScores) -> bool:
    """Whether the runs are known to expect different things of a query.

    Marks of earlier code are a digit shorter: they do not say whether there was a ground truth.
    """
    return any(mark != other for mark, other in zip(before.expected, after.expected, strict=False))


def rounds_differ(before: QueryScores, after: QueryScores) -> bool:
    """Whether one run is known to have rounds of a query that the other does not have."""
    return bool(before.rounds and after.rounds) and before.rounds.keys() != after.rounds.keys()


def of_same_rounds(before: QueryScores, after: QueryScores) -> tuple[QueryScores, QueryScores]:
    """The scores of a query in the rounds that both runs have, where one has others, too.

    None for the total and metrics of repeats, which no round has: nobody knows what fewer rounds would give them.
    """
    if not rounds_differ(before, after):
        return before, after
    both = sorted(before.rounds.keys() & after.rounds.keys())

    def mean(name: str, query: QueryScores) -> float | None:
        points = [query.rounds[one][name].points for one in both if name in query.rounds[one]]
        known = [one for one in points if one is not None]
        return sum(known) / len(known) if known and len(known) == len(points) else None

    first, second = (
        replace(
            query,
            scores={name: mean(name, query) for name in query.scores},
            executions=max(len(both), 1),
            rounds={one: query.rounds[one] for one in both},
            rates=dict.fromkeys(query.rates),
        )
        for query in (before, after)
    )
    return first, second
