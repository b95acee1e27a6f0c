"""aqb-1.2: accuracy by the tables of seed 3.3, and the ground truth."""

import json
from fractions import Fraction
from typing import Any

import pytest

from scoring.rubrics.aqb.answers import accuracy_of, numbers_of
from scoring.rubrics.aqb.thresholds import ToolVerdict
from scoring.rubrics.aqb.tool_use import tool_use
from scoring.testruns.executions import AgentType, Execution, Round, parse_execution
from scoring.testruns.rubric import Score

ONE_PERCENT = Fraction(1, 100)


def judged(
    agent: AgentType, ui_values: list[object], message: str = "답", tolerance: Fraction = ONE_PERCENT, **fields: Any
) -> tuple[Score, ToolVerdict | None]:
    raw = json.dumps({"assistantMessage": message, "dataUIList": [{"uiValue": value} for value in ui_values]})
    given = {"query_id": "Q", "round": Round(1, 1), "agent_type": agent, "raw_json": raw, **fields}
    reading = parse_execution(Execution(**given))
    return accuracy_of(reading, tool_use(reading), numbers_of(reading, tolerance))


def applicants(
    used: list[str], message: str, truth: str = "", expected: str = "보훈 + 국적", **fields: Any
) -> tuple[Score, ToolVerdict | None]:
    ui_values: list[object] = [{"filterType": name} for name in used]
    return judged(
        AgentType.APPLICANT_MANAGEMENT, ui_values, message, expected_filters=expected, ground_truth=truth, **fields
    )


def datakeys(used: list[str], expected: str, agent: AgentType = AgentType.PLAN) -> tuple[Score, ToolVerdict | None]:
    return judged(agent, [{"value": {"dataKey": key}} for key in used], expected_datakeys=expected)


EXACT, EXTRA = ["PATRIOT", "NATIONALITY"], ["PATRIOT", "NATIONALITY", "LICENSE"]
PARTIAL, NONE = ["PATRIOT"], ["LICENSE"]


@pytest.mark.parametrize(
    ("used", "message", "points"),
    [
        (EXACT, "1,000명", 5),
        ([*EXACT, "RESUME_PERIOD"], "1,000명", 5),
        (EXACT, "1,010명", 4),
        (EXACT, "990명", 4),
        (EXACT, "1,011명", 2),
        (EXACT, "989명", 2),
        (EXACT, "확인할 수 없습니다", 2),
        (EXTRA, "1,000명", 5),
        (EXTRA, "1,010명", 4),
        (EXTRA, "1,011명", 1),
        (PARTIAL, "1,000명", 3),
        (PARTIAL, "1,010명", 1),
        (PARTIAL, "5명", 1),
        (NONE, "1,000명", 3),
        (NONE, "1,010명", 0),
        (NONE, "5명", 0),
    ],
)
def test_filters_and_numbers_decide_together(used: list[str], message: str, points: int) -> None:
    assert applicants(used, message, truth="1000")[0].points == points


@pytest.mark.parametrize(("used", "points"), [(EXACT, 4), (EXTRA, 3), (PARTIAL, 1), (NONE, 0)])
def test_without_ground_truth_filters_decide_alone_and_the_reason_says_so(used: list[str], points: int) -> None:
    score, _ = applicants(used, "5명")
    assert score.points == points
    assert "정답 수치가 없어" in score.reason


@pytest.mark.parametrize(("message", "points"), [("1,000명", 5), ("1,010명", 4), ("1,011명", 2)])
def test_with_ground_truth_alone_the_numbers_decide(message: str, points: int) -> None:
    score, tools = applicants(["PATRIOT"], message, truth="1000", expected="")
    assert (score.points, tools) == (points, None)


def test_with_nothing_expected_accuracy_is_not_known() -> None:
    score, tools = applicants(["PATRIOT"], "5명", expected="")
    assert (score.points, score.missing, tools) == (None, "nothing_expected", None)


@pytest.mark.parametrize("truth", ["", "5"])
def test_name_without_a_code_leaves_accuracy_unknown(truth: str) -> None:
    score, _ = applicants(["PATRIOT"], "5명", truth=truth, expected="보훈 + 별자리")
    assert (score.points, score.missing) == (None, "unmapped_filter")


NO_COLUMN: frozenset[str] = frozenset()
RAW_ALONE = frozenset({"raw_json"})
OF_FILTERS = frozenset({"detected_filters"})
OF_DATAKEYS = frozenset({"used_datakeys"})


@pytest.mark.parametrize(
    ("agent", "filters", "columns"),
    [
        ("applicant_management", "보훈", NO_COLUMN),
        ("applicant_management", "보훈", RAW_ALONE),
        ("applicant_management", "보훈", OF_DATAKEYS),
        ("applicant_management", "성별 (genderFlag)", OF_FILTERS),
        ("plan", "", NO_COLUMN),
        ("plan", "", RAW_ALONE | OF_FILTERS),
        ("move", "", OF_FILTERS),
    ],
)
@pytest.mark.parametrize("truth", ["", "3"])
def test_file_that_cannot_show_the_tools_leaves_accuracy_unknown(
    agent: str, filters: str, columns: frozenset[str], truth: str
) -> None:
    """Not a 0 or 3: nobody knows whether the tool was used, however right the number is."""
    expected = {"expected_filters": filters, "expected_datakeys": "A", "ground_truth": truth}
    fields: dict[str, Any] = {"raw_json": "", "answer_text": "3명", "tool_columns": columns, **expected}
    score, tools = judged(AgentType(agent), [], **fields)
    assert (score.points, score.missing, tools) == (None, "tools_not_shown", None)
    assert "사용한 도구를 알려 주는 열이 없음(답변 raw, buttonUrl" in score.reason


def test_column_for_the_tools_that_is_empty_shows_that_none_was_used() -> None:
    columns = frozenset({"raw_json", "button_url"})
    score, _ = applicants([], "", truth="3", raw_json="", answer_text="3명", tool_columns=columns)
    assert score.points == 3


def test_answer_that_failed_without_raw_json_used_no_tools() -> None:
    score, tools = applicants([], "", truth="3", raw_json="", error="timeout", tool_columns=RAW_ALONE)
    assert (score.points, tools) == (0, ToolVerdict.FAIL)


def test_without_expected_filters_the_numbers_decide_also_where_no_tools_are_shown() -> None:
    score, _ = applicants([], "", "3", "", raw_json="", answer_text="3명", tool_columns=NO_COLUMN)
    assert score.points == 5


@pytest.mark.parametrize(("used", "points"), [(["X"], 5), (["Y"], 5), (["X", "Y"], 5), (["Y", "Z"], 3), (["Z"], 0)])
def test_one_of_several_datakeys_of_a_check_is_enough(used: list[str], points: int) -> None:
    expected = 'dataUIList 내 dataKey 값이 "X" 또는 "Y"인 항목이 존재하는가'
    offered: list[object] = [{"value": {"dataKey": key}} for key in used]
    assert judged(AgentType.PLAN, offered, expected_text=expected)[0].points == points


def test_every_number_of_the_ground_truth_must_be_answered_in_any_order() -> None:
    assert applicants(EXACT, "여성 40%, 남성 60%", truth="남 60%, 여 40%")[0].points == 5
    assert applicants(EXACT, "남성 60%", truth="남 60%, 여 40%")[0].points == 2


def test_wider_tolerance_may_be_chosen() -> None:
    ui_values: list[object] = [{"filterType": "PATRIOT"}]
    given = {"expected_filters": "보훈", "ground_truth": "100"}
    agent = AgentType.APPLICANT_MANAGEMENT
    assert judged(agent, ui_values, "105명", Fraction(5, 100), **given)[0].points == 4
    assert judged(agent, ui_values, "106명", Fraction(5, 100), **given)[0].points == 2


def test_number_of_the_query_is_no_answer_unless_it_counts_another_thing() -> None:
    query = {"query_text": "경력 3년 이상인 지원자 수"}
    assert applicants(EXACT, "경력 3년 이상은 5명", truth="3", **query)[0].points == 2
    assert applicants(EXACT, "3명입니다", truth="3", **query)[0].points == 5


@pytest.mark.parametrize(
    ("query", "answer", "truth", "points"),
    [
        ("30대 지원자 수", "30대 지원자는 5명입니다.", "30", 2),
        ("30대 지원자 수", "30대 지원자는 30명입니다.", "30", 5),
        ("학점 4 이상 지원자 수", "학점 4 이상 지원자는 9명입니다", "4", 2),
        ("학점 4 이상 지원자 수", "학점 4 이상 지원자는 4명입니다", "4", 5),
        ("경력 3~5년 지원자 수", "경력 3년 이상 5년 이하 지원자는 9명입니다", "3", 2),
        ("학점 4 이상 지원자 수", "9명입니다", "학점 4 이상: 9명", 2),
    ],
)
def test_condition_of_the_query_is_no_answer_whatever_it_counts(
    query: str, answer: str, truth: str, points: int
) -> None:
    assert applicants(EXACT, answer, truth=truth, query_text=query)[0].points == points


def test_answer_may_confirm_the_number_that_the_query_asks_about() -> None:
    query = {"query_text": "보훈 대상자가 3명 맞아?"}
    assert applicants(EXACT, "네, 3명입니다", truth="3", **query)[0].points == 5
    assert applicants(EXACT, "아니요, 3명이 아니라 5명입니다", truth="3", **query)[0].points == 2
    assert applicants(EXACT, "네, 3명입니다", truth="5", **query)[0].points == 2


@pytest.mark.parametrize(
    "answer",
    ["경력 3년 이상 지원자는 없습니다", "경력 **3년** 이상 지원자를 조회했습니다", "경력이 3 년 이상인 지원자입니다"],
)
def test_answer_that_repeats_the_condition_of_the_query_confirms_no_number(answer: str) -> None:
    assert applicants(EXACT, answer, truth="3", query_text="경력 3년 이상인 지원자 수")[0].points == 2


def test_numbers_of_the_period_asked_about_hide_neither_truth_nor_answer() -> None:
    query = {"query_text": "최근 3개월간 남녀 지원자 수"}
    assert applicants(EXACT, "남자 5명, 여자 20명", truth="남 3, 여 20", **query)[0].points == 2
    assert applicants(EXACT, "남자 3명, 여자 20명", truth="남 3, 여 20", **query)[0].points == 5
    table = "| 서류 | 3 |\n| 면접 | 12 |"
    assert (
        applicants(EXACT, table, truth="서류 3명, 면접 12명", query_text="최근 3개월 전형별 지원자 수")[0].points == 5
    )


def test_ground_truth_is_needed_whole_even_where_it_repeats_the_query() -> None:
    query = {"query_text": "경력 3년 이상인 지원자 수"}
    truth = "경력 3년 이상: 12명"
    assert applicants(EXACT, "경력 3년 이상은 12명입니다", truth=truth, **query)[0].points == 5
    assert applicants(EXACT, "12명입니다", truth=truth, **query)[0].points == 2


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ("해당 지원자가 없습니다.", 5),
        ("해당 지원자가 **없습니다**.", 5),
        ("해당 **지원자**는 **없는 것으로** 확인됩니다.", 5),
        ("아무도 없어요", 5),
        ("남녀 모두 없습니다.", 5),
        ("해당 지원자는 현재 없는 것으로 확인됩니다.", 5),
        ("총 120명의 지원자 중 보훈 대상은 없습니다.", 5),
        ("토익 800점 이상이고 35세 미만인 보훈 지원자는 없습니다.", 5),
        ("12명 이상이 지원했고, 제외된 지원자는 없습니다.", 2),
        ("총 12명이며 제외된 지원자는 없습니다.", 2),
        ("보훈 지원자는 12명입니다. 장애 지원자는 없습니다.", 2),
        ("조건에 맞는 인원은 존재하지 않습니다.", 5),
        ("조건에 맞는 지원자가 조회되지 않았습니다.", 5),
        ("해당하는 지원자를 찾을 수 없습니다.", 5),
        ("조건에 맞는 지원서가 없습니다.", 5),
        ("조건에 맞는 데이터가 없습니다.", 5),
        ("해당되는 지원자는 없는 상태입니다.", 5),
        ("공고를 찾을 수 없어 지원자가 조회되지 않아요.", 2),
        ("입력하신 공고를 찾을 수 없습니다.", 2),
        ("0명입니다", 5),
        ("3명입니다", 2),
        ("지금은 조회할 수 없습니다.", 2),
        ("질문을 이해하지 못했습니다.", 2),
    ],
)
def test_truth_of_zero_is_met_by_an_answer_that_says_there_is_none(answer: str, points: int) -> None:
    assert applicants(EXACT, answer, truth="0명")[0].points == points


def test_zero_beside_other_numbers_is_met_by_words() -> None:
    assert applicants(EXACT, "합격 5명, 불합격은 없습니다.", truth="합격 5, 불합격 0")[0].points == 5


@pytest.mark.parametrize(
    ("truth", "answer", "points"),
    [
        ("12/15", "정답 12/15", 5),
        ("12/15", "12/15입니다", 5),
        ("12/15", "15명 중 12명이 맞혔습니다", 5),
        ("3/5", "합격 1/5", 2),
        ("3/5", "모릅니다", 2),
        ("남 3/5, 여 2/5", "남성은 3/5, 여성은 2/5입니다", 5),
        ("12명 (3/5 기준)", "12명", 5),
        ("2026-03-15", "마감일은 2026년 3월 15일입니다", 5),
        ("2026-03-15", "마감일은 2026-03-16입니다", 2),
        ("18:00", "18:00에 마감합니다", 5),
        ("18:00", "17:00에 마감합니다", 2),
        ("2차", "2차 면접입니다", 5),
        ("2차", "1차 면접입니다", 2),
        ("2차", "1차 면접이 2명으로 가장 많습니다", 2),
        ("2026.03.15", "마감일은 2026년 3월 15일입니다", 5),
        ("2026년 3월 15일", "마감일은 26.03.15입니다", 5),
        ("2026.03.15", "마감일은 2026.03.16입니다", 2),
        ("2026.03.15", "마감일은 2026년 4월 15일입니다", 2),
        ("2026-03-15", "마감일은 2025-03-15입니다", 2),
        ("2026-03-15", "마감일은 3월 15일입니다", 2),
        ("3월 15일", "마감일은 2026-03-15입니다", 5),
        ("3월 15일", "3월 5일부터 15명이 접수했습니다", 2),
        ("2026.03.15 ~ 2026.03.31", "2026년 3월 15일부터 3월 31일까지입니다", 5),
        ("2026.03.15 ~ 2026.03.31", "2026.03.15 ~ 2026.03.30입니다", 2),
        ("3월", "3월(5명)입니다", 5),
        ("3월", "가장 많은 달은 5월로 3명입니다", 2),
        ("3월", "3월이 아니라 5월입니다", 2),
        ("2분기", "1분기(2명)입니다", 2),
        ("2025년", "2024년입니다", 2),
        ("18:00", "오후 6시에 마감합니다", 5),
        ("18:00", "오전 6시에 마감합니다", 2),
        ("14:30", "13:14에 시작하며 30분 걸립니다", 2),
        ("12:10", "남성 12명, 여성 10명입니다", 5),
        ("3/15", "마감일은 2026.03.15입니다", 5),
        ("2026-03-15", "마감일은 2026. 3. 15.입니다. 다른 공고도 볼까요?", 5),
    ],
)
def test_what_a_ground_truth_is_nothing_but_is_asked_for_be_it_a_ratio_a_date_or_a_time(
    truth: str, answer: str, points: int
) -> None:
    assert applicants(EXACT, answer, truth=truth)[0].points == points


@pytest.mark.parametrize("truth", ["해당 없음", "없음", "없습니다", "데이터 없음", "확인 불가"])
def test_ground_truth_without_numbers_is_none(truth: str) -> None:
    assert applicants(EXACT, "5명", truth=truth)[0].points == 4


@pytest.mark.parametrize("truth", ["해당 지원자 없음", "지원자 없음", "해당자가 없습니다", "0명(없음)"])
@pytest.mark.parametrize(("answer", "points"), [("지원자는 없습니다", 5), ("0명입니다", 5), ("3명입니다", 2)])
def test_ground_truth_that_names_whom_there_is_none_of_is_0(truth: str, answer: str, points: int) -> None:
    assert applicants(EXACT, answer, truth=truth)[0].points == points


@pytest.mark.parametrize(
    ("used", "expected", "points", "verdict"),
    [
        (["A"], "A", 5, ToolVerdict.PASS),
        (["A", "B"], "A", 3, ToolVerdict.PARTIAL),
        (["B"], "A", 0, ToolVerdict.FAIL),
        ([], "A", 0, ToolVerdict.FAIL),
        (["A"], "A, B", 0, ToolVerdict.FAIL),
    ],
)
@pytest.mark.parametrize("agent", [AgentType.PLAN, AgentType.MOVE])
def test_datakeys_pass_partly_or_fail(
    used: list[str], expected: str, points: int, verdict: ToolVerdict, agent: AgentType
) -> None:
    score, tools = datakeys(used, expected, agent)
    assert (score.points, tools) == (points, verdict)


def test_without_expected_datakey_accuracy_is_not_known() -> None:
    score, tools = datakeys(["A"], "")
    assert (score.points, score.missing, tools) == (None, "nothing_expected", None)


@pytest.mark.parametrize(
    ("used", "truth", "verdict"),
    [
        (EXACT, "1000", ToolVerdict.PASS),
        (EXACT, "7", ToolVerdict.PASS),
        (EXTRA, "1000", ToolVerdict.PASS),
        (EXTRA, "995", ToolVerdict.PASS),
        (EXTRA, "7", ToolVerdict.FAIL),
        (EXTRA, "", ToolVerdict.PARTIAL),
        (PARTIAL, "1000", ToolVerdict.FAIL),
        (NONE, "1000", ToolVerdict.FAIL),
    ],
)
def test_filters_are_right_when_extras_left_the_numbers_right(
    used: list[str], truth: str, verdict: ToolVerdict
) -> None:
    assert applicants(used, "1,000명", truth=truth)[1] is verdict


@pytest.mark.parametrize("expected", ["보훈", ""])
def test_failed_answer_earns_nothing_whatever_it_says(expected: str) -> None:
    score, _ = applicants(["PATRIOT"], "1,000명", truth="1000", expected=expected, error="timeout")
    assert score.points == 0
    assert "timeout" in score.reason


def test_failed_answer_with_an_unmapped_filter_stays_unknown() -> None:
    assert applicants([], "5명", expected="별자리", error="timeout")[0].missing == "unmapped_filter"


@pytest.mark.parametrize(
    ("message", "evidence"),
    [
        ("1,000명", "정답 수치 일치: 1,000"),
        ("1,010명", "허용 오차 ±1% 이내: 정답 1,000, 답변 1,010"),
        ("7명", "수치 불일치: 정답 1,000, 답변 7명"),
        ("없습니다", "수치 불일치: 정답 1,000, 답변 숫자 없음"),
    ],
)
def test_reason_names_filters_and_numbers(message: str, evidence: str) -> None:
    reason = applicants(EXACT, message, truth="1000")[0].reason
    assert "보훈(PATRIOT)" in reason
    assert evidence in reason


def test_reason_names_dates_as_people_write_them() -> None:
    reason = applicants(EXACT, "마감일은 2026.03.16입니다", truth="2026-03-15")[0].reason
    assert "수치 불일치: 정답 2026년 3월 15일, 답변 2026년 3월 16일" in reason
    assert "답변 날짜·시각·순번 없음" in applicants(EXACT, "모릅니다", truth="2026-03-15")[0].reason
