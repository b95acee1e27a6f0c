"""Means, counts and distributions over scored executions: what every test-run report needs.

Source: seed 000, 1.3; seed 003, 3); SPEC 4 `summary.json`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from scoring.run_rubric import Score, ScoredExecution, ScoredQuery
from scoring.runs.executions import Round
from scoring.totals import Exact, mean


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
    return {
        str(round_): {
            metric: mean_and_n(execution.scores[metric].points for execution in executions) for metric in metrics
        }
        for round_, executions in executions_by_round(queries).items()
    }


def set_means(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Metric -> `mean` of the rounds' means (rounds without one are left out) and `n`, the scores behind them."""
    executions = [execution for query in queries for execution in query.executions]
    means = final_means(queries, metrics)
    return {
        metric: {
            "mean": as_float(means[metric]),
            "n": sum(execution.scores[metric].points is not None for execution in executions),
        }
        for metric in metrics
    }


def final_means(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, Fraction | None]:
    """Metric -> its exact mean over the queries of each round, then over the rounds. Source: seed 000, 1.3."""
    rounds = executions_by_round(queries).values()
    return {
        metric: mean(mean(execution.scores[metric].points for execution in executions) for executions in rounds)
        for metric in metrics
    }


def query_means(executions: Sequence[ScoredExecution], metrics: Sequence[str]) -> dict[str, Score]:
    """Metric -> the mean of the executions' scores that are known; without any, what the first one misses."""
    means = {}
    for metric in metrics:
        scores = [execution.scores[metric] for execution in executions]
        known = [score.points for score in scores if score.points is not None]
        means[metric] = Score(mean(known), f"실행 {len(known)}건의 평균") if known else scores[0]
    return means


def distributions(queries: Sequence[ScoredQuery], metrics: Sequence[str]) -> dict[str, dict[str, dict[str, int]]]:
    """Round -> metric -> score -> count; a score that is not known counts as `null`."""
    return {
        str(round_): {
            metric: _distribution(execution.scores[metric].points for execution in executions) for metric in metrics
        }
        for round_, executions in executions_by_round(queries).items()
    }


def missing_counts(queries: Iterable[ScoredQuery]) -> dict[str, int]:
    """How many scores of executions and queries are missing, by the code of what is missing."""
    scores = (score for query in queries for score in _all_scores(query))
    return dict(sorted(Counter(score.missing for score in scores if score.points is None and score.missing).items()))


def as_float(value: Exact | None) -> float | None:
    """An exact number as the nearest float, for JSON and tables."""
    return None if value is None else float(value)


def _all_scores(query: ScoredQuery) -> Iterable[Any]:
    per_execution = {name for execution in query.executions for name in execution.scores}
    yield from (score for execution in query.executions for score in execution.scores.values())
    yield from (score for name, score in query.scores.items() if name not in per_execution)


def _distribution(points: Iterable[Exact | None]) -> dict[str, int]:
    counted = Counter("null" if value is None else str(value) for value in points)
    return dict(sorted(counted.items(), reverse=True))


def score_counts(distribution: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every score from 5 to 0 with its count, zeros included, then what is not known."""
    rows = [(str(score), distribution.get(str(score), 0)) for score in range(5, -1, -1)]
    return [*rows, ("null", distribution["null"])] if "null" in distribution else rows
