"""Semantic quality of one answer: by rule for a move agent, else a judge's points under a rule's cap.

Source: seed 000, 2.1 and 3.1; SPEC 3.3.
"""

from typing import Any

from scoring.judging.requests import JudgeRequest, QuestionKind, Verdicts, VerdictStatus, verdict_of
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.grades import MAPPING_TITLES, MISSING_TITLES, MappingGrade
from scoring.rubrics.aqb.tool_use import ToolUse
from scoring.testruns.cells import given
from scoring.testruns.executions import AgentType, Reading
from scoring.testruns.raw_json import JsonObject
from scoring.testruns.rubric import Score


def semantic_request(reading: Reading, use: ToolUse, rubric: str) -> JudgeRequest | None:
    """The question on one answer, None where a rule decides: a move agent, or no answer.

    The answer expected has `score` (a whole number from 0 to 5).
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


def semantic_score(reading: Reading, use: ToolUse, request: JudgeRequest | None, verdicts: Verdicts) -> Score:
    """Points from 0 to 5. Failed or empty earns 0; NULL with the status where a verdict is not given."""
    if not reading.answered:
        return Score(t.UNANSWERED_POINTS, f"응답 실패: {reading.failure or reading.emptiness}")
    if request is not None:
        return _judged(use, request, verdicts)
    if use.grade is MappingGrade.UNKNOWN:
        return Score(None, use.text(), use.unknown_because)
    return Score(t.MOVE_SEMANTIC_POINTS[use.grade], use.text())


def _judged(use: ToolUse, request: JudgeRequest, verdicts: Verdicts) -> Score:
    verdict = verdict_of(request, verdicts)
    if not verdict.given:
        return Score(None, f"{MISSING_TITLES[verdict.status]}; {use.text()}", verdict.status)
    points = verdict.answer.get("score")
    if type(points) is not int or not 0 <= points <= t.MAX_POINTS:
        return Score(None, f"{MISSING_TITLES[VerdictStatus.INVALID]}; {use.text()}", VerdictStatus.INVALID)
    cap = t.SEMANTIC_CAPS.get(use.grade, t.MAX_POINTS)
    capped = f"조건 매핑 '{MAPPING_TITLES[use.grade]}'의 상한 {cap}점 적용(판정 {points}점); " if points > cap else ""
    return Score(min(points, cap), "; ".join(filter(None, (f"{capped}{use.text()}", verdict.reason.strip()))))


def _offered(ui_value: JsonObject) -> dict[str, Any]:
    """What the user sees of one entry: its form, message, button, and the names of its options."""
    texts = {key: ui_value[key] for key in ("formType", "message", "buttonName") if isinstance(ui_value.get(key), str)}
    options = ui_value.get("selectOptionList")
    listed = options if isinstance(options, list) else []
    names = [option.get("optionName") for option in listed if isinstance(option, dict)]
    return {**texts, "options": [name for name in names if isinstance(name, str)]}
