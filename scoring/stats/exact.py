"""Exact numbers: sums, means, rounding for people. Source: SPEC 3."""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

Exact = int | Fraction


def mean(values: Iterable[Exact | None]) -> Fraction | None:
    """The exact mean of the values that are known; None when there is none."""
    known = [value for value in values if value is not None]
    return exact_sum(known) / len(known) if known else None


def exact_sum(values: Iterable[Exact]) -> Fraction:
    """The sum of exact numbers, 0 of none."""
    return Fraction(sum(values))


def exact(value: float) -> Fraction:
    """The number that a float is written as: 4.9 is 49/10, not the binary number next to it."""
    return Fraction(Decimal(str(value)))


def rounded(value: Exact, digits: int) -> Decimal:
    """A number rounded half away from zero, as people read it (2.345 -> 2.35)."""
    whole = (2 * abs(value.numerator) * 10**digits + value.denominator) // (2 * value.denominator)
    return Decimal(whole if value > 0 else -whole).scaleb(-digits)
