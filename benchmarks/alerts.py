"""False messages in simulated years without a change, and how often a change is reported in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from statistics import mean

import numpy as np

from benchmarks.alert_days import DAYS_OFF_RATIOS, FIRST_DAY, RATES, TENANTS, KpiDays, Load, kpi_days
from benchmarks.report import Scale, table
from scoring.alerting.decision import WatchedDays
from scoring.alerting.messages import RouteFilter
from scoring.alerting.preview import PreviewedMessage, preview_days
from scoring.alerting.watch import AlertPolicy
from scoring.rubrics.ola_monitoring import RUBRIC

_YEAR, _BEFORE = 365, 56
_SUNDAY, _MONDAY = 6, 0
_TWO_WEEKS = 14
_ROUTE = {"all": RouteFilter()}
_RULE = "answer_failed"
_GROWING = ("new", "rising", "drifting")


@dataclass(frozen=True)
class Change:
    """A planted change of one rule from the first such weekday after eight weeks on: its rate is multiplied by `times`.

    `days` are those in which it should be reported; they begin after `after` others.
    """

    title: str
    weekday: int
    times: Callable[[int], float]
    days: int
    target: str
    paged: bool = False
    rule: str = _RULE
    after: int = 0


def _outage(share: float) -> Callable[[int], float]:
    return lambda day: share / RATES[_RULE] if day == 0 else 1.0


CHANGES = (
    Change("a Sunday with 20% of answer_failed: paged", _SUNDAY, _outage(0.20), 1, "90% / -", paged=True),
    Change("a Sunday with 30% of answer_failed: paged", _SUNDAY, _outage(0.30), 1, "- / -", paged=True),
    Change("a Sunday with 50% of answer_failed: paged", _SUNDAY, _outage(0.50), 1, "always", paged=True),
    Change("answer_failed 1.5 times as high for good: within 3 business days", _MONDAY, lambda _: 1.5, 3, "90% / 75%"),
    Change("answer_failed twice as high in 60 days: by day 30", _MONDAY, lambda day: 1 + day / 60, 30, "90% / -"),
    Change(
        "very_short_answer, a Warning, five times as high for two days; twice as high from day 15 on: within 2 days",
        _MONDAY,
        lambda day: 5.0 if day < 2 else 2.0 if day >= _TWO_WEEKS else 1.0,
        2,
        "90% / -",
        rule="very_short_answer",
        after=_TWO_WEEKS,
    ),
)


def alerts(scale: Scale) -> str:
    """False messages a year, how many changes are reported, and how often one of a tenant is."""
    seeds = scale.seeds
    return "\n\n".join((_quiet_years(seeds), _changes(10 * seeds), _smallest(2 * seeds), _of_one_tenant(2 * seeds)))


def reported(days: KpiDays, shown: Iterable[date] | None = None) -> list[PreviewedMessage]:
    """The messages of days to a route without filters."""
    return preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(shown or days), _ROUTE)


def _quiet_years(seeds: int) -> str:
    lines = []
    for tenants, variation, ratio in product((1, 6), (0.0, 0.15), DAYS_OFF_RATIOS):
        load = Load(tenants, variation, ratio)
        years = [kpi_days(load, _YEAR, seed) for seed in range(seeds)]
        pages, digests = zip(*(_counts(reported(year)) for year in years), strict=True)
        lines.append(
            (
                f"{tenants} tenant{'s' if tenants > 1 else ''}, {variation:.0%} variation, {ratio:g}x on days off",
                f"{mean(pages):.2f}",
                str(max(pages)),
                f"{mean(digests):.0f}",
                str(max(digests)),
            )
        )
    return table(
        f"Alerts: {seeds} years of days on which nothing changes, a line (target: 1 page and 30 digests a year; "
        "2 pages with six tenants, 4 with 15% variation)",
        ("", "pages", "worst year", "digests", "worst year"),
        lines,
        "Turns as in production: 776 on business days, 126 to 300 on weekends and holidays; rules that share rows. "
        "Variation is what rates change from day to day beyond chance.",
    )


def _counts(messages: Sequence[PreviewedMessage]) -> tuple[int, int]:
    kinds = [one.kind for one in messages]
    return kinds.count("page"), kinds.count("digest")


def _changes(seeds: int) -> str:
    lines = []
    for change in CHANGES:
        in_time = (mean(is_reported(change, variation, seed) for seed in range(seeds)) for variation in (0.0, 0.15))
        lines.append((change.title, change.target, *(f"{share:.0%}" for share in in_time)))
    return table(
        f"Alerts: {seeds} planted changes a line",
        ("", "target (0% / 15%)", "0% variation", "15% variation"),
        lines,
    )


def is_reported(change: Change, variation: float, seed: int) -> bool:
    """Whether a change is reported in time."""
    start = next(day for day in range(_BEFORE, _BEFORE + 7) if (FIRST_DAY.weekday() + day) % 7 == change.weekday)

    def times(day: int, rule: str) -> float:
        return change.times(day - start) if rule == change.rule and day >= start else 1.0

    days = kpi_days(Load(variation=variation), start + change.after + change.days, seed, times)
    shown = list(days)[start + change.after :]
    return any(
        one.rule == change.rule and one.change in _GROWING
        for message in reported(days, shown)
        if message.kind == "page" or not change.paged
        for one in message.incidents
    )


def _smallest(seeds: int) -> str:
    """For each rule the smallest of some rises that is reported within a week in nine of ten cases."""
    lines = []
    for rule, rate in RATES.items():
        cells = []
        for variation in (0.0, 0.15):
            enough = (
                rise
                for rise in (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0)
                if mean(is_reported(_weekly(rule, rise), variation, seed) for seed in range(seeds)) >= 0.9
            )
            cells.append(f"{next(enough, float('nan')):g}x")
        lines.append((rule, f"{rate:.2%}", *cells))
    return table(
        f"Alerts: the smallest lasting rise that is reported within a week in 90% of {seeds} cases",
        ("", "usual rate", "0% variation", "15% variation"),
        lines,
    )


def _weekly(rule: str, rise: float) -> Change:
    return Change(rule, _MONDAY, lambda _: rise, 7, "", rule=rule)


def _of_one_tenant(seeds: int) -> str:
    """The messages to a route about a rule whose rate rises for one of six tenants."""
    lines = []
    for tenant, share in enumerate(TENANTS[6][:3]):
        for rise in (2.0, 3.0):
            of_one_seed = [_messages_of_one(tenant, rise, seed) for seed in range(seeds)]
            pages, digests, nights = zip(*of_one_seed, strict=True)
            lines.append(
                (
                    f"a tenant with {share:.0%} of the turns, {rise:g}x",
                    *(f"{mean(of):.1f}" for of in (pages, digests)),
                    f"{mean(night > 0 for night in nights):.0%}",
                )
            )
    return table(
        f"Alerts: {_RULE} of one of six tenants rises for three weeks, {seeds} cases a line",
        ("", "pages", "digests", "a page and a digest of that rise in one night"),
        lines,
    )


def _messages_of_one(tenant: int, rise: float, seed: int) -> tuple[int, int, int]:
    """The pages and digests of three weeks, and the nights with both a page and a digest of the rise."""
    of_each = np.where(np.arange(len(TENANTS[6])) == tenant, rise, 1.0)
    days = kpi_days(
        Load(tenants=6),
        _BEFORE + 21,
        seed,
        lambda day, rule: of_each if rule == _RULE and day >= _BEFORE else 1.0,
    )
    found = reported(days, list(days)[_BEFORE:])
    risen = {
        (message.day, message.kind)
        for message in found
        if any(one.rule == _RULE and one.change in _GROWING for one in message.incidents)
    }
    nights = {day for day, kind in risen if kind == "page"} & {day for day, kind in risen if kind == "digest"}
    return *_counts(found), len(nights)
