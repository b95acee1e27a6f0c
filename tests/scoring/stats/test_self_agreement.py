"""A judge that was replaced is noticed in the night in which it happened, and one that was not is left in peace."""

from datetime import date, timedelta

import numpy as np
import pytest

from scoring.stats.self_agreement import (
    FALSE_ALARMS_PER_YEAR,
    AnchorNight,
    WatchedNight,
    chances_of_fewer,
    watched,
)
from tests.builders.cases import portion

FIRST = date(2026, 3, 1)
HISTORY = 14
USUAL, REPLACED = 0.95, 0.80


def nights(agreed: list[int], asked: int = 100) -> list[WatchedNight]:
    return watched([AnchorNight(FIRST + timedelta(place), count, asked) for place, count in enumerate(agreed)])


def drawn(rate: float, count: int, seed: int) -> list[int]:
    """Equal answers of 100 questions in so many nights."""
    return [int(agreed) for agreed in np.random.default_rng(seed).binomial(100, rate, count)]


@pytest.mark.long
def test_self_agreement_tells_a_replaced_judge_the_same_night() -> None:
    told = sum(
        nights([*drawn(USUAL, HISTORY, seed), *drawn(REPLACED, 1, 1000 + seed)])[-1].is_change for seed in range(200)
    )
    assert told >= 190


@pytest.mark.long
@pytest.mark.parametrize("rate", portion([0.95, 0.8, 0.99]))
def test_self_agreement_raises_at_most_one_false_alarm_a_year(rate: float) -> None:
    years = 20
    alarms = sum(night.is_change for seed in range(years) for night in nights(drawn(rate, 365, seed)))
    assert alarms / years <= FALSE_ALARMS_PER_YEAR


def test_self_agreement_of_a_first_night_is_no_change() -> None:
    assert not nights([3])[0].is_change


def test_self_agreement_tells_a_change_once_and_takes_it_for_the_new_usual() -> None:
    found = nights([95] * 10 + [80] * 5)
    assert [night.is_change for night in found] == [False] * 10 + [True] + [False] * 4
    assert (found[10].agreed_before, found[10].asked_before) == (950, 1000)
    assert (found[12].agreed_before, found[12].asked_before) == (160, 200)


def test_self_agreement_allows_for_fewer_answers() -> None:
    assert watched([AnchorNight(FIRST, 95, 100), AnchorNight(FIRST, 0, 0)])[-1].chance == pytest.approx(1)
    few = watched([AnchorNight(FIRST, 950, 1000), AnchorNight(FIRST, 7, 10)])[-1]
    assert not few.is_change
    assert few.limit == 6


def test_self_agreement_knows_the_chance_of_few_equal_answers() -> None:
    # one question, 9.5 of 10 equal so far: (9 + 0.5) / (10 + 1)
    assert chances_of_fewer(1, 9, 10) == pytest.approx([1 - 9.5 / 11, 1])
    assert chances_of_fewer(100, 95_000, 100_000)[87] == pytest.approx(0.00146, rel=0.02)
