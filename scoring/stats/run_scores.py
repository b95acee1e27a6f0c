"""The scores of a test run, by query and by round, for the comparison with another run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from scoring.stats.outages import NO_EXECUTIONS, Failures

TOTAL: Final = "weighted_total"
TOTAL_TITLE: Final = "종합 점수"


class ScoreOfRound(NamedTuple):
    """The points of one execution in a metric, None if unknown, and the reason (Korean)."""

    points: float | None
    reason: str = ""


@dataclass(frozen=True)
class QueryScores:
    """One query of a run: its text, its score per metric (None if unknown), and the number of its executions.

    `reasons`: metric -> the reason for the score of its worst execution (Korean); `rounds`: round -> metric -> the
    score of its execution, {} if unknown. `groups`: kind of group (Korean) -> the query's group, as its file says.
    `rates`: rate -> its share, 0 to 1, of the executions that count, else None. `expected` is equal for two runs with
    the same expectation of a query, '' if unknown.
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

    `epochs`: metric -> the judge that scored it; metrics scored by rules are missing. `failures` counts its executions.
    `sha256` is the hash of its file, '' if unknown.
    """

    name: str
    rubric: str
    rubric_version: str
    queries: Mapping[str, QueryScores]
    withheld: frozenset[str] = frozenset()
    epochs: Mapping[str, str] = field(default_factory=dict)
    failures: Failures = NO_EXECUTIONS
    sha256: str = ""


def expect_otherwise(before: str, after: str) -> bool:
    """Whether two runs are known to have different expectations of a query, from its `expected` in both.

    Fingerprints of earlier versions are a digit shorter: they do not tell whether there was a ground truth.
    """
    return before != after and any(mark != other for mark, other in zip(before, after, strict=False))


def rounds_differ(before: QueryScores, after: QueryScores) -> bool:
    """Whether one run is known to have rounds of a query that the other does not have."""
    return bool(before.rounds and after.rounds) and before.rounds.keys() != after.rounds.keys()


def of_same_rounds(before: QueryScores, after: QueryScores) -> tuple[QueryScores, QueryScores]:
    """The scores of a query in the rounds that both runs have, if one of them has further rounds.

    None for the total and metrics of repeats, which have no round: their value over fewer rounds is unknown.
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
