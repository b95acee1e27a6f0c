"""Quantiles of Student's t distribution and the gamma function, for intervals.

scipy has both, but would be the largest dependency: 140 MB, and a seventh of a second of every command that shows an
interval. Degrees of freedom are whole numbers here, for which the distribution function is a finite sum.

Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
"""

from collections.abc import Sequence
from functools import cache
from math import cos, lgamma, pi, sin, sqrt, tan
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]  # importing `numpy.typing` costs time

_HALVINGS = 60
"""Bisection steps until the ends of the interval are adjacent doubles."""

_LOG_GAMMA = np.frompyfunc(lgamma, 1, 1)  # for a few values `numpy.vectorize` costs more than the loop


@cache
def student_quantile(degrees: int, tail: float) -> float:
    """The t quantile: beyond so many standard errors lies a share of `tail`, on one side; `tail` is below a half."""
    low, high = 0.0, pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _share_within(degrees, middle) < 1 - 2 * tail:
            low = middle
        else:
            high = middle
    return sqrt(degrees) * tan(high)


def _share_within(degrees: int, angle: float) -> float:
    """The probability between -t and t, where tan(angle) = t / sqrt(degrees)."""
    is_odd = degrees % 2
    term, total = sin(angle) * (cos(angle) if is_odd else 1), 0.0
    for step in range(1 + is_odd, degrees, 2):
        total += term
        term *= step / (step + 1) * cos(angle) ** 2
    return (angle + total) * 2 / pi if is_odd else total


def log_gamma(values: Array | Sequence[float] | float) -> Array:
    """The elementwise logarithm of the gamma function of positive numbers."""
    return np.asarray(_LOG_GAMMA(values), dtype=float)


def log_beta(first: Array | Sequence[float] | float, second: Array | Sequence[float] | float) -> Array:
    """The elementwise logarithm of the beta function of positive numbers, with broadcasting."""
    found: Array = log_gamma(first) + log_gamma(second) - log_gamma(np.add(first, second))
    return found
