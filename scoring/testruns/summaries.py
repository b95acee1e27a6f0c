"""Means, counts and distributions over scored executions: what every test-run report needs.

Source: seed 000, 1.3; seed 003, 3; SPEC 4 `summary.json`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from scoring.judging.requests import VerdictStatus
from scoring.stats.exact import Exact, mean
from scoring.testruns.executions import Round
from scoring.testruns.rubric import Score, ScoredExecution, ScoredQuery


def executions_by_round(queries: Iterable[ScoredQuery]) -> dict[Round, list[ScoredExecution]]:
    """The executions of each round, rounds in order."""
    by_round: dict[Round, list[ScoredExecution]] = {}
    for query in queries:
        for execution in query.executions:
            by_round.setdefault(execution.execution.round, []).append(execution)
    return dict(sorted(by_round.items()))


def mean_and_n(scores: Iterable[Exact | None]) -> dict[str, Any]:
    """`mean` of the scores that are known (None without any) and `n`, how many they are."""
    known = [score for score in scores if score is not None]
    return {"mean": as_float(mean(known)), "n": len(known)}


def round_means(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Round -> metric -> `mean` and `n`."""
    by_metric = {metric: _points_by_round(queries, metric) for metric in metrics}
    return {
        str(round_): {metric: mean_and_n(by_metric[metric][round_]) for metric in metrics}
        for round_ in executions_by_round(queries)
    }


def set_means(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Metric -> `mean` of the rounds' means (rounds without one are left out) and `n`, the scores behind them."""
    means = {}
    for metric in metrics:
        rounds = _points_by_round(queries, metric).values()
        known = sum(points is not None for of_round in rounds for points in of_round)
        means[metric] = {"mean": as_float(mean(map(mean, rounds))), "n": known}
    return means


def final_means(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, Fraction | None]:
    """Metric -> its exact mean over the queries of each round, then over the rounds; consistency has no rounds.

    Source: seed 000, 1.3.
    """
    means = {metric: mean(map(mean, _points_by_round(queries, metric).values())) for metric in metrics}
    return {**means, "consistency": mean(query.scores["consistency"].points for query in queries)}


def query_means(executions: Sequence[ScoredExecution], metrics: Sequence[str]) -> dict[str, Score]:
    """Metric -> the mean of the executions' scores that are known; without any, what the first one misses.

    NULL while one of them waits for its verdict.
    """
    means = {}
    for metric in metrics:
        scores = [execution.scores[metric] for execution in executions]
        known = [score.points for score in scores if score.points is not None]
        mean_score = Score(mean(known), f"실행 {len(known)}건의 평균") if known else scores[0]
        means[metric] = unjudged(scores) or mean_score
    return means


def unjudged(scores: Iterable[Score]) -> Score | None:
    """The first of a query's scores that waits for its verdict: the zeros of failures beside it are no mean.

    Source: SPEC 7.
    """
    # By type: what a rubric of rules alone calls `failed` is no verdict that failed.
    return next((score for score in scores if score.points is None and isinstance(score.missing, VerdictStatus)), None)


def distributions(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, dict[str, int]]]:
    """Round -> metric -> score -> count; a score that is not known counts as `null`."""
    return {
        str(round_): {metric: score_distribution(one.scores[metric].points for one in executions) for metric in metrics}
        for round_, executions in executions_by_round(queries).items()
    }


def as_float(value: Exact | None) -> float | None:
    """An exact number as the nearest float, for JSON and tables."""
    return None if value is None else float(value)


def _points_by_round(queries: Sequence[ScoredQuery], metric: str) -> dict[Round, list[Exact | None]]:
    """The points of each round, rounds in order.

    Of an agent some of whose answers had no judge none are known: its failures earn 0 by rule, and a mean would show
    them alone.
    """
    not_judged = {
        query.agent_type
        for query in queries
        if any(one.scores[metric].missing == VerdictStatus.NO_JUDGE for one in query.executions)
    }
    by_round: dict[Round, list[Exact | None]] = {}
    for query in queries:
        for one in query.executions:
            points = None if query.agent_type in not_judged else one.scores[metric].points
            by_round.setdefault(one.execution.round, []).append(points)
    return dict(sorted(by_round.items()))


def score_distribution(points: Iterable[Exact | None]) -> dict[str, int]:
    """Score -> count, the highest first; a score that is not known counts as `null`."""
    counted = Counter("null" if value is None else str(value) for value in points)
    return dict(sorted(counted.items(), reverse=True))


def score_counts(distribution: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every score from 5 to 0 with its count, zeros included, then what is not known."""
    rows = [(str(score), distribution.get(str(score), 0)) for score in range(5, -1, -1)]
    return [*rows, ("null", distribution["null"])] if "null" in distribution else rows


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """The smallest of some ordered values that at least `percent` of them do not exceed."""
    return ordered[-(-percent * len(ordered) // 100) - 1]
