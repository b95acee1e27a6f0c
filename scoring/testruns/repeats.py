"""How reliable a query is over its repeats: how often they pass, and how often they come out the same.

Shown beside a consistency score, which says how equal the repeats are but not whether they are right.
Source: seed 000, 2.2; seed 003, 2-5; seed 004, 일관성.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scoring.markdown import percent
from scoring.stats.exact import Exact
from scoring.stats.intervals import mode_ratio, pass_hat_k
from scoring.testruns.rubric import ScoredExecution
from scoring.testruns.summaries import mean_and_n

# Teams repeat a question two to five times; a longer list would say the same about fewer queries.
_MOST_REPEATS = 5


@dataclass(frozen=True, slots=True)
class Repeats:
    """Of `n` executions whose accuracy is known `passed` pass; `mode_ratio` is the share of the commonest outcome."""

    passed: int
    n: int
    mode_ratio: Fraction | None


def repeats_of(executions: Iterable[ScoredExecution], pass_at: Exact, outcomes: Sequence[Hashable] = ()) -> Repeats:
    """The repeats of one query: `pass_at` points of accuracy are a pass, and `outcomes` may be equal or not."""
    known = [points for one in executions if (points := one.scores["accuracy"].points) is not None]
    return Repeats(sum(points >= pass_at for points in known), len(known), mode_ratio(outcomes) if outcomes else None)


def repeat_figures(queries: Iterable[Repeats]) -> dict[str, Any]:
    """`pass_hat_k`: k -> mean and `n`, the queries with k executions or more; `mode_ratio`: its mean and `n`."""
    queries = list(queries)
    by_k = {
        str(k): mean_and_n(pass_hat_k(one.passed, one.n, k) for one in queries) for k in range(1, _MOST_REPEATS + 1)
    }
    return {
        "pass_hat_k": {k: figures for k, figures in by_k.items() if figures["n"]},
        "mode_ratio": mean_and_n(one.mode_ratio for one in queries),
    }


def repeat_line(figures: dict[str, Any]) -> str:
    """The figures as one Korean line of a report, '' where nothing was repeated."""
    repeated = {k: of_k for k, of_k in figures["pass_hat_k"].items() if k != "1"}
    if not repeated:
        return ""
    passing = ", ".join(f"{k}회 연속 {percent(of_k['mean'])}(질의 {of_k['n']:,}개)" for k, of_k in repeated.items())
    once, same = figures["pass_hat_k"]["1"], figures["mode_ratio"]
    alike = f" 가장 흔한 결과의 비율은 평균 {percent(same['mean'])}입니다." if same["n"] else ""
    return f"- 반복해도 통과할 비율(pass^k): 1회 {percent(once['mean'])}, {passing}.{alike}"
