"""Weighted totals in exact numbers: integer percents and fractions, rounded once.

Source: seed 000, 4.1; seed 004, 종합 점수; SPEC 3.3 `weighted_total`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from scoring.errors import RuleError

Exact = int | Fraction


TOTAL_DIGITS = 2


@dataclass(frozen=True)
class WeightedTotal:
    """A total as rounded, None when no metric is known; `coverage_percent` of the weights was there."""

    value: Decimal | None
    coverage_percent: int

    @property
    def points(self) -> float | None:
        """The total as tables and reports hold it."""
        return None if self.value is None else float(self.value)

    @property
    def coverage(self) -> float | None:
        """The share of the weights that was there (0 to 1), None without a total."""
        return None if self.value is None else self.coverage_percent / 100


@dataclass(frozen=True)
class Weights:
    """Integer percents by metric, adding up to 100.

    Raises:
        RuleError: they do not add up to 100.
    """

    percents: Mapping[str, int]

    def __post_init__(self) -> None:
        if sum(self.percents.values()) != 100:
            raise RuleError(f"weights must add up to 100 %, these add up to {sum(self.percents.values())} %")

    def total(self, scores: Mapping[str, Exact | None]) -> WeightedTotal:
        """The weighted mean of the scores that are known, weights renormalised, and how much weight they have."""
        known = {name: score for name, score in scores.items() if score is not None and name in self.percents}
        coverage = sum(self.percents[name] for name in known)
        if not coverage:
            return WeightedTotal(None, 0)
        summed = exact_sum(self.percents[name] * score for name, score in known.items())
        return WeightedTotal(rounded(summed / coverage, TOTAL_DIGITS), coverage)


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
    """A number rounded half away from zero, as people read it (2.345 -> 2.35). Never negative here."""
    whole = (2 * value.numerator * 10**digits + value.denominator) // (2 * value.denominator)
    return Decimal(whole).scaleb(-digits)
