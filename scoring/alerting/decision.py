"""What is told of a rule on a day: whether its rate is improbable, for how long, and whether that interrupts people.

From the KPI rows of days alone, for every rule of every tenant. All rules and tenants together page falsely at most
`AlertPolicy.false_pages_per_year` times a year: that is shared out here, how improbable a day is stands in
scoring/alerting/rates.py, and what becomes of it over days in scoring/alerting/episodes.py.

Source: SPEC 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any, Literal

from scoring.alerting.days_off import is_day_off
from scoring.alerting.episodes import COLD_DAYS, DRIFTING, RISING, Episodes, Levels, Streams, follow
from scoring.alerting.facts import EXCLUDED_RATE_RISING
from scoring.alerting.rates import REFERENCE_DAYS, Prior
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import AlertLevel, RowRubric
from scoring.stats.intervals import Z_95

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

DECISION_DAYS = 3 * REFERENCE_DAYS
"""How many scored days before a day decide about it: an episode, the change it is measured from, and the reference."""

FALSE_DIGESTS_PER_YEAR = 12
"""How often a year all rules together may be told in a digest without a reason; with what is new and what is over a
route gets at most 30 digests a year then. `python -m benchmarks --only alerts` shows it."""

_DAY_SHARE_OF_PAGES, _DAY_SHARE_OF_DIGESTS = 0.75, 0.25
"""How much of what may be false goes to single days: an outage of a day is what pages are for, and a lasting change is
found soonest by its days together."""

_DETECTOR_SLACK = 4
"""How much seldomer than it guarantees the detector of lasting changes is wrong in a year of days without one."""

_TENANTS_SHARE = 0.5

# What is known of a rule before its first day where the rubric says nothing: about 1 %, or ten times that.
_UNKNOWN_RATE, _UNKNOWN_EVENTS, _KNOWN_EVENTS = 0.01, 0.5, 4.0

KpiRow = Mapping[str, Any]
RuleOfTenant = tuple[str, str | None]
"""A rule and a tenant: `*` for all together, None for rows without one."""

Basis = Literal["days", "rubric", "nothing"]


@dataclass(frozen=True)
class AlertPolicy:
    """How sure a page must be, and what people have said.

    `days_off` are added to the calendar. A day is looked at `looks` times, which share its level. `accepted` are the
    days on which people took the risen rate of a rule for usual; what they accept for all tenants (`*`) holds for each.
    """

    false_pages_per_year: float = 1.0
    days_off: frozenset[date] = frozenset()
    looks: int = 1
    accepted: Mapping[RuleOfTenant, date] = field(default_factory=dict)


@dataclass(frozen=True)
class UsualRate:
    """The share of rows that usually meet a rule on a day like this one; 95 of 100 such days are within `low..high`.

    It comes from the last `days` scored days; in the first days (`basis`) from the rubric's prior rate or from nothing.
    """

    rate: float
    low: float
    high: float
    days: int
    basis: Basis


@dataclass(frozen=True)
class RateDecision:
    """What is decided about one rule of one tenant on a day: `count` of `rows` met it.

    `change` is None where the rate is as usual; `since` is the day on which it rose, or began to. `is_news` on the day
    on which it is told first, and again on the day on which it pages; `pages` if it interrupts people today, `paged` if
    it has. `together` are the rules whose rows of the day are mostly those of this one.
    """

    rule: str
    tenant_id: str | None
    level: AlertLevel
    count: int
    rows: int
    usual: UsualRate
    change: Literal["rising", "drifting", "resolved"] | None = None
    since: date | None = None
    is_news: bool = False
    pages: bool = False
    paged: bool = False
    together: frozenset[str] = frozenset()


DayDecisions = Mapping[RuleOfTenant, RateDecision]


def decide(
    rubric: RowRubric, days: Mapping[date, Sequence[KpiRow]], policy: AlertPolicy
) -> dict[date, dict[RuleOfTenant, RateDecision]]:
    """The decisions of each day from the KPI rows of scored days, each from that day and those before it alone.

    Another rubric version counts differently: with it the history begins anew. Rules that a day did not count, and
    tenants without rows, have no decision on it.
    """
    found: dict[date, dict[RuleOfTenant, RateDecision]] = {}
    ordered = sorted((day, rows) for day, rows in days.items() if rows)
    for _, run in groupby(ordered, key=lambda one: _version(one[1])):
        found |= _of_version(rubric, dict(run), policy)
    return {day: found.get(day, {}) for day in days}


def _version(rows: Sequence[KpiRow]) -> Any:
    return rows[0].get("rubric"), rows[0].get("rubric_version")


@dataclass(frozen=True)
class _Rule:
    """A rule whose rate is watched: how its count and its rows are read from a KPI row."""

    id: str
    level: AlertLevel
    column: str
    of_all_rows: bool
    prior_rate: float | None = None

    def read(self, row: KpiRow | None) -> tuple[int, int]:
        """Count and rows of a KPI row; no rows where there is nothing to count."""
        if row is None or row.get(self.column) is None:
            return 0, 0
        return int(row[self.column]), int(row["rows"] + (row["excluded"] if self.of_all_rows else 0))


def _rules(rubric: RowRubric) -> list[_Rule]:
    also_excluded = {measure.name for measure in rubric.excluded_measures}
    of_rows = [
        _Rule(rule.id, rule.level, f"alert_{rule.id}", f"alert_{rule.id}" in also_excluded, rule.usual_rate)
        for rule in rubric.alert_rules
    ]
    return [*of_rows, _Rule(EXCLUDED_RATE_RISING, "critical", "excluded", of_all_rows=True)]


def _of_version(
    rubric: RowRubric, days: Mapping[date, Sequence[KpiRow]], policy: AlertPolicy
) -> dict[date, dict[RuleOfTenant, RateDecision]]:
    by_tenant = {day: {row["tenant_id"]: row for row in rows} for day, rows in days.items()}
    tenants = [ALL_TENANTS, *sorted({name for rows in by_tenant.values() for name in rows} - {ALL_TENANTS}, key=str)]
    watched = [(rule, tenant) for tenant in tenants for rule in _rules(rubric)]
    streams = _streams(watched, by_tenant, policy)
    episodes = follow(streams, _levels(watched, len(tenants) - 1, policy))
    found: dict[date, dict[RuleOfTenant, RateDecision]] = {}
    dates = list(days)
    for number, day in enumerate(dates):
        of_day = found[day] = {}
        for stream, (rule, tenant) in enumerate(watched):
            if streams.rows[stream, number]:
                together = _together(rubric, rule, by_tenant[day][tenant])
                of_day[rule.id, tenant] = _decision(rule, tenant, streams, episodes, (stream, number), dates, together)
    return found


def _streams(
    watched: Sequence[tuple[_Rule, str | None]],
    days: Mapping[date, Mapping[str | None, KpiRow]],
    policy: AlertPolicy,
) -> Streams:
    import numpy as np

    read = np.array([[rule.read(of_day.get(tenant)) for of_day in days.values()] for rule, tenant in watched])
    known = [rule.prior_rate is not None for rule, _ in watched]
    prior = Prior(
        rate=np.array([rule.prior_rate or _UNKNOWN_RATE for rule, _ in watched]),
        events=np.where(known, _KNOWN_EVENTS, _UNKNOWN_EVENTS),
    )
    off = np.array([is_day_off(day, policy.days_off) for day in days])
    accepted = np.array([_accepted(rule.id, tenant, list(days), policy.accepted) for rule, tenant in watched])
    return Streams(read[:, :, 0], read[:, :, 1], off, prior, accepted)


def _accepted(rule: str, tenant: str | None, days: Sequence[date], accepted: Mapping[RuleOfTenant, date]) -> int:
    """The number of the last scored day when people accepted the rate of a rule, -1 where they did not."""
    when = max((day for key in ((rule, tenant), (rule, ALL_TENANTS)) if (day := accepted.get(key))), default=date.min)
    return sum(day <= when for day in days) - 1


def _levels(watched: Sequence[tuple[_Rule, str | None]], tenants: int, policy: AlertPolicy) -> Levels:
    """From when on a rule is told and pages, so that all together are wrong as seldom as they may be.

    All tenants together have half of the pages, the tenants the other half; a single tenant is all of them. A digest
    goes to a route that hears of all tenants together, or of one: there each has the whole.
    """
    import numpy as np

    critical = sum(rule.level == "critical" and tenant == ALL_TENANTS for rule, tenant in watched)
    rules = sum(tenant == ALL_TENANTS for _, tenant in watched)
    shares = [_share(tenant, tenants) if rule.level == "critical" else 0.0 for rule, tenant in watched]
    pages = policy.false_pages_per_year / 365 / critical * np.array(shares)
    digests = FALSE_DIGESTS_PER_YEAR / 365 / rules
    paged_chance = pages * _DAY_SHARE_OF_PAGES / policy.looks
    lasting = [log(1 / (each * (1 - _DAY_SHARE_OF_PAGES))) if each else inf for each in pages]
    told_lasting = log(1 / (digests * (1 - _DAY_SHARE_OF_DIGESTS) * _DETECTOR_SLACK))
    return Levels(
        told_chance=np.maximum(paged_chance, digests * _DAY_SHARE_OF_DIGESTS),
        paged_chance=paged_chance,
        told_evidence=np.minimum(lasting, told_lasting),
        paged_evidence=np.array(lasting),
    )


def _share(tenant: str | None, tenants: int) -> float:
    if tenants <= 1:
        return 1.0
    return 1 - _TENANTS_SHARE if tenant == ALL_TENANTS else _TENANTS_SHARE / tenants


def _decision(
    rule: _Rule,
    tenant: str | None,
    streams: Streams,
    episodes: Episodes,
    place: tuple[int, int],
    dates: Sequence[date],
    together: frozenset[str],
) -> RateDecision:
    ended = bool(episodes.ended[place])
    changes: dict[int, Literal["rising", "drifting"]] = {RISING: "rising", DRIFTING: "drifting"}
    change = "resolved" if ended else changes.get(int(episodes.change[place]))
    count, rows = int(streams.counts[place]), int(streams.rows[place])
    days = int(episodes.days[place])
    cold: Basis = "nothing" if rule.prior_rate is None else "rubric"
    return RateDecision(
        rule.id,
        tenant,
        rule.level,
        count,
        rows,
        _usual_rate(float(episodes.rate[place]), float(episodes.variance[place]), rows, days, cold),
        change,
        dates[episodes.since[place]] if change else None,
        is_news=bool(episodes.told[place]) or ended,
        pages=bool(episodes.pages[place]),
        paged=bool(episodes.had_paged[place]) if change else False,
        together=together,
    )


def _usual_rate(rate: float, variance: float, rows: int, days: int, cold: Basis) -> UsualRate:
    half = Z_95 * sqrt(rate * (1 - rate) / rows + rate * rate * variance)
    shown = min(days, REFERENCE_DAYS)
    return UsualRate(rate, max(rate - half, 0.0), min(rate + half, 1.0), shown, "days" if days >= COLD_DAYS else cold)


def _together(rubric: RowRubric, rule: _Rule, row: KpiRow) -> frozenset[str]:
    """The rules whose rows are mostly those of this one, or the other way round; none where that was not counted."""
    found = set()
    for first, second in rubric.alert_pairs:
        shared = row.get(f"alerts_{first}_and_{second}") or 0
        if rule.id in (first, second) and 2 * shared > min(row[f"alert_{first}"], row[f"alert_{second}"]):
            found.add(second if rule.id == first else first)
    return frozenset(found)
