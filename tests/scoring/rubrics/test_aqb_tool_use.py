"""aqb-1.2: expected and used tools, the mapping grade, and what it gives a move agent."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from scoring.rubrics.aqb.thresholds import MappingGrade, Missing
from scoring.rubrics.aqb.tool_use import ToolUse, tool_use
from scoring.testruns.executions import AgentType, Execution, Round, parse_execution
from scoring.testruns.rubric import Undecided

PERIOD = "RESUME_PERIOD"


def tool_usage_of(agent: AgentType, *ui_values: object, **fields: Any) -> ToolUse:
    raw = json.dumps({"assistantMessage": "답", "dataUIList": [{"uiValue": value} for value in ui_values]})
    given = {"query_id": "Q", "round": Round(1, 1), "agent_type": agent, "raw_json": raw, **fields}
    return tool_use(parse_execution(Execution(**given)))


def filters(expected: str, *used: str, columns: tuple[str, ...] = ()) -> ToolUse:
    condition = quote(json.dumps([{"filterType": name} for name in used]))
    url = f"/grid?columnVisibility={quote(json.dumps(columns))}&condition={condition}"
    return tool_usage_of(AgentType.APPLICANT_MANAGEMENT, {"buttonUrl": url}, expected_filters=expected)


def datakeys(expected: str, *used: str) -> ToolUse:
    return tool_usage_of(AgentType.PLAN, *({"value": {"dataKey": key}} for key in used), expected_datakeys=expected)


def page(expected: str, *urls: str, **fields: Any) -> ToolUse:
    return tool_usage_of(AgentType.MOVE, *({"buttonUrl": url} for url in urls), **{"expected_text": expected, **fields})


@pytest.mark.parametrize(
    ("expected", "used", "grade"),
    [
        ("보훈", ["PATRIOT"], "exact"),
        ("보훈", ["PATRIOT", PERIOD], "exact"),
        ("보훈", ["PATRIOT", "LICENSE"], "extra"),
        ("보훈", ["LICENSE"], "none"),
        ("보훈", [PERIOD], "none"),
        ("보훈", [], "none"),
        ("보훈 + 자격증", ["PATRIOT"], "partial"),
        ("보훈 + 자격증", ["PATRIOT", "MILITARY"], "partial"),
        ("전형유형 + 전형 결과", ["SCREENING_RESULT", "SCREENING_TYPE"], "exact"),
        ("기간 + 보훈", ["PATRIOT"], "partial"),
        ("기간 + 보훈", ["PATRIOT", PERIOD], "exact"),
        ("기간", [PERIOD], "exact"),
        ("", ["PATRIOT"], "unknown"),
        ("별자리", ["PATRIOT"], "unknown"),
        ("보훈 + 별자리", ["PATRIOT"], "unknown"),
    ],
)
def test_filters_are_graded(expected: str, used: list[str], grade: str) -> None:
    assert filters(expected, *used).grade == grade


@pytest.mark.parametrize(
    ("expected", "used", "grade"),
    [
        ("A", ["A"], "exact"),
        ("A, B", ["B", "A"], "exact"),
        ("A", ["A", "B"], "extra"),
        ("A, B", ["A"], "partial"),
        ("A", ["B"], "none"),
        ("A", [], "none"),
        ("", ["A"], "unknown"),
        ("A 또는 B", ["B"], "exact"),
        ("A 또는 B", ["A", "B"], "exact"),  # people choose one (seed 000, 2.3)
        ("A or B", ["A", "C"], "extra"),
        ("A (혹은 B)", ["C"], "none"),
        ("A 또는 B, C", ["A"], "partial"),
        ("A, B 또는 C", ["A", "C"], "exact"),
    ],
)
def test_datakeys_are_graded(expected: str, used: list[str], grade: str) -> None:
    assert datakeys(expected, *used).grade == grade


@pytest.mark.parametrize(
    ("expected", "urls", "grade"),
    [
        ("/plan/{planId}/edit", ["https://host/plan/7/edit?tab=1"], "exact"),
        ("/plan/{planId}/edit", ["/plan/7/edit", "/main"], "extra"),
        ("/plan/{planId}/edit", ["/plan/7"], "none"),
        ("/plan/{planId}/edit", [], "none"),
        ("", ["/plan/7"], "unknown"),
    ],
)
def test_move_without_expected_datakey_is_graded_by_its_page(expected: str, urls: list[str], grade: str) -> None:
    assert page(expected, *urls).grade == grade


def test_expected_datakey_of_a_move_comes_before_its_page() -> None:
    assert page("/plan/1", "/plan/1?dataKey=B", expected_datakeys="A").grade is MappingGrade.NONE
    assert page("/other", "/plan/1?dataKey=A", expected_datakeys="A").grade is MappingGrade.EXACT


def test_expected_column_is_a_weak_check_and_says_so() -> None:
    use = filters("성별 (genderFlag)", PERIOD, columns=("name", "genderFlag"))
    assert use.grade is MappingGrade.EXACT
    assert use.weak == ("genderFlag",)
    assert "약한 확인" in use.text()
    assert use.used == ()


def test_column_that_is_not_shown_is_missing() -> None:
    assert filters("성별 (genderFlag)", columns=("name",)).grade is MappingGrade.NONE


def test_failed_answer_used_nothing() -> None:
    use = tool_usage_of(AgentType.PLAN, {"value": {"dataKey": "A"}}, expected_datakeys="A", error="timeout")
    assert use.grade is MappingGrade.NONE
    assert use.used == ()


def test_checks_of_an_expected_result_name_tools_too() -> None:
    checks = '1) dataUIList 내 formType 값이 "ACTION"인 항목이 존재하는가\n2) 해당 항목의 value 내 dataKey 값이 "A"인가'
    assert tool_usage_of(AgentType.PLAN, {"value": {"dataKey": "A"}}, expected_text=checks).grade is MappingGrade.EXACT
    path = json.dumps({"accuracyChecks": [{"path": "dataUIList[0].uiValue.dataKey", "op": "eq", "value": "A"}]})
    assert tool_usage_of(AgentType.PLAN, {"dataKey": "B"}, criteria_json=path).grade is MappingGrade.NONE
    check = "@check filterType=PATRIOT"
    url = {"filterType": "PATRIOT"}
    assert tool_usage_of(AgentType.APPLICANT_MANAGEMENT, url, expected_text=check).grade is MappingGrade.EXACT


@pytest.mark.parametrize(
    ("op", "value", "right", "wrong"),
    [
        ("contains", "/agent/flow", "/agent/flow/process/12?tab=3", "/agent/other"),
        ("contains", "tab=3", "/agent/flow?tab=3", "/agent/flow?tab=4"),
        ("eq", "/agent/flow/{planId}", "https://example.com/agent/flow/12", "/agent/flow"),
        ("regex", "/process/[0-9]+", "/agent/flow/process/12", "/agent/flow/process/new"),
        ("in", ["/agent/a", "/agent/b"], "/agent/b", "/agent/c"),
    ],
)
@pytest.mark.parametrize("path", ["dataUIList[*].uiValue.buttonUrl", "buttonUrl"])
def test_path_check_of_any_kind_names_a_page(op: str, value: object, right: str, wrong: str, path: str) -> None:
    check = json.dumps({"accuracyChecks": [{"path": path, "op": op, "value": value}]})
    grades = [tool_usage_of(AgentType.MOVE, {"buttonUrl": url}, criteria_json=check).grade for url in (right, wrong)]
    assert grades == [MappingGrade.EXACT, MappingGrade.NONE]


@pytest.mark.parametrize(
    ("agent", "key", "ui_value"),
    [
        (AgentType.PLAN, "dataKey", {"value": {"dataKey": "NOTICE_1"}}),
        (AgentType.APPLICANT_MANAGEMENT, "filterType", {"filterType": "NOTICE_1"}),
    ],
)
def test_path_check_names_a_part_of_a_datakey_or_a_filter(agent: AgentType, key: str, ui_value: dict[str, Any]) -> None:
    for part, grade in (("NOTICE", MappingGrade.EXACT), ("PATRIOT", MappingGrade.NONE)):
        check = json.dumps({"path": f"dataUIList[*].uiValue.{key}", "op": "contains", "value": part})
        assert tool_usage_of(agent, ui_value, expected_text=check).grade is grade


def test_page_may_stand_in_json_too() -> None:
    expected = json.dumps({"buttonUrl": "/agent/flow/{planId}"})
    for url, grade in (("/agent/flow/12", MappingGrade.EXACT), ("/agent/other", MappingGrade.NONE)):
        assert tool_usage_of(AgentType.MOVE, {"buttonUrl": url}, expected_text=expected).grade is grade


@pytest.mark.parametrize(
    ("use", "because"),
    [(filters("별자리"), Undecided.UNMAPPED_FILTER), (filters(""), Missing.NOTHING_EXPECTED)],
)
def test_unknown_mapping_says_why(use: ToolUse, because: Missing | Undecided) -> None:
    assert use.unknown_because is because


@pytest.mark.parametrize(
    ("use", "evidence"),
    [
        (filters("보훈", "PATRIOT"), ["정확히 사용", "보훈(PATRIOT)"]),
        (filters("보훈", "PATRIOT", "LICENSE"), ["모두 사용", "불필요한 필터 추가: 자격증(LICENSE)"]),
        (filters("보훈 + 국적", "PATRIOT"), ["일부만 사용", "누락: 국적(NATIONALITY)"]),
        (filters("보훈", "LICENSE"), ["미사용: 보훈(PATRIOT)", "사용한 필터: 자격증(LICENSE)"]),
        (filters("별자리"), ["별자리"]),
        (datakeys("A", "B"), ["datakey 미사용: A", "사용한 datakey: B"]),
        (page("/plan/1", "/main"), ["URL 경로 미사용: /plan/1", "/main"]),
    ],
)
def test_evidence_names_tools_by_name_and_code(use: ToolUse, evidence: list[str]) -> None:
    assert [words for words in evidence if words not in use.text()] == []


@pytest.mark.parametrize(
    ("expected", "urls", "grade"),
    [
        ("/agent/flow/process/{planId}", ["/agent/flow/process/12"], "exact"),
        ("이동 경로: /agent/flow/process/{planId}", ["/agent/flow/process/12?tab=1"], "exact"),
        ("기대 이동 URL: /agent/notice/list", ["/agent/notice/list"], "exact"),
        ("버튼 링크 : /agent/notice/list", ["/agent/home"], "none"),
        ("금지 URL: /agent/notice/list", ["/agent/notice/list"], "unknown"),
        ("/agent/flow/process/{planId}", ["/agent/flow/list"], "none"),
        ("/agent/flow/process/{planId}", ["/agent/flow/process/12", "/agent/home"], "extra"),
        ("@check buttonUrlContains=/agent/flow", ["/agent/flow/list"], "exact"),
        ("@check buttonUrlContains=/agent/flow", ["/agent/home"], "none"),
        ("@check buttonUrlContains=tab=3", ["/agent/home?tab=3"], "exact"),
        ("@check buttonUrlContains=tab=3", ["/agent/home?tab=4"], "none"),
        ("@check buttonUrlContains=dataKey=X", ["/agent/setting?dataKey=X"], "exact"),
        ("@check buttonUrlContains=기간", ["/agent/home?title=%EA%B8%B0%EA%B0%84"], "exact"),
        ("buttonUrl: /agent/setting?dataKey=X", ["/agent/setting?dataKey=X"], "exact"),
        ("buttonUrl: /agent/setting?dataKey=X", ["/agent/setting?dataKey=Y"], "none"),
    ],
)
def test_move_is_compared_with_the_page_that_its_expected_result_names(
    expected: str, urls: list[str], grade: str
) -> None:
    assert page(expected, *urls).grade == grade


@pytest.mark.parametrize("detected", ["성별(genderFlag), 기간(최근 365일)", "성별 ( genderFlag )", "genderFlag"])
def test_expected_column_that_a_cell_of_detected_filters_names_was_used(detected: str) -> None:
    use = tool_usage_of(AgentType.APPLICANT_MANAGEMENT, expected_filters="성별 (genderFlag)", detected_filters=detected)
    assert (use.grade, use.found, use.extra, use.weak) == ("exact", ("genderFlag",), (), ())
