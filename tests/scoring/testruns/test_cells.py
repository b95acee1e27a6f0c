"""Cells and scalars: what is missing, what is true, what is the same."""

import pytest

from scoring.testruns.cells import given, same, seconds, truth


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
def test_same_across_spellings(expected: object, actual: object) -> None:
    assert same(expected, actual)
    assert same(actual, expected)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("true", False), ("SELECT", "select"), ("01", "1"), ("4101", 4102), (None, None), ("", 0), ([], []),
     (float("nan"), float("nan")), ("true", "yes")],
)  # fmt: skip
def test_different_things_are_not_the_same(expected: object, actual: object) -> None:
    assert not same(expected, actual)
