"""Finds the alert rules whose rate over some days differs significantly from that over earlier days, largest change
first.

Source: SPEC 8 and 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from scoring.alerting.decision import DayDecisions
from scoring.alerting.growth import TENANT, most_grown
from scoring.alerting.growth_wording import tenant_name
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.watch import WatchedRule, watched_rules
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, days_by_tenant, rubric_version_of
from scoring.chat.rubric import AlertRule, RowRubric
from scoring.stats.intervals import Interval, difference_of_days


@dataclass(frozen=True)
class RuleChange:
    """A rule whose rate went from `before` to `now`; `change` is the 95 % interval of the difference for this rule
    alone, as for a KPI.
    """

    rule: AlertRule
    before: float
    now: float
    change: Interval

    @property
    def has_risen(self) -> bool:
        """Whether more rows meet the rule."""
        return self.now > self.before


def rule_changes(rubric: RowRubric, this: Sequence[KpiRow], before: Sequence[KpiRow]) -> list[RuleChange]:
    """The changed rules, most significant first; the test is corrected for the number of rules.

    `this` and `before` are KPI rows of a tenant, one per day; days that did not count a rule are left out for it.
    """
    rules = [rule for rule in rubric.alert_rules if all(row.get(f"alert_{rule.id}") is not None for row in before)]
    watched = {rule.id: rule for rule in watched_rules(rubric, ALL_TENANTS)}
    found: list[tuple[float, RuleChange]] = []
    for rule in rules:
        (counts, rows), (had, of_rows) = _sums(watched[rule.id], this), _sums(watched[rule.id], before)
        of_many = difference_of_days(had, of_rows, counts, rows, is_rate=True, looks=len(rules))
        alone = difference_of_days(had, of_rows, counts, rows, is_rate=True)
        if of_many is None or alone is None or of_many.low <= 0 <= of_many.high:
            continue
        sureness = max(of_many.low, -of_many.high) / (of_many.high - of_many.low)
        found.append((sureness, RuleChange(rule, sum(had) / sum(of_rows), sum(counts) / sum(rows), alone)))
    return [change for _, change in sorted(found, key=lambda one: -one[0])]


def risen_rules(rubric: RowRubric, this: Sequence[KpiRow], before: Sequence[KpiRow]) -> list[str]:
    """The ids of the rules whose rates rose, critical ones first, then by significance."""
    risen = [one.rule for one in rule_changes(rubric, this, before) if one.has_risen]
    return [rule.id for rule in sorted(risen, key=lambda rule: rule.level != "critical")]


def tenant_of_rise(
    rubric: RowRubric,
    risen: Sequence[str],
    by_tenant: Mapping[str | None, tuple[Sequence[KpiRow], Sequence[KpiRow]]],
) -> str:
    """The tenant that caused most of the rise of the first of these rules (Korean); '' if none can be named.

    `by_tenant` are the KPI rows of each tenant over some days and over the days before them.
    """
    if not risen:
        return ""
    (watched,) = (one for one in watched_rules(rubric, ALL_TENANTS) if one.id == risen[0])
    now, had = (
        {tenant: watched.total(rows[place]) for tenant, rows in by_tenant.items() if tenant != ALL_TENANTS}
        for place in range(2)
    )
    turns, turns_before = (sum(of for _, of in one.values()) for one in (now, had))
    counts, counts_before = ({tenant: count for tenant, (count, _) in one.items()} for one in (now, had))
    grown = most_grown(TENANT, counts, counts_before, turns / turns_before if turns_before else 0.0)
    return tenant_name(grown.value) if grown and grown.low > now[grown.value][1] / turns else ""


def tenant_of_day(rubric: RowRubric, risen: Sequence[str], kpis: KpisByDay, day: date, decided: DayDecisions) -> str:
    """The tenant that caused most of the rise of the first rule that stands out on a day (Korean); '' if none can be
    named.

    All days of the rise are compared with the four weeks before it: the last week alone soon has the rise as well.

    `kpis` are the KPI rows of that day and of those before it, `decided` are the decisions of the day.
    """
    if not risen:
        return ""
    since, version = decided[risen[0], ALL_TENANTS].since or day, rubric_version_of(kpis[day][0])
    known = {when: kpis[when] for when in sorted(kpis) if kpis[when] and rubric_version_of(kpis[when][0]) == version}
    this = {when: rows for when, rows in known.items() if since <= when <= day}
    before = {when: known[when] for when in [when for when in known if when < since][-REFERENCE_DAYS:]}
    now, had = days_by_tenant(this), days_by_tenant(before)
    tenants = dict.fromkeys((*now, *had))
    rows = {tenant: ([*now.get(tenant, {}).values()], [*had.get(tenant, {}).values()]) for tenant in tenants}
    return tenant_of_rise(rubric, risen, rows)


def _sums(rule: WatchedRule, rows: Sequence[KpiRow]) -> tuple[list[int], list[int]]:
    """Counts and rows of a rule by day, without days that have no rows."""
    counted = [(count, looked_at) for count, looked_at in map(rule.read, rows) if looked_at]
    return [count for count, _ in counted], [looked_at for _, looked_at in counted]
