"""Exact arithmetic: sums, means, rounding for display. Source: SPEC 3."""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

Exact = int | Fraction


def mean(values: Iterable[Exact | None]) -> Fraction | None:
    """The exact mean of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return exact_sum(known) / len(known) if known else None


def exact_sum(values: Iterable[Exact]) -> Fraction:
    """The sum of exact numbers; 0 for no numbers."""
    return Fraction(sum(values))


def exact(value: float) -> Fraction:
    """The decimal value of a float as written: 4.9 is 49/10, not the nearest binary number."""
    return Fraction(Decimal(str(value)))


def rounded(value: Exact, digits: int) -> Decimal:
    """A number rounded half away from zero, as people expect (2.345 -> 2.35)."""
    whole = (2 * abs(value.numerator) * 10**digits + value.denominator) // (2 * value.denominator)
    return Decimal(whole if value > 0 else -whole).scaleb(-digits)
