import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import RuleError
from scoring.rules.bands import Bands

AT_LEAST = Bands("at_least", ((100, 3), (50, 2), (0.5, 1)), beyond=0)
AT_MOST = Bands("at_most", ((5, 5), (8, 4), (10.5, 3)), beyond=0)


@pytest.mark.parametrize(
    ("number", "points"), [(100, 3), (99.99, 2), (50, 2), (49.99, 1), (0.5, 1), (0.49, 0), (-1, 0), (1e300, 3)]
)
def test_at_least_includes_its_lower_bound(number: float, points: int) -> None:
    assert AT_LEAST.points(number) == points


@pytest.mark.parametrize(
    ("number", "points"), [(5.0, 5), (5.01, 4), (8.0, 4), (8.01, 3), (10.5, 3), (10.51, 0), (-1, 5), (1e300, 0)]
)
def test_at_most_includes_its_upper_bound(number: float, points: int) -> None:
    assert AT_MOST.points(number) == points


@pytest.mark.parametrize("cuts", [((50, 2), (100, 3)), ((100, 3), (100, 2)), ((100, 3), (50, 2), (60, 1))])
def test_at_least_refuses_cuts_that_do_not_fall(cuts: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(RuleError, match="must fall"):
        Bands("at_least", cuts, beyond=0)


@pytest.mark.parametrize("cuts", [((8, 4), (5, 5)), ((5, 5), (5, 4)), ((5, 5), (8, 4), (7, 3))])
def test_at_most_refuses_cuts_that_do_not_rise(cuts: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(RuleError, match="must rise"):
        Bands("at_most", cuts, beyond=0)


@pytest.mark.parametrize("edge", ["at_least", "at_most"])
def test_bands_need_a_cut(edge: str) -> None:
    with pytest.raises(RuleError, match="at least one cut"):
        Bands(edge, (), beyond=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("edge", ["at_least", "at_most"])
def test_cuts_that_are_no_numbers_are_not_ordered(edge: str) -> None:
    with pytest.raises(RuleError):
        Bands(edge, ((1.0, 2), (float("nan"), 1)), beyond=0)  # type: ignore[arg-type]


def test_one_cut_is_enough_and_points_may_be_names() -> None:
    grades = Bands("at_least", ((60, "pass"),), beyond="fail")
    assert [grades.points(number) for number in (60, 59)] == ["pass", "fail"]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_larger_number_never_falls_into_a_lower_band(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert AT_LEAST.points(low) <= AT_LEAST.points(high)
    assert AT_MOST.points(low) >= AT_MOST.points(high)
