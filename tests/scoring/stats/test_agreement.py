"""People beside scores: exact, adjacent, bias, kappa, and when a metric may be believed."""

import pytest

from scoring.stats.agreement import ALL_AGENTS, Agreement, Pair, agreements
from scoring.stats.intervals import MIN_N_FOR_VERDICT, wilson_interval


def pairs(*scores_and_labels: tuple[float, float], metric: str = "accuracy", agent: str = "plan") -> list[Pair]:
    """A pair per query."""
    return [
        Pair(metric, agent, f"{agent}-{place}", score, label) for place, (score, label) in enumerate(scores_and_labels)
    ]


def only(found: list[Agreement]) -> Agreement:
    assert len(found) == 1
    return found[0]


def test_one_point_apart_is_adjacent_and_two_are_not() -> None:
    found = only(agreements(pairs((5, 5), (4, 5), (3, 5), (0, 5))))
    assert (found.n, found.exact, found.adjacent) == (4, 1, 2)


def test_labels_of_one_query_by_several_people_are_no_further_queries() -> None:
    """Thirty queries that six people labelled alike say as much of other queries as if one had."""
    once = pairs(*[(5, 5)] * 24, *[(5, 3)] * 6)
    one, many = only(agreements(once)), only(agreements(once * 6))
    assert (many.n, many.exact) == (6 * one.n, 6 * one.exact)
    assert one.exact_interval == many.exact_interval == wilson_interval(24, 30)
    assert one.adjacent_interval == many.adjacent_interval == wilson_interval(24, 30)


def test_kind_score_has_a_positive_bias() -> None:
    assert only(agreements(pairs((5, 4), (5, 4), (3, 3), (2, 3)))).bias == 0.25


def test_confusion_counts_labels_by_scores() -> None:
    assert only(agreements(pairs((5, 4), (5, 4), (3, 3), (2.5, 3)))).confusion == {(4, 5): 2, (3, 3): 2}


def test_whole_points_agree_with_the_score_that_is_nearest_to_them() -> None:
    means = (5.0, 25 / 6, 10 / 3, 2.5)
    nearest = only(agreements(pairs(*zip(means * 10, (5, 4, 3, 3) * 10, strict=True))))
    assert (nearest.exact, nearest.linear.value, nearest.trusted(0.6)) == (40, 1, True)
    assert nearest.bias == pytest.approx(0)
    off = only(agreements(pairs((25 / 6, 5), (25 / 6, 3))))
    assert (off.exact, off.adjacent) == (0, 1)


def test_two_raters_of_one_scale_are_compared_as_they_are() -> None:
    found = only(agreements(pairs((25 / 6, 4), (5, 5)), to_points=False))
    assert (found.exact, found.adjacent) == (1, 2)


def test_labels_between_points_are_compared_as_they_are() -> None:
    assert only(agreements(pairs((3.5, 3.5), (3.5, 4)))).exact == 1


def test_agent_types_stand_apart_below_the_whole() -> None:
    found = agreements([*pairs((5, 5), (0, 0)), *pairs((5, 0), (0, 5), agent="move")])
    assert [(one.agent_type, one.n, one.exact) for one in found] == [(ALL_AGENTS, 4, 2), ("move", 2, 0), ("plan", 2, 2)]


def test_metrics_stand_apart() -> None:
    found = agreements([*pairs((5, 5)), *pairs((3, 1), metric="intent")])
    assert [(one.metric, one.n) for one in found] == [("accuracy", 1), ("intent", 1)]


@pytest.mark.parametrize(
    ("queries", "wrong", "trusted"),
    [(MIN_N_FOR_VERDICT, 0, True), (MIN_N_FOR_VERDICT - 1, 0, False), (60, 3, True), (60, 30, False)],
)
def test_metric_is_trusted_from_enough_queries_that_agree(queries: int, wrong: int, *, trusted: bool) -> None:
    judged = [(float(place % 6), float(place % 6)) for place in range(queries - wrong)]
    judged += [(float(place % 6), float((place + 3) % 6)) for place in range(wrong)]
    assert only(agreements(pairs(*judged))).trusted(0.6) is trusted


def test_many_labels_of_few_queries_are_not_trusted() -> None:
    repeated = [Pair("accuracy", "plan", place % 5, float(place % 6), float(place % 6)) for place in range(300)]
    found = only(agreements(repeated))
    assert (found.n, found.clusters, found.trusted(0.6)) == (300, 5, False)


@pytest.mark.parametrize(("others", "trusted"), [(1, False), (4, False), (5, True)])
def test_metric_is_not_trusted_for_agreeing_on_the_commonest_label(others: int, *, trusted: bool) -> None:
    found = only(agreements(pairs(*[(2, 2)] * (46 - others), *[(0, 0)] * others)))
    assert (found.linear.value, found.others, found.trusted(0.6)) == (1, others, trusted)


def test_agreement_about_one_single_rating_proves_nothing() -> None:
    found = only(agreements(pairs(*[(5.0, 5.0)] * 100)))
    assert (found.exact, found.linear.value, found.trusted(0.0)) == (100, None, False)


def test_nothing_labelled_has_no_agreement() -> None:
    assert agreements([]) == []
