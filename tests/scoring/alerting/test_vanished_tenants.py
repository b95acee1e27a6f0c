"""Tenants whose rows stop while others go on, and days that lack the rows of one."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.days_off import is_day_off
from scoring.alerting.decision import WatchedDays
from scoring.alerting.few_rows import few_rows, few_rows_incidents, naming_tenants
from scoring.alerting.messages import DayDigest, Message, RouteFilter
from scoring.alerting.preview import preview_days
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpis import rows_of_tenant
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import KpiRow, kpi_row, met

MONDAY = date(2026, 3, 30)
USUAL = {"acme": 80, "globex": 700}
Kpis = dict[date, list[KpiRow]]


def load(after: Mapping[int, Mapping[str, int]], usual: Mapping[str, int] = USUAL, days: int = 1, off: int = 1) -> Kpis:
    """Six weeks of the `usual` rows of each tenant, then so many days from a Monday on, with other rows on those in
    `after`; days off have 1/`off` of them.
    """
    found: Kpis = {}
    for number in range(-42, days):
        day = MONDAY + timedelta(number)
        rows = {tenant: count // off if is_day_off(day) else count for tenant, count in usual.items()}
        rows |= after.get(number, {})
        of_tenants = [met(kpi_row({}, count, tenant=tenant)) for tenant, count in rows.items() if count]
        found[day] = [met(kpi_row({}, sum(rows.values()))), *of_tenants]
    return found


def without(*tenants: str, days: int = 1, first: int = 0) -> dict[int, dict[str, int]]:
    """So many days on which these tenants have no rows."""
    return {number: dict.fromkeys(tenants, 0) for number in range(first, first + days)}


def states(kpis: Kpis, tenant: str = "acme") -> list[tuple[int, str]]:
    """What each day says of a tenant."""
    found = few_rows_incidents(kpis, RUBRIC, ())
    said = [(day, one) for day, of_day in sorted(found.items()) for one in of_day if one.fact.tenant_id == tenant]
    return [((day - MONDAY).days, one.state) for day, one in said]


def sent(kpis: Kpis, number: int = 0, route: RouteFilter | None = None, **changes: Any) -> list[Message]:
    """The messages of a day to a route, as its night finds them."""
    day = MONDAY + timedelta(number)
    until = {when: rows for when, rows in kpis.items() if when <= day}
    found = few_rows_incidents(until, RUBRIC, ()).get(day, [])
    return day_messages(DayDigest(day, found, RUBRIC, "run", 0, until, "r.md", **changes), route or RouteFilter())


def test_vanished_tenant_with_a_tenth_of_the_rows_is_a_line_of_the_digest() -> None:
    kpis = load(without("acme"))
    assert few_rows(rows_of_tenant(kpis), MONDAY, ()) == ""
    (message,) = sent(kpis)
    assert (message.kind, message.level) == ("digest", "warning")
    text = readable(message.blocks)
    assert (
        "Warning · 행이 하나도 없음 · 새로 나타남 (테넌트 acme)\n행이 하나도 들어오지 않았습니다. · 평소 80행" in text
    )
    assert f"연동과 적재를 확인하고, 늦게 들어왔다면 이 명령으로 다시 채점하세요. `aqb nightly --date {MONDAY}`" in text
    assert sent(kpis, kind="intraday") == []


def test_vanished_tenant_is_told_once_and_over_when_it_has_rows_again() -> None:
    kpis = load(without("acme", days=3), days=5)
    assert states(kpis) == [(0, "new"), (1, "continuing"), (2, "continuing"), (3, "resolved")]
    assert [len(sent(kpis, number)) for number in range(5)] == [1, 0, 0, 0, 0]


def test_digest_of_another_reason_says_that_a_tenant_is_still_missing_and_when_it_is_back() -> None:
    kpis = load(without("acme", days=3) | {1: {"acme": 0, "initech": 0}}, USUAL | {"initech": 60}, days=4)
    assert "계속  행이 하나도 없음(테넌트 acme) 0행(평소 80행)" in readable(sent(kpis, 1)[0].blocks)
    kpis = load(without("acme", days=3) | {3: {"initech": 0}}, USUAL | {"initech": 60}, days=4)
    assert "해소: 행이 하나도 없음(테넌트 acme) — 다시 들어옴, 마지막으로 없던 날은 4월 1일(수)" in readable(
        sent(kpis, 3)[0].blocks
    )


def test_vanished_tenant_that_has_left_for_good_falls_silent_after_four_weeks() -> None:
    found = states(load(without("acme", days=60), days=60))
    assert found == [(0, "new"), *((number, "continuing") for number in range(1, 28)), (28, "settled")]


def test_vanished_tenant_may_have_broken_during_the_day_before() -> None:
    assert states(load({0: {"acme": 3}} | without("acme", days=2, first=1), days=3)) == [(1, "new"), (2, "continuing")]


def test_vanished_tenant_needs_twenty_rows_on_every_day_of_four_weeks() -> None:
    assert states(load(without("acme"), {"acme": 20, "globex": 700})) == [(0, "new")]
    assert states(load(without("acme"), {"acme": 19, "globex": 700})) == []
    assert states(load({-10: {"acme": 19}} | without("acme"))) == []
    newcomer = load(without("acme", days=24, first=-42) | without("acme"))
    assert states(newcomer) == []


@pytest.mark.parametrize(("day", "came", "known"), [(0, -31, True), (0, -30, False), (5, -23, True), (5, -22, False)])
def test_vanished_tenant_has_come_on_twenty_business_days_or_eight_days_off(day: int, came: int, known: bool) -> None:
    """2 March is a holiday: 20 business days before the Monday, or 8 days off before the Saturday, and one less."""
    kpis = load(without("acme", first=-42, days=42 + came) | without("acme", first=day), days=day + 1)
    assert states(kpis) == ([(day, "new")] if known else [])


def test_vanished_tenant_is_compared_with_its_own_kind_of_days() -> None:
    """One that rests on days off is not missing on them, and a weekend is no return."""
    rests = load(without("acme", days=8), off=30, days=8)
    weekdays = [0, 1, 2, 3, 4, 7]
    assert states(rests) == [(0, "new"), *((number, "continuing") for number in weekdays[1:])]
    assert states(load({}, off=30, days=8)) == []


def test_vanished_tenant_is_told_to_routes_without_tenants_and_to_its_own() -> None:
    kpis = load(without("acme"))
    own, others = (RouteFilter(tenants=frozenset({name})) for name in ("acme", "globex"))
    assert [len(sent(kpis, route=route)) for route in (RouteFilter(), own, others)] == [1, 1, 0]
    assert sent(kpis, route=RouteFilter(levels=frozenset({"critical"}))) == []
    (message,) = sent(kpis)
    assert (
        day_messages(
            DayDigest(MONDAY, few_rows_incidents(kpis, RUBRIC, ())[MONDAY], RUBRIC, "run", 0, kpis, "r.md"),
            RouteFilter(),
            message.keys,
        )
        == []
    )


def test_vanished_tenant_is_quiet_while_its_rule_is_snoozed() -> None:
    kpis = load(without("acme"))
    snooze = Snooze("few_rows", "acme", MONDAY, "이전 작업", "kim", datetime(2026, 3, 29, 9, tzinfo=UTC))
    assert sent(kpis, snoozes=[snooze]) == []


def test_vanished_tenants_beyond_five_are_counted() -> None:
    small = {f"t{number}": 30 + number for number in range(8)}
    kpis = load(without(*small, days=2), USUAL | small | {"globex": 2_000}, days=3)
    text = readable(sent(kpis)[0].blocks)
    assert "새로 볼 것 8건" in text
    assert text.count("새로 나타남") == 5
    assert "(테넌트 t7)" in text
    assert "(테넌트 t2)" not in text
    assert "행이 하나도 없음: 그 밖의 테넌트 3곳" in text


def test_vanished_tenant_is_named_where_the_whole_day_lacks_its_rows() -> None:
    kpis = load(without("acme", days=4), {"acme": 810, "globex": 100, "initech": 90}, days=5)
    (message,) = sent(kpis)
    text = readable(message.blocks)
    assert "190행뿐입니다. · 평소 1,000행 (비교한 26일 1,000행)\n테넌트 acme: 행 없음(평소 810행)\n" in text
    assert text.count("새로 나타남") == 1
    assert naming_tenants("이날은 190행뿐입니다(업무일 평소 1,000행).", kpis, MONDAY, ()) == (
        "이날은 190행뿐입니다(업무일 평소 1,000행) — 테넌트 acme: 행 없음(평소 810행)."
    )
    (shown,) = preview_days(WatchedDays(RUBRIC, kpis, AlertPolicy()), [MONDAY])
    assert "— 테넌트 acme: 행 없음(평소 810행)" in shown.text
    assert [len(sent(kpis, number)) for number in range(1, 5)] == [0, 0, 0, 0]
    (over,) = (one for one in few_rows_incidents(kpis, RUBRIC, ())[MONDAY + timedelta(4)] if one.fact.tenant_id == "*")
    assert (over.state, over.of_tenants) == ("resolved", ())  # on this day nobody lacks rows


def test_few_rows_are_told_without_tenants_where_those_of_tenants_do_not_show_them() -> None:
    """A page is made from more days than a report: what one calls few the other may not."""
    kpis, told = load(without("acme"), {"acme": 810, "globex": 100}, days=2), "이날은 9행뿐입니다(업무일 평소 910행)."
    for day in (MONDAY - timedelta(3), MONDAY + timedelta(1)):  # a usual day, and the one on which rows are back
        assert naming_tenants(told, kpis, day, ()) == told


def test_tenants_vanish_on_no_day_without_any_rows() -> None:
    """Its page says that nothing came, and the next day may be as usual."""
    assert states(load(without(*USUAL), days=2)) == []


def test_day_with_few_rows_names_a_tenant_that_broke_during_it() -> None:
    kpis = load({0: {"acme": 300}}, {"acme": 810, "globex": 100, "initech": 90})
    assert "\n테넌트 acme: 300행(평소 810행)\n" in readable(sent(kpis)[0].blocks)
    kpis = load(without("acme", "globex"), {"acme": 300, "globex": 500, "initech": 90})  # who lacks most comes first
    assert "\n테넌트 globex: 행 없음(평소 500행) · 테넌트 acme: 행 없음(평소 300행)\n" in readable(sent(kpis)[0].blocks)


def test_day_with_few_rows_of_all_tenants_names_none() -> None:
    """A part of the export is missing, and with it by chance all rows of the small tenant."""
    kpis = load({0: {"acme": 20, "globex": 190, "initech": 0}}, USUAL | {"initech": 25})
    (message,) = sent(kpis)
    assert "테넌트" not in readable(message.blocks)
    few = few_rows(rows_of_tenant(kpis), MONDAY, ())
    assert few.startswith("이날은 210행뿐입니다")
    assert naming_tenants(few, kpis, MONDAY, ()) == few


def test_day_with_few_rows_names_no_tenant_where_the_others_lack_rows_too() -> None:
    """None of the small tenants lacks many, but together they lack half of theirs."""
    small = {f"t{number}": 20 for number in range(10)}
    kpis = load({0: {"acme": 300, **dict.fromkeys(small, 11)}}, {"acme": 810, **small})
    assert "테넌트" not in readable(sent(kpis)[0].blocks)


def test_tenant_that_lacks_rows_is_compared_with_what_it_had_until_it_broke() -> None:
    """It had more on the first day, its last rows are of days ago, and another one has left weeks before."""
    usual = {"acme": 810, "globex": 100, "initech": 90}
    kpis = load({-28: {"acme": 900}} | without("acme"), usual)
    kpis[MONDAY - timedelta(42)].append(met(kpi_row({}, 30, tenant="former")))
    assert "\n테넌트 acme: 행 없음(평소 810행)\n" in readable(sent(kpis)[0].blocks)


def test_day_with_few_rows_names_no_customer_to_the_route_of_another() -> None:
    kpis = load(without("acme"), {"acme": 810, "globex": 100, "initech": 90})
    own, others = (RouteFilter(tenants=frozenset({name})) for name in ("acme", "globex"))
    assert "테넌트 acme: 행 없음" in readable(sent(kpis, route=own)[0].blocks)
    assert "acme" not in readable(sent(kpis, route=others)[0].blocks)


def test_vanished_tenant_stays_told_when_the_whole_day_has_enough_rows_again() -> None:
    after = without("acme", days=2) | {1: {"acme": 0, "globex": 900}}
    kpis = load(after, {"acme": 500, "globex": 400, "initech": 90}, days=2)
    assert "테넌트 acme: 행 없음" in readable(sent(kpis)[0].blocks)
    assert states(kpis) == [(1, "continuing")]


def test_tenant_is_missed_although_few_of_its_rows_came_on_days_with_few() -> None:
    """What came of it on those days is nothing to compare with."""
    after = {day: {"acme": 5} for day in (0, 1)} | {2: {"acme": 0, "globex": 900}}
    kpis = load(after, {"acme": 500, "globex": 400, "initech": 90}, days=3)
    assert states(kpis) == [(2, "new")]
    assert [len(sent(kpis, number)) for number in range(3)] == [1, 0, 1]


LARGE = {"acme": 350, "globex": 400, "initech": 150}


def test_vanished_tenant_is_not_told_again_where_the_whole_day_then_has_few_rows() -> None:
    """The others had more rows on its first day than on the next one."""
    kpis = load(without("acme", days=3) | {0: {"acme": 0, "globex": 600}}, LARGE, days=4)
    assert [len(sent(kpis, number)) for number in range(4)] == [1, 0, 0, 0]
    assert "행이 하나도 없음 · 새로 나타남 (테넌트 acme)" in sent(kpis)[0].text
    assert states(kpis, "*") == [(1, "continuing"), (2, "continuing"), (3, "resolved")]


def test_vanished_tenant_is_told_while_few_rows_of_another_go_on() -> None:
    kpis = load(without("acme", days=4) | {2: {"acme": 0, "initech": 0}, 3: {"acme": 0, "initech": 0}}, LARGE, days=4)
    assert [len(sent(kpis, number)) for number in range(4)] == [1, 0, 1, 0]
    assert "행이 하나도 없음 · 새로 나타남 (테넌트 initech)" in sent(kpis, 2)[0].text


def test_vanished_tenant_that_few_rows_named_the_day_before_is_not_told_again() -> None:
    kpis = load({0: {"acme": 20}} | without("acme", days=2, first=1), LARGE, days=3)
    assert [len(sent(kpis, number)) for number in range(3)] == [1, 0, 0]
    assert "\n테넌트 acme: 20행(평소 350행)\n" in readable(sent(kpis)[0].blocks)


@pytest.mark.parametrize(("tenants", "rows"), [(6, 130), (40, 19), (40, 40)])
def test_vanished_tenants_of_years_without_a_change_are_none(tenants: int, rows: int) -> None:
    """Rows that vary by a third from day to day beyond chance, a quarter of them on days off."""
    chance, kpis = np.random.default_rng(tenants * rows), Kpis()
    for number in range(2 * 365):
        day = MONDAY + timedelta(number)
        mean = rows / 4 if is_day_off(day) else rows
        counts = chance.poisson(mean * chance.gamma(9, 1 / 9, tenants))
        of_tenants = [_counted(f"t{place}", int(count)) for place, count in enumerate(counts) if count]
        kpis[day] = [_counted("*", int(counts.sum())), *of_tenants]
    found = few_rows_incidents(kpis, RUBRIC, ())
    assert [one for of_day in found.values() for one in of_day if one.fact.tenant_id != "*"] == []


def _counted(tenant: str, rows: int) -> KpiRow:
    return {"tenant_id": tenant, "rows": rows, "excluded": 0}
