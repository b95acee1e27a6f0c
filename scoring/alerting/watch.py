"""Selects the watched rates and their significance levels: rules of every tenant over the days of a rubric version.

All rules and tenants together page falsely at most `AlertPolicy.false_pages_per_year` times a year: this budget is
divided here. scoring/alerting/rates.py computes how improbable a day is, scoring/alerting/episodes.py follows rises
over days.

Source: SPEC 8.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby

import numpy as np

from scoring.alerting.days_off import is_day_off
from scoring.alerting.episodes import Episodes, FalseAlarmBudget, Streams, follow
from scoring.alerting.rates import REFERENCE_DAYS, Prior
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, rows_by_tenant, rubric_version_of, scored_and_excluded
from scoring.chat.rubric import EXCLUDED_RATE_RISING, AlertLevel, AlertRule, RowRubric

DECISION_DAYS = 5 * REFERENCE_DAYS
"""Number of scored days from which the decision of a day is made: an open episode has up to two times four weeks, and
what its first day is measured from as many; with less before it each night would find another beginning and end of it.
"""

FALSE_DIGESTS_PER_YEAR = 12
"""Allowed false reports in digests a year for all rules together; with new and ended incidents a route then gets at
most 30 digests a year. See `python -m benchmarks --only alerts`.
"""

_DAY_SHARE_OF_PAGES, _LASTING_SHARE_OF_PAGES = 0.15, 0.1
"""Share of the false pages for single days and for lasting changes. The rest is a reserve: for effects that the model
does not cover, such as rates that vary more than their days show, and for years with more than the mean.
"""

_DAY_SHARE_OF_DIGESTS, _LASTING_SHARE_OF_DIGESTS = 0.1, 4.5
"""The same for digests: several days together detect a lasting change soonest. The sum exceeds 1, because the detector
is wrong three times (rare rules, varying rates) to fifteen times less often than it guarantees.
"""

_TENANTS_SHARE = 0.5

EXCLUDED_TITLE = "질문이나 답변이 없는 행"
"""Name under which the share of excluded rows is watched like a rule: an outage with NULL answers lowers the failure
rate, and only this share shows it.
"""

# What is known of a rule before its first day where the rubric says nothing: about 1 %, or ten times that.
_UNKNOWN_RATE, _UNKNOWN_EVENTS, _KNOWN_EVENTS = 0.01, 0.5, 4.0

RuleOfTenant = tuple[str, str | None]
"""A rule and a tenant: `*` for all together, None for rows without one."""


@dataclass(frozen=True)
class AlertPolicy:
    """The required significance of a page, and the decisions of people.

    `days_off` extend the calendar. A day is evaluated `looks` times, which share its level. `accepted` are the days on
    which people accepted the risen rate of a rule as usual; for all tenants (`*`) this applies to each of them.
    """

    false_pages_per_year: float = 1.0
    days_off: frozenset[date] = frozenset()
    looks: int = 1
    accepted: Mapping[RuleOfTenant, date] = field(default_factory=dict)


@dataclass(frozen=True)
class WatchedRule:
    """A watched rule of a tenant, and how to read its count and rows from a KPI row."""

    id: str
    tenant_id: str | None
    level: AlertLevel
    title: str
    column: str
    of_all_rows: bool
    prior_rate: float | None = None

    def read(self, row: KpiRow | None) -> tuple[int, int]:
        """Count and rows of a KPI row; no rows if it does not count the rule."""
        if row is None or row.get(self.column) is None:
            return 0, 0
        return int(row[self.column]), scored_and_excluded(row) if self.of_all_rows else int(row["rows"])

    def total(self, rows: Iterable[KpiRow]) -> tuple[int, int]:
        """Count and rows of several KPI rows together."""
        read = [self.read(row) for row in rows]
        return sum(count for count, _ in read), sum(looked_at for _, looked_at in read)


@dataclass(frozen=True)
class Watch:
    """The rules of all tenants (first those of all together) over the days of one version, and their episodes."""

    rules: Sequence[WatchedRule]
    days: Sequence[date]
    streams: Streams
    budget: FalseAlarmBudget
    episodes: Episodes


def watch(rubric: RowRubric, days: KpisByDay, policy: AlertPolicy) -> list[Watch]:
    """The episodes from the KPI rows of scored days; another rubric version starts anew."""
    ordered = sorted((day, rows) for day, rows in days.items() if rows)
    by_version = groupby(ordered, key=lambda one: rubric_version_of(one[1][0]))
    return [_of_version(rubric, dict(run), policy) for _, run in by_version]


def _of_version(rubric: RowRubric, days: KpisByDay, policy: AlertPolicy) -> Watch:
    by_day = [rows_by_tenant(rows) for rows in days.values()]
    tenants = sorted({name for rows in by_day for name in rows} - {ALL_TENANTS}, key=str)
    rules = [rule for tenant in (ALL_TENANTS, *tenants) for rule in watched_rules(rubric, tenant)]
    streams = _streams(rules, list(days), by_day, policy)
    budget = _budget(rules, len(tenants), policy)
    return Watch(rules, list(days), streams, budget, follow(streams, budget))


def watched_rules(rubric: RowRubric, tenant: str | None) -> list[WatchedRule]:
    """The watched rules of a tenant: those of the rubric, and last the share of excluded rows."""
    also_excluded = {measure.name for measure in rubric.excluded_measures}
    of_rows = [
        WatchedRule(rule.id, tenant, rule.level, rule.title, column, column in also_excluded, rule.usual_rate)
        for rule in rubric.alert_rules
        for column in [f"alert_{rule.id}"]
    ]
    excluded = WatchedRule(EXCLUDED_RATE_RISING, tenant, "critical", EXCLUDED_TITLE, "excluded", of_all_rows=True)
    return [*of_rows, excluded]


def alert_counts(rubric: RowRubric, rows: Sequence[KpiRow]) -> list[tuple[AlertRule, int, int]]:
    """Each alert rule over KPI rows: the number of rows that met it, and the number that it considers."""
    watched = watched_rules(rubric, ALL_TENANTS)[:-1]
    return [(rule, *one.total(rows)) for rule, one in zip(rubric.alert_rules, watched, strict=True)]


def _streams(
    rules: Sequence[WatchedRule],
    days: Sequence[date],
    by_day: Sequence[Mapping[str | None, KpiRow]],
    policy: AlertPolicy,
) -> Streams:
    read = np.array([[rule.read(of_day.get(rule.tenant_id)) for of_day in by_day] for rule in rules])
    known = [rule.prior_rate is not None for rule in rules]
    prior = Prior(
        rate=np.array([rule.prior_rate or _UNKNOWN_RATE for rule in rules]),
        events=np.where(known, _KNOWN_EVENTS, _UNKNOWN_EVENTS),
    )
    off = np.array([is_day_off(day, policy.days_off) for day in days])
    accepted = np.array([_accepted(rule, days, policy.accepted) for rule in rules])
    return Streams(read[:, :, 0], read[:, :, 1], off, prior, accepted)


def _accepted(rule: WatchedRule, days: Sequence[date], accepted: Mapping[RuleOfTenant, date]) -> int:
    """The index of the last scored day on which people accepted the rate of a rule, -1 without one."""
    keys = ((rule.id, rule.tenant_id), (rule.id, ALL_TENANTS))
    when = max((accepted[key] for key in keys if key in accepted), default=date.min)
    return sum(day <= when for day in days) - 1


def _budget(rules: Sequence[WatchedRule], tenants: int, policy: AlertPolicy) -> FalseAlarmBudget:
    """The allowed false reports and pages of each tenant's rules, so that all together stay within the budget.

    All tenants together have half of the pages, the individual tenants the other half; a single tenant is all of them.
    A digest goes to a route for all tenants together, or for one: each has the whole budget there.
    """
    number = {name: place for place, name in enumerate(dict.fromkeys(rule.tenant_id for rule in rules))}
    shares = np.array([_share(rule.tenant_id, tenants) * (rule.level == "critical") for rule in rules])
    pages = policy.false_pages_per_year / 365 * shares
    digests = np.full(len(rules), FALSE_DIGESTS_PER_YEAR / 365)
    return FalseAlarmBudget(
        tenant=np.array([number[rule.tenant_id] for rule in rules]),
        reported_day=digests * _DAY_SHARE_OF_DIGESTS,
        reported_lasting=digests * _LASTING_SHARE_OF_DIGESTS,
        paged_day=pages * _DAY_SHARE_OF_PAGES / policy.looks,
        paged_lasting=pages * _LASTING_SHARE_OF_PAGES,
    )


def _share(tenant: str | None, tenants: int) -> float:
    if tenants <= 1:
        return 1.0
    return 1 - _TENANTS_SHARE if tenant == ALL_TENANTS else _TENANTS_SHARE / tenants
