"""Executions: rounds, failure, emptiness, latency and its class."""

import json
from typing import Any

import pytest

from scoring.testruns.executions import (
    AgentType,
    Execution,
    LatencyClass,
    ParsedExecution,
    Round,
    parse_execution,
)
from scoring.testruns.latency_class import latency_class_of_query

ANSWER = '{"assistantMessage": "안내할게요."}'


def reading(**fields: Any) -> ParsedExecution:
    return parse_execution(Execution(**{"query_id": "Q-1", "round": Round(1, 1), "raw_json": ANSWER, **fields}))


@pytest.mark.parametrize(("text", "expected"), [("1/1", Round(1, 1)), (" 2 / 1 ", Round(2, 1)), ("10/3", Round(10, 3))])
def test_round_is_a_room_and_a_repeat(text: str, expected: Round) -> None:
    assert Round.parse(text) == expected


@pytest.mark.parametrize("text", ["", "1", "1/", "0/1", "1/0", "a/b", "1/1/1", "2026-01-01", "-1/1", "١/١", "1.0/1"])
def test_what_is_no_room_and_repeat_is_no_round(text: str) -> None:
    assert Round.parse(text) is None


def test_round_is_written_as_it_was_read() -> None:
    assert str(Round(2, 1)) == "2/1"


def test_rounds_are_ordered_by_number() -> None:
    assert Round(2, 1) < Round(10, 1)


def test_plain_answer_neither_failed_nor_is_empty() -> None:
    answered = reading()
    assert answered.answered
    assert (answered.failure, answered.emptiness) == ("", "")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"error": "timeout"}, "timeout"),
        ({"raw_json": '{"assistantMessage": "가", "error": "500"}'}, "Raw JSON의 error: 500"),
        ({"status": "에러"}, "응답 상태: 에러"),
        ({"raw_json": '{"assistantMessage": '}, "Raw JSON을 해석할 수 없음"),
        ({"raw_json": "[]"}, "객체가 아님"),
        ({"raw_json": '{"assistantMessage": "가", "worker": [{"type": "W", "error": "x"}]}'}, "W 단계 오류: x"),
    ],
)
def test_each_sign_of_failure_is_named(fields: dict[str, str], reason: str) -> None:
    failed = reading(**fields)
    assert reason in failed.failure
    assert not failed.answered


@pytest.mark.parametrize(
    "status",
    [
        "", " ", "nan", "-", "N/A", "정상", "정상 처리", "정상 응답", "성공", "완료", "통과", "OK", "ok", "success",
        "Completed", "200", "Pass",
    ],
)  # fmt: skip
def test_good_or_blank_status_is_no_failure(status: str) -> None:
    assert reading(status=status).failure == ""


@pytest.mark.parametrize(
    "word", ["없음", "정상", "N/A", "0", "0.0", "false", "OK", "오류 없음", "해당 없음", "No", "{}", "[]"]
)
def test_word_for_no_error_is_no_failure(word: str) -> None:
    steps = {"worker": [{"type": "W", "error": word}]}
    raw = json.dumps({"assistantMessage": "가", "error": word} | steps)
    assert reading(error=word, raw_json=raw).failure == ""


@pytest.mark.parametrize("word", ["응답 없음", "true", "1", "NO RESPONSE", "비정상"])
def test_words_that_only_resemble_no_error_are_a_failure(word: str) -> None:
    assert reading(error=word).failure == word


def test_same_error_in_cell_and_raw_is_told_once() -> None:
    assert reading(error="500", raw_json='{"error": "500"}').failure == "500"


@pytest.mark.parametrize("message", ["", "  \n", None, [], {}])
@pytest.mark.parametrize("entries", [[], None, "x", [None]])
def test_no_message_and_no_entry_is_empty(message: object, entries: object) -> None:
    empty = reading(raw_json=json.dumps({"assistantMessage": message, "dataUIList": entries}))
    assert empty.emptiness
    assert empty.failure == ""


def test_entry_alone_is_an_answer() -> None:
    assert reading(raw_json='{"assistantMessage": "", "dataUIList": [{"uiValue": {}}]}').answered


def test_without_raw_json_the_answer_cell_is_the_message() -> None:
    assert reading(raw_json="-", answer_text="지원자는 3명입니다.").response.assistant_message == "지원자는 3명입니다."
    assert reading(raw_json="", answer_text=" ").emptiness


def test_raw_message_is_not_replaced_by_the_answer_cell() -> None:
    assert reading(raw_json='{"assistantMessage": ""}', answer_text="가").emptiness


@pytest.mark.parametrize(
    ("raw", "latency_ms", "answer_time_s", "expected"),
    [
        ('{"responseTimeSec": 5.0}', 9000.0, 8.0, 5.0),
        ('{"responseTimeSec": null}', 9000.0, 8.0, 9.0),
        ('{"responseTimeSec": "느림"}', None, 8.0, 8.0),
        ("{}", None, None, None),
        ("{", 5010.0, None, 5.01),
    ],
)
def test_latency_comes_from_the_first_source_that_knows(
    raw: str, latency_ms: float | None, answer_time_s: float | None, expected: float | None
) -> None:
    assert reading(raw_json=raw, latency_ms=latency_ms, answer_time_s=answer_time_s).latency_s == expected


def latency_class(*readings: ParsedExecution) -> LatencyClass:
    forward, backward = latency_class_of_query(readings), latency_class_of_query(readings[::-1])
    assert forward is backward
    return forward


SINGLE, MULTI = LatencyClass.SINGLE, LatencyClass.MULTI
TWO_STEPS = '{"assistantMessage": "가", "executionProcesses": [{}, {}]}'
APPLICANT = {"agent_type": AgentType.APPLICANT_MANAGEMENT}


def criteria_of(latency_class: str) -> str:
    return json.dumps({"schemaVersion": "aqb.v1", "meta": {"latencyClass": latency_class}})


def test_stated_class_comes_first() -> None:
    criteria = criteria_of("MULTI")
    stated = reading(latency_class=SINGLE, tool_call_count=5, raw_json=TWO_STEPS, criteria_json=criteria, **APPLICANT)
    assert latency_class(stated) is SINGLE


def test_executions_that_disagree_make_the_slower_class() -> None:
    assert latency_class(reading(latency_class=SINGLE), reading(latency_class=MULTI)) is MULTI


def test_criteria_come_before_the_tool_calls() -> None:
    assert latency_class(reading(tool_call_count=5, criteria_json=criteria_of("SINGLE"))) is SINGLE


@pytest.mark.parametrize(("calls", "expected"), [(1, SINGLE), (2, MULTI)])
def test_two_tool_calls_are_several(calls: int, expected: LatencyClass) -> None:
    several = {**APPLICANT, "expected_filters": "성별 + 학력"}
    assert latency_class(reading(tool_call_count=calls, **several)) is expected


def test_one_counted_tool_call_outweighs_the_steps() -> None:
    assert latency_class(reading(tool_call_count=1, raw_json=TWO_STEPS)) is SINGLE


@pytest.mark.parametrize("field", ["executionProcesses", "worker"])
def test_two_steps_are_several(field: str) -> None:
    assert latency_class(reading(raw_json=json.dumps({field: [{}, {}]}))) is MULTI
    assert latency_class(reading(raw_json=json.dumps({field: [{}]}))) is SINGLE


@pytest.mark.parametrize(
    ("expected", "used", "result"),
    [
        ("성별 + 학력", "", MULTI),
        ("성별 + 없는이름", "", MULTI),
        ("성별", "성별, 학력, 나이", SINGLE),
        ("", "성별, 학력", MULTI),
        ("", "성별, 기간", SINGLE),
        ("", "성별", SINGLE),
        ("기간", "성별, 학력", SINGLE),
    ],
)
def test_filters_decide_for_the_applicant_agent(expected: str, used: str, result: LatencyClass) -> None:
    """Those that are expected, a name without a code too; else the used ones. The period filter is none of them."""
    filters = {"expected_filters": expected, "detected_filters": used}
    assert latency_class(reading(**APPLICANT, **filters)) is result
    assert latency_class(reading(agent_type=AgentType.PLAN, **filters)) is SINGLE


def test_used_filters_are_those_of_the_answer_with_most() -> None:
    found = [reading(detected_filters=used, **APPLICANT) for used in ("성별", "성별, 학력")]
    assert latency_class(*found) is MULTI


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("MULTI", MULTI),
        (" single ", SINGLE),
        ("단일", SINGLE),
        ("복수", MULTI),
        ("다중", MULTI),
        ("", None),
        ("x", None),
        (1, None),
    ],
)
def test_latency_class_is_read_in_any_case_and_in_korean(word: object, expected: LatencyClass | None) -> None:
    assert LatencyClass.named(word) is expected
