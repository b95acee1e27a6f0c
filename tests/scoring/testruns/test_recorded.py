"""Scores that a file holds already, beside ours."""

from typing import Any

from scoring.stats.exact import exact, rounded
from scoring.testruns.recorded import recorded_agreement
from scoring.testruns.rubric import Metric

METRICS = (Metric("accuracy", "정확성"), Metric("speed", "속도"))


def rows(*scores: float | None) -> list[dict[str, Any]]:
    return [
        {"query_id": f"Q{place}", "query_text": f"질의 {place}", "accuracy_score": score, "weighted_total": score}
        for place, score in enumerate(scores)
    ]


def recorded(*scores: float, name: str = "accuracy") -> dict[str, dict[str, float]]:
    return {f"Q{place}": {name: score} for place, score in enumerate(scores)}


def test_recorded_scores_are_compared_over_queries_that_have_both() -> None:
    (found,) = recorded_agreement(recorded(5, 4, 3), rows(5, 2, None, 1), METRICS, {})
    assert (found["metric"], found["n"], found["equal"]) == ("accuracy", 2, 1)
    assert (found["recorded_mean"], found["mean"], found["mean_difference"]) == (4.5, 3.5, -1)
    assert [(one["query_id"], one["recorded"], one["ours"]) for one in found["largest"]] == [("Q1", 4, 2)]


def test_recorded_scores_with_decimals_equal_ours_by_their_whole_points() -> None:
    (found,) = recorded_agreement(recorded(4.4, 3.5, 2.4), rows(4, 4, 3), METRICS, {})
    assert (found["n"], found["equal"]) == (3, 2)


def test_compared_queries_that_cannot_have_all_points_are_counted_by_their_reason() -> None:
    limits = {"Q0": {}, **{f"Q{place}": {"accuracy": "정답 수치가 없어 최고 4점"} for place in (1, 2, 3)}}
    (found,) = recorded_agreement(recorded(5, 5, 5), rows(5, 4, 4, 4), METRICS, limits)
    assert (found["n"], found["limits"]) == (3, {"정답 수치가 없어 최고 4점": 2})


def test_recorded_totals_are_compared_with_totals() -> None:
    (found,) = recorded_agreement(recorded(4.45, 2, name="weighted_total"), rows(3.11, 2), METRICS, {})
    assert (found["title"], found["equal"]) == ("종합 점수", 1)
    assert found["mean_difference"] == -0.67


def test_means_of_recorded_totals_are_exact_so_that_halves_are_rounded_up() -> None:
    ours, theirs = (0.47, 4.18), (0.14, 2.16)
    (found,) = recorded_agreement(recorded(*theirs, name="weighted_total"), rows(*ours), METRICS, {})
    shown = [str(rounded(exact(found[name]), 2)) for name in ("recorded_mean", "mean", "mean_difference")]
    assert shown == ["1.15", "2.33", "1.18"]  # of 2.325 and 1.175, which a sum of floats makes 1.1749999999999998


def test_recorded_scores_that_agree_have_kappa_1_and_the_ten_largest_differences_are_listed() -> None:
    (same,) = recorded_agreement(recorded(*range(6)), rows(*range(6)), METRICS, {})
    assert (same["linear_kappa"], same["largest"]) == (1, [])
    (other,) = recorded_agreement(recorded(*[5] * 12), rows(*[place / 4 for place in range(12)]), METRICS, {})
    assert [one["query_id"] for one in other["largest"]] == [f"Q{place}" for place in range(10)]


def test_order_of_rows_changes_neither_the_interval_nor_what_is_listed() -> None:
    ours = rows(*[(place * 7 % 11) / 2 for place in range(30)])
    known = recorded(*[place % 6 for place in range(30)])
    assert recorded_agreement(known, ours[::-1], METRICS, {}) == recorded_agreement(known, ours, METRICS, {})


def test_recorded_scores_of_metrics_that_a_rubric_does_not_have_are_left_alone() -> None:
    assert recorded_agreement(recorded(3, name="semantic"), rows(3), METRICS, {}) == []
