"""Detects days with fewer rows than any similar day: they may contain only a part of the conversations.

Such days are one incident until rows are back. They are no reference for later days: a service whose export breaks
would otherwise look well from its second day on. After four weeks their number of rows is the usual one.

Source: SPEC 10.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Literal

from scoring.alerting.days_off import is_day_off
from scoring.alerting.facts import AlertFact, titles_of_rules
from scoring.alerting.incidents import Incident
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, rows_of_tenant, scored_and_excluded
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
    ends = "~".join(f"{count:,}" for count in sorted({min(found.usual), max(found.usual)}))
    kind = "쉬는 날" if is_day_off(day, days_off) else "업무일"
    return f"이날은 {found.rows:,}행뿐입니다({kind} 평소 {ends}행)."


def few_rows_incidents(days: KpisByDay, rubric: RowRubric, days_off: Collection[date]) -> dict[date, list[Incident]]:
    """The same as incidents by day, for digests; `days` are the KPI rows of all days by day."""
    title = titles_of_rules(rubric)[FEW_ROWS]
    found: dict[date, list[Incident]] = {}
    for day, one in _days_of_incidents(rows_of_tenant(days), days_off).items():
        fact = AlertFact(FEW_ROWS, "warning", title, ALL_TENANTS, one.rows, one.rows, usual=one.usual[::-1])
        found[day] = [Incident(fact, day, rubric.id, rubric.version, one.state, one.since, one.seen)]
    return found


@dataclass(frozen=True)
class _DayOfIncident:
    """A day of an incident that began on `since`: the `rows` of its last day with few rows (`seen`), and the `usual`
    ones of that kind of day, latest last.
    """

    state: Literal["new", "continuing", "resolved", "settled"]
    since: date
    seen: date
    rows: int
    usual: tuple[int, ...]


@dataclass
class _KindOfDay:
    """The rows of business days or of days off, latest last: the `usual` ones, and those of the open incident."""

    usual: list[int] = field(default_factory=list)
    few: list[int] = field(default_factory=list)


def _days_of_incidents(days: Mapping[date, KpiRow], days_off: Collection[date]) -> dict[date, _DayOfIncident]:
    """The days with few rows, and those on which rows are back; days without any rows are left out."""
    passed, found = _RowsOfDays(), {}
    for day, row in sorted(days.items()):
        if (rows := scored_and_excluded(row)) and (one := passed.after(day, rows, off=is_day_off(day, days_off))):
            found[day] = one
    return found


class _RowsOfDays:
    """The state during the pass over the days: the rows of both kinds of days, and the last day of an open incident."""

    def __init__(self) -> None:
        self._business, self._off = _KindOfDay(), _KindOfDay()
        self._open: _DayOfIncident | None = None

    def after(self, day: date, rows: int, *, off: bool) -> _DayOfIncident | None:
        """What a day is of an incident, None if it is none."""
        kind, last = self._off if off else self._business, self._open
        usual = tuple(kind.usual[-REFERENCE_DAYS:])
        if len(usual) >= _LEAST_DAYS and rows + _MORE_ROWS < _FEW * min(usual):
            kind.few.append(rows)
            return self._few(
                _DayOfIncident("continuing" if last else "new", last.since if last else day, day, rows, usual)
            )
        kind.usual.append(rows)
        if last is None or (off and self._business.few):  # a day off proves nothing about business days
            return None
        self._close()
        return replace(last, state="resolved")

    def _few(self, one: _DayOfIncident) -> _DayOfIncident:
        self._open = one
        if (one.seen - one.since).days < REFERENCE_DAYS:
            return one
        for kind in (self._business, self._off):
            kind.usual += kind.few
        self._close()
        return replace(one, state="settled")

    def _close(self) -> None:
        self._open = None
        self._business.few, self._off.few = [], []
