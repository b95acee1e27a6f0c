"""When a run's executions failed to run, so that its scores tell nothing of quality."""

import pytest

from scoring.stats.comparison import compare_testruns
from scoring.stats.fail_conditions import conditions
from scoring.stats.outages import Failures, outage_of
from scoring.stats.run_scores import QueryScores, TestRunScores

TITLES = {"accuracy": "정확성"}


@pytest.mark.parametrize(
    ("failed", "executions", "outage"),
    [(137, 267, True), (25, 100, False), (29, 100, True), (1, 4, False), (4, 4, True), (0, 267, False), (0, 0, False)],
)
def test_run_of_which_surely_more_than_a_fifth_failed_had_an_outage(
    failed: int, executions: int, *, outage: bool
) -> None:
    assert Failures(failed, executions).is_outage is outage


@pytest.mark.parametrize(
    ("base", "candidate", "found"),
    [
        (Failures(2, 267), Failures(137, 267), "candidate"),
        (Failures(137, 267), Failures(2, 267), "base"),
        (Failures(137, 267), Failures(130, 267), None),
        (Failures(60, 200), Failures(180, 200), "candidate"),
        (Failures(0, 0), Failures(0, 0), None),
        (Failures(0, 267), Failures(20, 267), None),  # surely more, of which the rest can be compared
    ],
)
def test_two_runs_are_compared_where_as_much_failed_in_both(
    base: Failures, candidate: Failures, found: str | None
) -> None:
    assert outage_of(base, candidate) == found


def test_run_with_an_outage_is_neither_worse_nor_better_and_passes_no_condition() -> None:
    base, candidate = [
        TestRunScores(
            name,
            "plan-agent",
            "1",
            {str(n): QueryScores("질의", {"accuracy": 5.0 if n >= failed else 0.0}) for n in range(40)},
            failures=Failures(failed, 40),
        )
        for name, failed in (("a.csv", 0), ("b.csv", 20))
    ]
    for found in (compare_testruns(base, candidate, TITLES), compare_testruns(candidate, base, TITLES)):
        assert (found.worse, found.better, found.paired) == ((), (), 40)
        assert found.more_failed is None  # the outage is told instead
        assert [one.difference for one in found.metrics] == [None]
        (condition,) = conditions(["accuracy < -4.9"], list(TITLES))
        assert "20 of 40 executions of the " in (condition.failure(found) or "")
