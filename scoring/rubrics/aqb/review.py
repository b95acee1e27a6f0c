"""The triggers that flag a query for manual review. Source: seed 000, 4.2; SPEC 3.3 (flag_manual_review)."""

from collections.abc import Collection, Mapping

from scoring.judging.requests import VerdictStatus
from scoring.rubrics.aqb import thresholds as t
from scoring.stats.exact import Exact
from scoring.testruns.rubric import Undecided
from scoring.testruns.totals import WeightedTotal

# The codes of these triggers, in the seed's order.
REVIEW_TITLES = {
    "low_semantic": f"의도 충족 {t.REVIEW_AT_MOST['semantic']}점 이하",
    "low_accuracy": f"정확성 {t.REVIEW_AT_MOST['accuracy']}점 이하",
    "low_stability": f"안정성 {t.REVIEW_AT_MOST['stability']}점 이하",
    "low_total": f"종합 점수 {t.REVIEW_TOTAL_AT_MOST}점 이하",
    "unanswered": "실패하거나 빈 응답 있음",
    "unknown_semantic": "의도 충족을 채점할 수 없는 응답 있음",
    "unknown_accuracy": "정확성을 채점할 수 없는 응답 있음",
    "unknown_consistency": "일관성 판정을 받지 못함",
}
# A missing judge is one notice for the run, too few rooms a fact of the test plan: neither needs a review of the query.
_NO_REASON_TO_LOOK = (VerdictStatus.NO_JUDGE, Undecided.NEEDS_3_RUNS)


def review_reasons(
    points: Mapping[str, Exact | None], total: WeightedTotal, unanswered: int, missing: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """Every trigger that fires, in the seed's order.

    `points` are the query's, `unanswered` counts its failed and empty executions, `missing` holds per metric the
    codes of its scores that are not known.
    """
    known = {name: value for name, value in points.items() if value is not None}
    low = [f"low_{name}" for name, most in t.REVIEW_AT_MOST.items() if name in known and known[name] <= most]
    low += ["low_total"] if total.value is not None and total.value <= t.REVIEW_TOTAL_AT_MOST else []
    low += ["unanswered"] if unanswered else []
    unknown = [
        f"unknown_{name}"
        for name in ("semantic", "accuracy", "consistency")
        if any(code not in _NO_REASON_TO_LOOK for code in missing.get(name, ()))
    ]
    return (*low, *unknown)
