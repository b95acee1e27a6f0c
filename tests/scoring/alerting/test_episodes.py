"""What days make of a stream by itself: others beside it are no reason for anything."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from scoring.alerting.episodes import Episodes, FalseAlarmBudget, Streams, follow
from scoring.alerting.rates import REFERENCE_DAYS, Prior, usual_range
from scoring.alerting.watch import DECISION_DAYS

ROWS = 776
FIRST = [40] * 28 + [66] * 7
"""Four weeks, and a week two thirds higher, which is reported on its first day."""
UNKNOWN = {"rate": 0.01, "events": 0.5}
"""What is known of a rule of which the rubric says no rate."""
OTHER = [40] * 20 + [120] * 22


def followed(*counts: list[int], rate: float = 0.05, events: float = 4.0) -> Episodes:
    """The episodes of streams of so many rows a day, each of a tenant of its own: a page and twelve digests a year.

    `rate` is known of each before its first day, as if so many `events` had reported it.
    """
    streams, shape = np.array(counts), (len(counts),)
    prior = Prior(rate=np.full(shape, rate), events=np.full(shape, events))
    reported, paged = np.full(shape, 12 / 365), np.full(shape, 1 / 365)
    budget = FalseAlarmBudget(np.arange(len(counts)), 0.1 * reported, 4.5 * reported, 0.15 * paged, 0.1 * paged)
    off = np.zeros(streams.shape[1], bool)
    return follow(Streams(streams, np.full_like(streams, ROWS), off, prior, np.full(shape, -1)), budget)


def of_first(episodes: Episodes) -> dict[str, list[Any]]:
    days = [field.name for field in fields(episodes) if field.name != "last"]
    return {name: getattr(episodes, name)[0].tolist() for name in days}


@pytest.mark.parametrize("then", [90, 100, 110, 120])
def test_what_is_reported_of_a_stream_does_not_depend_on_others_that_are_higher_for_longer(then: int) -> None:
    counts = [*FIRST, *[then] * 7]
    assert of_first(followed(counts)) == of_first(followed(counts, OTHER))


@pytest.mark.parametrize("usual", [[0] * 28, [0, 0, 0, 1] * 7, [1, 0, 2, 1] * 7])
def test_outage_of_a_day_is_over_within_two_days_however_seldom_its_rule_is_met_else(usual: list[int]) -> None:
    ended = followed([*usual, ROWS, 0, 0, 0, 0], **UNKNOWN).ended[0].tolist()
    assert ended.index(True) - len(usual) <= 2


@pytest.mark.parametrize("usual", [[0] * 28, [0] * 27 + [1]])
@pytest.mark.parametrize("high", [10, 15, 40])
def test_some_rows_of_a_rule_that_is_hardly_ever_met_are_over_within_three_days(usual: list[int], high: int) -> None:
    """Half way from a rate of almost 0 is hardly a row a day: that there is none proves little."""
    ended = followed([*usual, high, *[0] * 10], **UNKNOWN).ended[0].tolist()
    assert ended.index(True) - len(usual) <= 3


def test_slow_rise_of_a_rule_that_is_hardly_ever_met_is_not_called_over_between_its_rows() -> None:
    found = followed([*[0] * 28, *[1, 0] * 15], **UNKNOWN)
    assert found.reported.any() and not found.ended.any()


@pytest.mark.parametrize("usual", [[0] * 28, [0, 0, 0, 1] * 7, [1, 0, 2, 1] * 7])
def test_outage_of_which_a_twentieth_lasts_is_not_over(usual: list[int]) -> None:
    assert not followed([*usual, ROWS, *[ROWS // 20] * 20], **UNKNOWN).ended.any()


def test_rate_that_stays_twice_as_high_after_an_outage_is_not_called_over() -> None:
    """Beside an outage of all rows twice the usual rate looks like little."""
    usual, twice = [40] * 28, [80] * 10
    ended = followed([*usual, ROWS, *twice, *[40] * 3]).ended[0].tolist()
    assert len(usual) + 1 + len(twice) <= ended.index(True) <= len(usual) + 1 + len(twice) + 1


def test_rate_is_over_only_on_a_day_within_its_usual_range() -> None:
    """Messages of the end say that the rate is back in the range."""
    draw = np.random.default_rng(1)
    usual, after = draw.poisson(8, (200, 28)), draw.poisson(10, (200, 28))
    found = followed(*np.concatenate([usual, np.full((200, 1), 200), after], 1).tolist())
    _, highest = usual_range(ROWS, found.rate, found.variance)
    rates = np.concatenate([usual, np.full((200, 1), 200), after], 1) / ROWS
    assert found.ended.any(1).mean() > 0.9
    assert (rates <= highest)[found.ended].all()


def test_slow_rise_that_pages_late_is_usual_four_weeks_after_its_page() -> None:
    """Whoever was called has these to bring it back: it had begun two weeks before."""
    found = followed([*[40] * 56, *[40 + day // 2 for day in range(1, 41)], *[60] * 25])
    (paged,), (settled,) = (np.flatnonzero(one[0]) for one in (found.pages, found.settled))
    assert paged - found.since[0, paged] > 10
    assert settled - paged == REFERENCE_DAYS - 1


def test_page_of_a_slow_rise_stays_open_whatever_the_first_day_of_the_history() -> None:
    """A night that does not find the rise any more has no end to tell."""
    slow = [40 + round(0.4 * min(day, 60)) + day * 104_729 % 15 - 7 for day in range(1, 80)]
    counts = [*(40 + day * 7_919 % 13 - 6 for day in range(90)), *slow]
    paged, later = (followed(counts[max(0, last - DECISION_DAYS) : last + 1]) for last in (151, 160))
    assert paged.pages[0, -1]
    assert later.had_paged[0, -1] and not later.ended[0, -1]
