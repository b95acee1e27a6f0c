"""The weighted total of a query or an agent, and what sends a query to a person.

Source: seed 000, 4; SPEC 3.3 (weighted_total, flag_manual_review).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from scoring.judging.requests import VerdictStatus
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.grades import Missing
from scoring.stats.exact import Exact, rounded

Points = Mapping[str, Exact | None]


class ReviewReason(StrEnum):
    """Why a person should look at a query. Source: seed 000, 4.2; SPEC 3.3 and 7."""

    LOW_SEMANTIC = "low_semantic"
    LOW_ACCURACY = "low_accuracy"
    LOW_STABILITY = "low_stability"
    LOW_TOTAL = "low_total"
    UNANSWERED = "unanswered"
    UNKNOWN_SEMANTIC = "unknown_semantic"
    UNKNOWN_ACCURACY = "unknown_accuracy"
    UNKNOWN_CONSISTENCY = "unknown_consistency"


REVIEW_TITLES = {
    ReviewReason.LOW_SEMANTIC: f"의도 충족 {t.REVIEW_AT_MOST['semantic']}점 이하",
    ReviewReason.LOW_ACCURACY: f"정확성 {t.REVIEW_AT_MOST['accuracy']}점 이하",
    ReviewReason.LOW_STABILITY: f"안정성 {t.REVIEW_AT_MOST['stability']}점 이하",
    ReviewReason.LOW_TOTAL: f"종합 점수 {t.REVIEW_TOTAL_AT_MOST}점 이하",
    ReviewReason.UNANSWERED: "에러 또는 빈 응답 있음",
    ReviewReason.UNKNOWN_SEMANTIC: "의도 충족을 채점할 수 없는 응답 있음",
    ReviewReason.UNKNOWN_ACCURACY: "정확성을 채점할 수 없는 응답 있음",
    ReviewReason.UNKNOWN_CONSISTENCY: "일관성 판정을 받지 못함",
}
# No judge is one notice for the run, too few rooms a fact of the test plan: neither needs a look at the query.
_NO_REASON_TO_LOOK = (VerdictStatus.NO_JUDGE, Missing.NEEDS_3_RUNS)


@dataclass(frozen=True)
class Total:
    """The weighted total as rounded, None when no metric is known; `coverage_percent` of the weights was there."""

    value: Decimal | None
    coverage_percent: int


def total_of(points: Points) -> Total:
    """The seed's weights over the metrics that are known. Source: seed 000, 4.1."""
    total = t.WEIGHTS.total(points)
    return Total(None if total.value is None else rounded(total.value, t.TOTAL_DIGITS), total.coverage_percent)


def review_reasons(
    points: Points, total: Total, unanswered: int, missing: Mapping[str, Collection[str]]
) -> tuple[ReviewReason, ...]:
    """Every trigger that fires, in the seed's order.

    `points` are the query's, `unanswered` counts its failed and empty executions, `missing` holds per metric the
    codes of its scores that are not known.
    """
    low = [f"low_{name}" for name, most in t.REVIEW_AT_MOST.items() if _at_most(points.get(name), most)]
    low += ["low_total"] if total.value is not None and total.value <= t.REVIEW_TOTAL_AT_MOST else []
    low += ["unanswered"] if unanswered else []
    unknown = [
        f"unknown_{name}"
        for name in ("semantic", "accuracy", "consistency")
        if any(code not in _NO_REASON_TO_LOOK for code in missing.get(name, ()))
    ]
    return tuple(map(ReviewReason, (*low, *unknown)))


def _at_most(points: Exact | None, most: Exact) -> bool:
    return points is not None and points <= most
