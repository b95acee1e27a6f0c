"""The formulas of `plan-agent`: one query's executions become scores. Source: seed 003, 2; SPEC 3.1."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import pyarrow as pa

from scoring.judging.requests import Verdicts
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rules.arrow_types import field
from scoring.rules.bands import band_text
from scoring.stats.exact import Exact, mean
from scoring.testruns.check_results import CheckResult, ValueLookup, are_unseen, evaluate
from scoring.testruns.executions import AgentType, Execution, LatencyClass, ParsedExecution, parse_execution
from scoring.testruns.expected import expected_of, unread_checks
from scoring.testruns.patterns import checked_score, failed_check_lines
from scoring.testruns.query_columns import (
    GROUPS,
    IDENTITY,
    ROUNDS,
    QueryColumn,
    mode_column,
    pass_columns,
    reason_column,
    score_column,
)
from scoring.testruns.rubric import Metric, Options, Score, ScoredExecution, ScoredQuery, Undecided
from scoring.testruns.summaries import Repeats, as_float, query_means, repeats_of

METRICS = (
    Metric("intent", "의도 충족"),
    Metric("accuracy", "정확성"),
    Metric("stability", "안정성"),
    Metric("speed", "응답 속도 (단일)", noise=1),
    Metric("consistency", "일관성", per_execution=False),
)
EXECUTION_METRICS = tuple(metric.name for metric in METRICS if metric.per_execution)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExecution(ScoredExecution):
    """An execution with its checks; the counts and the ratio are None without an answer or a check."""

    pass_count: int | None
    check_count: int | None
    pass_ratio: float | None
    failed_checks: list[str]
    recorded_llm_score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuery(ScoredQuery):
    """A query; `latency_s` is the mean of the times that earn a speed score, in seconds, None without any."""

    executions: tuple[PlanExecution, ...]
    latency_s: float | None
    nested_only_checks: int
    repeats: Repeats


OWN_COLUMNS = (
    field("pass_count", pa.int64(), "통과한 체크 수: 응답이나 체크가 없으면 빈칸"),
    field("check_count", pa.int64(), "확인한 체크 수: 응답이나 체크가 없으면 빈칸"),
    field("pass_ratio", pa.float64(), "체크 통과율: 통과한 체크 수 / 확인한 체크 수"),
    field("failed_checks", pa.list_(pa.string()), "통과하지 못한 체크: [대상] 까닭"),
    field("recorded_llm_score", pa.float64(), "파일에 기록된 점수: LLM 점수 열. 규칙 점수를 대신하지 않음"),
)
QUERY_COLUMNS = (
    *IDENTITY,
    ROUNDS,
    *(score_column(one.name, f"{one.title}: 회차 점수의 평균") for one in METRICS if one.per_execution),
    score_column("consistency", "일관성: 5 또는 0, 비교할 수 없으면 빈칸"),
    reason_column("consistency", "일관성"),
    QueryColumn("latency_s", pa.float64(), "응답 시간(초): 속도를 채점한 실행의 평균"),
    QueryColumn("nested_only_checks", pa.int64(), "value 안쪽까지 찾아야만 통과하는 체크 수: 바로 아래에는 없음"),
    *pass_columns(t.PASS_MIN_POINTS),
    mode_column("같은 점수의 비율: 회차 점수 가운데 가장 흔한 것, 비교할 수 없으면 빈칸"),
    *GROUPS,
)


def score_query(executions: Sequence[Execution], options: Options, verdicts: Verdicts) -> PlanQuery:
    """One query, its executions in the order of rounds, with its consistency."""
    lookup = cast(ValueLookup, options["value_lookup"])
    ordered = sorted(executions, key=lambda execution: execution.round)
    scored = tuple(_scored(execution, lookup) for execution in ordered)
    return PlanQuery(
        query_id=ordered[0].query_id,
        query_text=next((execution.query_text for execution in ordered if execution.query_text), ""),
        agent_type=next((execution.agent_type for execution in ordered if execution.agent_type), AgentType.PLAN),
        executions=scored,
        scores={**query_means(scored, EXECUTION_METRICS), "consistency": consistency(scored)},
        latency_s=as_float(mean(timed_latencies(scored))),
        nested_only_checks=sum(check.only_nested for one in scored for check in one.checks),
        repeats=repeats_of(scored, t.PASS_MIN_POINTS, _comparable(scored)),
        problems=_problems(ordered),
    )


def timed_latencies(executions: Sequence[ScoredExecution]) -> list[Fraction]:
    """Exact seconds of the executions that have a speed score."""
    return [
        Fraction(str(scored.latency_s))
        for scored in executions
        if scored.scores["speed"].points is not None and scored.latency_s is not None
    ]


def item_score(reading: ParsedExecution, results: Sequence[CheckResult]) -> Score:
    """The share of checks that pass, banded; NULL without checks, or without the screen that one of them looks at.

    Source: seed 003, 2-2 and 2-3.
    """
    if not reading.answered:
        return Score(t.NOT_ANSWERED_POINTS, reading.not_answered)
    if are_unseen(reading, results):
        return Score(None, "Raw JSON이 없어 화면 항목의 체크를 확인하지 못함", Undecided.TOOLS_NOT_SHOWN)
    if not results:
        return Score(None, "기대결과에서 체크 항목을 찾지 못해 채점하지 않음", "no_checks")
    passed = sum(result.passed for result in results)
    return checked_score(results, Fraction(passed, len(results)), t.PASS_RATIO_POINTS, t.NOTHING_PASSED_POINTS)


def stability_score(reading: ParsedExecution, item: Score) -> Score:
    """5 or 0 by the item score, NULL with it; an answer without checks is stable. Source: seed 003, 2-4; SPEC 3.1."""
    if not reading.answered:
        return Score(t.UNSTABLE_POINTS, reading.not_answered)
    if item.undecided:
        return item
    if item.points is None:
        return Score(t.STABLE_POINTS, f"체크 항목은 없지만 응답이 정상이라 {t.STABLE_POINTS}점")
    if item.points >= t.STABLE_MIN_ITEM_POINTS:
        at_least = f"정확성이 {t.STABLE_MIN_ITEM_POINTS}점 이상"
        return Score(t.STABLE_POINTS, f"응답이 정상이고 {at_least}이라 {t.STABLE_POINTS}점")
    return Score(t.UNSTABLE_POINTS, f"응답은 있으나 통과한 체크가 없어 정확성 {item.points}점")


def speed_score(reading: ParsedExecution) -> Score:
    """The response time, banded by the single-tool table. Source: seed 003, 2-6; SPEC 3.1."""
    if reading.failure:
        return Score(None, "실패한 실행이라 응답 속도에서 제외", "failed")
    if reading.latency_s is None:
        return Score(None, "응답 시간이 기록되지 않아 응답 속도에서 제외", "no_time")
    points = t.SPEED_POINTS.points(reading.latency_s)
    return Score(
        points, f"응답 {reading.latency_s:g}초({band_text(t.SPEED_POINTS, reading.latency_s, '초')})로 {points}점"
    )


def consistency(executions: Sequence[ScoredExecution]) -> Score:
    """5 if every round passes or every round fails, else 0; the set's consistency is the mean of these.

    NULL with fewer than two rounds, and if a round could not be scored. Source: seed 003, 2-5; SPEC 3.1.
    """
    scores = [scored.scores["accuracy"] for scored in executions]
    if len(scores) < t.MIN_ROUNDS:
        return Score(None, "실행이 한 회차뿐이라 일관성에서 제외", "one_round")
    if any(score.undecided for score in scores):
        return Score(None, "Raw JSON이 없어 점수를 모르는 회차가 있음", Undecided.TOOLS_NOT_SHOWN)
    known = [score.points for score in scores if score.points is not None]
    if len(known) < len(scores):
        return Score(None, "체크 항목이 없어 점수를 모르는 회차가 있어 일관성에서 제외", "no_checks")
    listed = ", ".join(f"{scored.execution.round}: {score}점" for scored, score in zip(executions, known, strict=True))
    passes = [score >= t.PASS_MIN_POINTS for score in known]
    if all(passes):
        return Score(t.CONSISTENT_POINTS, f"모든 회차가 {t.PASS_MIN_POINTS}점 이상이라 일관됨({listed})")
    if not any(passes):
        return Score(t.CONSISTENT_POINTS, f"모든 회차가 {t.PASS_MIN_POINTS}점 미만이라 일관됨({listed})")
    return Score(t.INCONSISTENT_POINTS, f"회차 사이에 통과와 미통과가 갈림({listed})")


def _comparable(executions: Sequence[ScoredExecution]) -> list[Exact | None]:
    """The item scores of comparable rounds; none if consistency is unknown."""
    points = [scored.scores["accuracy"].points for scored in executions]
    return [] if len(points) < t.MIN_ROUNDS or None in points else points


def both_pass(query: ScoredQuery) -> bool:
    """Whether a query that counts for consistency passed in its rounds. Source: seed 003, 2-5."""
    points = query.executions[0].scores["accuracy"].points
    return points is not None and points >= t.PASS_MIN_POINTS


def _scored(execution: Execution, lookup: ValueLookup) -> PlanExecution:
    reading = parse_execution(execution)
    checks = expected_of(execution).items  # in whatever form they were written. Source: seed 003, 2-1
    results = evaluate(checks, reading.response, value_lookup=lookup) if reading.answered else ()
    item = item_score(reading, results)
    if item.undecided:
        results = ()
    passed = sum(result.passed for result in results)
    return PlanExecution(
        execution=execution,
        failed=bool(reading.failure),
        empty=bool(reading.emptiness),
        latency_s=reading.latency_s,
        latency_class=LatencyClass.SINGLE,  # the seed describes this agent as one that calls a single tool
        scores={
            "intent": item,
            "accuracy": item,
            "stability": stability_score(reading, item),
            "speed": speed_score(reading),
        },
        pass_count=passed if results else None,
        check_count=len(results) if results else None,
        pass_ratio=passed / len(results) if results else None,
        failed_checks=failed_check_lines(results),
        recorded_llm_score=execution.recorded_score,
        answer=reading.response.assistant_message,
        checks=results,
    )


def _problems(executions: Sequence[Execution]) -> tuple[tuple[str, str], ...]:
    """The expected results that no rule can check, without duplicates."""
    found: dict[tuple[str, str], None] = {}
    for execution in executions:
        expected = expected_of(execution)
        found |= dict.fromkeys(unread_checks([execution]))
        rejected = {line for problem in expected.problems for line in problem.text.split("\n")}
        for line in filter(None, expected.prose.split("\n")):
            if line not in rejected:
                found["unchecked_text", f"{line}: 체크 항목의 형식이 아님"] = None
    return tuple(found)
