"""The decision about a rule on a day: whether its rate is improbable, since when, and whether it pages people.

Decisions use only the KPI rows of days, for every rule of every tenant. scoring/alerting/watch.py defines the watched
rates and their levels, scoring/alerting/causes.py what belongs to one cause.

Source: SPEC 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Literal

import numpy as np

from scoring.alerting.causes import Pages, RulesTogether, first_pages
from scoring.alerting.episodes import CALM, COLD_DAYS, DRIFTING, RISING
from scoring.alerting.rates import REFERENCE_DAYS, usual_range
from scoring.alerting.watch import AlertPolicy, RuleOfTenant, Watch, watch
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, rows_by_tenant
from scoring.chat.rubric import AlertLevel, RowRubric
from scoring.stats.distributions import Array

Basis = Literal["days", "rubric", "nothing"]


@dataclass(frozen=True)
class UsualRate:
    """The share of rows that usually meet a rule on such a day; 95 of 100 such days are within `low..high`.

    It is estimated from the last `days` scored days; while these are few (`basis`), from them and the rubric's prior
    rate, or from them alone.
    """

    rate: float
    low: float
    high: float
    days: int
    basis: Basis

    @property
    def is_known(self) -> bool:
        """Whether scored days or the rubric provide a rate."""
        return self.days > 0 or self.basis != "nothing"


@dataclass(frozen=True)
class RateDecision:
    """The decision about one rule of one tenant on a day: `count` of `rows` met it.

    `change` is None if the rate is as usual; `since` is the day on which it rose, or began to rise, and `reported_on`
    the day on which it was first reported. `settles` is true on the last day before a rate that has not returned
    becomes the usual one, unless people have accepted it. `is_news` is true on the day on which the rise is first
    reported, and on the day on which it pages; `pages` if it interrupts people today, `paged` if it has. `of_all` is
    true if a tenant's page is part of a paged rise of all tenants together. `together` are the rules with mostly the
    same rows on this day.
    """

    rule: str
    tenant_id: str | None
    level: AlertLevel
    count: int
    rows: int
    usual: UsualRate
    change: Literal["rising", "drifting", "resolved"] | None = None
    since: date | None = None
    reported_on: date | None = None
    settles: bool = False
    is_news: bool = False
    pages: bool = False
    of_all: bool = False
    paged: bool = False
    together: tuple[str, ...] = ()

    @property
    def has_risen(self) -> bool:
        """Whether a rise of the rate continues, however high it is today."""
        return self.change in ("rising", "drifting")

    @property
    def is_high(self) -> bool:
        """Whether a risen rate is higher than usual on this day too: several days together may be high without this
        one.

        On the day of the report any rate above the usual one is high, later only a rate above the usual range.
        """
        return self.has_risen and self.count > self.rows * (self.usual.rate if self.is_news else self.usual.high)


DayDecisions = Mapping[RuleOfTenant, RateDecision]
RowsOfDay = Mapping[str | None, KpiRow]
"""The KPI rows of a day by tenant."""


def likely_cause(counts: Sequence[tuple[int, float]]) -> int:
    """Of rules with mostly the same rows the place of the likely cause of the first one: the rule that explains most of
    its rise and has risen twice as many times or more against its usual rate, such as blocked calls for the failed
    answers that they make; else the first one. `counts` are the rows that meet each today, and those that usually do.
    """
    above = [count - usual for count, usual in counts]
    times = [rows / max(usual, 1.0) for rows, (_, usual) in zip(above, counts, strict=True)]
    explain = [one for one, rows in enumerate(above) if 2 * rows > above[0] and times[one] >= 2 * times[0]]
    return max(explain, key=times.__getitem__, default=0)


@dataclass(frozen=True)
class WatchedDays:
    """The KPI rows of scored days under a policy, and the behaviour of their rates, computed on first use."""

    rubric: RowRubric
    kpis: KpisByDay
    policy: AlertPolicy

    @cached_property
    def watches(self) -> list[Watch]:
        """One watch for each series of days scored by one rubric version, earliest first."""
        return watch(self.rubric, self.kpis, self.policy)

    @cached_property
    def rows_of_days(self) -> Mapping[date, RowsOfDay]:
        """The KPI rows of each day by tenant: a rise has one tenant, and looks for its row of each of its days."""
        return {day: rows_by_tenant(rows) for day, rows in self.kpis.items()}

    @cached_property
    def decided(self) -> Mapping[date, DayDecisions]:
        """The decisions of each day, each based on that day and earlier days only.

        Another rubric version counts differently: its history starts anew. A day has no decision for rules that it did
        not count and for tenants without rows, nor for a rule of a tenant that no row met and whose rate is as usual:
        with thousands of tenants these are the majority.
        """
        found: dict[date, DayDecisions] = {day: {} for day in self.rows_of_days}  # a day without rows decides nothing
        for watched in self.watches:
            together = _rules_together(self.rubric, watched, [self.rows_of_days[day] for day in watched.days])
            version = _Version(watched, together, first_pages(watched, together))
            found |= {day: _DecidedRules(version, number) for number, day in enumerate(watched.days)}
        return found


@dataclass(frozen=True)
class _Version:
    """The days of one rubric version, and what decides about them."""

    watched: Watch
    together: RulesTogether
    pages: Pages

    @cached_property
    def streams(self) -> Mapping[RuleOfTenant, int]:
        """The index of each rule of each tenant."""
        return {(rule.id, rule.tenant_id): stream for stream, rule in enumerate(self.watched.rules)}

    @cached_property
    def decides(self) -> Array:
        """What each day can decide, [streams, days]: rules of all tenants together, rules that a row met, and risen
        rates.
        """
        streams, episodes = self.watched.streams, self.watched.episodes
        together = np.array([rule.tenant_id == ALL_TENANTS for rule in self.watched.rules])[:, None]
        changed = (episodes.change != CALM) | episodes.ended
        found: Array = (streams.rows > 0) & (together | (streams.counts > 0) | changed)
        return found


class _DecidedRules(Mapping[RuleOfTenant, RateDecision]):
    """The decisions of a day (by its index), each made on first use: most of thousands of tenants never are."""

    def __init__(self, version: _Version, number: int) -> None:
        self._version, self._number = version, number
        self._made = dict[RuleOfTenant, RateDecision]()

    def __getitem__(self, rule: RuleOfTenant) -> RateDecision:
        if rule not in self._made:
            stream = self._version.streams[rule]
            if not self._version.decides[stream, self._number]:
                raise KeyError(rule)
            self._made[rule] = _decision(self._version, stream, self._number)
        return self._made[rule]

    def __iter__(self) -> Iterator[RuleOfTenant]:
        decides = self._version.decides[:, self._number].tolist()
        return (rule for rule, one in zip(self._version.streams, decides, strict=True) if one)

    def __len__(self) -> int:
        return int(self._version.decides[:, self._number].sum())


def _decision(version: _Version, stream: int, number: int) -> RateDecision:
    watched, found, place = version.watched, version.pages, (stream, number)
    rule, episodes = watched.rules[stream], watched.episodes
    since = int(episodes.since[place])
    ended, settles, days = bool(episodes.ended[place]), bool(episodes.settled[place]), int(episodes.days[place])
    changes: dict[int, Literal["rising", "drifting"]] = {RISING: "rising", DRIFTING: "drifting"}
    change = "resolved" if ended else changes.get(int(episodes.change[place]))
    rows = int(watched.streams.rows[place])
    cold: Basis = "nothing" if rule.prior_rate is None else "rubric"
    paged, of_all = (pages[stream, since : number + 1] for pages in (found.pages, found.of_all))
    return RateDecision(
        rule=rule.id,
        tenant_id=rule.tenant_id,
        level=rule.level,
        count=int(watched.streams.counts[place]),
        rows=rows,
        usual=_usual_rate(float(episodes.rate[place]), float(episodes.variance[place]), rows, days, cold),
        change=change,
        since=watched.days[since] if change else None,
        reported_on=watched.days[int(episodes.reported_on[place])] if change else None,
        settles=settles,
        is_news=bool(episodes.reported[place] or found.pages[place]) or ended,
        pages=bool(found.pages[place]),
        of_all=bool(not (paged & ~of_all).any() if ended or settles else found.of_all[place]),
        paged=bool(change and episodes.had_paged[place] and paged.any()),
        together=version.together(stream, number),
    )


def _usual_rate(rate: float, variance: float, rows: int, days: int, cold: Basis) -> UsualRate:
    low, high = map(float, usual_range(rows, rate, variance))
    return UsualRate(rate, low, high, min(days, REFERENCE_DAYS), "days" if days >= COLD_DAYS else cold)


def _rules_together(rubric: RowRubric, watched: Watch, rows: Sequence[RowsOfDay]) -> RulesTogether:
    """The rules that share rows, from the KPI rows of the days by tenant."""
    columns = {rule.id: rule.column for rule in watched.rules}
    pairs = [*rubric.alert_pairs, *rubric.excluded_pairs]

    def together(stream: int, number: int) -> tuple[str, ...]:
        """The rules with mostly the same rows as this one, in either direction; none if the shared rows were not
        counted.
        """
        rule = watched.rules[stream]
        row, found = rows[number][rule.tenant_id], set()
        for pair in pairs:
            shared = row.get("alerts_{}_and_{}".format(*pair))
            if rule.id in pair and shared and 2 * shared > min(row[columns[one]] for one in pair):
                found |= {*pair} - {rule.id}
        return tuple(sorted(found))  # of a set the pages of a day would seem to change with each process

    return together
