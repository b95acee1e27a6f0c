"""Detects tenants that vanish from days whose rows are otherwise as usual: an integration that broke.

A tenant is expected if it had enough rows on each of the last four weeks' business days, or days off, but for the last
one, on which it may have broken. Without any row it is one incident until it has some again. After four weeks it has
left, and is expected anew only after four weeks.

Source: SPEC 10.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from scoring.alerting.days_off import is_day_off
from scoring.alerting.facts import VANISHED_TITLE, AlertFact
from scoring.alerting.incidents import Incident, IncidentState
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.chat.rubric import FEW_ROWS, RowRubric

_LEAST_ROWS = 20
"""The fewest rows of an expected tenant on any of its days of four weeks.

Simulated tenants whose rows vary by 45 % from day to day vanish by chance at most once in 500 years each, those that
vary by 70 % once in 20 years. With 10 rows that would be once in 50 years and in four.
"""

_BUSINESS_DAYS, _DAYS_OFF = 20, 8  # of four weeks


def vanished_tenants(
    rows: Mapping[str | None, Mapping[date, int]],
    days: Sequence[date],
    with_few: Mapping[date, Collection[str | None]],
    days_off: Collection[date],
    rubric: RowRubric,
) -> dict[date, list[Incident]]:
    """The incidents of the days on which an expected tenant has no rows, and of those on which it has some again.

    `rows` are those of each tenant by day, `days` those with rows, earliest first. Days `with_few` of all tenants, with
    the ones that lack then, say nothing about others. Of thousands of tenants only those with enough rows are looked
    at.
    """
    found = defaultdict(list)
    off = {day: is_day_off(day, days_off) for day in days}
    for tenant, of_tenant in rows.items():
        if sum(count >= _LEAST_ROWS for count in of_tenant.values()) >= _DAYS_OFF:
            told = (day for day in days if day not in with_few or (tenant in with_few[day] and day not in of_tenant))
            counts = {day: of_tenant.get(day, 0) for day in told}
            if not all(counts.values()):
                for one in _of_tenant(tenant, counts, off, rubric):
                    found[one.day].append(one)
    return found


def _of_tenant(
    tenant: str | None, counts: Mapping[date, int], off: Mapping[date, bool], rubric: RowRubric
) -> Iterator[Incident]:
    """Its fact has the usual rows of that kind of day, latest first; `seen` is the last day without rows."""
    passed: dict[bool, list[int]] = {False: [], True: []}
    last: Incident | None = None
    for day, count in counts.items():
        kind, window = passed[off[day]], _DAYS_OFF if off[day] else _BUSINESS_DAYS
        may_have_broken = bool(kind) and kind[-1] < _LEAST_ROWS
        usual = tuple(kind[-window - 1 : -1] if may_have_broken else kind[-window:])
        if count and last:
            yield replace(last, day=day, state="resolved")
            last = None
        if count or len(usual) < window or min(usual) < _LEAST_ROWS:
            kind.append(count)
            continue
        since = last.since if last else day
        has_left = (day - since).days >= REFERENCE_DAYS
        state: IncidentState = "settled" if has_left else "continuing" if last else "new"
        fact = AlertFact(FEW_ROWS, "warning", VANISHED_TITLE, tenant, 0, 0, usual=usual[::-1])
        last = Incident(fact, day, rubric.id, rubric.version, state, since, day)
        yield last
        if has_left:
            passed, last = {False: [], True: []}, None
