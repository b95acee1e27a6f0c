"""The markdown report of the execution agent: the seed's template, then what a QA lead asks next. Source: seed 003, 4
and 6; SPEC 3.1."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scoring.markdown import score_text, shortened
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.findings import (
    checked_list,
    insights,
    lowest_queries,
    slow_limit,
    slowest_queries,
    zeros_text,
)
from scoring.rubrics.plan_agent.formulas import PlanQuery
from scoring.rubrics.plan_agent.summary import PlanSummary, low_scored
from scoring.rules.bands import band_rows
from scoring.testruns.patterns import main_causes
from scoring.testruns.rubric import Options, ScoredExecution
from scoring.testruns.summaries import repeat_line

_REASON_CHARACTERS = 240

QUALITY_TITLES = {
    "failed": "실패한 실행(0점)",
    "empty": "빈 응답(0점)",
    "no_checks": "체크 항목이 없어 채점하지 않은 실행",
    "no_time": "응답 시간이 없어 속도에서 제외한 실행",
    "incomplete_rounds": "일부 회차에 없는 질의",
    "unchecked_text": "규칙으로 확인하지 못한 기대결과 문장",
    "tools_not_shown": "Raw JSON이 없어 정확성을 알 수 없는 실행",
}
SAME_TITLE = "질의마다 회차 점수 가운데 가장 흔한 것의 비율"
_ITEM_MEANINGS = {
    **{str(points): f"통과율 {text}" for text, points in band_rows(t.PASS_RATIO_POINTS, maximum=1)},
    str(t.NOTHING_PASSED_POINTS): "통과율 0, 실패, 빈 응답",
}
CRITERIA = {
    "intent": tuple(_ITEM_MEANINGS.items()),
    "accuracy": tuple(_ITEM_MEANINGS.items()),
    "consistency": (
        (str(t.CONSISTENT_POINTS), f"회차가 모두 {t.PASS_MIN_POINTS}점 이상이거나 모두 {t.PASS_MIN_POINTS}점 미만"),
        (str(t.INCONSISTENT_POINTS), "회차마다 엇갈림"),
    ),
}
"""The scoring criteria, for people who score by hand."""
_SPEED_MEANINGS = {str(points): text for text, points in band_rows(t.SPEED_POINTS, "초")}


def report_values(queries: Sequence[PlanQuery], summary: PlanSummary, options: Options) -> dict[str, Any]:
    """The values of `report.md` beside the summary."""
    figures = {**summary.rounds, "세트": summary.set}

    def each(text: Callable[[Mapping[str, Any]], str], rounds: Mapping[str, Any] = figures) -> str:
        return ", ".join(f"{name}: {text(of_round)}" for name, of_round in rounds.items())

    return {
        "t": t,
        "executions": [scored for query in queries for scored in query.executions],
        "means": lambda metric, name="mean": each(lambda one: score_text(one[metric][name])),
        "counts": lambda metric: each(lambda one: f"{one[metric]['n']:,}건"),
        "speeds": each(lambda one: _speed_text(one["speed"])),
        "zeros": zeros_text(summary),
        "stabilities": each(lambda one: score_text(one["stability"]["mean"]), summary.rounds),
        "pairs": summary.set["consistency"],
        "repeat_line": repeat_line(summary.set["consistency"], SAME_TITLE),
        "item_meanings": _ITEM_MEANINGS,
        "speed_meanings": _SPEED_MEANINGS,
        "insights": insights(queries, summary.check_patterns),
        "checked_list": checked_list(queries, summary),
        "low": lowest_queries(queries),
        "late": slowest_queries(queries),
        "slow_limit": slow_limit(),
        "by_round": lambda query, metric: _by_round(query, summary, metric),
        "worst_reason": _worst_reason,
        "quality_titles": QUALITY_TITLES,
    }


def _speed_text(figures: Mapping[str, Any]) -> str:
    return f"{score_text(figures['latency_s'])}초 / {score_text(figures['speed_band_of_mean'])}"


def _by_round(query: PlanQuery, summary: PlanSummary, metric: str) -> list[str]:
    by_round = {str(scored.execution.round): _text(scored, metric) for scored in query.executions}
    return [by_round.get(name, "–") for name in summary.rounds]


def _text(scored: ScoredExecution, metric: str) -> str:
    points = scored.scores[metric].points
    if metric == "speed":
        return "–" if points is None else f"{score_text(scored.latency_s)}초 / {points}점"
    return "점수 없음" if points is None else f"{points}점"


def _worst_reason(query: PlanQuery) -> str:
    """The first cause of the lowest execution, and the number of other causes in all low executions."""
    worst_first = sorted(low_scored(query.executions), key=lambda scored: scored.scores["accuracy"].points or 0)
    causes = (main_causes(scored.checks) or [scored.scores["accuracy"].reason] for scored in worst_first)
    first, *others = dict.fromkeys(cause for of_one in causes for cause in of_one)
    return shortened(first, _REASON_CHARACTERS) + (f" 외 {len(others)}가지" if others else "")
