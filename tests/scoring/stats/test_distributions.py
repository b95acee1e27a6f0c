"""Student's quantiles and log gamma against those of scipy, over everything that figures ask for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln, gammaln, stdtrit

from scoring.stats.distributions import log_beta, log_gamma, student_quantile

SIZES = st.lists(st.floats(min_value=1e-3, max_value=1e7), min_size=1, max_size=5)


@pytest.mark.parametrize(("degrees", "tail", "expected"), [(1, 0.025, 12.706), (10, 0.05, 1.812), (60, 0.025, 2.000)])
def test_student_quantile_is_that_of_the_printed_tables(degrees: int, tail: float, expected: float) -> None:
    assert student_quantile(degrees, tail) == pytest.approx(expected, abs=5e-4)


@pytest.mark.long
def test_student_quantile_of_every_number_of_clusters_and_comparisons_is_that_of_scipy() -> None:
    every = {0.025: 1, 0.025 / 2: 5, 0.025 / 40: 5, 0.025 / 1000: 5, 0.4: 5}  # only 95 % is asked for of one comparison
    for tail, step in every.items():
        ours = [student_quantile(degrees, tail) for degrees in range(1, 400, step)]
        np.testing.assert_allclose(ours, -stdtrit(np.arange(1, 400, step), tail), rtol=1e-11)


@given(SIZES, st.floats(min_value=1e-3, max_value=1e7))
def test_log_beta_and_log_gamma_are_those_of_scipy(values: list[float], other: float) -> None:
    np.testing.assert_allclose(log_gamma(values), gammaln(values), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(log_beta(values, other), betaln(values, other), rtol=1e-7, atol=1e-6)


def test_no_numbers_have_no_logarithms() -> None:
    assert log_beta(np.array([]), np.array([])).shape == (0,)
