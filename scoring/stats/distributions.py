"""What figures take from Student's distribution and the gamma function.

scipy has both, and would be the largest thing that is installed: 140 MB, and a seventh of a second of every command
that shows an interval. Degrees of freedom are whole numbers here, for which the distribution is a short sum.

Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
"""

from collections.abc import Sequence
from functools import cache
from math import cos, lgamma, pi, sin, sqrt, tan
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]  # `numpy.typing` would be one more import

_HALVINGS = 60
"""After them the ends of an interval of doubles meet."""

_LOG_GAMMA = np.frompyfunc(lgamma, 1, 1)  # `numpy.vectorize` takes longer to prepare than to count a few


@cache
def student_quantile(degrees: int, tail: float) -> float:
    """How many standard errors from the mean a share of `tail` lies beyond, on one side; `tail` is below a half."""
    low, high = 0.0, pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _share_within(degrees, middle) < 1 - 2 * tail:
            low = middle
        else:
            high = middle
    return sqrt(degrees) * tan(high)


def _share_within(degrees: int, angle: float) -> float:
    """The share between -t and t, where the tangent of the angle is t / sqrt(degrees)."""
    is_odd = degrees % 2
    term, total = sin(angle) * (cos(angle) if is_odd else 1), 0.0
    for step in range(1 + is_odd, degrees, 2):
        total += term
        term *= step / (step + 1) * cos(angle) ** 2
    return (angle + total) * 2 / pi if is_odd else total


def log_gamma(values: Array | Sequence[float] | float) -> Array:
    """The logarithm of the gamma function of positive numbers, in their shape."""
    return np.asarray(_LOG_GAMMA(values), dtype=float)


def log_beta(first: Array | Sequence[float] | float, second: Array | Sequence[float] | float) -> Array:
    """The logarithm of the beta function of positive numbers, in their common shape."""
    found: Array = log_gamma(first) + log_gamma(second) - log_gamma(np.add(first, second))
    return found
