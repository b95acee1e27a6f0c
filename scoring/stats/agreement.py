"""Agreement between people's labels and the scores: can a metric be trusted without manual review?

A pair is one label of a person and the score of the same item, on one scale. Items of one query (its rounds, several
people's labels) are not independent observations: intervals resample queries.

Source: SPEC 9 (`aqb agreement`); Cohen 1968 (weighted kappa).
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scoring.stats.intervals import (
    MIN_N_FOR_VERDICT,
    Coefficient,
    Interval,
    cluster_bootstrap_mean,
    clustered_rate_interval,
    weighted_kappa,
)

ALL_AGENTS: Final = "*"
LEAST_OTHERS: Final = 5
"""The least number of queries whose label is not the most frequent one before a metric is trusted.

With fewer, the interval of kappa says nothing of the rare ratings: of 45 equal labels and one other that all agree it
is 1.00 to 1.00. Simulated with 46 to 200 labels of two ratings and a true kappa of 0.54 to 0.60, 1 to 21 % of the
samples were trusted without this limit, about 3 % at most with it.
"""
SAME_SCORE: Final = 1e-9
"""Scores that differ by less are equal: they are sums of fractions converted to floats."""

_ADJACENT = 1 + SAME_SCORE  # one point, or one grade


@dataclass(frozen=True, slots=True)
class Pair:
    """One label and the score of the same item; `cluster` identifies the query that the item belongs to."""

    metric: str
    agent_type: str | None
    cluster: Hashable
    score: float
    label: float


@dataclass(frozen=True)
class Agreement:
    """One metric over the `n` pairs of one agent type (`*`: all); `clusters` are the queries behind them, `others` the
    queries with a label that is not the most frequent one.

    `bias` is the mean of score minus label: above 0 the score is too kind. `confusion` counts pairs by (label, score),
    both to the nearest point. `exact_interval` is that of the rate of equal pairs, `adjacent_interval` that of pairs at
    most one point apart.
    """

    metric: str
    agent_type: str
    n: int
    clusters: int
    others: int
    exact: int
    exact_interval: Interval | None
    adjacent: int
    adjacent_interval: Interval | None
    bias: float
    bias_interval: Interval | None
    linear: Coefficient
    quadratic: Coefficient
    confusion: Mapping[tuple[int, int], int]

    def trusted(self, least: float) -> bool:
        """Whether the lower bound of linear kappa reaches `least`, over enough queries with enough different labels.

        The weights are linear, not quadratic: quadratic weights hardly penalise scores that are off by a point or two,
        which people see often. Over fewer queries than `MIN_N_FOR_VERDICT` even full agreement proves little.
        """
        interval = self.linear.interval
        enough = self.clusters >= MIN_N_FOR_VERDICT and self.others >= LEAST_OTHERS
        return interval is not None and enough and interval.low >= least


def agreements(pairs: Iterable[Pair], *, to_points: bool = True) -> list[Agreement]:
    """The agreement of every metric: over all pairs, then per agent type where there are several.

    Where all labels are whole points, `exact` and the kappas round scores to the nearest point (`to_points`): nobody
    could have chosen 3.33, the mean of several scores. Two raters of one scale need no rounding.
    """
    by_metric: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_metric.setdefault(pair.metric, []).append(pair)
    found = []
    for metric, own in by_metric.items():
        in_points = to_points and all(pair.label % 1 == 0 for pair in own)
        found.append(_agreement(metric, ALL_AGENTS, own, in_points=in_points))
        agents = sorted({pair.agent_type for pair in own if pair.agent_type})
        if len(agents) > 1:
            of_agents = ((agent, [pair for pair in own if pair.agent_type == agent]) for agent in agents)
            found += [_agreement(metric, agent, of_agent, in_points=in_points) for agent, of_agent in of_agents]
    return found


def _agreement(metric: str, agent_type: str, pairs: Sequence[Pair], *, in_points: bool) -> Agreement:
    scores, labels = [pair.score for pair in pairs], [pair.label for pair in pairs]
    clusters = [pair.cluster for pair in pairs]
    differences = [score - label for score, label in zip(scores, labels, strict=True)]
    if in_points:
        scores = [float(_point(score)) for score in scores]
    exact = [abs(score - label) < SAME_SCORE for score, label in zip(scores, labels, strict=True)]
    adjacent = [abs(difference) < _ADJACENT for difference in differences]
    return Agreement(
        metric=metric,
        agent_type=agent_type,
        n=len(pairs),
        clusters=len(set(clusters)),
        others=_others(pairs),
        exact=sum(exact),
        exact_interval=_rate_interval(exact, clusters),
        adjacent=sum(adjacent),
        adjacent_interval=_rate_interval(adjacent, clusters),
        bias=sum(differences) / len(differences),
        bias_interval=cluster_bootstrap_mean(differences, clusters),
        linear=weighted_kappa(scores, labels, clusters, "linear"),
        quadratic=weighted_kappa(scores, labels, clusters, "quadratic"),
        confusion=Counter((_point(pair.label), _point(pair.score)) for pair in pairs),
    )


def _rate_interval(met: Sequence[bool], clusters: Sequence[Hashable]) -> Interval | None:
    sizes = Counter(clusters)
    of_clusters = Counter(cluster for one, cluster in zip(met, clusters, strict=True) if one)
    return clustered_rate_interval([of_clusters[cluster] for cluster in sizes], [*sizes.values()])


def _others(pairs: Sequence[Pair]) -> int:
    """The number of queries with a label that is not the most frequent one, to the nearest point."""
    ((most_frequent, _),) = Counter(_point(pair.label) for pair in pairs).most_common(1)
    return len({pair.cluster for pair in pairs if _point(pair.label) != most_frequent})


def _point(value: float) -> int:
    """The nearest whole point, halves up; scores are never negative."""
    return int(value + 0.5)
