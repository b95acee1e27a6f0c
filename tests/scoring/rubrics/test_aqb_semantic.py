"""aqb-1.2: semantic quality by rule, by a judge under a cap, and without an answer."""

import json
from typing import Any

import pytest

from scoring.judging.requests import JudgeRequest, QuestionKind, Verdict, VerdictStatus
from scoring.rubrics.aqb.answers import semantic_request, semantic_score
from scoring.rubrics.aqb.tool_use import tool_use
from scoring.stats.exact import mean, rounded
from scoring.testruns.executions import AgentType, Execution, ParsedExecution, Round, parse_execution
from scoring.testruns.rubric import Score


def reading(agent: AgentType = AgentType.PLAN, expected: str = "A", *used: str, **fields: Any) -> ParsedExecution:
    entries = [{"uiValue": {"value": {"dataKey": key}}} for key in used or ("A",)]
    raw = json.dumps({"assistantMessage": "안내할게요.", "dataUIList": entries})
    given = {"query_id": "Q", "round": Round(1, 1), "agent_type": agent, "raw_json": raw, "expected_datakeys": expected}
    return parse_execution(Execution(**{**given, **fields}))


def question(answer: ParsedExecution) -> JudgeRequest | None:
    return semantic_request(answer, tool_use(answer), "aqb-1.2")


def scored(answer: ParsedExecution, verdict: Verdict | None = None) -> Score:
    asked = question(answer)
    verdicts = {asked.key: verdict} if asked and verdict else {}
    return semantic_score(answer, tool_use(answer), asked, verdicts)


def given(points: object, reason: str = "") -> Verdict:
    return Verdict(VerdictStatus.OK, {"score": points}, reason)


@pytest.mark.parametrize(
    ("expected", "used", "points"),
    [("A", ["A"], 5), ("A", ["A", "B"], 3), ("A, B", ["A"], 3), ("A", ["B"], 1)],
)
def test_move_is_scored_by_its_mapping_alone(expected: str, used: list[str], points: int) -> None:
    answer = reading(AgentType.MOVE, expected, *used)
    assert question(answer) is None
    assert scored(answer).points == points


def test_move_with_nothing_expected_is_not_known() -> None:
    score = scored(reading(AgentType.MOVE, ""))
    assert (score.points, score.missing) == (None, "nothing_expected")


@pytest.mark.parametrize("agent", list(AgentType))
@pytest.mark.parametrize("fields", [{"error": "timeout"}, {"raw_json": "{}"}])
def test_what_failed_or_is_empty_earns_nothing_and_asks_nobody(agent: AgentType, fields: dict[str, str]) -> None:
    answer = reading(agent, "A", **fields)
    assert question(answer) is None
    assert scored(answer).points == 0


@pytest.mark.parametrize(
    ("expected", "used", "most"),
    [("A", ["A"], 5), ("A", ["A", "B"], 3), ("A, B", ["A"], 3), ("A", ["B"], 1), ("", ["A"], 5)],
)
def test_mapping_caps_what_a_judge_may_give(expected: str, used: list[str], most: int) -> None:
    answer = reading(AgentType.PLAN, expected, *used)
    assert [scored(answer, given(points)).points for points in range(6)] == [min(points, most) for points in range(6)]


def test_capped_score_says_what_the_judge_gave() -> None:
    reason = scored(reading(AgentType.PLAN, "A", "B"), given(4, "말투는 좋음")).reason
    assert "상한 1점" in reason
    assert "판정 4점" in reason
    assert "말투는 좋음" in reason
    assert "datakey 미사용: A" in reason


def test_judge_is_told_the_mapping_as_a_fact() -> None:
    asked = question(reading(AgentType.PLAN, "A, B", "A", "C", query_text="설정해줘", expected_text="설정 안내"))
    assert asked is not None
    assert asked.kind is QuestionKind.SEMANTIC
    assert asked.material["mapping"] == {"grade": "partial", "expected": ["A", "B"], "missing": ["B"], "extra": ["C"]}
    assert (asked.material["query"], asked.material["expected"]) == ("설정해줘", "설정 안내")
    assert asked.material["answer"] == "안내할게요."


def test_judge_sees_what_the_user_is_offered() -> None:
    option = {"optionName": "서류", "optionValue": "1"}
    entry = {"uiValue": {"formType": "SELECT", "message": "고르세요", "selectOptionList": [option, 7], "x": "y"}}
    asked = question(reading(raw_json=json.dumps({"dataUIList": [entry]})))
    assert asked is not None
    assert asked.material["offered"] == [{"formType": "SELECT", "message": "고르세요", "options": ["서류"]}]


def test_equal_answers_in_two_rooms_are_one_question() -> None:
    first, second = question(reading()), question(reading(round=Round(2, 1)))
    assert first is not None
    assert first == second


@pytest.mark.parametrize("status", [status for status in VerdictStatus if status is not VerdictStatus.OK])
def test_without_a_verdict_the_score_is_not_known(status: VerdictStatus) -> None:
    score = scored(reading(), Verdict(status))
    assert (score.points, score.missing) == (None, status)


def test_with_nobody_asked_there_is_no_judge() -> None:
    assert scored(reading()).missing == "no_judge"


@pytest.mark.parametrize("points", [-1, 6, 4.5, "5", None, True])
def test_verdict_outside_the_scale_is_invalid(points: object) -> None:
    score = scored(reading(), given(points))
    assert (score.points, score.missing) == (None, "invalid")


def test_worked_example_of_the_seed_comes_to_4_12() -> None:
    right, half, wrong = reading(), reading(AgentType.PLAN, "A, B"), reading(AgentType.PLAN, "B")
    verdicts = [(right, 5)] * 60 + [(right, 4)] * 10 + [(half, 3)] * 21 + [(wrong, 1)] * 9
    final = mean(scored(answer, given(points)).points for answer, points in verdicts)
    assert final is not None
    assert str(rounded(final, 2)) == "4.12"
