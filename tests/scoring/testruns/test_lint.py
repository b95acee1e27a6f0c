"""What is wrong with a test set: each rule on the queries that break it, and silence on a sound one."""

from typing import Any

import pytest

from scoring.testruns.executions import Execution, Round
from scoring.testruns.lint import expectation_marks, lint

LIST = """1) assistantMessage에 "기간"과 관련된 내용이 언급되어 있는가
2) dataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가"""


def query(query_id: str, question: str, expected: str = "안내한다", **given: Any) -> Execution:
    return Execution(query_id, Round(1, 1), query_text=question, expected_text=expected, **given)


def broken(*executions: Execution) -> dict[str, tuple[str, ...]]:
    """Code -> the queries that break the rule."""
    queries: dict[str, list[Execution]] = {}
    for execution in executions:
        queries.setdefault(execution.query_id, []).append(execution)
    return {finding.code: tuple(finding.query_ids) for finding in lint(queries)}


def test_lint_is_silent_on_a_sound_test_set() -> None:
    sound = [
        query("A", "기간을 바꿔줘", f"평가 요소 2가지 ->:\n{LIST}"),
        query("B", "지원자 수 알려줘", "", ground_truth="3"),
    ]
    assert broken(*sound, query("C", "평가 조건 3개를 보여줘", LIST)) == {}


@pytest.mark.parametrize(
    "question", ["$공고명$ 지원자 수", "${notice} 지원자 수", "{{ 공고명 }} 지원자 수", "{공고명} 지원자 수"]
)
def test_lint_finds_a_placeholder_that_was_never_filled(question: str) -> None:
    assert broken(query("A", question), query("B", "지원자 수")) == {"placeholder": ("A",)}


@pytest.mark.parametrize("question", ["$100에서 $200 사이", "비용이 $5인 공고", "{1} 지원자", "월급 $ 지원자"])
def test_lint_takes_no_price_for_a_placeholder(question: str) -> None:
    assert broken(query("A", question, "/agent/flow/process/{planId}")) == {}


@pytest.mark.parametrize("heading", ["평가 요소 4가지 ->:", "체크 항목(3개)", "[확인 기준 1가지]"])
@pytest.mark.parametrize("joint", ["\n", " "])
def test_lint_finds_a_count_that_the_list_contradicts(heading: str, joint: str) -> None:
    assert broken(query("A", "질의", f"{heading}{joint}{LIST.replace(chr(10), joint)}")) == {"wrong_count": ("A",)}


def test_lint_finds_what_asks_or_expects_nothing() -> None:
    assert broken(query("A", " "), query("B", "질의", "nan")) == {"no_question": ("A",), "no_expectation": ("B",)}


def test_lint_tells_repeated_from_contradicted_questions() -> None:
    same = [query("A", "기간을 바꿔줘"), query("B", "기간을  바꿔줘")]
    assert broken(*same) == {"repeated": ("A", "B")}
    assert broken(*same, query("C", "기간을 바꿔줘", "거절한다")) == {
        "contradicted": ("A", "B", "C"),
        "repeated": ("A", "B"),
    }


def test_lint_finds_an_id_that_asks_something_else_in_another_round() -> None:
    other = Execution("A", Round(2, 1), query_text="이름을 바꿔줘", expected_text="안내한다")
    assert broken(query("A", "기간을 바꿔줘"), other) == {"changing": ("A",)}
    (finding,) = lint({"A": [query("A", "기간을 바꿔줘"), other]})
    assert finding.example == "기간을 바꿔줘 / 이름을 바꿔줘"


def test_lint_finds_an_id_that_expects_something_else_in_another_round() -> None:
    rounds = [
        Execution("A", Round(room, 1), query_text="몇 명이야?", expected_text="안내한다", ground_truth=truth)
        for room, truth in enumerate(("3명", "3 명", "5명", ""), start=1)
    ]
    assert broken(*rounds[:2]) == {}
    assert broken(*rounds) == {"expecting_otherwise": ("A",)}
    (finding,) = lint({"A": rounds})
    assert finding.example == "3명 / 3 명 / 5명 / 빈칸"


def test_mark_tells_whether_another_run_expects_the_same_but_for_the_ground_truth() -> None:
    def mark(**expected: str) -> str:
        return expectation_marks({"Q": [query("Q", "질의", **expected)]})["Q"]

    said = mark(expected="서류 전형을 연다", ground_truth="12")
    assert said == mark(expected="서류  전형을\n연다", ground_truth="13")  # it is counted anew for each run
    assert len({said, mark(expected="면접 전형을 연다"), mark(expected_datakeys="K1")}) == 3


def test_mark_tells_whether_there_is_a_ground_truth() -> None:
    without, given = (expectation_marks({"Q": [query("Q", "질의", ground_truth=truth)]})["Q"] for truth in ("", "12"))
    assert without != given
    assert without[:-1] == given[:-1]  # as earlier code wrote it


@pytest.mark.parametrize(
    "sound", [{"latency_ms": 100.0}, {"answer_time_s": 1000.0}, {"ttft_s": 0.05}, {"latency_ms": 0.0}]
)
def test_lint_takes_a_time_that_an_answer_can_take(sound: dict[str, Any]) -> None:
    assert broken(query("A", "질의", **sound)) == {}


@pytest.mark.parametrize("odd", [{"latency_ms": 99.9}, {"answer_time_s": 5300.0}, {"ttft_s": 1001.0}])
def test_lint_finds_a_time_in_another_unit_than_its_column(odd: dict[str, Any]) -> None:
    assert broken(query("A", "질의", **odd), query("B", "다른 질의", latency_ms=5300.0)) == {"time_unit": ("A",)}


def test_lint_says_how_a_time_was_read() -> None:
    (found,) = lint({"A": [query("A", "질의", answer_time_s=5300.0)]})
    assert found.example == "답변 시간(초) 열을 5300초로 읽음"
