"""The formulas of `recruit-agent`: one query's executions become scores. Source: seed 004; SPEC 3.2."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from scoring.judging.requests import STATUS_TITLES, QuestionKind, Verdicts, VerdictStatus
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.rubrics.recruit_agent.intent import Intent, intent_of
from scoring.rules.arrow_types import field
from scoring.rules.bands import Bands, band_text
from scoring.stats.exact import Exact, mean, rounded
from scoring.stats.intervals import mode_ratio
from scoring.testruns.check_results import CheckResult, are_unseen, evaluate, pass_ratio
from scoring.testruns.checks import Item
from scoring.testruns.executions import Execution, LatencyClass, ParsedExecution, parse_execution
from scoring.testruns.expected import expected_of, unread_checks
from scoring.testruns.latency_class import latency_class_of_query
from scoring.testruns.patterns import checked_score, failed_check_lines
from scoring.testruns.query_columns import (
    COVERAGE,
    FLAG,
    GROUPS,
    IDENTITY,
    LATENCY_CLASS,
    REVIEW_REASONS,
    ROUNDS,
    TOTAL_MISSING,
    QueryColumn,
    pass_columns,
    reason_column,
    score_column,
    total_column,
)
from scoring.testruns.raw_json import JsonObject, part_of
from scoring.testruns.rubric import Metric, Options, Score, ScoredExecution, ScoredQuery, Undecided
from scoring.testruns.summaries import Repeats, as_float, query_means, repeats_of
from scoring.testruns.tool_usage import filters_of
from scoring.testruns.totals import WeightedTotal

METRICS = (
    Metric("intent", "의도 충족", judged_by=QuestionKind.INTENT),
    Metric("accuracy", "정확성"),
    Metric("stability", "안정성"),
    Metric("speed_single", "응답 속도 (기본)", noise=1),
    Metric("speed_multi", "응답 속도 (다중 도구)", noise=1),
    Metric("consistency", "일관성", per_execution=False, judged_by=QuestionKind.INTENT),
)
EXECUTION_METRICS = tuple(metric.name for metric in METRICS if metric.per_execution)


@dataclass(frozen=True)
class Consistency:
    """The score and its two halves; None if there is too little to compare, `ratio_a` also if a label is missing."""

    score: Score
    ratio_a: Fraction | None
    ratio_b: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruitExecution(ScoredExecution):
    """An execution with the judge's words, None without a verdict; `pass_ratio` is None if nothing was checked."""

    intent_verdict: str | None
    intent_label: str | None
    signature: str
    pass_ratio: float | None
    failed_checks: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruitQuery(ScoredQuery):
    """A query; the two ratios are the halves of its consistency."""

    executions: tuple[RecruitExecution, ...]
    latency_class: LatencyClass
    total: WeightedTotal
    ratio_a: Fraction | None
    ratio_b: Fraction | None
    repeats: Repeats


OWN_COLUMNS = (
    field("intent_verdict", pa.string(), "의도 판정: 판정받지 못하면 빈칸"),
    field("intent_label", pa.string(), "의도 라벨: ADD(추가), UPDATE(수정)처럼 하려는 일. 판정받지 못하면 빈칸"),
    field("signature", pa.string(), "화면 구성: 핵심 키를 순서와 무관하게 적은 JSON, 없으면 EMPTY"),
    field("pass_ratio", pa.float64(), "체크 통과율: 가중치를 반영함. 실패했거나 체크가 없으면 빈칸"),
    field("failed_checks", pa.list_(pa.string()), "통과하지 못한 체크: [대상] 까닭"),
)
QUERY_COLUMNS = (
    *IDENTITY,
    ROUNDS,
    *(score_column(one.name, f"{one.title}: 실행 점수의 평균") for one in METRICS if one.per_execution),
    score_column("consistency", "일관성: 0~5점, 판정받지 못하면 빈칸"),
    reason_column("consistency", "일관성"),
    QueryColumn("ratio_a", pa.float64(), "의도 일치율: 가장 흔한 의도 라벨의 비율"),
    QueryColumn("ratio_b", pa.float64(), "화면 구성 일치율: 가장 흔한 화면 구성의 비율"),
    LATENCY_CLASS,
    total_column("종합 점수: 소수 둘째 자리까지. 옵션 weighted_total=off면 빈칸"),
    COVERAGE,
    FLAG,
    REVIEW_REASONS,
    *pass_columns(t.PASS_MIN_POINTS),
    TOTAL_MISSING,
    *GROUPS,
)


def checks_of(execution: Execution) -> tuple[Item, ...]:
    """The declared checks (`accuracyChecks`, `@check`), else the Korean checklist. Source: seed 004, 정확성."""
    expected = expected_of(execution)
    return expected.declared or expected.items


def score_query(executions: Sequence[Execution], options: Options, verdicts: Verdicts) -> RecruitQuery:
    """One query, its executions in the order of rounds, with consistency, total and reasons for a review."""
    ordered = sorted(executions, key=lambda execution: execution.round)
    readings = [parse_execution(execution) for execution in ordered]
    intents = [intent_of(reading, verdicts) for reading in readings]
    signatures = [signature(reading) for reading in readings]
    latency_class = latency_class_of_query(readings)
    scored = tuple(
        _scored(reading, intent, seen, latency_class)
        for reading, intent, seen in zip(readings, intents, signatures, strict=True)
    )
    repeated = consistency(intents, signatures)
    scores = {**query_means(scored, EXECUTION_METRICS), "consistency": repeated.score}
    return RecruitQuery(
        query_id=ordered[0].query_id,
        query_text=next((execution.query_text for execution in ordered if execution.query_text), ""),
        agent_type=next((execution.agent_type for execution in ordered if execution.agent_type), None),
        executions=scored,
        scores=scores,
        latency_class=latency_class,
        total=weighted_total({name: score.points for name, score in scores.items()}, options),
        ratio_a=repeated.ratio_a,
        ratio_b=repeated.ratio_b,
        manual_review_reasons=review_reasons(intents),
        repeats=repeats_of((one for one in scored if _evaluable(one)), t.PASS_MIN_POINTS),
        problems=unread_checks(ordered),
    )


def _evaluable(scored: RecruitExecution) -> bool:
    """Whether the accuracy is a statement about the answer: without checks the seed's 0 is not."""
    return scored.failed or scored.pass_ratio is not None


def weighted_total(points: Mapping[str, Exact | None], options: Options) -> WeightedTotal:
    """The seed's weights over the known metrics; speed is the mean of the speed metrics that exist.

    NULL without `weighted_total=on`. Source: seed 004, 종합 점수; SPEC 3.2.
    """
    if options["weighted_total"] == "off":
        return WeightedTotal(None, None)
    return t.WEIGHTS.total({**points, "speed": mean((points["speed_single"], points["speed_multi"]))}, options)


def accuracy_score(reading: ParsedExecution, results: Sequence[CheckResult]) -> Score:
    """The banded, weighted share of passed checks; 0 if failed or without checks; NULL if the screen is unknown.

    Source: seed 004, 정확성; SPEC 3.2.
    """
    if reading.failure:
        return Score(t.FAILED_POINTS, f"{reading.not_answered}: 산출물을 믿을 수 없어 {t.FAILED_POINTS}점")
    if are_unseen(reading, results):
        return Score(None, "Raw JSON이 없어 화면 항목의 체크를 확인하지 못함", Undecided.TOOLS_NOT_SHOWN)
    ratio = pass_ratio(results)
    if ratio is None:
        return Score(
            t.NOT_EVALUABLE_POINTS, f"확인할 체크가 없어 평가할 수 없으므로 {t.NOT_EVALUABLE_POINTS}점(not_evaluable)"
        )
    return checked_score(results, ratio, t.PASS_RATIO_POINTS, t.NOTHING_PASSED_POINTS, "가중 통과율")


def stability_score(reading: ParsedExecution) -> Score:
    """5 for an answer without errors, else 0. Source: seed 004, 안정성."""
    if reading.answered:
        return Score(t.STABLE_POINTS, f"오류 없이 응답해 {t.STABLE_POINTS}점")
    return Score(t.UNSTABLE_POINTS, reading.not_answered)


def speed_scores(latency_s: float | None, latency_class: LatencyClass) -> dict[str, Score]:
    """The metric of the query's latency class; the other does not apply. Source: seed 004, 응답 속도; SPEC 3.2."""
    if latency_class is LatencyClass.SINGLE:
        other = Score(None, "단일 도구 호출 질의라 해당 없음")
        return {"speed_single": _speed(latency_s, t.SPEED_SINGLE_POINTS), "speed_multi": other}
    other = Score(None, "다중 도구 호출 질의라 해당 없음")
    return {"speed_single": other, "speed_multi": _speed(latency_s, t.SPEED_MULTI_POINTS)}


def signature(reading: ParsedExecution) -> str:
    """The visible content as canonical JSON of the seed's key fields of every entry, independent of their order.

    `EMPTY` without entries and for a failed execution.
    """
    if reading.failure or not reading.response.ui_entries:
        return t.EMPTY_SIGNATURE
    return "[" + ",".join(sorted(_entry_signature(entry) for entry in reading.response.ui_entries)) + "]"


def consistency(intents: Sequence[Intent], signatures: Sequence[str]) -> Consistency:
    """((ratioA + ratioB) / 2) * 5 over the executions of one query; with fewer than two the seed gives 0.

    NULL if the judge gave no label for one of them: the status is the reason.
    """
    n = len(signatures)
    if n < t.MIN_EXECUTIONS:
        reason = (
            f"실행이 {n}건이라 반복을 비교할 수 없어 {t.TOO_FEW_EXECUTIONS_POINTS}점({t.MIN_EXECUTIONS}건 이상 필요)"
        )
        return Consistency(Score(t.TOO_FEW_EXECUTIONS_POINTS, reason), None, None)
    ratio_b = mode_ratio(signatures)
    seen = f"화면 구성 일치 {_share(ratio_b, n)}"
    labels = [intent.label for intent in intents if intent.label is not None]
    if len(labels) < n:
        missing = next(intent.missing for intent in intents if intent.label is None)
        why = STATUS_TITLES[missing]
        reason = f"의도 라벨을 판정받지 못한 실행 {n - len(labels)}건이 있어 채점하지 않음({why}), {seen}"
        return Consistency(Score(None, reason, missing), None, ratio_b)
    ratio_a = mode_ratio(labels)
    points = (ratio_a + ratio_b) / 2 * t.MAX_POINTS
    by_count = sorted(Counter(labels).items(), key=lambda one: (-one[1], one[0]))
    listed = ", ".join(f"{label} {count}건" for label, count in by_count)
    reason = f"의도 일치 {_share(ratio_a, n)}({listed}), {seen}으로 {rounded(points, 2)}점"
    return Consistency(Score(points, reason), ratio_a, ratio_b)


def review_reasons(intents: Sequence[Intent]) -> list[str]:
    """Codes of why a person should review a query: a question was asked and not answered (`intent_refused`, ...).

    Without any judge there is one notice for the run, and no query is flagged. Source: SPEC 3.3 and 7.
    """
    asked = (intent.missing for intent in intents if intent.missing not in ("", VerdictStatus.NO_JUDGE))
    return [f"intent_{status}" for status in dict.fromkeys(asked)]


def _speed(latency_s: float | None, bands: Bands[int]) -> Score:
    if latency_s is None:
        return Score(t.NO_TIME_POINTS, f"응답 시간이 기록되지 않아 {t.NO_TIME_POINTS}점")
    points = bands.points(latency_s)
    return Score(points, f"응답 {latency_s:g}초({band_text(bands, latency_s, '초')})로 {points}점")


def _scored(reading: ParsedExecution, intent: Intent, seen: str, latency_class: LatencyClass) -> RecruitExecution:
    results = () if reading.failure else evaluate(checks_of(reading.execution), reading.response)
    accuracy = accuracy_score(reading, results)
    if accuracy.undecided:
        results = ()
    ratio = pass_ratio(results)
    return RecruitExecution(
        execution=reading.execution,
        failed=bool(reading.failure),
        empty=bool(reading.emptiness),
        latency_s=reading.latency_s,
        latency_class=latency_class,
        scores={
            "intent": intent.score,
            "accuracy": accuracy,
            "stability": stability_score(reading),
            **speed_scores(reading.latency_s, latency_class),
        },
        intent_verdict=intent.verdict,
        intent_label=intent.label,
        signature=seen,
        pass_ratio=as_float(ratio),
        failed_checks=failed_check_lines(results),
        answer=reading.response.assistant_message,
        checks=results,
    )


def _entry_signature(entry: JsonObject) -> str:
    ui_value = part_of(entry, "uiValue")
    value = part_of(ui_value, "value")
    fields = {
        **{key: ui_value.get(key) for key in t.SIGNATURE_KEYS},
        **{f"value.{key}": value.get(key) for key in t.SIGNATURE_VALUE_KEYS},
        "filterType": sorted(filters_of(ui_value)) or None,
    }
    known = {key: field for key, field in fields.items() if field is not None}
    try:
        return json.dumps(known, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return '"너무 깊은 값"'


def _share(ratio: Fraction, n: int) -> str:
    return f"{n}건 중 {int(ratio * n)}건"
