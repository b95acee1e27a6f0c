"""Days of which many rows may be missing."""

import random
from dataclasses import replace
from datetime import date, timedelta

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.days_off import is_day_off
from scoring.alerting.few_rows import few_rows, few_rows_incidents
from scoring.alerting.messages import DayDigest, RouteFilter
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, day_digest, days_of_facts, kpi_row, met

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
    assert few_rows(usual | {friday: kpi_row({}, 219)}, friday, ()) == "이날은 219행뿐입니다(업무일 평소 300행)."
    assert few_rows(usual | {friday: kpi_row({}, 220)}, friday, ()) == ""  # five more are three quarters


def test_day_off_that_the_calendar_does_not_know_is_one_of_them() -> None:
    friday = SUNDAY - timedelta(2)
    usual = days(300, 60) | {friday: kpi_row({}, 60)}
    assert few_rows(usual, friday, {friday}) == ""
    assert few_rows(usual | {friday: kpi_row({}, 3)}, friday, {friday}) == "이날은 3행뿐입니다(쉬는 날 평소 60행)."


def test_day_with_few_rows_is_reported_in_a_digest_of_its_own() -> None:
    usual = {day: [met(row)] for day, row in days(300, 60).items()}
    kpis = {**usual, SUNDAY: [met(kpi_row({}, 12))]}
    found = few_rows_incidents(kpis, RUBRIC, ())[SUNDAY]
    digest = DayDigest(SUNDAY, found, RUBRIC, "run", 0, kpis, "report.md")
    (message,) = day_messages(digest, RouteFilter())
    assert message.kind == "digest"
    text = readable(message.blocks)
    assert "행이 평소보다 훨씬 적음 · 새로 나타남\n12행뿐입니다. · 평소 60행 (비교한 8일 60행)" in text
    assert f"`aqb nightly --date {SUNDAY}`" in text
    assert day_messages(digest, RouteFilter(), message.keys) == []
    assert few_rows_incidents(usual, RUBRIC, ()) == {}


def test_excluded_rows_came_too() -> None:
    assert few_rows(days(300, 60) | {SUNDAY: kpi_row({}, 3, excluded=40)}, SUNDAY, ()) == ""


def test_day_without_rows_and_one_with_little_before_it_are_not_called_so() -> None:
    assert few_rows(days(300, 60) | {SUNDAY: kpi_row({}, 0)}, SUNDAY, ()) == ""
    assert few_rows(days(300, 60, count=8) | {SUNDAY: kpi_row({}, 3)}, SUNDAY, ()) == ""  # two days off before it
    assert few_rows(days(300, 60, count=9) | {SUNDAY: kpi_row({}, 3)}, SUNDAY, ())  # three


def test_load_that_varies_by_a_fifth_is_hardly_ever_called_little() -> None:
    chance = random.Random(7)
    for rows in (300, 20):
        year = {day: [kpi_row({}, max(int(chance.gauss(rows, rows / 5)), 1))] for day in days(1, 1, count=365)}
        assert sum(one.fires for found in few_rows_incidents(year, RUBRIC, ()).values() for one in found) <= 1


def test_loss_of_two_fifths_of_the_rows_of_a_usual_day_is_reported() -> None:
    chance = random.Random(8)
    usual = {day: kpi_row({}, int(chance.gauss(776, 60))) for day in days(1, 1, count=60)}
    friday = SUNDAY - timedelta(2)
    assert few_rows(usual | {friday: kpi_row({}, 466)}, friday, ()).startswith("이날은 466행뿐입니다(업무일 평소 ")


def partial(weeks: int, after: int = 0, weekend: int = 4) -> dict[date, list[dict[str, int]]]:
    """Four weeks of 800 rows a business day and 150 a day off, then so many with 20 and `weekend`, then usual days."""
    count = 28 + 7 * weeks + after
    found = [SUNDAY - timedelta(27) + timedelta(number) for number in range(count)]
    few = range(28, 28 + 7 * weeks)
    return {
        day: [
            met(kpi_row({}, (weekend if number in few else 150) if is_day_off(day) else 20 if number in few else 800))
        ]
        for number, day in enumerate(found)
    }


def states(kpis: dict[date, list[dict[str, int]]]) -> list[tuple[int, str]]:
    """What each day says, numbered from the first one that few rows were planned for."""
    found = few_rows_incidents(kpis, RUBRIC, ())
    return [((day - SUNDAY).days - 1, one.state) for day, of_day in found.items() for one in of_day]


def test_partial_export_goes_on_until_rows_are_back() -> None:
    """A day with few rows is no reference for the next one, or the second would look well."""
    assert states(partial(2, after=3)) == [(0, "new"), *((day, "continuing") for day in range(1, 14)), (14, "resolved")]


def test_usual_weekend_does_not_end_it_while_business_days_have_few_rows() -> None:
    found = states(partial(2, after=1, weekend=150))
    assert [day for day, _ in found] == [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 14]
    assert [state for _, state in found] == ["new", *["continuing"] * 9, "resolved"]
    weekend_only = partial(0) | {SUNDAY - timedelta(1): [met(kpi_row({}, 4))]}
    assert states(weekend_only) == [(-2, "new"), (-1, "resolved")]


def test_number_of_rows_that_stays_is_usual_after_four_weeks() -> None:
    found = states(partial(6))
    assert found == [(0, "new"), *((day, "continuing") for day in range(1, 28)), (28, "settled")]


def test_digest_of_another_reason_says_that_rows_still_lack_and_when_they_are_back() -> None:
    kpis = partial(2, after=3)

    def said(number: int) -> str:
        day = SUNDAY + timedelta(1 + number)
        other = replace(few_rows_incidents(kpis, RUBRIC, ())[SUNDAY + timedelta(1)][0], day=day, since=day, seen=day)
        news = replace(other, fact=replace(other.fact, rule="weak_answer", usual=()))
        of_day = {when: rows for when, rows in kpis.items() if when <= day}
        found = few_rows_incidents(of_day, RUBRIC, ())[day]
        (message,) = day_messages(DayDigest(day, [news, *found], RUBRIC, "run", 0, of_day, "report.md"), RouteFilter())
        return readable(message.blocks)

    assert "계속  행이 평소보다 훨씬 적음 20행(평소 800행)" in said(1)
    assert "해소: 행이 평소보다 훨씬 적음 — 다시 평소만큼 들어옴, 마지막으로 적은 날은 4월 12일(일) 4행" in said(14)


def test_page_about_a_day_with_few_rows_says_so_but_not_about_a_day_in_progress() -> None:
    """Most of what it counts may be missing: its rates are not those of the day."""
    day = FIRST_DAY + timedelta(10)
    rows = [met(kpi_row({"answer_failed": 20})) for _ in range(10)]
    rows.append(met(kpi_row({"answer_failed": 60}, 120)))
    facts = days_of_facts((FIRST_DAY + timedelta(number), [row]) for number, row in enumerate(rows))
    few = few_rows_incidents(facts.kpis, RUBRIC, ())[day]
    digest = day_digest(day, facts, rows[-1])
    digest = replace(digest, incidents=[*digest.incidents, *few])
    said = "행이 평소보다 훨씬 적음  120행뿐입니다. · 평소 535행"
    page, _ = day_messages(digest, RouteFilter())
    assert said in readable(page.blocks)
    (page,) = day_messages(replace(digest, kind="intraday"), RouteFilter())
    assert said not in readable(page.blocks)
