"""KPIs of several days together: what they decide, and when the verdict changes."""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from scoring.chat.conclusion import verdicts_text
from scoring.chat.kpi_figures import kpi_figure
from scoring.chat.kpi_windows import (
    FOUR_WEEKS,
    compared_kpi,
    kpi_windows,
    rows_of_window,
    standings,
    wider_figure,
    window_figure,
)
from scoring.days import day_text
from scoring.rubrics.ola_monitoring import RUBRIC

FIRST = date(2026, 3, 2)
FAILURES, MEAN = (
    next(kpi for kpi in RUBRIC.quotients if kpi.name == name) for name in ("failure_rate", "mean_final_score")
)


def row(failures: float, rows: int = 776, mean: float = 70.0, version: str = "1") -> dict[str, Any]:
    rates = {"failure_rate": failures / rows if rows else None, "mean_final_score": mean if rows else None}
    return {"rows": rows, "rubric": "r", "rubric_version": version, **rates}


def days(rows: Sequence[dict[str, Any]]) -> dict[date, dict[str, Any]]:
    return {FIRST + timedelta(number): one for number, one in enumerate(rows)}


def test_window_figure_weighs_days_by_their_turns() -> None:
    figure = window_figure(FAILURES, [row(30, 1000), row(9, 100)])
    assert (figure.value, figure.n) == (39 / 1100, 1100)
    figure = window_figure(MEAN, [row(0, 300, 60.0), row(0, 100, 80.0)])
    assert (figure.value, figure.n) == (65, 400)


def test_window_figure_of_a_few_days_stays_within_the_points_that_there_are() -> None:
    interval = window_figure(MEAN, [row(0, 5, 10.0), row(0, 5, 40.0), row(0, 5, 30.0)]).interval
    assert interval is not None
    assert 0 <= interval.low < interval.high <= 100


def test_kpi_has_worsened_where_it_surely_moved_away_from_its_target() -> None:
    low, high = ([row(10 * up, mean=60.0 + up) for up in ups] for ups in ((1, 2) * 7, (6, 7) * 7))
    moves = [(kpi, this, before) for kpi in (FAILURES, MEAN) for this, before in ((high, low), (low, high), (low, low))]
    compared = [compared_kpi(kpi, "", this, before) for kpi, this, before in moves]
    assert [one.has_worsened for one in compared] == [*(True, False, False), *(False, True, False)]
    assert compared[0].change_text == "올라감 (95% 구간 +5.8~+7.1%p)"  # of 5/776
    assert compared[4].change_text == "내려감 (95% 구간 −5.4~−4.6점)"  # of 5 points


def test_window_figure_without_turns_is_undecided() -> None:
    figure = window_figure(FAILURES, [row(0, 0)])
    assert (figure.value, figure.n, figure.verdict) == (None, 0, "undecided")


def test_window_figure_of_days_that_differ_is_less_sure_than_its_turns() -> None:
    alike, apart = [row(24)] * 28, [row(6), row(42)] * 14
    sure, unsure = window_figure(FAILURES, alike).interval, window_figure(FAILURES, apart).interval
    assert sure is not None
    assert unsure is not None
    assert unsure.high - unsure.low > 1.2 * (sure.high - sure.low)


def test_window_figure_of_no_failures_does_not_promise_that_there_are_none() -> None:
    interval = window_figure(FAILURES, [row(0, 20)] * 28).interval
    assert interval is not None
    assert interval.low == 0
    assert interval.high == pytest.approx(0.0068, abs=1e-4)


@pytest.mark.parametrize("variation", [0.0, 0.15])
def test_window_figure_covers_the_truth_whether_or_not_days_vary(variation: float) -> None:
    chance = random.Random(5)
    covered = 0
    for _ in range(400):
        rows = []
        for _ in range(FOUR_WEEKS):
            rate = 0.04 * chance.gammavariate(1 / variation**2, variation**2) if variation else 0.04
            rows.append(row(sum(chance.random() < rate for _ in range(80)), 80))
        interval = window_figure(FAILURES, rows).interval
        covered += interval is not None and interval.low <= 0.04 <= interval.high
    assert 0.93 <= covered / 400 <= 0.99


def changes(rows: Sequence[dict[str, Any]]) -> list[tuple[int, str | None]]:
    """The numbers of the days on which the verdict of the failure rate changed, and what it became."""
    found = standings(FAILURES, days(rows))
    return [((day - FIRST).days, one.verdict) for day, one in found.items() if one.changed]


def test_standings_tell_a_missed_target_once_and_not_every_day() -> None:
    assert changes([row(40)] * 60) == [(0, "missed")]


def test_standings_say_nothing_of_a_target_that_was_always_met() -> None:
    assert changes([row(8)] * 60) == []


def test_standings_keep_the_verdict_while_nothing_is_decided() -> None:
    bad, good = [row(40)] * 30, [row(8)] * 40
    (missed, _), (met, verdict) = changes(bad + good)
    assert (missed, verdict) == (0, "met")
    undecided = standings(FAILURES, days(bad + good))[FIRST + timedelta(met - 1)]
    assert (undecided.figure.verdict, undecided.verdict, undecided.since) == (
        "undecided",
        "missed",
        FIRST,
    )


def test_standings_of_a_rate_near_its_target_change_seldom() -> None:
    chance = random.Random(3)
    rows = [row(sum(chance.random() < 0.03 for _ in range(400)), 400) for _ in range(365)]
    assert len(changes(rows)) <= 4


def test_standings_do_not_judge_a_mean_by_one_day_that_does_not_say_how_sure_it_is() -> None:
    found = standings(MEAN, days([row(0, mean=40)] * 3))
    assert [one.verdict for one in found.values()] == [None, "missed", "missed"]


def test_standings_begin_anew_with_a_rubric_version() -> None:
    assert changes([row(40)] * 10 + [row(40, version="2")] * 10) == [(0, "missed"), (10, "missed")]


def test_rows_of_window_are_those_of_calendar_days_of_one_version() -> None:
    known = days([row(1), row(2, version="2"), row(3)])
    known[FIRST - timedelta(6)] = row(7)
    last = FIRST + timedelta(2)
    assert [round(one["failure_rate"] * 776) for one in rows_of_window(known, last, 7)] == [3, 1]
    assert [round(one["failure_rate"] * 776) for one in rows_of_window(known, last, 9)] == [3, 1, 7]


def test_wider_figure_is_that_of_the_shortest_window_that_decides() -> None:
    for failures, count, title in [(200, 1, None), (32, 9, "최근 7일"), (26, 30, "최근 28일"), (24, 2, None)]:
        known = days([row(failures)] * count)
        last = max(known)
        figure = wider_figure(FAILURES, known, last)
        assert (figure.title if figure else None) == title
        assert figure is None or figure.verdict == "missed"


def test_window_says_how_many_days_stand_behind_the_value_before_where_these_are_fewer() -> None:
    scored = days([row(7, 100)] * 42)
    day, week, four_weeks = kpi_windows(FAILURES, scored, max(scored))
    assert [one.before_text for one in (day, week, four_weeks)] == ["7.0%", "7.0%", "7.0% (14일치)"]


def test_week_says_that_one_day_keeps_it_from_a_verdict_which_the_others_have() -> None:
    even, apart = [row(5, 100)] * 6, [row(45, 100) | {"score_date": FIRST}]
    calm, shaken, few = (compared_kpi(FAILURES, "", rows, []) for rows in (even, even + apart, [row(1, 20)] * 7))
    assert calm.figure.verdict_text == "미달"
    assert shaken.figure.verdict_text == "하루가 크게 달라 판단 보류"
    assert few.figure.verdict_text == "판단 보류"
    assert "· 하루가 크게 달라 판단 보류 ·" in shaken.figure.details
    assert (
        verdicts_text([[shaken], [few], [calm]])
        == "목표 3개 중 1개 미달 · 1개 하루가 크게 달라 판단 보류 · 1개 판단 보류"
    )
    assert shaken.apart
    assert shaken.apart.text == f"{day_text(FIRST)} 하루가 45.0%, 다른 날들은 5.0%(미달)"


# Two days that each surely miss a target were "0.0 to 19.2 %" together, and undecided: t with one degree of freedom.
@pytest.mark.parametrize("window", [[row(58, 625), row(37, 447)], [row(7, 100)] * 6 + [row(45, 100)]])
def test_days_that_each_miss_a_target_miss_it_together(window: list[dict[str, Any]]) -> None:
    of_days = [kpi_figure(FAILURES, one) for one in window]
    assert {one.verdict for one in of_days} == {"missed"}
    together = window_figure(FAILURES, window)
    assert together.verdict == "missed"
    assert together.interval
    assert together.interval.low >= min(one.interval.low for one in of_days if one.interval)
    assert together.interval.high <= max(one.interval.high for one in of_days if one.interval)


# Rates of 5 % that vary by 15 % from day to day: half as wide as by t alone, and as often right.
def test_two_days_hold_the_true_rate_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    held, widths = 0, []
    for rate in np.full(400, 0.05)[:, None] * rng.gamma(1 / 0.15**2, 0.15**2, (400, 2)):
        figure = window_figure(FAILURES, [row(int(rng.binomial(500, one)), 500) for one in rate])
        assert figure.interval
        held += figure.interval.low <= 0.05 <= figure.interval.high
        widths.append(figure.interval.high - figure.interval.low)
    assert held / 400 >= 0.95
    assert sum(widths) / 400 < 0.06
