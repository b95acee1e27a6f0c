"""Checks against responses: groups, look-ups, comparisons, operations."""

import json
from fractions import Fraction
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.rules.arrow_types import matches
from scoring.testruns.check_results import CheckResult, ValueLookup, evaluate, pass_ratio
from scoring.testruns.expected import parse_expected
from scoring.testruns.raw_json import RawResponse, parse_raw_json


def response(*ui_values: object, message: str = "", **fields: object) -> RawResponse:
    document = {"assistantMessage": message, "dataUIList": [{"uiValue": value} for value in ui_values], **fields}
    parsed = parse_raw_json(json.dumps(document))
    assert isinstance(parsed, RawResponse)
    return parsed


def results(text: str, raw: RawResponse, lookup: ValueLookup = "nested") -> tuple[CheckResult, ...]:
    expected = parse_expected(text)
    assert expected.problems == ()
    return evaluate(expected.items, raw, value_lookup=lookup)


def passes(text: str, raw: RawResponse, lookup: ValueLookup = "nested") -> list[bool]:
    return [result.passed for result in results(text, raw, lookup)]


OPENER = 'dataUIList 내 formType 값이 "ACTION"인 항목이 존재하는가'
GROUP = f'{OPENER}\n해당 항목의 actionType 값이 "UPDATE"인가\n해당 항목의 multiSelectAllowYn 값이 true인가'


def test_followers_must_hold_on_one_and_the_same_entry() -> None:
    split = response({"formType": "ACTION", "actionType": "UPDATE"}, {"formType": "ACTION", "multiSelectAllowYn": True})
    assert passes(GROUP, split) == [True, True, False]


@pytest.mark.parametrize(
    ("url", "passed"),
    [
        ("/agent/setting?dataKey=X", [True, True]),
        ("https://ats.example/agent/setting?tab=1&dataKey=X", [True, True]),
        ("/agent/setting?dataKey=Y", [True, False]),
        ("/agent/other?dataKey=X", [False, True]),
    ],
)
@pytest.mark.parametrize("expected", ["/agent/setting?dataKey=X", "buttonUrl: /agent/setting?dataKey=X"])
def test_expected_url_asks_for_its_page_and_its_datakey(expected: str, url: str, passed: list[bool]) -> None:
    assert passes(expected, response({"formType": "LINK", "buttonUrl": url})) == passed


def test_expected_path_matches_any_one_segment_for_a_parameter() -> None:
    offered = response({"buttonUrl": "/agent/flow/process/77"})
    assert passes("/agent/flow/process/{planId}", offered) == [True]
    assert passes("/agent/flow/{planId}", offered) == [False]


def test_datakey_is_found_in_the_urls_on_offer_and_not_by_the_direct_look_up() -> None:
    offered = response({"buttonUrl": "/agent/setting?dataKey=X"})
    assert passes("@check dataKey=X", offered) == [True]
    assert passes("@check dataKey=X", offered, "direct") == [False]


def test_entry_that_passes_most_counts() -> None:
    raw = response({"formType": "ACTION"}, {"formType": "ACTION", "actionType": "UPDATE", "multiSelectAllowYn": "Y"})
    assert passes(GROUP, raw) == [True, True, True]


def test_without_an_entry_the_followers_fail_too() -> None:
    raw = response({"formType": "SELECT", "actionType": "UPDATE", "multiSelectAllowYn": True})
    opener, first, second = results(GROUP, raw)
    assert [opener.passed, first.passed, second.passed] == [False, False, False]
    assert "SELECT" in opener.reason
    assert "항목이 없어" in first.reason


def test_failed_follower_names_what_was_found() -> None:
    raw = response({"formType": "ACTION", "actionType": "EXECUTE", "multiSelectAllowYn": False})
    reasons = [result.reason for result in results(GROUP, raw)]
    assert reasons[0] == ""
    assert "EXECUTE" in reasons[1]
    assert "false" in reasons[2]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("지원서인쇄 메뉴", True), ("지원서  인쇄", True), ("지원서\n인쇄", True), ("지원서\u3000인쇄", True),
        ("지원서 **인쇄", False), ("지원서인 쇄", True), ("인쇄 지원서", False), ("", False),
    ],
)  # fmt: skip
def test_keywords_ignore_white_space_and_nothing_else(message: str, found: bool) -> None:
    assert passes("@check assistantMessageContains=지원서 인쇄", response(message=message)) == [found]


def test_keywords_keep_their_case() -> None:
    assert passes("@check assistantMessageContains=ncs", response(message="NCS")) == [False]


def test_either_keyword_is_enough_where_or_is_written() -> None:
    text = 'assistantMessage에 "기간" 또는 "전형"이 언급되어 있는가'
    assert passes(text, response(message="전형 안내")) == [True]
    assert passes(text, response(message="안내")) == [False]
    assert passes(text.replace("또는", "및"), response(message="전형 안내")) == [False]


@pytest.mark.parametrize(
    ("url", "passed"), [("/a?dataKey=X", True), ("/a", False), ("/a?dataKey=Z", False), ("/b", True), ("/c", False)]
)
def test_of_either_url_the_page_is_wanted_with_its_own_data_key(url: str, passed: bool) -> None:
    assert passes("/a?dataKey=X 또는 /b", response({"buttonUrl": url})) == [passed]


@pytest.mark.parametrize(
    ("value", "passed"),
    [(True, True), ("true", True), ("Y", True), (1, True), (False, False), (None, False), ([], False)],
)
def test_booleans_compare_as_booleans(value: object, passed: bool) -> None:
    assert passes("@check multiSelectAllowYn=true", response({"multiSelectAllowYn": value})) == [passed]


NESTED = {"formType": "ACTION", "value": {"nodeDataSet": {"dataKey": "PAY"}, "buttonKey": "EDIT"}}


def test_data_keys_are_found_anywhere_inside_value() -> None:
    text = f'{OPENER}\n해당 항목의 value 내 dataKey 값이 "PAY"인가\n해당 항목의 value 내 buttonKey 값이 "EDIT"인가'
    found = results(text, response(NESTED))
    assert [result.passed for result in found] == [True, True, True]
    assert [result.only_nested for result in found] == [False, True, False]


def test_direct_look_up_finds_the_literal_path_only() -> None:
    found = results("@check dataKey=PAY; buttonKey=EDIT", response(NESTED), "direct")
    assert [result.passed for result in found] == [False, True]
    assert [result.only_nested for result in found] == [True, False]
    assert "실제: 없음" in found[0].reason


def test_data_key_outside_value_is_not_found() -> None:
    assert passes("@check dataKey=PAY", response({"dataKey": "PAY"})) == [False]


def test_explicit_path_is_literal_in_both_look_ups() -> None:
    text = '{"accuracyChecks": [{"path": "dataUIList[*].uiValue.value.dataKey", "op": "eq", "value": "PAY"}]}'
    assert passes(text, response(NESTED), "nested") == passes(text, response(NESTED), "direct") == [False]
    assert passes(text, response({"value": {"dataKey": "PAY"}})) == [True]


def test_filter_types_of_a_url_count() -> None:
    url = "/grid?condition=" + quote('[{"filterType": "PATRIOT"}]')
    assert passes("@check filterType=PATRIOT", response({"buttonUrl": url})) == [True]
    assert passes("@check filterType=PATRIOT", response({"filterType": "LICENSE"})) == [False]


@pytest.mark.parametrize("part", ["/plan/5", "이름=가", "%EA%B0%80"])
def test_url_is_searched_as_written_and_decoded(part: str) -> None:
    assert passes(f"@check buttonUrlContains={part}", response({"buttonUrl": "/plan/5?이름=%EA%B0%80"})) == [True]


@pytest.mark.parametrize("setting", ["X", {"mode": "X"}, ["X"], {"a": [{"b": "X"}]}])
def test_setting_is_found_as_value_or_inside_it(setting: object) -> None:
    assert passes("@check setting=X", response({"setting": setting})) == [True]
    assert passes("@check setting=Z", response({"setting": setting})) == [False]


def test_number_checks_read_the_answer_s_numbers() -> None:
    raw = response(message="최근 365일 기준 **2만 917명**입니다.")
    assert passes("@check numberContains=20,917; numberContains=365", raw) == [True, False]


@pytest.mark.parametrize(
    ("message", "expected", "passed"),
    [
        ("미국 국적 지원자가 없습니다.", "0", True),
        ("지원자는 0명입니다.", "0", True),
        ("남성은 3명이고 여성 지원자는 없습니다.", "0, 3", True),
        ("시스템 오류로 지원자가 조회되지 않았습니다.", "0", False),
        ("지원자는 3명입니다.", "0", False),
    ],
)
def test_check_of_0_is_met_by_words(message: str, expected: str, passed: bool) -> None:
    assert passes(f"@check numberContains={expected}", response(message=message)) == [passed]


def path_passes(raw: RawResponse, path: str, op: str, *value: object) -> bool:
    check = {"path": path, "op": op, **({"value": value[0]} if value else {})}
    (passed,) = passes(json.dumps({"accuracyChecks": [check]}), raw)
    return passed


RICH = response(
    {"formType": "SELECT", "planId": 7750, "tags": ["A", "B"], "on": True, "none": None, "text": "", "set": {"k": 1}},
    {"formType": "LINK", "message": "지원서 인쇄 3건"},
    message="안내",
    error="",
)


@pytest.mark.parametrize(
    ("path", "op", "value", "passed"),
    [
        ("dataUIList[*].uiValue.formType", "eq", "LINK", True),
        ("dataUIList[0].uiValue.formType", "eq", "LINK", False),
        ("dataUIList[1].uiValue.formType", "eq", "LINK", True),
        ("dataUIList[9].uiValue.formType", "eq", "LINK", False),
        ("$.dataUIList[*].uiValue['formType']", "eq", "SELECT", True),
        ("dataUIList[*].uiValue.planId", "eq", "7750", True),
        ("dataUIList[*].uiValue.planId", "eq", 7750.0, True),
        ("dataUIList[*].uiValue.on", "eq", "Y", True),
        ("dataUIList[*].uiValue.none", "eq", None, True),
        ("dataUIList[*].uiValue.tags", "eq", ["A", "B"], True),
        ("dataUIList[*].uiValue.tags", "eq", ["B", "A"], False),
        ("dataUIList[*].uiValue.tags[*]", "eq", "B", True),
        ("dataUIList[*].uiValue.tags", "contains", "B", True),
        ("dataUIList[*].uiValue.tags", "contains", "C", False),
        ("dataUIList[*].uiValue.set", "contains", "k", True),
        ("dataUIList[*].uiValue.message", "contains", "지원서인쇄", True),
        ("dataUIList[*].uiValue.planId", "contains", "77", False),
        ("dataUIList[*].uiValue.formType", "in", ["ACTION", "LINK"], True),
        ("dataUIList[*].uiValue.formType", "in", ["ACTION"], False),
        ("dataUIList[*].uiValue.formType", "regex", "^SEL", True),
        ("dataUIList[*].uiValue.formType", "regex", "^EL", False),
        ("dataUIList[*].uiValue.planId", "regex", "^[0-9]{4}$", True),
        ("dataUIList[*].uiValue.on", "regex", ".", False),
        ("assistantMessage.x", "eq", "안내", False),
        ("dataUIList.uiValue", "exists", True, False),
    ],
)
def test_path_passes_where_a_value_at_it_meets_the_operation(path: str, op: str, value: object, passed: bool) -> None:
    assert path_passes(RICH, path, op, value) is passed


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("assistantMessage", True), ("error", False), ("missing", False), ("dataUIList", True), ("dataUIList[*]", True),
        ("dataUIList[2]", False), ("dataUIList[*].uiValue.none", False), ("dataUIList[*].uiValue.text", False),
        ("dataUIList[*].uiValue.on", True), ("dataUIList[*].uiValue.set.k", True),
    ],
)  # fmt: skip
def test_existence_means_a_value_that_says_something(path: str, there: bool) -> None:
    assert path_passes(RICH, path, "exists") is there
    assert path_passes(RICH, path, "exists", False) is not there


def test_false_is_a_value_that_exists() -> None:
    assert path_passes(response({"on": False}), "dataUIList[*].uiValue.on", "exists")


def test_pattern_that_explodes_elsewhere_ends_here() -> None:
    assert not matches("(a+)+$", "a" * 100_000 + "!")


def test_failed_path_names_what_it_found() -> None:
    text = '{"accuracyChecks": [{"path": "dataUIList[*].uiValue.formType", "op": "eq", "value": "ACTION"}]}'
    (result,) = results(text, RICH)
    assert all(word in result.reason for word in ("dataUIList[*].uiValue.formType", "ACTION", "SELECT", "LINK"))


def test_failed_choice_names_what_it_allows_and_a_null_as_nothing() -> None:
    check = {"path": "dataUIList[*].uiValue.actionType", "op": "in", "value": ["OPEN", "MOVE"]}
    (result,) = results(json.dumps({"accuracyChecks": [check]}), response({"actionType": None}))
    assert result.reason.endswith('"OPEN", "MOVE" 조건(in)에 맞는 값이 없음 (실제: 없음)')
    assert result.cause == "기대 OPEN 또는 MOVE, 실제 없음"
    (result,) = results("@check multiSelectAllowYn=true", response({"multiSelectAllowYn": None}))
    assert "(실제: 없음)" in result.reason


def test_pass_ratio_is_weighted_and_exact() -> None:
    checks = [
        {"path": "assistantMessage", "op": "exists", "weight": 0.1},
        {"path": "error", "op": "exists", "weight": 0.2},
    ]
    assert pass_ratio(results(json.dumps({"accuracyChecks": checks}), RICH)) == Fraction(1, 3)


def test_no_checks_have_no_ratio() -> None:
    assert pass_ratio(()) is None


@pytest.mark.parametrize(
    "uivalue", [None, [], {}, {"formType": None}, {"value": []}, {"value": "PAY"}, {"value": [{"dataKey": "PAY"}]}]
)
def test_odd_entries_break_nothing(uivalue: object) -> None:
    found = passes(
        f'{GROUP}\n해당 항목의 dataKey 값이 "PAY"인가\n@check dataKey=PAY; setting=X; buttonUrlContains=/',
        response(uivalue),
    )
    assert len(found) == 7
    assert not any(found[:4])


@pytest.mark.parametrize("op", ["eq", "contains", "in", "regex", "exists"])
def test_values_of_any_depth_can_be_compared(op: str) -> None:
    deepest = next(
        parsed
        for depth in range(20_000, 0, -50)
        if isinstance(parsed := parse_raw_json('{"x": ' + "[" * depth + "]" * depth + "}"), RawResponse)
    )
    value: object = {"eq": [[[]]], "in": [[[]]], "exists": False}.get(op, "a")
    assert not path_passes(deepest, "x", op, value)


def test_deep_values_are_searched_without_overflow() -> None:
    deep: object = {"dataKey": "PAY"}
    for _ in range(800):
        deep = {"value": deep}
    assert passes("@check dataKey=PAY", response(deep)) == [True]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "dataKey", "x"]), inner),
    max_leaves=8,
)


@given(json_values, json_values, st.sampled_from(["eq", "contains", "in", "regex", "exists"]))
def test_any_value_can_be_compared_with_any_other(expected: object, actual: object, op: str) -> None:
    criteria = json.dumps({"accuracyChecks": [{"path": "x", "op": op, "value": expected}]})
    for result in evaluate(parse_expected("", criteria).items, response(x=actual)):
        assert result.passed is (result.reason == "")


@given(st.lists(st.fixed_dictionaries({}, optional={
    "formType": st.sampled_from(["ACTION", "SELECT"]), "actionType": st.sampled_from(["UPDATE", "X"]),
    "multiSelectAllowYn": st.booleans(),
}), max_size=4))  # fmt: skip
def test_order_of_entries_does_not_matter_and_more_entries_never_hurt(entries: list[dict[str, object]]) -> None:
    forward = sum(passes(GROUP, response(*entries)))
    assert sum(passes(GROUP, response(*reversed(entries)))) == forward
    assert sum(passes(GROUP, response(*entries[:-1]))) <= forward


@pytest.mark.parametrize(
    "check",
    [
        '1) assistantMessage에 "$공고명$"과 관련된 내용이 언급되어 있는가',
        '1) dataUIList 내 buttonUrl 값이 "${공고명}"인 항목이 존재하는가',
        "@check formType={{공고명}}",
    ],
)
def test_check_that_no_answer_can_pass_says_that_its_placeholder_was_not_filled_in(check: str) -> None:
    (failed,) = results(check, response({"formType": "SELECT"}, message="공고를 골라 주세요."))
    for text in (failed.reason, failed.cause):
        assert text.endswith(", 기대 결과의 자리 표시를 채우지 않음")
    (filled,) = results('1) assistantMessage에 "마감일"이 언급되어 있는가', response(message="공고를 골라 주세요."))
    assert filled.reason == '답변에 "마감일" 언급이 없음'
