"""Cells and scalars: what is missing, what is true, what is the same."""

import pytest

from scoring.testruns.cells import given, reported_error, same, says_all_is_well, says_not_measured, seconds, truth


@pytest.mark.parametrize(
    "value", [None, "", "  ", "\n", "nan", "NaN", "none", "null", "-", " - ", False, [], {}, "\ufeff"]
)
def test_blank_spellings_are_missing(value: object) -> None:
    assert given(value) is None


@pytest.mark.parametrize(("value", "text"), [(" 시간 초과 ", "시간 초과"), (0, "0"), (True, "True"), ("--", "--")])
def test_everything_else_is_given_without_its_margins(value: object, text: str) -> None:
    assert given(value) == text


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0.0), (5.01, 5.01), (" 7.6 ", 7.6), ("7.6초", 7.6), ("12 s", 12.0)]
)
def test_durations_are_read(value: object, expected: float) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize(
    "value",
    [None, True, -1, float("nan"), float("inf"), 10**400, "빠름", "-3", "1e5", [5], {"s": 5}, "5.0.0", "9" * 400],
)
def test_what_is_no_duration_is_missing(value: object) -> None:
    assert seconds(value) is None


@pytest.mark.parametrize("value", [True, "true", "TRUE", " Y ", "y", 1, " 1"])
def test_truth_has_many_spellings(value: object) -> None:
    assert truth(value) is True


@pytest.mark.parametrize("value", [2, "예", None, [], 1.5])
def test_other_values_are_neither_true_nor_false(value: object) -> None:
    assert truth(value) is None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("true", True), ("Y", 1), (True, "y"), ("false", 0), ("4101", 4101), (4101, " 4101"), ("0.1", 0.1), (5, 5.0),
     (" SELECT ", "SELECT")],
)  # fmt: skip
def test_same_value_is_the_same_however_it_is_written(expected: object, actual: object) -> None:
    assert same(expected, actual)
    assert same(actual, expected)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("true", False), ("SELECT", "select"), ("01", "1"), ("4101", 4102), (None, None), ("", 0), ([], []),
     (float("nan"), float("nan")), ("true", "yes")],
)  # fmt: skip
def test_different_things_are_not_the_same(expected: object, actual: object) -> None:
    assert not same(expected, actual)


@pytest.mark.parametrize(
    "said",
    [
        *("정상", "성공", "완료", "통과", "정상 응답", "정상 완료", "응답 완료", "이상 없음", "오류 없음", "에러없음"),
        *("해당 없음", "OK", "okay", "success", "Succeeded", "completed", "done", "pass", "PASSED", "200", "N/A", "na"),
        *("No error", "200 OK"),
    ],
)
def test_what_says_that_all_is_well_reports_no_error(said: str) -> None:
    assert says_all_is_well(said)
    assert reported_error(said) == ""


@pytest.mark.parametrize("said", ["없음", "no", "N", "false", "undefined", 0, {"code": 0, "message": "success"}])
def test_what_denies_an_error_reports_none(said: object) -> None:
    assert reported_error(said) == ""


@pytest.mark.parametrize("said", ["Timeout", "500", "실패", {"code": 0, "message": "시간 초과"}, ["정상", "실패"]])
def test_anything_else_is_an_error(said: object) -> None:
    assert reported_error(said) != ""


@pytest.mark.parametrize("said", ["없음", "미측정", "측정 불가", "측정 안됨", "N/A", "na"])
def test_number_may_be_said_not_to_be_measured(said: str) -> None:
    assert says_not_measured(said)
