"""Means, counts, distributions and repeats of scored executions, for every test-run report.

The consistency score measures how equal the repeats of a query are, not whether they are right. How often they pass and
how often they are equal is therefore reported with it.

Source: seed 000, 1.3 and 2.2; seed 003, 2-5 and 3; seed 004, 일관성; SPEC 4 `summary.json`.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scoring.markdown import percent, score_text
from scoring.stats.exact import Exact, mean
from scoring.stats.intervals import mode_ratio, pass_hat_k
from scoring.testruns.executions import Round
from scoring.testruns.rubric import BEST_POINTS, WORST_POINTS, Score, ScoredExecution, ScoredQuery

MOST_UNDECIDED = Fraction(1, 5)
_WHOLE_ROUND = Fraction(4, 5)
# Teams repeat a question two to five times; a longer list would say the same about fewer queries.
_MOST_REPEATS = 5


def executions_by_round(queries: Iterable[ScoredQuery]) -> dict[Round, list[ScoredExecution]]:
    """The executions of each round, rounds in order."""
    by_round: dict[Round, list[ScoredExecution]] = {}
    for query in queries:
        for execution in query.executions:
            by_round.setdefault(execution.execution.round, []).append(execution)
    return dict(sorted(by_round.items()))


def short_rounds(sizes: Mapping[str, int]) -> dict[str, int]:
    """The rounds, with sizes, of less than four fifths as many queries as the largest one, and two fewer at least.

    In a mean over rounds each of them counts as much as a whole round: a few queries that were run once more can move
    it further than all others.
    """
    largest = max(sizes.values(), default=0)
    return {name: size for name, size in sizes.items() if size < _WHOLE_ROUND * largest and size + 1 < largest}


def mean_and_n(scores: Iterable[Exact | None]) -> dict[str, Any]:
    """`mean` of the known scores (None without any) and their number `n`."""
    known = [score for score in scores if score is not None]
    return {"mean": as_float(mean(known)), "n": len(known)}


@dataclass(frozen=True)
class MetricMean:
    """The mean over rounds of a metric, from `n` scores; `decided` and `undecided` count queries.

    `low` and `high` are the means if every undecided score were the worst or the best.
    """

    known: Fraction | None
    n: int
    decided: int
    undecided: int
    low: Fraction | None
    high: Fraction | None

    @property
    def mean(self) -> Fraction | None:
        """The mean; None if so much is undecided that it would favour easy queries. Source: SPEC 3.3."""
        return None if self.undecided > MOST_UNDECIDED * (self.decided + self.undecided) else self.known

    def figures(self) -> dict[str, Any]:
        """The figures as JSON; bounds are given if the mean is withheld."""
        withheld = self.mean is None
        return {
            "mean": as_float(self.mean),
            "n": self.n,
            "decided": self.decided,
            "undecided": self.undecided,
            "low": as_float(self.low) if withheld else None,
            "high": as_float(self.high) if withheld else None,
        }


def mean_text(figures: Mapping[str, Any]) -> str:
    """The mean of a metric for people (`4.25`), its bounds (`0.48~4.86`) if it is withheld, else a dash."""
    if figures.get("low") is not None:
        return f"{score_text(figures['low'])}~{score_text(figures['high'])}"
    return score_text(figures.get("mean"))


def undecided_text(figures: Mapping[str, Any]) -> str:
    """The number of undecided queries, if that withholds a mean (Korean), else ''."""
    if figures.get("low") is None:
        return ""
    return f"질의 {figures['decided'] + figures['undecided']:,}개 중 {figures['undecided']:,}개 미판정"


def withheld_metrics(figures: Mapping[str, Any]) -> frozenset[str]:
    """The metrics of `summary.json` with a withheld mean, from its part `set`."""
    return frozenset(name for name, one in figures.items() if isinstance(one, dict) and one.get("low") is not None)


def round_means(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Round -> metric -> figures."""
    return {
        str(round_): {
            metric: _mean_of([scores_of_mean(executions, metric)], [one.scores[metric] for one in executions]).figures()
            for metric in metrics
        }
        for round_, executions in executions_by_round(queries).items()
    }


def set_means(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Metric -> figures of the mean of the rounds' means (rounds without one are left out)."""
    return {metric: set_mean(queries, metric).figures() for metric in metrics}


def set_mean(queries: Sequence[ScoredQuery], metric: str) -> MetricMean:
    """The exact mean over the queries of each round, then over the rounds; consistency has no rounds.

    Source: seed 000, 1.3.
    """
    of_queries = [query.scores[metric] for query in queries]
    rounds = executions_by_round(queries).values()
    if all(metric in one.scores for of_round in rounds for one in of_round):
        return _mean_of([scores_of_mean(of_round, metric) for of_round in rounds], of_queries)
    return _mean_of([of_queries], of_queries)


def scores_of_mean(executions: Sequence[ScoredExecution], metric: str) -> list[Score]:
    """The scores of a mean: none if there are answers but no measurement of them.

    The zeros of failed answers alone are no mean. Source: SPEC 3 (never a silent 0).
    """
    answered = [one.scores[metric] for one in executions if not one.unanswered]
    if answered and all(score.points is None and not score.undecided for score in answered):
        return []
    return [one.scores[metric] for one in executions]


def query_means(executions: Sequence[ScoredExecution], metrics: Sequence[str]) -> dict[str, Score]:
    """Metric -> the mean of the known scores of the executions; without any, why the first one is unknown.

    NULL while one of them is undecided.
    """
    means = {}
    for metric in metrics:
        scores = [execution.scores[metric] for execution in executions]
        known = [score.points for score in scores_of_mean(executions, metric) if score.points is not None]
        unknown = (score for score in scores if score.points is None)
        mean_score = Score(mean(known), f"실행 {len(known)}건의 평균") if known else next(unknown)
        means[metric] = undecided_score(scores) or mean_score
    return means


def undecided_score(scores: Iterable[Score]) -> Score | None:
    """The first undecided score of a query: then the zeros of failed answers are no mean. Source: SPEC 7."""
    return next((score for score in scores if score.undecided), None)


def distributions(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, dict[str, int]]]:
    """Round -> metric -> score -> count; an unknown score counts as `null`."""
    return {
        str(round_): {metric: score_distribution(one.scores[metric].points for one in executions) for metric in metrics}
        for round_, executions in executions_by_round(queries).items()
    }


def as_float(value: Exact | None) -> float | None:
    """An exact number as the nearest float, for JSON and tables."""
    return None if value is None else float(value)


def _mean_of(rounds: Sequence[Sequence[Score]], of_queries: Sequence[Score]) -> MetricMean:
    def filled(undecided: Exact | None) -> Fraction | None:
        return mean(mean(undecided if score.undecided else score.points for score in of_round) for of_round in rounds)

    return MetricMean(
        known=filled(None),
        n=sum(score.points is not None for of_round in rounds for score in of_round),
        decided=sum(score.points is not None for score in of_queries),
        undecided=sum(score.undecided for score in of_queries),
        low=filled(WORST_POINTS),
        high=filled(BEST_POINTS),
    )


def score_distribution(points: Iterable[Exact | None]) -> dict[str, int]:
    """Score -> count, highest first; an unknown score counts as `null`."""
    counted = Counter("null" if value is None else str(value) for value in points)
    return dict(sorted(counted.items(), reverse=True))


SCORE_KEYS = (*map(str, range(BEST_POINTS, WORST_POINTS - 1, -1)), "null")
"""The scores in distributions, highest first, then the unknown ones."""


def score_counts(distribution: Mapping[str, int]) -> list[tuple[str, int]]:
    """The count of every score from 5 to 0, including zeros, then of unknown scores."""
    known = [(score, distribution.get(score, 0)) for score in SCORE_KEYS[:-1]]
    return [*known, ("null", distribution["null"])] if "null" in distribution else known


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """The smallest of some sorted values that is at least as large as `percent` of them."""
    return ordered[-(-percent * len(ordered) // 100) - 1]


@dataclass(frozen=True, slots=True)
class Repeats:
    """`passed` of `n` executions with known accuracy pass; `mode_ratio` is the share of the most frequent outcome."""

    passed: int
    n: int
    mode_ratio: Fraction | None


def repeats_of(executions: Iterable[ScoredExecution], pass_at: Exact, outcomes: Sequence[Hashable] = ()) -> Repeats:
    """The repeats of one query: at least `pass_at` points of accuracy pass; equal `outcomes` are the same outcome."""
    known = [points for one in executions if (points := one.scores["accuracy"].points) is not None]
    return Repeats(sum(points >= pass_at for points in known), len(known), mode_ratio(outcomes) if outcomes else None)


def repeat_figures(queries: Iterable[Repeats], pass_at: int) -> dict[str, Any]:
    """`pass_hat_k`: k -> mean and `n`, the queries with at least k executions; `mode_ratio`: its mean and `n`.

    `pass_at` is the minimum accuracy, in points, of a pass.
    """
    queries = list(queries)
    by_k = {
        str(k): mean_and_n(pass_hat_k(one.passed, one.n, k) for one in queries) for k in range(1, _MOST_REPEATS + 1)
    }
    return {
        "pass_at": pass_at,
        "pass_hat_k": {k: figures for k, figures in by_k.items() if figures["n"]},
        "mode_ratio": mean_and_n(one.mode_ratio for one in queries),
    }


def repeat_line(figures: dict[str, Any], same_title: str = "") -> str:
    """The figures as one Korean line of a report, '' without repeats; the mode ratio is the share of `same_title`."""
    of_rounds, same = figures["pass_hat_k"], figures["mode_ratio"]
    if len(of_rounds) < 2:
        return ""
    passing = ", ".join(
        f"{k}회{' 모두' * (k != '1')} {percent(of_k['mean'])}(질의 {of_k['n']:,}개)" for k, of_k in of_rounds.items()
    )
    alike = f" {same_title}은 평균 {percent(same['mean'])}입니다." if same["n"] else ""
    return f"- 반복해도 통과할 비율(pass^k, 통과는 정확성 {figures['pass_at']}점 이상): {passing}.{alike}"
