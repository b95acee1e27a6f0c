"""The seed's operating check list, ticked from the scores. Source: seed 003, 6; SPEC 3.1."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from scoring.markdown import cell, example_ids, percent
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.formulas import PlanExecution, PlanQuery, checks_of
from scoring.rubrics.plan_agent.insights import slow_limit
from scoring.rubrics.plan_agent.summary import PlanSummary, low_scored, slow
from scoring.testruns.patterns import check_patterns

_SHOWN_PATTERNS = 3


def checked_list(queries: Sequence[PlanQuery], summary: PlanSummary) -> str:
    """The five lines: ticked where nothing needs a person, each with its figure."""
    executions = [scored for query in queries for scored in query.executions]
    lines = [
        (t.CHECK_ROUNDS, *_rounds(queries, summary)),
        (t.CHECK_RECORDED, *_recorded(len(executions), summary)),
        (t.CHECK_LOW_SCORES, *_low_scores(executions)),
        (t.CHECK_SLOW, *_slow(executions)),
        (t.CHECK_FAILURES, *_failures(executions, summary)),
    ]
    return "\n".join(f"- [{'x' if fine else ' '}] {text} — {figure}" for text, fine, figure in lines)


def _rounds(queries: Sequence[PlanQuery], summary: PlanSummary) -> tuple[bool, str]:
    names, count = ", ".join(summary.rounds), len(summary.rounds)
    incomplete = sorted(query.query_id for query in queries if len(query.executions) < count)
    if incomplete:
        ids = cell(example_ids(incomplete))
        return False, f"Query ID {len(queries):,}개 중 {len(incomplete):,}개가 {names} 가운데 일부에 없음({ids})"
    return count >= t.MIN_ROUNDS, f"Query ID {len(queries):,}개 모두 {count}개 라운드({names})에서 실행됨"


def _recorded(executions: int, summary: PlanSummary) -> tuple[bool, str]:
    missing, unscored = executions - summary.recorded_scores, summary.data_quality["no_checks"]
    figure = f"LLM 점수 미기록 {missing:,}건 / 전체 {executions:,}건, 기록 여부와 관계없이 모두 같은 규칙으로 채점"
    return not unscored, figure + (f", 체크 항목이 없어 채점하지 못한 실행 {unscored:,}건" if unscored else "")


def _low_scores(executions: Sequence[PlanExecution]) -> tuple[bool, str]:
    low = low_scored(executions)
    scored = sum(one.scores["accuracy"].points is not None for one in executions)
    if not low:
        return True, f"0~{t.LOW_MAX_POINTS}점 0건 / 채점 {scored:,}건"
    unanswered = sum(one.failed or one.empty for one in low)
    top = ", ".join(f"{cell(p.key)} {p.failed:,}건" for p in check_patterns(low, checks_of)[:_SHOWN_PATTERNS])
    return False, (
        f"0~{t.LOW_MAX_POINTS}점 {len(low):,}건({percent(len(low) / scored)}), 실패·빈 응답 {unanswered:,}건, "
        f"이 구간에서 미통과가 많은 체크: {top or '없음'}"
    )


def _slow(executions: Sequence[PlanExecution]) -> tuple[bool, str]:
    late = slow(executions)
    timed = sum(scored.scores["speed"].points is not None for scored in executions)
    if not late:
        return True, f"{slow_limit()}를 넘긴 실행 0건 / 시간이 있는 실행 {timed:,}건"
    points = Counter(scored.scores["speed"].points for scored in late)
    bands = ", ".join(f"{score}점 {points[score]:,}건" for score in range(t.SLOW_MAX_POINTS, -1, -1))
    categories = Counter(scored.execution.category or "카테고리 없음" for scored in late).most_common(_SHOWN_PATTERNS)
    top = ", ".join(f"{cell(category)} {count:,}건" for category, count in sorted(categories, key=lambda c: -c[1]))
    return False, f"{slow_limit()}를 넘긴 실행 {len(late):,}건({percent(len(late) / timed)}): {bands}. 카테고리: {top}"


def _failures(executions: Sequence[PlanExecution], summary: PlanSummary) -> tuple[bool, str]:
    failures = summary.failures
    unanswered = summary.data_quality["failed"] + summary.data_quality["empty"]
    rate = Fraction(failures, len(executions)) if executions else Fraction(0)
    limit = percent(float(t.FAILURE_RATE_LIMIT))
    return rate < t.FAILURE_RATE_LIMIT, (
        f"안정성 0점 {failures:,}건 / {len(executions):,}건({percent(float(rate))}, 기준 {limit} 미만): "
        f"실패·빈 응답 {unanswered:,}건, 통과한 체크가 없는 응답 {failures - unanswered:,}건"
    )
