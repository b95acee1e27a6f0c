"""Which news a person has snoozed: a rule is quiet until a day, unless its rate doubles meanwhile.

Source: SPEC 8.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from statistics import median

from scoring.alerting.facts import AlertFact
from scoring.alerting.incidents import Incident
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import FEW_ROWS, NO_ROWS

RULES_WITHOUT_RATE = (NO_ROWS, FEW_ROWS)
"""The rules about how many rows a day has: a snooze of one holds to its end."""

BREAKING_TIMES = 2
"""A snooze hides no rate that is this many times the one that it was made at."""


@dataclass(frozen=True)
class Snooze:
    """A rule that is quiet up to the day `until`, for one tenant or for all of them together and each (`*`).

    `rates` are those that it was made at, by tenant; 0 where the rule did not fire. `why` and `who` are a person's.
    `ended_at` is when a person ended it before its time.
    """

    rule: str
    tenant_id: str | None
    until: date
    why: str
    who: str
    made_at: datetime
    rates: Mapping[str | None, float] = field(default_factory=dict)
    ended_at: datetime | None = None

    def is_about(self, rule: str, tenant_id: str | None) -> bool:
        """Whether it was made for this rule of this tenant, however high its rate is."""
        return self.rule == rule and self.tenant_id in (ALL_TENANTS, tenant_id)

    def was_on(self, day: date, zone: tzinfo) -> bool:
        """Whether it went on on a day, by the dates of a time zone on which it was made and ended."""
        ended = self.ended_at is not None and self.ended_at.astimezone(zone).date() <= day
        return self.made_at.astimezone(zone).date() <= day <= self.until and not ended

    def breaking_rate(self, tenant_id: str | None) -> float:
        """The rate from which on it hides nothing."""
        return BREAKING_TIMES * self.rates.get(tenant_id, 0.0)

    def holds(self, day: date, tenant_id: str | None, rate: float | None) -> bool:
        """Whether it still keeps its rule quiet on a day with this rate; None where the rule has none."""
        return day <= self.until and (not rate or rate < self.breaking_rate(tenant_id))


def fact_rate(fact: AlertFact) -> float | None:
    """The rate of a fact: its share of the rows; of a KPI how far it misses its target; of a day without rows, or with
    far fewer, none."""
    if fact.count is None:
        return None if fact.value is None or fact.limit is None else abs(fact.value - fact.limit)
    return fact.count / fact.rows if fact.rows and fact.rule not in RULES_WITHOUT_RATE else None


def rates_to_break(rule: str, facts: Mapping[date, Sequence[AlertFact]], latest: int = 1) -> dict[str | None, float]:
    """The rate by tenant that a snooze of a rule is made at: of the `latest` days, or the usual one if higher.

    Usual is the median of all days of `facts`, which hold every scored day, without facts where nothing fired. The
    last day alone would not do: on a quiet Sunday a rule that fires every week does not. Days without rows have no
    rate, and count for neither.
    """
    of_day = [
        {fact.tenant_id: rate for fact in facts[day] if fact.rule == rule and (rate := fact_rate(fact)) is not None}
        for day in sorted(facts)
        if all(fact.rule != NO_ROWS for fact in facts[day])
    ]
    tenants = {tenant for rates in of_day for tenant in rates}
    return {
        tenant: max(
            *(rates.get(tenant, 0.0) for rates in of_day[-latest:]), median(rates.get(tenant, 0.0) for rates in of_day)
        )
        for tenant in tenants
    }


def is_snoozed(one: Incident, snoozes: Iterable[Snooze]) -> bool:
    """Whether a snooze keeps an incident quiet on its day, or the end of one that it has kept quiet."""
    tenant, rate = one.fact.tenant_id, fact_rate(one.fact)
    return any(one.is_over or snooze.holds(one.day, tenant, rate) for snooze in _about(one, snoozes))


def outlives_snooze(one: Incident, snoozes: Iterable[Snooze]) -> bool:
    """Whether an incident goes on, above what is usual, on the day after the last one of a snooze."""
    if one.state != "continuing":
        return False
    is_high = one.usual is None or (one.fact.count or 0) > one.fact.rows * one.usual.high
    return is_high and any(snooze.until == one.day - timedelta(days=1) for snooze in _about(one, snoozes))


def _about(one: Incident, snoozes: Iterable[Snooze]) -> list[Snooze]:
    return [snooze for snooze in snoozes if snooze.is_about(one.fact.rule, one.fact.tenant_id)]
