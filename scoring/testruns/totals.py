"""Weighted totals in exact numbers, rounded once, and the conditions under which there is none.

Source: seed 000, 4.1; seed 004, 종합 점수; SPEC 3.3 `weighted_total`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from scoring.errors import RuleError
from scoring.markdown import percent, score_text
from scoring.stats.exact import Exact, exact_sum, rounded
from scoring.testruns.rubric import BEST_POINTS, Option, Options

TOTAL_DIGITS = 2
NEEDED_METRIC = "accuracy"
MIN_COVERAGE = Option(
    "min_weight_coverage",
    "70",
    r"[0-9]{1,2}|100",
    "a total of fewer percent of the weights would be made of what happened to be easy to score: it is NULL",
    "종합 점수를 내려면 채점해야 하는 가중치(%). 이보다 적으면 종합 점수를 내지 않습니다.",
)


@dataclass(frozen=True)
class WeightedTotal:
    """A rounded total, None if too little is known; then `missing` gives the reason (Korean).

    `coverage_percent` of the weights had a score, None if no total was requested.
    """

    value: Decimal | None
    coverage_percent: int | None
    missing: str = ""

    @property
    def points(self) -> float | None:
        """The total for tables and reports."""
        return None if self.value is None else float(self.value)

    @property
    def coverage(self) -> float | None:
        """The share of the weights with a score (0 to 1)."""
        return None if self.coverage_percent is None else self.coverage_percent / 100

    def figures(self) -> dict[str, Any]:
        """The total as JSON."""
        return {"mean": self.points, "weight_coverage": self.coverage, "missing": self.missing}


@dataclass(frozen=True)
class Weights:
    """Integer percents by metric with a sum of 100. Without the metric `needed` there is no total; '' requires none.

    Raises:
        RuleError: the sum is not 100.
    """

    percents: Mapping[str, int]
    needed: str = NEEDED_METRIC

    def __post_init__(self) -> None:
        if sum(self.percents.values()) != 100:
            raise RuleError(
                f"weights must add up to 100 %, these add up to {sum(self.percents.values())} %",
                fix="change some of them",
            )

    def lost(self, scores: Mapping[str, Exact | None]) -> Fraction:
        """The weighted points (0 to 5) that the known scores lose against the best; unknown ones lose none."""
        known = {name: score for name, score in scores.items() if score is not None and name in self.percents}
        return exact_sum(self.percents[name] * (BEST_POINTS - score) for name, score in known.items()) / 100

    def total(self, scores: Mapping[str, Exact | None], options: Options) -> WeightedTotal:
        """The weighted mean of the known scores, with renormalised weights.

        None without the required metric, or with less than `min_weight_coverage` of the weights. Source: SPEC 3.3.
        """
        known = {name: score for name, score in scores.items() if score is not None and name in self.percents}
        coverage = sum(self.percents[name] for name in known)
        least = int(options[MIN_COVERAGE.name])
        if self.needed and self.needed not in known:
            return WeightedTotal(None, coverage, "정확성을 알 수 없어 종합 점수를 내지 않음")
        if not coverage:
            return WeightedTotal(None, 0, "알 수 있는 지표가 없어 종합 점수를 내지 않음")
        if coverage < least:
            return WeightedTotal(
                None, coverage, f"가중치의 {coverage}%만 채점해 종합 점수를 내지 않음({least}% 이상이어야 함)"
            )
        summed = exact_sum(self.percents[name] * score for name, score in known.items())
        return WeightedTotal(rounded(summed / coverage, TOTAL_DIGITS), coverage)


def total_clause(figures: Mapping[str, Any], unknown: Sequence[str]) -> str:
    """The set's total from its `figures`, with the titles of the `unknown` metrics, or why there is none (Korean)."""
    if figures["mean"] is None:
        return f"종합 점수는 없음({figures['missing']})"
    covers = partly_scored(unknown, figures["weight_coverage"])
    return f"종합 점수는 {score_text(figures['mean'])}점(5점 만점{', ' if covers else ''}{covers})"


def partly_scored(unknown: Sequence[str], coverage: float | None) -> str:
    """The basis of a total without the `unknown` metrics, '' if all are known.

    `의도 충족·일관성 없이 가중치의 70%만 채점`.
    """
    return f"{'·'.join(unknown)} 없이 가중치의 {percent(coverage, 0)}만 채점" if unknown else ""
