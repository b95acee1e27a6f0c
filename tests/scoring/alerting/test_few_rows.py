"""Days of which most rows may be missing."""

import random
from datetime import date, timedelta

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.days_off import is_day_off
from scoring.alerting.few_rows import few_rows, few_rows_incidents
from scoring.alerting.messages import DayDigest, RouteFilter
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import kpi_row, met

SUNDAY = date(2026, 3, 29)


def days(business: int, off: int, count: int = 28) -> dict[date, dict[str, int]]:
    """KPI rows of so many days that end with a Sunday."""
    found = [SUNDAY - timedelta(back) for back in range(count)]
    return {day: kpi_row({}, off if is_day_off(day, ()) else business) for day in found}


def test_day_off_is_compared_with_days_off() -> None:
    usual = days(300, 60)
    assert few_rows(usual, SUNDAY, ()) == ""
    assert few_rows(usual | {SUNDAY: kpi_row({}, 3)}, SUNDAY, ()) == "이날은 3행뿐입니다(쉬는 날 평소 60행)."
    friday = SUNDAY - timedelta(2)
    assert few_rows(usual | {friday: kpi_row({}, 60)}, friday, ()) == "이날은 60행뿐입니다(업무일 평소 300행)."
    assert few_rows(usual | {friday: kpi_row({}, 99)}, friday, ()) == "이날은 99행뿐입니다(업무일 평소 300행)."
    assert few_rows(usual | {friday: kpi_row({}, 100)}, friday, ()) == ""  # a third


def test_day_off_that_the_calendar_does_not_know_is_one_of_them() -> None:
    friday = SUNDAY - timedelta(2)
    usual = days(300, 60) | {friday: kpi_row({}, 60)}
    assert few_rows(usual, friday, {friday}) == ""
    assert few_rows(usual | {friday: kpi_row({}, 3)}, friday, {friday}) == "이날은 3행뿐입니다(쉬는 날 평소 60행)."


def test_day_with_few_rows_is_reported_in_a_digest_of_its_own() -> None:
    usual = {day: [met(row)] for day, row in days(300, 60).items()}
    kpis = {**usual, SUNDAY: [met(kpi_row({}, 12))]}
    found = few_rows_incidents(kpis, SUNDAY, RUBRIC, ())
    digest = DayDigest(SUNDAY, found, RUBRIC, "run", 0, kpis, "report.md")
    (message,) = day_messages(digest, RouteFilter())
    assert message.kind == "digest"
    text = readable(message.blocks)
    assert "행이 평소보다 훨씬 적음 · 새로 나타남\n12행뿐입니다. · 평소 60건 (비교한 7일 60건)" in text
    assert f"`aqb nightly --date {SUNDAY}`" in text
    assert day_messages(digest, RouteFilter(), message.keys) == []
    assert few_rows_incidents(usual, SUNDAY, RUBRIC, ()) == []


def test_excluded_rows_came_too() -> None:
    assert few_rows(days(300, 60) | {SUNDAY: kpi_row({}, 3, excluded=40)}, SUNDAY, ()) == ""


def test_day_without_rows_and_one_with_little_before_it_are_not_called_so() -> None:
    assert few_rows(days(300, 60) | {SUNDAY: kpi_row({}, 0)}, SUNDAY, ()) == ""
    assert few_rows(days(300, 60, count=8) | {SUNDAY: kpi_row({}, 3)}, SUNDAY, ()) == ""


def test_load_that_varies_by_a_fifth_is_never_called_little() -> None:
    chance = random.Random(7)
    year = {day: kpi_row({}, max(int(chance.gauss(300, 60)), 1)) for day in days(1, 1, count=365)}
    reported = [day for day in year if few_rows(year, day, ())]
    assert reported == []
