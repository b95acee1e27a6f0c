"""Detects days with fewer rows than any similar day, which may contain only a part of the conversations, and the
tenants whose rows they lack.

Such days are one incident until rows are back. They are no reference for later days: a service whose export breaks
would otherwise look well from its second day on. After four weeks their number of rows is the usual one.

Source: SPEC 10.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from statistics import median
from typing import Literal

from scoring.alerting.days_off import is_day_off
from scoring.alerting.facts import FEW_ROWS_TITLE, AlertFact
from scoring.alerting.incidents import Incident
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.vanished_tenants import vanished_tenants
from scoring.alerting.wording import rows_range, tenants_text
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, days_by_tenant, rows_of_tenant, scored_and_excluded
from scoring.chat.rubric import FEW_ROWS, RowRubric

_LEAST_DAYS, _FEW, _MORE_ROWS = 3, Fraction(3, 4), 5
"""A day has few rows if it has, even with five more, less than three quarters of the minimum of the last four weeks of
its kind; three such days are needed.

Simulated loads with a standard deviation of 5 % to 20 % from day to day reach that up to once in five years by chance,
those with working days between two days off that lose 30 % once a year. At 8 % a day that lost 40 % of its rows is
found four times in five, one that lost 30 % once in eight. Finding half of those that lost 25 % would cost three to ten
false incidents a year: such a loss is no larger than what weekdays, school holidays and customers do.
"""


def few_rows(days: Mapping[date, KpiRow], day: date, days_off: Collection[date]) -> str:
    """`이날은 3행뿐입니다(쉬는 날 평소 59~72행).`, '' if a day has as many as others, or none at all.

    `days` are the KPI rows of all tenants by day. Business days are compared with each other, and so are days off,
    which include `days_off`.
    """
    found = _days_of_incidents(days, days_off).get(day)
    if found is None or found.seen < day:
        return ""
    kind = "쉬는 날" if is_day_off(day, days_off) else "업무일"
    return f"이날은 {found.rows:,}행뿐입니다({kind} 평소 {rows_range(found.usual.values())}행)."


def naming_tenants(few: str, days: KpisByDay, day: date, days_off: Collection[date]) -> str:
    """The text of `few_rows` of a day, '' too, with the tenants that explain it: `이날은 420행뿐입니다(업무일 평소
    776행) — 테넌트 acme: 행 없음(평소 310행).`. `days` are the KPI rows of all tenants by day.
    """
    found = _days_of_incidents(rows_of_tenant(days), days_off).get(day) if few else None
    if found is None or found.seen < day:
        return few
    alike = {when: days[when] for when in (*found.usual, day)}
    short = tenants_text(_short_tenants(_by_tenant(alike), found))
    return f"{few.removesuffix('.')} — {short}." if short else few


def few_rows_incidents(days: KpisByDay, rubric: RowRubric, days_off: Collection[date]) -> dict[date, list[Incident]]:
    """The same as incidents by day, for digests, and the tenants that vanish from other days; `days` are the KPI rows
    of all tenants by day.

    A tenant is named once: few rows are no news if only tenants lack them that vanished before, and a tenant that
    vanishes while few rows go on is news of its own.
    """
    found: dict[date, list[Incident]] = {}
    of_all, by_tenant = rows_of_tenant(days), _by_tenant(days)
    with_few = _days_of_incidents(of_all, days_off)
    for day, one in with_few.items():
        usual = tuple(one.usual.values())[::-1]
        fact = AlertFact(FEW_ROWS, "warning", FEW_ROWS_TITLE, ALL_TENANTS, one.rows, one.rows, usual=usual)
        short = _short_tenants(by_tenant, one) if one.seen == day else ()
        whole = Incident(fact, day, rubric.id, rubric.version, one.state, one.since, one.seen, of_tenants=short)
        found[day] = [whole]
    with_rows = [day for day, row in sorted(of_all.items()) if scored_and_excluded(row)]
    lacking = {day: [short.tenant_id for short in one.of_tenants] for day, (one,) in found.items() if one.seen == day}
    for day, of_day in vanished_tenants(by_tenant, with_rows, lacking, days_off, rubric).items():
        shown = of_day
        if day in lacking:
            (whole,), names = found[day], set(lacking[day])
            if whole.state == "new" and names <= {one.fact.tenant_id for one in of_day if one.state == "continuing"}:
                found[day] = [replace(whole, state="continuing")]
            named = {name for when in lacking if whole.since <= when < day for name in lacking[when]}
            going_on = whole.state == "continuing"
            shown = [one for one in of_day if going_on and one.state == "new" and one.fact.tenant_id not in named]
        found.setdefault(day, []).extend(shown)
    return found


def _by_tenant(days: KpisByDay) -> dict[str | None, dict[date, int]]:
    """The rows of each tenant by day."""
    by_tenant = days_by_tenant(days)
    return {
        tenant: {day: scored_and_excluded(row) for day, row in rows.items()}
        for tenant, rows in by_tenant.items()
        if tenant != ALL_TENANTS
    }


@dataclass(frozen=True)
class _DayOfIncident:
    """A day of an incident that began on `since`: the `rows` of its last day with few rows (`seen`), and the `usual`
    ones of that kind of day, latest last.
    """

    state: Literal["new", "continuing", "resolved", "settled"]
    since: date
    seen: date
    rows: int
    usual: Mapping[date, int]


def _is_few(rows: int, usual: Collection[int]) -> bool:
    return rows + _MORE_ROWS < _FEW * min(usual)


def _before_absence(counts: Sequence[int]) -> Sequence[int]:
    """The days up to the last one with rows: a tenant that vanished before is missed as it was the day before that."""
    last = max((place for place, count in enumerate(counts) if count), default=-1)
    return counts[: last + 1]


def _short_tenants(by_tenant: Mapping[str | None, Mapping[date, int]], one: _DayOfIncident) -> tuple[AlertFact, ...]:
    """The tenants with few rows on a day with few, if without them it is as usual, the largest first: else a part of
    all rows is missing, whoever they are of.
    """
    rows, usual, facts = one.rows, dict(one.usual), list[AlertFact]()
    for tenant, of_tenant in by_tenant.items():
        counts, came = [of_tenant.get(day, 0) for day in one.usual], of_tenant.get(one.seen, 0)
        known = _before_absence(counts) if came == 0 else counts
        if known and _is_few(came, known):
            facts.append(AlertFact(FEW_ROWS, "warning", FEW_ROWS_TITLE, tenant, came, came, usual=tuple(known[::-1])))
            rows -= came
            usual = {day: of_day - count for (day, of_day), count in zip(usual.items(), counts, strict=True)}
    if not 0 < _FEW * min(usual.values()) <= rows:
        return ()
    return tuple(sorted(facts, key=lambda fact: -median(fact.usual)))


def _days_of_incidents(days: Mapping[date, KpiRow], days_off: Collection[date]) -> dict[date, _DayOfIncident]:
    """The days with few rows, and those on which rows are back; days without any rows are left out."""
    found: dict[date, _DayOfIncident] = {}
    usual_of, few_of = _of_both_kinds(), _of_both_kinds()
    last: _DayOfIncident | None = None
    for day, row in sorted(days.items()):
        if not (rows := scored_and_excluded(row)):
            continue
        off = is_day_off(day, days_off)
        usual = dict([*usual_of[off].items()][-REFERENCE_DAYS:])
        if len(usual) >= _LEAST_DAYS and _is_few(rows, usual.values()):
            few_of[off][day] = rows
            last = _DayOfIncident("continuing" if last else "new", last.since if last else day, day, rows, usual)
            found[day] = last
            if (day - last.since).days < REFERENCE_DAYS:
                continue
            found[day] = replace(last, state="settled")
            for kind, few in few_of.items():
                usual_of[kind] |= few
        else:
            usual_of[off][day] = rows
            if last is None or (off and few_of[False]):  # a day off proves nothing about business days
                continue
            found[day] = replace(last, state="resolved")
        last, few_of = None, _of_both_kinds()
    return found


def _of_both_kinds() -> dict[bool, dict[date, int]]:
    """The rows of business days (False) and of days off (True), latest last."""
    return {False: {}, True: {}}
