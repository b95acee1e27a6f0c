"""Expected results as people write them, read into checks."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.testruns.checks import Condition, EntryGroup, Item, MessageCheck, NumberCheck, PathCheck
from scoring.testruns.executions import LatencyClass
from scoring.testruns.expected import ExpectedResult, parse_expected


def only(text: str) -> Item:
    result = parse_expected(text)
    assert (result.prose, result.problems) == ("", ())
    (item,) = result.items
    return item


def conditions(item: Item) -> list[list[Condition]]:
    assert isinstance(item, EntryGroup)
    return [list(check.conditions) for check in item.checks]


def keys_and_values(text: str) -> list[tuple[str, tuple[object, ...]]]:
    return [(c.key, c.values) for check in conditions(only(text)) for c in check]


CHECKLIST = """평가 요소 4가지 ->:
1) assistantMessage에 "면접비"와 관련된 내용이 언급되어 있는가
2) dataUIList 내 formType 값이 "ACTION"인 항목이 존재하는가
3) 해당 항목의 actionType 값이 "NODE_UPDATE"인가
4) 해당 항목의 value 내 dataKey 값이 "INTERVIEW_PAY"인가
5) 해당 항목의 value 내 buttonKey 값이 "PAY_EDIT"인가
6) 해당 항목의 multiSelectAllowYn 값이 true인가"""


def test_checklist_of_the_teams_is_read_whole() -> None:
    result = parse_expected(CHECKLIST)
    message, group = result.items
    assert isinstance(message, MessageCheck)
    assert message.keywords == ("면접비",)
    assert [[(c.key, *c.values) for c in check] for check in conditions(group)] == [
        [("formType", "ACTION")],
        [("actionType", "NODE_UPDATE")],
        [("dataKey", "INTERVIEW_PAY")],
        [("buttonKey", "PAY_EDIT")],
        [("multiSelectAllowYn", "true")],
    ]
    assert (result.prose, result.problems) == ("", ())
    assert result.declared == ()


@pytest.mark.parametrize(
    "marker", ["1)", "1.", "(1)", "①", "1번.", "-", "•", "*", "[1]", "[ ]", "가.", "- 1)", "", "1:"]
)
def test_any_numbering_is_read(marker: str) -> None:
    assert keys_and_values(f'{marker} dataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가') == [
        ("formType", ("SELECT",))
    ]


@pytest.mark.parametrize(
    "quoted",
    ['"SELECT"', "“SELECT”", "'SELECT'", "‘SELECT’", "`SELECT`", "「SELECT」", '“SELECT"', "SELECT", '" SELECT "'],
)
def test_any_quotes_are_read(quoted: str) -> None:
    assert keys_and_values(f"1) dataUIList 내 formType 값이 {quoted}인 항목이 존재하는가") == [
        ("formType", ("SELECT",))
    ]


@pytest.mark.parametrize(
    "line",
    [
        "해당 항목의 multiSelectAllowYn 값이 true인가",
        "해당 항목의 multiSelectAllowYn값이 true 인가?",
        '해당 항목의 multiSelectAllowYn 값이 "true"인지',
        "해당 항목의 multiSelectAllowYn이 true인가",
        "해당 항목의 multiSelectAllowYn = true",
        "해당 항목의 multiSelectAllowYn: true",
        "해당 항목의 multiselectallowyn 값은 true여야 함",
        "해당 항목의 multiSelectAllowYn(다중 선택) 값이 true인가",
        "multiSelectAllowYn 값이 true인가",
    ],
)
def test_any_wording_of_a_value_is_read(line: str) -> None:
    assert keys_and_values(line) == [("multiSelectAllowYn", ("true",))]


@pytest.mark.parametrize(
    "line",
    [
        '1) assistantMessage에 "결정 기준"과 관련된 내용이 언급되어 있는가',
        "assistantMessage에 '결정 기준' 문구가 포함되어 있는가?",
        'assistantMessage 내에 "결정 기준"이 들어 있는지',
        "2. assistantMessage에 결정 기준과 관련된 내용이 언급되어 있는가",
        "assistantMessage에 결정 기준이 언급되어 있는가",
        '답변에 "결정 기준"이 언급되어 있는가',
        '응답 메시지에 "결정 기준"이 포함되어 있는가',
        *(f'답변에 "결정 기준" {says}' for says in ("언급", "포함", "존재함", "있음", "들어감", "나오는지")),
        *(f'답변에 "결정 기준" {says}' for says in ("명시", "표시", "안내")),
        'assistant message: "결정 기준"',
    ],
)
def test_any_wording_of_a_keyword_is_read(line: str) -> None:
    item = only(line)
    assert isinstance(item, MessageCheck)
    assert (item.keywords, item.any_of) == (("결정 기준",), False)


def test_several_keywords_are_all_wanted_unless_or_stands_between() -> None:
    both = only('assistantMessage에 "기간"과 "전형"이 언급되어 있는가')
    either = only('assistantMessage에 "기간" 또는 "전형"이 언급되어 있는가')
    assert isinstance(both, MessageCheck)
    assert isinstance(either, MessageCheck)
    assert both.keywords == either.keywords == ("기간", "전형")
    assert (both.any_of, either.any_of) == (False, True)


def test_line_may_allow_two_values_or_ask_two_keys() -> None:
    text = 'dataUIList 내 formType 값이 "ACTION" 또는 "LINK"이고 buttonUrl에 "/plan"이 포함된 항목이 존재하는가'
    assert keys_and_values(text) == [("formType", ("ACTION", "LINK")), ("buttonUrlContains", ("/plan",))]


def test_second_opener_opens_a_second_group() -> None:
    opener = '7) dataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가'
    text = f"{CHECKLIST}\n{opener}\n8) 해당 항목의 multiSelectAllowYn 값이 false인가"
    sizes = [len(item.checks) for item in parse_expected(text).items if isinstance(item, EntryGroup)]
    assert sizes == [5, 2]


def test_follower_without_an_opener_stands_alone() -> None:
    assert keys_and_values('해당 항목의 actionType 값이 "X"인가') == [("actionType", ("X",))]


def test_keyword_line_does_not_close_the_group() -> None:
    opener = 'dataUIList 내 formType 값이 "A"인 항목이 존재하는가'
    text = f'{opener}\nassistantMessage에 "가"가 포함\n해당 항목의 actionType 값이 "B"인가'
    first, second = parse_expected(text).items
    assert len(conditions(first)) == 2
    assert isinstance(second, MessageCheck)


def test_lines_that_lost_their_breaks_are_found() -> None:
    assert parse_expected(CHECKLIST.replace("\n", " ")).items == parse_expected(CHECKLIST).items


@pytest.mark.parametrize(
    "heading", ["평가 요소 4가지 ->:", "평가요소 3가지", "[체크 항목]", "평가 기준:", "1. 평가 항목 2개"]
)
def test_headings_are_neither_checks_nor_prose(heading: str) -> None:
    assert parse_expected(heading) == ExpectedResult()


def test_prose_is_kept_for_the_judge() -> None:
    result = parse_expected('면접 전형을 고르게 안내해야 함\n@check formType=SELECT\n톤은 "친절"하게')
    assert result.prose == '면접 전형을 고르게 안내해야 함\n톤은 "친절"하게'
    assert result.problems == ()
    assert len(result.items) == 1


@pytest.mark.parametrize(
    "line",
    [
        'assistantMessage에 "오류"가 언급되어 있지 않은가',
        'dataUIList 내 formType 값이 "LINK"인 항목이 없는가',
        'formType 값 "LINK" 사용 금지',
        'assistantMessage에서 "경쟁사" 언급은 제외',
        'assistantMessage에 "오류" 미포함',
        "dataUIList 내 항목이 존재하는가",
        "assistantMessage가 자연스러운가",
        'assistantMessage에 "가"가 있고 formType 값이 "A"인가',
    ],
)
def test_line_that_no_rule_can_check_is_reported_and_kept(line: str) -> None:
    result = parse_expected(line)
    assert result.items == ()
    assert result.prose == line
    assert [problem.text for problem in result.problems] == [line]
    assert result.problems[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "@check formType=SELECT; multiSelectAllowYn=true; dataKey=A_B",
        "@check: formType=SELECT; multiSelectAllowYn=true; dataKey=A_B",
        "@check formType=SELECT @check multiSelectAllowYn=true @check dataKey=A_B",
        "@check formType=SELECT\n@check multiSelectAllowYn = true\n@check dataKey: A_B",
        "@check formType=SELECT multiSelectAllowYn=true, dataKey=A_B",
        "@check formtype=\"SELECT\";@CHECK multiSelectAllowYn=true;dataKey='A_B';",
        "@check formType=SELECT; multiSelectAllowYn=true; value.dataKey=A_B",
        "@check formType=SELECT multiSelectAllowYn=true value.dataKey=A_B",
        '{"formType": "SELECT", "multiSelectAllowYn": "true", "dataKey": "A_B"}',
        '{"formType": "SELECT", "multiSelectAllowYn": "true", "value.dataKey": "A_B"}',
        '[{"formType": "SELECT"}, {"multiSelectAllowYn": "true"}, {"dataKey": ["A_B"]}]',
    ],
)
def test_declared_checks_have_many_spellings(text: str) -> None:
    result = parse_expected(text)
    assert (result.prose, result.problems, result.declared) == ("", (), result.items)
    found = [condition for item in result.declared for check in conditions(item) for condition in check]
    assert found == [
        Condition("formType", ("SELECT",)),
        Condition("multiSelectAllowYn", ("true",)),
        Condition("dataKey", ("A_B",)),
    ]


def test_message_check_may_hold_blanks_and_semicolons_in_quotes() -> None:
    item = only('@check assistantMessageContains="평가 기간; 수정"')
    assert isinstance(item, MessageCheck)
    assert item.keywords == ("평가 기간; 수정",)


def test_number_check_reads_korean_numbers() -> None:
    item = only("@check numberContains=2만 917명")
    assert isinstance(item, NumberCheck)
    assert item.numbers == (Fraction(20917),)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("@check formtyp=SELECT", "알 수 없는 키"),
        ("@check formType", "key=value"),
        ("@check", "key=value"),
        ("@check ;:", "key=value"),
        ("@check formType=", "비어"),
        ("@check numberContains=많음", "숫자"),
        ("@check numberContains=3월", "assistantMessageContains로 적으세요"),
        ('{"formType": null}', "비어"),
        ('{"formType": {"a": 1}}', "글자"),
        ('{"accuracyChecks": {}}', "목록"),
        ('{"accuracyChecks": [{"op": "eq"}, 5]}', "path"),
        ('{"schemaVersion": "aqb.v2"}', "aqb.v1"),
    ],
)
def test_declared_check_that_cannot_be_is_reported(text: str, word: str) -> None:
    result = parse_expected(text)
    assert result.items == ()
    assert result.prose
    assert all(word in problem.reason for problem in result.problems)
    assert result.problems


def path_result(**check: object) -> ExpectedResult:
    return parse_expected("", json.dumps({"schemaVersion": "aqb.v1", "accuracyChecks": [check]}))


@pytest.mark.parametrize(
    ("check", "word"),
    [
        ({"path": "dataUIList[x]"}, "path"),
        ({"path": ""}, "path"),
        ({"path": 5}, "path"),
        ({"path": "error", "op": "like", "value": 1}, "op"),
        ({"path": "error", "op": "eq"}, "value"),
        ({"path": "error", "op": "in", "value": "a"}, "목록"),
        ({"path": "error", "op": "regex", "value": 5}, "글자"),
        ({"path": "error", "op": "regex", "value": "("}, "정규식"),
        ({"path": "error", "op": "regex", "value": "(?=a)"}, "정규식"),
        ({"path": "error", "op": "regex", "value": "\ud800"}, "정규식"),
        ({"path": "error", "op": "eq", "value": 1, "weight": 0}, "weight"),
        ({"path": "error", "op": "eq", "value": 1, "weight": -1}, "weight"),
        ({"path": "error", "op": "eq", "value": 1, "weight": "a"}, "weight"),
        ({"path": "error", "op": "eq", "value": 1, "weight": float("inf")}, "weight"),
    ],
)
def test_path_check_that_cannot_be_is_reported(check: dict[str, object], word: str) -> None:
    result = path_result(**check)
    assert result.items == ()
    assert [word in problem.reason for problem in result.problems] == [True]


@pytest.mark.parametrize(("check", "op"), [({}, "exists"), ({"value": 1}, "eq"), ({"op": " EQ ", "value": 1}, "eq")])
def test_operation_may_be_left_out(check: dict[str, object], op: str) -> None:
    (item,) = path_result(path="error", **check).items
    assert isinstance(item, PathCheck)
    assert item.op == op
    assert item.weight == 1


def test_weight_is_exact() -> None:
    (item,) = path_result(path="error", value=1, weight=0.1).items
    assert isinstance(item, PathCheck)
    assert item.weight == Fraction(1, 10)


def test_criteria_carry_intent_class_and_further_fields() -> None:
    criteria = {
        "schemaVersion": "aqb.v1",
        "intentRubric": " 설정을 바꾸려는 의도 ",
        "accuracyChecks": [{"path": "dataUIList[*].uiValue.formType", "op": "eq", "value": "SELECT"}],
        "meta": {"latencyClass": "multi"},
        "owner": "QA",
    }
    result = parse_expected("설명", json.dumps(criteria, ensure_ascii=False))
    assert result.intent_rubric == "설정을 바꾸려는 의도"
    assert result.latency_class is LatencyClass.MULTI
    assert result.prose == "설명\nowner: QA"
    assert len(result.declared) == 1


@pytest.mark.parametrize("meta", [None, {}, [], {"latencyClass": 5}, {"latencyClass": "SLOW"}])
def test_criteria_without_a_class_tell_none(meta: object) -> None:
    assert parse_expected("", json.dumps({"meta": meta})).latency_class is None


def test_all_forms_may_be_mixed() -> None:
    path_check = '{"accuracyChecks": [\n {"path": "error", "op": "eq", "value": ""}\n]}'
    text = f"{CHECKLIST}\n@check setting=X\n안내 문구 확인\n{path_check}\n끝"
    result = parse_expected(text)
    assert [type(item) for item in result.items] == [MessageCheck, EntryGroup, EntryGroup, PathCheck]
    assert result.prose == "안내 문구 확인\n끝"
    assert (len(result.items), len(result.declared)) == (4, 2)


def test_same_path_operation_and_value_counts_once() -> None:
    check = {"path": "dataUIList[*].uiValue.formType", "op": "eq", "value": "SELECT"}
    criteria = json.dumps(
        {"accuracyChecks": [check, {**check, "path": "$.dataUIList[ * ].uiValue['formType']", "weight": 3}]}
    )
    assert len(parse_expected("@check formType=SELECT; formType=SELECT", criteria).items) == 1
    assert len(parse_expected("@check formType=ACTION", criteria).items) == 2


def test_written_weight_wins_over_the_default_of_an_earlier_form() -> None:
    path = "dataUIList[*].uiValue.formType"
    weighted = json.dumps({"accuracyChecks": [{"path": path, "op": "eq", "value": "SELECT", "weight": 3}]})
    for text in (f"@check formType=SELECT\n{weighted}", f"{weighted}\n@check formType=SELECT"):
        (item,) = parse_expected(text).items
        check = item.opener if isinstance(item, EntryGroup) else item
        assert check.weight == 3


def test_line_is_a_url_only_where_nothing_else_stands_in_it() -> None:
    assert parse_expected("/agent/setting 화면으로 안내한다").items == ()
    assert parse_expected("예/아니오로 답한다").items == ()
    assert parse_expected("1) /agent/setting").items != ()


def test_true_is_the_same_value_in_every_form() -> None:
    criteria = json.dumps({"accuracyChecks": [{"path": "dataUIList[*].uiValue.multiSelectAllowYn", "value": True}]})
    assert len(parse_expected("@check multiSelectAllowYn=true", criteria).items) == 1


def test_data_key_check_is_not_the_literal_path() -> None:
    criteria = json.dumps({"accuracyChecks": [{"path": "dataUIList[*].uiValue.value.dataKey", "value": "A"}]})
    assert len(parse_expected("@check dataKey=A", criteria).items) == 2


def test_checklist_lines_that_repeat_count_each_time() -> None:
    line = 'assistantMessage에 "가"가 포함되어 있는가'
    assert len(parse_expected(f"{line}\n{line}").items) == 2


@pytest.mark.parametrize("text", ["", " ", "-", "nan", "None"])
def test_blank_cell_expects_nothing(text: str) -> None:
    assert parse_expected(text, text) == ExpectedResult()


def test_broken_json_is_prose_and_hides_nothing_behind_it() -> None:
    result = parse_expected('{planId} 화면\n{"formType": \n@check dataKey=A\n{"formType": "X"}')
    assert result.prose.startswith("{planId} 화면")
    assert len(result.items) == 2


@pytest.mark.parametrize(
    "text", ['{"a":' * 100_000, "[{" * 100_000, '{"formType": ' + "[" * 90_000 + "]" * 90_000 + "}"]
)
def test_deep_nesting_is_prose(text: str) -> None:
    assert parse_expected(text).items == ()


PIECES = st.sampled_from(
    ["@check ", "formType", "=", ";", "SELECT", '"', "“", "dataUIList 내 ", "값이 ", "인 항목이 존재하는가",
    "해당 항목의 ", "assistantMessage에 ",
     "언급", "\n", "1) ", "{", "}", "[", "]", ":", ",", "accuracyChecks", "path", "dataKey ", "true", "또는",
     "①", "않"]
)  # fmt: skip


@given(st.text(max_size=80) | st.lists(PIECES, max_size=25).map("".join))
def test_any_text_is_read_and_nothing_is_lost(text: str) -> None:
    result = parse_expected(text)
    for problem in result.problems:
        assert problem.reason
        assert problem.text in result.prose


@given(st.lists(PIECES, max_size=25).map("".join))
def test_what_was_kept_as_prose_holds_no_check_when_read_again(text: str) -> None:
    result = parse_expected(text)
    again = parse_expected(result.prose)
    assert (again.items, again.prose) == ((), result.prose)
