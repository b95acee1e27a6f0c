"""Decides which news a snooze hides: a rule is silent until a day, unless its rate doubles meanwhile.

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
"""The rules about the number of rows of a day: a snooze of such a rule always lasts to its end."""

BREAKING_TIMES = 2
"""A snooze hides no rate of this multiple of the rate at which it was made."""


@dataclass(frozen=True)
class Snooze:
    """A rule that is silent up to the day `until`, for one tenant, or for all of them together and each (`*`).

    `rates` are the rates at which it was made, by tenant; 0 if the rule did not fire. `why` and `who` were entered by a
    person. `ended_at` is the time at which a person ended it early. Times are in the time zone of the days.
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
        """Whether it is for this rule and tenant, regardless of the rate."""
        return self.rule == rule and self.tenant_id in (ALL_TENANTS, tenant_id)

    def was_on(self, day: date, zone: tzinfo) -> bool:
        """Whether it was active on a day, by the dates (in a time zone) on which it was made and ended."""
        ended = self.ended_at is not None and self.ended_at.astimezone(zone).date() <= day
        return self.made_at.astimezone(zone).date() <= day <= self.until and not ended

    def breaking_rate(self, tenant_id: str | None) -> float:
        """The rate from which on it hides nothing."""
        return BREAKING_TIMES * self.rates.get(tenant_id, 0.0)

    def holds(self, day: date, tenant_id: str | None, rate: float | None) -> bool:
        """Whether it still silences its rule on a day with this rate; None if the rule has no rate."""
        return day <= self.until and (not rate or rate < self.breaking_rate(tenant_id))

    def silences(self, one: Incident) -> bool:
        """Whether it silences an incident of its rule on its day.

        A rise that was first reported after the day on which it was made is not the one it was made for: the usual rate
        doubles, not the one of an earlier incident.
        """
        rate = fact_rate(one.fact)
        is_new = one.reported_on is not None and one.reported_on > self.made_at.date()
        if is_new and one.usual and one.usual.is_known and rate and rate >= BREAKING_TIMES * one.usual.rate:
            return False
        return self.holds(one.day, one.fact.tenant_id, rate)


def fact_rate(fact: AlertFact) -> float | None:
    """The rate of a fact: its share of the rows; for a KPI its distance from the target; none for a day without rows or
    with far fewer.
    """
    if fact.count is None:
        return None if fact.value is None or fact.limit is None else abs(fact.value - fact.limit)
    return fact.count / fact.rows if fact.rows and fact.rule not in RULES_WITHOUT_RATE else None


def rates_to_break(rule: str, facts: Mapping[date, Sequence[AlertFact]], latest: int = 1) -> dict[str | None, float]:
    """The rate by tenant at which a snooze of a rule is made: that of the `latest` days, or the usual rate if it is
    higher.

    Usual is the median of all days of `facts`, which contain every scored day, empty for days on which nothing fired.
    The last day alone would be misleading: on a quiet Sunday a rule that fires every week does not. Days without rows
    have no rate and are ignored.
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
    """Whether a snooze silences an incident on its day, or the end of one that it has silenced."""
    return any(one.is_over or snooze.silences(one) for snooze in _about(one, snoozes))


def outlives_snooze(one: Incident, snoozes: Iterable[Snooze]) -> bool:
    """Whether an incident continues above its usual rate on the day after a snooze."""
    if one.state != "continuing":
        return False
    is_high = one.usual is None or (one.fact.count or 0) > one.fact.rows * one.usual.high
    return is_high and any(snooze.until == one.day - timedelta(days=1) for snooze in _about(one, snoozes))


def _about(one: Incident, snoozes: Iterable[Snooze]) -> list[Snooze]:
    return [snooze for snooze in snoozes if snooze.is_about(one.fact.rule, one.fact.tenant_id)]
