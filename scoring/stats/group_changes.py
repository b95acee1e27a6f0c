"""The change of a score by group of queries, and the group that explains a loss."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, variance

from scoring.stats.distributions import student_quantile
from scoring.stats.intervals import TAIL, Interval, paired_difference

LEAST_QUERIES = 10
"""Minimum number of queries of a group with an interval: fewer differences are too often equal for resampling."""


@dataclass(frozen=True)
class MeasuredQuery:
    """A score of a query in both runs, and its groups: kind (`카테고리`) -> name; kinds without a group are missing."""

    groups: Mapping[str, str]
    base: float
    candidate: float


@dataclass(frozen=True)
class GroupChange:
    """The means of the `n` queries of a group ('' for queries without one); `interval` is that of the difference.

    `interval` is None for too few queries. A group `explains_loss` if it got significantly worse, significantly more
    than all other queries together, and the others did not get significantly worse.
    """

    kind: str
    name: str
    n: int
    base: float
    candidate: float
    interval: Interval | None
    explains_loss: bool

    @property
    def lost(self) -> float:
        """The points that the queries of the group lost in total."""
        return (self.base - self.candidate) * self.n


def changes_by_group(queries: Sequence[MeasuredQuery]) -> tuple[GroupChange, ...]:
    """The groups of every kind that has two or more groups, kind by kind, largest total loss first."""
    found: list[GroupChange] = []
    for kind in {kind: None for query in queries for kind in query.groups}:
        names = {query.groups.get(kind, ""): None for query in queries}
        if len(names) > 1:
            changes = [_change(kind, name, queries, len(names)) for name in names]
            found += sorted(changes, key=lambda one: (-one.lost, one.name))
    return tuple(found)


def explanation(groups: Iterable[GroupChange]) -> GroupChange | None:
    """The group that explains a loss; None if there is none, or several of one kind."""
    found: dict[str, list[GroupChange]] = {}
    for one in groups:
        if one.explains_loss and one.name:
            found.setdefault(one.kind, []).append(one)
    return next((of_kind[0] for of_kind in found.values() if len(of_kind) == 1), None)


def _change(kind: str, name: str, queries: Sequence[MeasuredQuery], groups: int) -> GroupChange:
    of_group = [query for query in queries if query.groups.get(kind, "") == name]
    others = [query for query in queries if query.groups.get(kind, "") != name]
    base, candidate = (sum(scores) / len(of_group) for scores in _scores(of_group))
    interval = _interval(of_group)
    rest = _interval(others)
    is_apart = _is_worse(interval) and rest is not None and not _is_worse(rest)
    explains = is_apart and _lost_more(of_group, others, groups)
    return GroupChange(kind, name, len(of_group), base, candidate, interval, explains)


def _scores(queries: Sequence[MeasuredQuery]) -> tuple[list[float], list[float]]:
    return [query.base for query in queries], [query.candidate for query in queries]


def _interval(queries: Sequence[MeasuredQuery]) -> Interval | None:
    if len(queries) < LEAST_QUERIES:
        return None
    difference = paired_difference(*_scores(queries))
    return difference.interval if difference else None


def _lost_more(of_group: Sequence[MeasuredQuery], others: Sequence[MeasuredQuery], groups: int) -> bool:
    """Whether a group lost significantly more than the others (Welch's test, corrected for the number of groups).

    A significant change beside one that is not proves little: where all groups lost alike, each may be significant by
    chance.
    """
    changes = [[query.candidate - query.base for query in of] for of in (of_group, others)]
    error = sqrt(sum(variance(of) / len(of) for of in changes))
    degrees = min(map(len, changes)) - 1
    return mean(changes[0]) - mean(changes[1]) < -error * student_quantile(degrees, TAIL / groups)


def _is_worse(interval: Interval | None) -> bool:
    return interval is not None and interval.high < 0
