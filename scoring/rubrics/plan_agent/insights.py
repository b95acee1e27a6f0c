"""The report's insight lines: each is a count from the scores, none is an opinion. Source: seed 003, 4."""

from collections.abc import Sequence

from scoring.markdown import cell, percent, score_text, shortened
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.formulas import PlanQuery, both_pass
from scoring.rubrics.plan_agent.summary import slow
from scoring.testruns.patterns import CheckPattern
from scoring.testruns.report_tables import query_name

_SHOWN_PATTERNS = 3
_SHOWN_QUERIES = 3
_REASON_CHARACTERS = 160


def insights(queries: Sequence[PlanQuery], patterns: Sequence[CheckPattern]) -> list[str]:
    """One markdown line per finding, most telling first; a single line where nothing stands out."""
    lines = [
        *(_check_line(pattern) for pattern in patterns[:_SHOWN_PATTERNS]),
        *_failing_queries(queries),
        *_mixed_queries(queries),
        *_slow_queries(queries),
    ]
    return lines or ["모든 체크를 통과했고 느린 응답도 없습니다."]


def slow_limit() -> str:
    """The longest time that is not slow, as people say it (`8초`)."""
    fast = [cut for cut, points in t.SPEED_POINTS.cuts if points > t.SLOW_MAX_POINTS]
    return f"{fast[-1]:g}초"


def _check_line(pattern: CheckPattern) -> str:
    rate = percent(pattern.failed / pattern.asked)
    return (
        f"{cell(pattern.key)} 체크 {pattern.asked:,}개 중 {pattern.failed:,}개({rate}) 미통과, "
        f"질의 {len(pattern.query_ids):,}개. 가장 흔한 이유({pattern.commonest_count:,}건): "
        f"{cell(shortened(pattern.commonest, _REASON_CHARACTERS))}"
    )


def _failing_queries(queries: Sequence[PlanQuery]) -> list[str]:
    consistent = [query for query in queries if query.scores["consistency"].points == t.CONSISTENT_POINTS]
    failing = [query for query in consistent if not both_pass(query)]
    if not failing:
        return []
    return [f"모든 라운드에서 {t.PASS_MIN_POINTS}점 미만인 질의 {len(failing):,}개: {_names(failing)}"]


def _mixed_queries(queries: Sequence[PlanQuery]) -> list[str]:
    mixed = [query for query in queries if query.scores["consistency"].points == t.INCONSISTENT_POINTS]
    return [f"라운드 사이에 통과와 미통과가 갈린 질의 {len(mixed):,}개: {_names(mixed)}"] if mixed else []


def _slow_queries(queries: Sequence[PlanQuery]) -> list[str]:
    executions = [scored for query in queries for scored in query.executions]
    timed = [scored for scored in executions if scored.scores["speed"].points is not None]
    late = slow(executions)
    if not late:
        return []
    slowest = max(queries, key=lambda query: query.latency_s or 0.0)
    always = sum(len(slow(query.executions)) == len(query.executions) for query in queries)
    return [
        f"{slow_limit()}를 넘긴 실행 {len(late):,}건({percent(len(late) / len(timed))}), 그중 모든 라운드가 느린 질의 "
        f"{always:,}개. 평균이 가장 느린 질의: {cell(query_name(slowest.query_text))} "
        f"({score_text(slowest.latency_s)}초)"
    ]


def _names(queries: Sequence[PlanQuery]) -> str:
    more = f" 외 {len(queries) - _SHOWN_QUERIES:,}개" if len(queries) > _SHOWN_QUERIES else ""
    return ", ".join(cell(query_name(query.query_text) or query.query_id) for query in queries[:_SHOWN_QUERIES]) + more
