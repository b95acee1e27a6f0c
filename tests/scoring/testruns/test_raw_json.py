"""The Raw JSON cell: every shape it may have, and those it should not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.testruns.raw_json import RawResponse, StepError, parse_raw_json


def response(**fields: object) -> RawResponse:
    parsed = parse_raw_json(json.dumps(fields))
    assert isinstance(parsed, RawResponse)
    return parsed


def test_every_field_of_a_whole_response_is_read() -> None:
    parsed = response(
        assistantMessage="설정을 바꿀게요.",
        dataUIList=[{"uiDescription": "a", "uiValue": {"formType": "ACTION"}}, {"uiValue": {"formType": "LINK"}}],
        responseTimeSec=6.25,
        error="",
        executionProcesses=[{"workerType": "W", "ms": 6250.0}],
        worker=[{"type": "W"}],
    )
    assert parsed.assistant_message == "설정을 바꿀게요."
    assert [value["formType"] for value in parsed.ui_values] == ["ACTION", "LINK"]
    assert parsed.response_time_s == 6.25
    assert (parsed.error, parsed.step_errors) == ("", ())
    assert parsed.step_count == 1


def test_escaped_hangul_letters_of_macos_are_composed_to_syllables() -> None:
    said = {"assistantMessage": "평가기간\n\u0303", "dataUIList": [{"uiValue": {"setting": "면접"}}]}
    spelled = parse_raw_json(
        json.dumps(said).replace("\\ud3c9", "\\u1111\\u1167\\u11bc").replace("\\uba74", "\\u1106\\u1167\\u11ab")
    )
    assert spelled == response(**said)


WRONG_SHAPES = [None, 5, True, "text", [], [None, 3, "x"], {}, {"a": 1}]


@pytest.mark.parametrize(
    "name", ["assistantMessage", "dataUIList", "responseTimeSec", "error", "worker", "executionProcesses"]
)
@pytest.mark.parametrize("value", WRONG_SHAPES)
def test_field_of_another_type_breaks_nothing(name: str, value: object) -> None:
    assert parse_raw_json(json.dumps({name: value})) == response(**{name: value})


def test_empty_object_is_an_empty_response() -> None:
    parsed = response()
    assert (parsed.assistant_message, parsed.ui_entries, parsed.response_time_s, parsed.error) == ("", (), None, "")


def test_entry_without_a_ui_value_is_still_an_entry() -> None:
    parsed = response(dataUIList=[{"uiDescription": "안내"}, None, {"uiValue": "x"}])
    assert (len(parsed.ui_entries), parsed.ui_values) == (2, ())


ENVELOPES = [{"code": 0, "message": "success", "detail": {"trace": None, "causes": []}}, [{"code": "0"}, ""]]


@pytest.mark.parametrize("error", [None, "", " ", False, 0, 0.0, "null", "none", [], {}, *ENVELOPES])
def test_error_field_that_says_nothing_is_no_error(error: object) -> None:
    assert response(error=error).error == ""


@pytest.mark.parametrize("error", ["timeout", {"code": 500}, True, ["a"]])
def test_error_field_that_says_something_is_an_error(error: object) -> None:
    assert response(error=error).error


def test_error_object_is_told_as_it_was_sent() -> None:
    sent = {"code": 0, "message": "검색 서버 시간 초과"}
    assert json.loads(response(error=sent).error) == sent


def test_step_that_failed_names_its_worker_once() -> None:
    step = {"workerType": "PLAN_WORKER", "error": "filter parsing failed"}
    parsed = response(executionProcesses=[step, {"workerType": "OK", "error": ""}], worker=[step])
    assert parsed.step_errors == (StepError("PLAN_WORKER", "filter parsing failed"),)


def test_error_inside_a_workers_output_counts() -> None:
    parsed = response(worker=[{"type": "PLAN_WORKER", "output": {"error": "lambda"}}])
    assert parsed.step_errors == (StepError("PLAN_WORKER", "lambda"),)


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        ('{"assistantMessage": "잘린', "22번째 글자"),
        ("", "형식"),
        ("timeout", "형식"),
        ("[1]", "목록"),
        ('"text"', "문자열"),
        ("null", "null"),
        ("12", "숫자"),
        ("true", "참/거짓"),
        ("9" * 5000, "지나치게 김"),
    ],
)
def test_what_is_no_object_is_unreadable_with_a_reason(cell: str, word: str) -> None:
    parsed = parse_raw_json(cell)
    assert isinstance(parsed, str)
    assert word in parsed


@pytest.mark.parametrize("depth", [500, 3_000, 100_000, 1_000_000])
def test_nesting_of_any_depth_is_survived(depth: int) -> None:
    parsed = parse_raw_json('{"a":' * depth + "1" + "}" * depth)
    assert isinstance(parsed, RawResponse | str)
    if depth >= 100_000:
        assert isinstance(parsed, str)
        assert "중첩" in parsed


def test_five_megabytes_in_one_cell_are_read() -> None:
    cell = json.dumps({"assistantMessage": "가" * 1_700_000, "responseTimeSec": 1})
    parsed = parse_raw_json(cell)
    assert isinstance(parsed, RawResponse)
    assert len(parsed.assistant_message) == 1_700_000


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-1"])
def test_time_that_is_no_time_is_missing(value: str) -> None:
    parsed = parse_raw_json(f'{{"responseTimeSec": {value}}}')
    assert isinstance(parsed, RawResponse)
    assert parsed.response_time_s is None


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDC00", "\ud800"])
def test_half_a_character_becomes_a_question_mark(half: str) -> None:
    parsed = parse_raw_json(f'{{"assistantMessage": "가{half}나"}}')
    assert isinstance(parsed, RawResponse)
    assert parsed.assistant_message == "가?나"


def test_whole_emoji_stays() -> None:
    parsed = parse_raw_json(r'{"assistantMessage": "\ud83d\ude00"}')
    assert isinstance(parsed, RawResponse)
    assert parsed.assistant_message == "😀"


def test_byte_order_mark_does_not_matter() -> None:
    assert isinstance(parse_raw_json('\ufeff{"assistantMessage": "가"}\n'), RawResponse)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(cell: str) -> None:
    assert isinstance(parse_raw_json(cell), RawResponse | str)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = ["assistantMessage", "dataUIList", "responseTimeSec", "error", "executionProcesses", "worker", "other"]


@given(st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_any_object_is_a_response_that_tables_can_store(document: dict[str, object]) -> None:
    parsed = parse_raw_json(json.dumps(document))
    assert isinstance(parsed, RawResponse)
    (parsed.assistant_message + parsed.error).encode("utf-8")
