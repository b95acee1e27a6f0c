"""Test runs of promptfoo: what the real tool wrote of a support bot, and odd files."""

import json
from pathlib import Path

import pytest

from scoring.errors import InputError
from scoring.limits import LARGEST_EXPORT
from scoring.testruns.executions import parse_execution
from scoring.testruns.testrun import TestRunFile
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import executions

RECORDED = Path("tests/exports/promptfoo.json")
RESULT = {
    "testIdx": 0,
    "promptIdx": 0,
    "vars": {"question": "Hello?"},
    "testCase": {"vars": {"question": "Hello?"}, "assert": [{"type": "equals", "value": "Hi."}]},
    "provider": {"id": "my-bot", "label": ""},
    "prompt": {"raw": "Answer: Hello?"},
    "response": {"output": "Hi."},
    "latencyMs": 1500,
    "failureReason": 0,
    "field_of_tomorrow": [1],
}


def run_of(folder: Path, *results: object) -> TestRunFile:
    path = folder / "results.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}), encoding="utf-8")
    return read_testrun_file(path)


def test_run_of_promptfoo_has_an_execution_for_each_time_a_test_was_asked() -> None:
    run = read_testrun_file(RECORDED)
    assert (run.counts.rows_in, run.counts.scored, run.counts.executions) == (8, 8, 8)
    assert [(one.query_id, str(one.round)) for one in executions(run)] == [
        (query_id, round_) for query_id in "1234" for round_ in ("1/1", "2/1")
    ]
    assert [(one[0].query_text, one[0].answer_text, one[0].expected_text) for one in run.queries.values()] == [
        ("Can I still change its address?", "I'm sorry, but I can't help with that.", "icontains: changed"),
        (
            "I want my money back for the kettle.",
            "Of course. Send it back within 30 days:\n1. print a label\n2. post it.",
            "icontains: 30 days",
        ),
        ("배송은 얼마나 걸리나요?", "보통 2~3일 걸립니다.", "contains: 2~3일\nnot-contains: 모릅니다"),
        ("Cancel my subscription, please.", "", ""),
    ]
    assert {one.category for one in executions(run)} == {"openai:chat:gpt-4.1-mini"}
    assert run.ran_at == json.loads(RECORDED.read_text("utf-8"))["results"]["timestamp"][:19]


def test_call_of_promptfoo_that_failed_is_an_execution_with_its_error_and_a_failed_check_is_none() -> None:
    read = [parse_execution(one) for one in executions(read_testrun_file(RECORDED))]
    assert ["500 Internal Server Error" in one.failure for one in read] == [False] * 6 + [True] * 2
    assert [one.failure for one in read[:6]] == [""] * 6  # the first test was answered, and did not pass


def test_time_that_promptfoo_measured_is_the_latency_unless_a_cache_answered(tmp_path: Path) -> None:
    cached = RESULT | {"response": {"output": "Hi.", "cached": True}, "latencyMs": 2}
    read = [parse_execution(one) for one in executions(run_of(tmp_path, RESULT, cached))]
    assert [one.latency_s for one in read] == [1.5, None]


def test_results_of_promptfoo_are_numbered_like_its_tests_whatever_finished_first(tmp_path: Path) -> None:
    other = {"vars": {"question": "Bye?"}, "testCase": {"vars": {"question": "Bye?"}}}
    second = RESULT | other | {"testIdx": 1}
    run = run_of(tmp_path, second, second | {"promptIdx": 1}, RESULT | {"promptIdx": 1}, RESULT)
    assert {query_id: [one.query_text for one in asked] for query_id, asked in run.queries.items()} == {
        "1": ["Hello?"],
        "1-2": ["Hello?"],
        "2": ["Bye?"],
        "2-2": ["Bye?"],
    }


def test_results_of_promptfoo_without_their_tests_are_told_apart_by_their_variables(tmp_path: Path) -> None:
    alone = {name: value for name, value in RESULT.items() if name != "testCase"}
    run = run_of(tmp_path, alone, alone | {"testIdx": 1, "vars": {"question": "Bye?"}}, alone)
    assert {query_id: len(asked) for query_id, asked in run.queries.items()} == {"1": 2, "2": 1}


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"vars": {"name": "Kim", "question": "Hello?"}}, "query_text", "Answer: Hello?"),
        ({"response": {"output": {"답": 1}}}, "answer_text", '{"답": 1}'),
        ({"provider": "echo"}, "category", "echo"),
        ({"provider": {"id": "my-bot", "label": "v2"}}, "category", "v2"),
        ({"testCase": {"assert": [{"type": "is-json"}, "?"]}}, "expected_text", "is-json"),
        ({"response": None, "failureReason": 2}, "error", "error"),
        ({"response": None, "failureReason": 2, "error": "timeout"}, "error", "timeout"),
        ({"response": {"output": "No."}, "failureReason": 1, "error": "not equal"}, "error", ""),
    ],
    ids=["variables", "object", "old provider", "label", "no value", "no word", "a word", "a check"],
)
def test_result_of_promptfoo_is_read_in_each_form(
    changed: dict[str, object], field: str, value: str, tmp_path: Path
) -> None:
    (execution,) = executions(run_of(tmp_path, RESULT | changed))
    assert getattr(execution, field) == value


@pytest.mark.parametrize(
    ("odd", "reject"),
    [
        ("?", (1, None, "other_format")),
        ({"response": {"output": "Hi."}}, (1, None, "other_format")),
        (RESULT | {"latencyMs": "soon"}, (1, "latency_ms", "not_a_number")),
        (RESULT | {"latencyMs": -1}, (1, "latency_ms", "not_a_number")),
        (RESULT | {"response": {"output": "\ud800"}}, (1, "응답", "broken_encoding")),
    ],
    ids=["no object", "no vars", "a word for a time", "a negative time", "half a sign"],
)
def test_odd_result_of_promptfoo_is_rejected_and_its_neighbour_is_read(
    odd: object, reject: tuple[int, str | None, str], tmp_path: Path
) -> None:
    run = run_of(tmp_path, odd, RESULT | {"testIdx": 1})
    assert [(one.line, one.column, one.code) for one in run.rejects] == [reject]
    assert (run.counts.rows_in, run.counts.scored) == (2, 1)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cannot be read as JSON"),
        (b'{"user_input": "a"}\n{"user_input": "b"}\n', "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b"\xff\xfe{}", "cannot be read as JSON"),
        (b"[]", "results.results"),
        (b'{"results": [{"vars": {}}]}', "results.results"),
    ],
    ids=["empty", "JSON lines", "too deep", "UTF-16", "a list", "other results"],
)
def test_json_file_that_promptfoo_did_not_write_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_bytes(content)
    with pytest.raises(InputError, match=told) as refused:
        read_testrun_file(tmp_path / "other.json")
    assert "other.json" in str(refused.value)


def test_results_beyond_what_is_parsed_as_a_whole_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with path.open("wb") as file:
        file.truncate(LARGEST_EXPORT + 1)  # takes no place on the disk
    with pytest.raises(InputError, match="more than 268,435,456 bytes") as refused:
        read_testrun_file(path)
    assert "export fewer tests at a time" in str(refused.value)
