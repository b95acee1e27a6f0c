"""What figures take from Student's distribution and the gamma function.

scipy has both, and would be the largest thing that is installed: 140 MB, and a seventh of a second of every command
that shows an interval. Degrees of freedom are whole numbers here, for which the distribution is a short sum.

Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
"""

from __future__ import annotations

from functools import cache
from math import cos, lgamma, pi, sin, sqrt, tan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_HALVINGS = 60
"""After them the ends of an interval of doubles meet."""


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


def log_gamma(values: ArrayLike) -> NDArray[Any]:
    """The logarithm of the gamma function of positive numbers, in their shape."""
    import numpy as np

    return np.asarray(_on_arrays()(values), dtype=float)


@cache
def _on_arrays() -> Any:
    """`lgamma` for every number of an array; `numpy.vectorize` takes longer to prepare than to count a few."""
    import numpy as np

    return np.frompyfunc(lgamma, 1, 1)


def log_beta(first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
    """The logarithm of the beta function of positive numbers, in their common shape."""
    import numpy as np

    found: NDArray[Any] = log_gamma(first) + log_gamma(second) - log_gamma(np.add(first, second))
    return found
