"""The four scores of one answer: semantic quality, accuracy, speed, stability; and its time to first token.

Source: seed 000, 2.1, 2.3 to 2.6, 3.1, 3.3 to 3.6; SPEC 3.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from scoring.judging.requests import JudgeRequest, QuestionKind, Verdicts, verdict_of
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.thresholds import (
    MAPPING_TITLES,
    MISSING_TITLES,
    MappingGrade,
    Missing,
    NumbersGrade,
    ToolVerdict,
)
from scoring.rubrics.aqb.tool_use import ToolUse
from scoring.rules.bands import band_text
from scoring.testruns.cells import given
from scoring.testruns.executions import AgentType, LatencyClass, ParsedExecution
from scoring.testruns.ground_truth import (
    positions_asked_for,
    positions_of_answer,
    says_none,
    truth_quantities,
    unmet_positions,
)
from scoring.testruns.numbers import (
    Quantity,
    compare_quantities,
    confirmed_quantities,
    number_text,
    numbers_in,
    quantities_in,
    quantity_text,
)
from scoring.testruns.positions import Position
from scoring.testruns.raw_json import JsonObject, objects_of
from scoring.testruns.rubric import Score

CLASS_TITLES = {LatencyClass.SINGLE: "단일 도구 호출", LatencyClass.MULTI: "복수 도구 호출"}
_TONE_TITLES = {True: "톤앤매너 준수", False: "톤앤매너 미준수", None: ""}
_SHOWN_NUMBERS = 6


def semantic_request(reading: ParsedExecution, use: ToolUse, rubric: str) -> JudgeRequest | None:
    """The question on one answer; None if a rule decides: a move agent, or no answer.

    The expected verdict has `score` (a whole number from 0 to 5) and `tone_kept` (a boolean).
    """
    execution = reading.execution
    if not reading.answered or execution.agent_type is AgentType.MOVE:
        return None
    material = {
        "query": execution.query_text,
        "agent_type": execution.agent_type,
        "expected": given(execution.expected_text) or "",
        "answer": reading.response.assistant_message,
        "offered": [_offered(ui_value) for ui_value in reading.response.ui_values],
        "mapping": {
            "grade": use.grade,
            "expected": list(use.expected),
            "missing": list(use.missing),
            "extra": list(use.extra),
        },
    }
    return JudgeRequest(rubric, QuestionKind.SEMANTIC, material)


def semantic_score(reading: ParsedExecution, use: ToolUse, request: JudgeRequest | None, verdicts: Verdicts) -> Score:
    """Points from 0 to 5. A failed or empty answer gets 0; NULL with the status if there is no verdict."""
    if not reading.answered:
        return Score(t.UNANSWERED_POINTS, f"응답 실패: {reading.failure or reading.emptiness}")
    if request is not None:
        return _judged(use, request, verdicts)
    if use.grade is MappingGrade.UNKNOWN:
        return Score(None, use.text(), use.unknown_because)
    return Score(t.MOVE_SEMANTIC_POINTS[use.grade], use.text())


def tone_kept(request: JudgeRequest | None, verdicts: Verdicts) -> bool | None:
    """Whether the judge found the tone kept; None if unknown: no question, no verdict, or a verdict without the field.

    It is not part of any score. Source: seed 000, 3.1 (톤앤매너 준수율).
    """
    told = verdict_of(request, verdicts).answer.get("tone_kept") if request else None
    return told if isinstance(told, bool) else None


def _judged(use: ToolUse, request: JudgeRequest, verdicts: Verdicts) -> Score:
    verdict = verdict_of(request, verdicts)
    points = verdict.answer.get("score")
    if not verdict.given or type(points) is not int or not 0 <= points <= t.MAX_POINTS:
        status = verdict.unusable_because
        return Score(None, f"{MISSING_TITLES[status]}; {use.text()}", status)
    cap = t.SEMANTIC_CAPS.get(use.grade, t.MAX_POINTS)
    capped = f"조건 매핑 '{MAPPING_TITLES[use.grade]}'의 상한 {cap}점 적용(판정 {points}점); " if points > cap else ""
    tone = _TONE_TITLES[tone_kept(request, verdicts)]
    return Score(min(points, cap), "; ".join(filter(None, (f"{capped}{use.text()}", tone, verdict.reason.strip()))))


def _offered(ui_value: JsonObject) -> dict[str, Any]:
    """The visible content of one entry: its form, message, button, and the names of its options."""
    texts = {key: ui_value[key] for key in ("formType", "message", "buttonName") if isinstance(ui_value.get(key), str)}
    names = [option.get("optionName") for option in objects_of(ui_value.get("selectOptionList"))]
    return {**texts, "options": [name for name in names if isinstance(name, str)]}


@dataclass(frozen=True, slots=True)
class Numbers:
    """How the numbers of an answer match the ground truth; `text` lists them (Korean)."""

    grade: NumbersGrade
    text: str


def numbers_of(reading: ParsedExecution, tolerance: Fraction) -> Numbers | None:
    """Compares the numbers of an answer with its ground truth; None if there is none (or it has no number).

    A failed or empty answer has no number. `tolerance` is relative: 1/100 for 1 %. Source: seed 000, 3.3.
    """
    execution = reading.execution
    truth, query = given(execution.ground_truth) or "", execution.query_text
    message = reading.response.assistant_message if reading.answered else ""
    if asked_for := positions_asked_for(truth):
        return _positions_compared(
            asked_for, unmet_positions(truth, message, query=query), positions_of_answer(message)
        )
    expected = truth_quantities(truth)
    if not expected:
        return None
    stated = quantities_in(message, query=query, truth=truth, offers_count=True)
    if not stated and {number.value for number in expected} <= set(numbers_in(query)):
        stated = confirmed_quantities(message)  # 3명 맞아? 네, 3명입니다
    if any(not number.value for number in expected) and says_none(message, query=query, truth=truth):
        stated += (Quantity(Fraction(0)),)
    compared = compare_quantities(expected, stated, tolerance)
    grade = NumbersGrade(compared.grade)
    if grade is NumbersGrade.EXACT:
        return Numbers(grade, f"정답 수치 일치: {_listed(expected)}")
    found = f"정답 {_listed(compared.missing)}, 답변 {_listed(stated) or '숫자 없음'}"
    allowed = f"±{number_text(tolerance * 100)}%"
    if grade is NumbersGrade.WITHIN:
        return Numbers(grade, f"수치가 허용 오차 {allowed} 이내: {found}")
    return Numbers(grade, f"수치 불일치: {found}")


def _positions_compared(expected: Sequence[Position], missing: Sequence[Position], said: Sequence[Position]) -> Numbers:
    if not missing:
        return Numbers(NumbersGrade.EXACT, f"정답 수치 일치: {joined(expected)}")
    return Numbers(
        NumbersGrade.WRONG, f"수치 불일치: 정답 {joined(missing)}, 답변 {joined(said) or '날짜·시각·순번 없음'}"
    )


def accuracy_of(reading: ParsedExecution, use: ToolUse, numbers: Numbers | None) -> tuple[Score, ToolVerdict | None]:
    """Points from 0 to 5, and the verdict on the tools used; NULL if unknown.

    A failed or empty answer gets 0 wherever an answer could have got points.
    """
    if use.unmapped or use.unseen:
        return Score(None, use.text(), use.unknown_because), None
    grade = numbers.grade if numbers else None
    if reading.execution.agent_type is AgentType.APPLICANT_MANAGEMENT:
        row = t.FILTER_ACCURACY.get((use.grade, grade))
        evidence = numbers.text if numbers else "정답 수치가 없어 필터만으로 채점"
        reason = f"{use.text()}; {evidence}"
    else:
        row, reason = t.DATAKEY_ACCURACY.get(use.grade), use.text()
    if row is None:
        return Score(None, use.text(), use.unknown_because), None
    if not reading.answered:
        failed = ToolVerdict.FAIL if use.grade is not MappingGrade.UNKNOWN else None
        return Score(t.UNANSWERED_POINTS, f"응답 실패: {reading.failure or reading.emptiness}"), failed
    return Score(row.points, reason), row.tools


def joined(items: Sequence[object]) -> str:
    """The first items, and how many there are besides."""
    more = f" 외 {len(items) - _SHOWN_NUMBERS}개" if len(items) > _SHOWN_NUMBERS else ""
    return ", ".join(map(str, items[:_SHOWN_NUMBERS])) + more


def _listed(numbers: Sequence[Quantity]) -> str:
    return joined([quantity_text(number) for number in numbers])


def speed_score(reading: ParsedExecution, latency_class: LatencyClass, agent: AgentType) -> Score:
    """Points for the seconds by class and agent; a failed answer gets 0, NULL without a time.

    Source: seed 000, 3.4 and 3.5.
    """
    if reading.failure:
        return Score(t.UNANSWERED_POINTS, f"응답 실패: {reading.failure}")
    if reading.latency_s is None:
        return Score(None, MISSING_TITLES[Missing.NO_TIME], Missing.NO_TIME)
    bands = t.SPEED_BANDS[latency_class, agent]
    band = band_text(bands, reading.latency_s, "초")
    return Score(
        bands.points(reading.latency_s), f"응답 시간 {reading.latency_s:g}초 ({CLASS_TITLES[latency_class]}, {band})"
    )


def ttft_pass(ttft_s: float | None) -> Literal["PASS", "FAIL"] | None:
    """Whether the first token came in time; None if it was not measured. Source: seed 000, 2.4 and 5.4."""
    if ttft_s is None:
        return None
    return "PASS" if ttft_s <= t.TTFT_MAX_S else "FAIL"


def stability_score(reading: ParsedExecution) -> Score:
    """5 for an answer, 0 for a failed or empty one. Source: seed 000, 3.6."""
    if reading.answered:
        return Score(t.ANSWERED_POINTS, "정상 응답")
    what = f"실패: {reading.failure}" if reading.failure else f"빈 응답: {reading.emptiness}"
    return Score(t.UNANSWERED_POINTS, what)


def failed_steps(reading: ParsedExecution) -> tuple[str, ...]:
    """The steps at which an answer failed, each once; () for an answer. Source: seed 000, 2.6."""
    if reading.answered:
        return ()
    steps = tuple(dict.fromkeys(error.step for error in reading.response.step_errors))
    return steps or (("단계 기록 없음",) if reading.failure else ("빈 응답",))
