"""The days of a rise that lasts and those before it, with which its counts and its causes are compared.

A single day has too few rows, and after a week the days before it include the rise. Days of an earlier rise of the same
rules are no comparison if there is a week of others. A slow rise may have begun before an outage that is over: the days
of the outage are no evidence of it, and would name its cause instead.
"""

from collections.abc import Iterable, Set
from dataclasses import replace
from datetime import date

from scoring.alerting.decision import RateDecision, WatchedDays
from scoring.alerting.incidents import Incident
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.watch import RuleOfTenant, watched_rules
from scoring.chat.kpi_windows import WEEK
from scoring.chat.kpis import KpisByDay, rubric_version_of


def rise_days(watched: WatchedDays, day: date, since: date, rules: Set[RuleOfTenant]) -> tuple[KpisByDay, KpisByDay]:
    """The KPI rows of the days from `since` up to `day` without those of a rise of these rules that was over meanwhile,
    and of the days before them without any.
    """
    version = rubric_version_of(watched.kpis[day][0])
    known = {when: rows for when, rows in watched.kpis.items() if rows and rubric_version_of(rows[0]) == version}
    earlier = [when for when in sorted(known) if when < since][-2 * REFERENCE_DAYS :]
    calm = [when for when in earlier if not _risen(watched, when, rules)]
    before = (calm if len(calm) >= WEEK else earlier)[-REFERENCE_DAYS:]
    reports = {one.reported_on for one in _risen(watched, day, rules)}
    days = {
        when: rows
        for when, rows in known.items()
        if since <= when <= day
        and not (reports and {one.reported_on for one in _risen(watched, when, rules)} - reports)
    }
    return days, {when: known[when] for when in before}


def with_so_far(found: Iterable[Incident], watched: WatchedDays, day: date) -> list[Incident]:
    """The incidents of a day; rises that last have the counts of all their days, and of those before them."""
    return [_counted(one, watched, day) if one.lasts else one for one in found]


def _counted(one: Incident, watched: WatchedDays, day: date) -> Incident:
    rule, tenant = one.fact.rule, one.fact.tenant_id
    (of_tenant,) = (each for each in watched_rules(watched.rubric, tenant) if each.id == rule)
    during, before = (
        of_tenant.total(row for when in days if (row := watched.rows_of_days[when].get(tenant)))
        for days in rise_days(watched, day, one.since, {(rule, tenant)})
    )
    return replace(one, so_far=(during, before))


def _risen(watched: WatchedDays, day: date, rules: Set[RuleOfTenant]) -> list[RateDecision]:
    """The rises of these rules that go on on a day."""
    decided = watched.decided[day]
    return [one for rule in rules if (one := decided.get(rule)) and one.has_risen]
