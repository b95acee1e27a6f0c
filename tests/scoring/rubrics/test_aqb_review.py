"""aqb-1.2: weighted total, coverage, and every trigger of manual review at its edge."""

import re
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import pytest

from scoring.rubrics.aqb import RUBRIC
from scoring.rubrics.aqb.review import review_reasons
from scoring.rubrics.aqb.thresholds import WEIGHTS
from scoring.testruns.tables import table_value
from scoring.testruns.totals import MIN_COVERAGE, WeightedTotal
from tests.builders.aqb_runs import execution, report, run

PERCENTS = {"semantic": 20, "consistency": 10, "accuracy": 30, "speed": 20, "stability": 20}
GOOD = dict.fromkeys(PERCENTS, 5)
OPTIONS = {MIN_COVERAGE.name: MIN_COVERAGE.default}
ANY_COVERAGE = {MIN_COVERAGE.name: "0"}


def reasons(
    points: dict[str, Any], total: str = "5.00", unanswered: int = 0, missing: dict[str, set[str]] | None = None
) -> list[str]:
    return [
        str(reason) for reason in review_reasons(points, WeightedTotal(Decimal(total), 100), unanswered, missing or {})
    ]


def test_worked_example_of_the_seed_comes_to_4_7() -> None:
    total = WEIGHTS.total({"semantic": 5, "consistency": 4, "accuracy": 5, "speed": 4, "stability": 5}, OPTIONS)
    assert total == WeightedTotal(Decimal("4.70"), 100)


def test_every_combination_of_whole_scores_is_exact() -> None:
    for scores in product(range(6), repeat=5):
        points = dict(zip(PERCENTS, scores, strict=True))
        exact = sum(Fraction(PERCENTS[name], 100) * score for name, score in points.items())
        rounded = (Decimal(exact.numerator) / exact.denominator).quantize(Decimal("0.01"), ROUND_HALF_UP)
        assert WEIGHTS.total(points, OPTIONS).value == rounded
        assert ("low_total" in review_reasons(points, WEIGHTS.total(points, OPTIONS), 0, {})) == (
            exact <= Fraction(5, 2)
        )


@pytest.mark.parametrize("known", [kept for n in range(1, 6) for kept in combinations(PERCENTS, n)])
def test_weights_of_missing_metrics_are_spread_over_the_rest(known: tuple[str, ...]) -> None:
    points = {name: place if name in known else None for place, name in enumerate(PERCENTS, start=1)}
    weight = sum(PERCENTS[name] for name in known)
    expected = sum(Fraction(PERCENTS[name], weight) * place for place, name in enumerate(PERCENTS, 1) if name in known)
    total = WEIGHTS.total(points, ANY_COVERAGE)
    assert total.coverage_percent == weight
    assert (total.value is not None) == ("accuracy" in known)
    if total.value is not None:
        assert abs(Fraction(total.value) - expected) <= Fraction(1, 200)


def test_half_a_hundredth_is_rounded_up() -> None:
    assert WEIGHTS.total({"accuracy": Fraction(2505, 1000)}, ANY_COVERAGE).value == Decimal("2.51")


@pytest.mark.parametrize(
    ("unknown", "least", "has_total"),
    [
        (("semantic", "consistency"), "70", True),  # exactly 70 % of the weights
        (("semantic", "consistency"), "71", False),
        (("semantic", "speed"), "70", False),
        (("semantic", "speed"), "60", True),
        (("accuracy",), "70", False),  # 70 % of the weights, but nobody knows whether the answers are right
        (("accuracy",), "0", False),
    ],
)
def test_total_of_what_happened_to_be_easy_is_none(unknown: tuple[str, ...], least: str, has_total: bool) -> None:
    total = WEIGHTS.total({**GOOD, **dict.fromkeys(unknown, None)}, {MIN_COVERAGE.name: least})
    assert (total.value is not None) is has_total
    assert bool(total.missing) is not has_total
    assert total.coverage_percent == 100 - sum(PERCENTS[name] for name in unknown)


def test_without_any_metric_there_is_no_total() -> None:
    total = WEIGHTS.total(dict.fromkeys(PERCENTS, None), OPTIONS)
    assert (total.value, total.coverage_percent) == (None, 0)


def test_good_query_needs_nobody() -> None:
    assert reasons(GOOD) == []


@pytest.mark.parametrize("metric", ["semantic", "accuracy", "stability"])
def test_two_points_go_to_review_and_three_do_not(metric: str) -> None:
    assert reasons({**GOOD, metric: 2}) == [f"low_{metric}"]
    assert reasons({**GOOD, metric: Fraction(201, 100)}) == []
    assert reasons({**GOOD, metric: 3}) == []


@pytest.mark.parametrize("metric", ["speed", "consistency"])
def test_other_metrics_alone_send_nobody(metric: str) -> None:
    assert reasons({**GOOD, metric: 0}) == []


@pytest.mark.parametrize(("total", "flagged"), [("2.49", True), ("2.50", True), ("2.51", False)])
def test_total_is_judged_as_rounded(total: str, flagged: bool) -> None:
    assert (reasons(GOOD, total) == ["low_total"]) is flagged


def test_one_failed_or_blank_answer_is_enough() -> None:
    assert reasons(GOOD, unanswered=1) == ["unanswered"]


@pytest.mark.parametrize("metric", ["semantic", "accuracy", "consistency"])
@pytest.mark.parametrize("code", ["refused", "invalid", "failed", "over_budget", "unmapped_filter", "nothing_expected"])
def test_score_that_should_be_there_and_is_not_goes_to_review(metric: str, code: str) -> None:
    assert reasons(GOOD, missing={metric: {code}}) == [f"unknown_{metric}"]
    assert reasons(GOOD, missing={metric: {"no_judge", code}}) == [f"unknown_{metric}"]


@pytest.mark.parametrize("code", ["no_judge", "needs_3_runs"])
def test_no_judge_and_too_few_rooms_are_no_reason_to_look(code: str) -> None:
    assert reasons(GOOD, missing={"semantic": {code}, "accuracy": {code}, "consistency": {code}}) == []


def test_every_reason_is_listed_in_the_order_of_the_seed() -> None:
    low = {**GOOD, "semantic": 0, "accuracy": 0, "stability": 0}
    assert reasons(low, "1.00", 1, {"accuracy": {"unmapped_filter"}}) == [
        "low_semantic", "low_accuracy", "low_stability", "low_total", "unanswered", "unknown_accuracy",
    ]  # fmt: skip


def test_report_lists_the_queries_for_a_person_in_the_order_of_the_list_and_the_message() -> None:
    """Means of three rounds are no decimals, and queries that lose the same in other metrics tie."""
    outcomes: list[dict[str, Any]] = [
        {},
        {"used": "MILITARY"},
        {"error": "x"},
        {"answer_time_s": 12.0},
        {"answer_time_s": 16.0},
    ]
    asked = [
        execution(f"Q-{first}{second}{third}", room, **outcomes[outcome])
        for first, second, third in combinations_with_replacement(range(5), 3)
        for room, outcome in enumerate((first, second, third), start=1)
    ]
    queries, _ = run(*asked)
    rows = [{name: table_value(value) for name, value in RUBRIC.query_row(one).items()} for one in queries]
    text = report(*asked)
    listed = text[text.index("점수를 가장 많이 잃은 질의부터입니다.") : text.index("## 조건 매핑")]
    assert re.findall(r"(Q-\d+) \|$", listed, re.MULTILINE) == [row["query_id"] for row in RUBRIC.flagged(rows)]
