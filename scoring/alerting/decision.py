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

from scoring.alerting.causes import Pages, RulesTogether, first_pages
from scoring.alerting.episodes import CALM, COLD_DAYS, DRIFTING, RISING
from scoring.alerting.rates import REFERENCE_DAYS, usual_range
from scoring.alerting.watch import AlertPolicy, RuleOfTenant, Watch, watch
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, rows_by_tenant
from scoring.chat.rubric import AlertLevel, RowRubric

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

    `change` is None if the rate is as usual; `since` is the day on which it rose, or began to rise, and `told` the day
    on which it was first reported. `settles` is true on the last day before a rate that has not returned becomes the
    usual one, unless people have accepted it. `is_news` is true on the day on which the rise is first reported, and on
    the day on which it pages; `pages` if it interrupts people today, `paged` if it has. `of_all` is true if a tenant's
    page is part of a paged rise of all tenants together. `together` are the rules with mostly the same rows on this
    day.
    """

    rule: str
    tenant_id: str | None
    level: AlertLevel
    count: int
    rows: int
    usual: UsualRate
    change: Literal["rising", "drifting", "resolved"] | None = None
    since: date | None = None
    told: date | None = None
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
        return _DecidedDays(self.rubric, self.rows_of_days, self.watches)


class _DecidedDays(Mapping[date, DayDecisions]):
    """The decisions of a day, made on first use: most days of a history are never requested, and each has a decision
    for every rule of every tenant.

    It does not refer to the `WatchedDays`, which refer to it: the rows of thousands of tenants would stay in memory.
    """

    def __init__(self, rubric: RowRubric, rows: Mapping[date, RowsOfDay], watches: Sequence[Watch]) -> None:
        self._rubric, self._rows, self._watches = rubric, rows, watches
        self._made = dict[date, DayDecisions]()

    def __getitem__(self, day: date) -> DayDecisions:
        if day not in self._made:
            if day not in self._rows:
                raise KeyError(day)
            self._made[day] = self._decisions(day)
        return self._made[day]

    def __iter__(self) -> Iterator[date]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _versions(self) -> list[tuple[Watch, RulesTogether, Pages]]:
        found = []
        for watched in self._watches:
            together = _rules_together(self._rubric, watched, [self._rows[day] for day in watched.days])
            found.append((watched, together, first_pages(watched, together)))
        return found

    def _decisions(self, day: date) -> DayDecisions:
        found: dict[RuleOfTenant, RateDecision] = {}
        for watched, together, pages in self._versions:
            for number in [number for number, when in enumerate(watched.days) if when == day]:
                for stream in _worth_deciding(watched, number):
                    rule = watched.rules[stream]
                    of_rule = _decision(watched, pages, stream, number, together(stream, number))
                    found[rule.id, rule.tenant_id] = of_rule
        return found


def _worth_deciding(watched: Watch, number: int) -> Sequence[int]:
    """The streams that a day (by its index) can decide: all tenants together, rules that a row met, and risen rates."""
    streams, episodes = watched.streams, watched.episodes
    together = [rule.tenant_id == ALL_TENANTS for rule in watched.rules]
    changed = (episodes.change[:, number] != CALM) | episodes.ended[:, number]
    found = (streams.rows[:, number] > 0) & (together | (streams.counts[:, number] > 0) | changed)
    return [int(stream) for stream in found.nonzero()[0]]


def _decision(watched: Watch, found: Pages, stream: int, number: int, together: tuple[str, ...]) -> RateDecision:
    rule, episodes, place = watched.rules[stream], watched.episodes, (stream, number)
    since = int(episodes.since[place])
    ended, settles, days = bool(episodes.ended[place]), bool(episodes.settled[place]), int(episodes.days[place])
    changes: dict[int, Literal["rising", "drifting"]] = {RISING: "rising", DRIFTING: "drifting"}
    change = "resolved" if ended else changes.get(int(episodes.change[place]))
    rows = int(watched.streams.rows[place])
    cold: Basis = "nothing" if rule.prior_rate is None else "rubric"
    paged, of_all = (pages[stream, since : number + 1] for pages in (found.pages, found.of_all))
    return RateDecision(
        rule.id,
        rule.tenant_id,
        rule.level,
        int(watched.streams.counts[place]),
        rows,
        _usual_rate(float(episodes.rate[place]), float(episodes.variance[place]), rows, days, cold),
        change,
        watched.days[since] if change else None,
        watched.days[int(episodes.told[place])] if change else None,
        settles=settles,
        is_news=bool(episodes.reported[place] or found.pages[place]) or ended,
        pages=bool(found.pages[place]),
        of_all=bool(not (paged & ~of_all).any() if ended or settles else found.of_all[place]),
        paged=bool(change and episodes.had_paged[place] and paged.any()),
        together=together,
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
