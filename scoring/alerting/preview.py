"""The messages that past days would have sent under today's settings, and a forecast: for choosing thresholds.

Everything is computed from the KPI rows of scored days: without rejected rows, and without grouping if the shared rows
of two rules were not counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from operator import itemgetter

import numpy as np

from scoring.alerting.day_messages import day_messages, visible_to
from scoring.alerting.decision import WatchedDays
from scoring.alerting.endings import incident_key, is_end_to_notify
from scoring.alerting.episodes import MIN_COUNT
from scoring.alerting.facts import facts_of_days
from scoring.alerting.few_rows import few_rows_incidents
from scoring.alerting.growth_wording import tenant_name
from scoring.alerting.incidents import Incident, IncidentState, incidents_of_days
from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.messages import DayDigest, MessageKind, NamedFact, RouteFilter, named_facts, without_part
from scoring.alerting.rates import REFERENCE_DAYS, chance_of
from scoring.alerting.rise_days import with_so_far
from scoring.alerting.watch import Watch
from scoring.alerting.wording import headline, tenants_text
from scoring.chat.kpi_windows import WEEK
from scoring.chat.kpis import ALL_TENANTS, KpisByDay
from scoring.days import day_text
from scoring.markdown import score_text
from scoring.stats.distributions import Array

KIND_TITLES = {"page": "긴급 알림", "digest": "요약"}
"""Names of the kinds of previewed messages (Korean)."""

_FEW_ROWS = 0.1
_DAYS_OFF_A_YEAR = 118
"""Days off per year: weekends, and about 14 holidays on weekdays."""

_ONE_FOR_ALL: Mapping[str, RouteFilter] = {"": RouteFilter()}


@dataclass(frozen=True)
class PreviewedIncident:
    """An incident of a message: `reason` is its Korean text."""

    rule: str
    tenant_id: str | None
    change: IncidentState
    reason: str


@dataclass(frozen=True)
class PreviewedMessage:
    """A message that a past day would have sent to a route; a digest includes what continues."""

    day: date
    route: str
    kind: MessageKind
    incidents: tuple[PreviewedIncident, ...]

    @property
    def named(self) -> list[PreviewedIncident]:
        """The incidents in lists of messages: for a digest without those that continue."""
        return [one for one in self.incidents if one.change != "continuing" or self.kind == "page"]

    @property
    def text(self) -> str:
        """`답변 실패 · 급증, 평소의 2.0배; 종합 등급 F · 급증, 평소의 2.2배`."""
        return "; ".join(one.reason for one in self.incidents)


def preview_days(
    watched: WatchedDays,
    days: Sequence[date],
    routes: Mapping[str, RouteFilter] = _ONE_FOR_ALL,
    of_verdicts: KpisByDay | None = None,
) -> list[PreviewedMessage]:
    """The messages of `days`, each from its own night, by day and route; without `routes` for one that accepts
    everything.

    Every scored day is evaluated; earlier days are their history. `of_verdicts` are the KPI rows that verdicts of KPIs
    need, where these reach further back. The end of a rate that rose on one of `days` is named to whom the preview
    tells that it rose, that of an earlier rise to everybody.
    """
    named = {ALL_TENANTS, *(tenant for route in routes.values() for tenant in route.whose)}
    heard = named | _paging_tenants(watched)
    rubric, first = watched.rubric, min(days, default=date.max)
    kpis = {day: [row for row in rows if row["tenant_id"] in heard] for day, rows in watched.kpis.items()}
    shown = {
        day: {rule: decided[rule] for rule in decided if rule[1] in heard}
        for day in sorted(set(days) & kpis.keys())
        for decided in [watched.decided[day]]
    }
    found, of_kpis, off = [], kpi_incidents_of_days(of_verdicts or kpis, rubric, named), watched.policy.days_off
    few, notified = few_rows_incidents(watched.kpis, rubric, off), {name: set[NamedFact]() for name in routes}
    for day, of_day in incidents_of_days(facts_of_days(rubric, kpis), shown, rubric, off).items():
        found_on = [*with_so_far(of_day, watched, day), *few.get(day, ()), *of_kpis[day]]
        lately = {
            when: watched.decided[when] for when in (day - timedelta(back) for back in range(WEEK)) if when in kpis
        }
        digest = DayDigest(
            day=day,
            incidents=found_on,
            rubric=rubric,
            run_id="",
            rejected=0,
            kpis={day: kpis[day]},
            report="",
            lately=lately,
        )
        for name, route in routes.items():
            known = [
                one for one in found_on if not one.is_over or one.since < first or is_end_to_notify(one, notified[name])
            ]
            found += _of_route(name, route, replace(digest, incidents=known), notified[name])
    return found


def _paging_tenants(watched: WatchedDays) -> set[str | None]:
    """The tenants that page on one of the days: routes receive these whether they name them or not."""
    return {
        rule.tenant_id
        for one in watched.watches
        for rule, pages in zip(one.rules, one.episodes.pages, strict=True)
        if pages.any()
    }


def paged_lines(reported: Iterable[PreviewedMessage]) -> list[str]:
    """The pages, one line each (Korean): later days may have made their rates usual."""
    return [f"{day_text(one.day)} 긴급 알림: {one.text}" for one in reported if one.kind == "page"]


def _of_route(name: str, route: RouteFilter, digest: DayDigest, notified: set[NamedFact]) -> list[PreviewedMessage]:
    """The messages of a day to a route, which then has been `notified` of what they name."""
    visible = {incident_key(one): one for one in visible_to(route, digest.incidents)}
    # The parts of a long message are one.
    messages = {tuple(map(without_part, one.keys)): one.kind for one in day_messages(digest, route)}
    reported = {key for keys in messages for key in keys}
    notified.update(named_facts(reported))
    found = []
    for keys, kind in messages.items():
        others = visible.items() if kind == "digest" else ()
        going_on = [one for key, one in others if key not in reported and one.fires]
        incidents = [*(visible[key] for key in keys), *going_on]
        found.append(PreviewedMessage(digest.day, name, kind, tuple(map(_previewed, incidents))))
    return found


def _previewed(one: Incident) -> PreviewedIncident:
    tenant = "" if one.fact.tenant_id == ALL_TENANTS else f" ({tenant_name(one.fact.tenant_id)})"
    short = f" — {tenants_text(one.of_tenants)}" if one.of_tenants else ""
    return PreviewedIncident(one.fact.rule, one.fact.tenant_id, one.state, headline(one) + tenant + short)


@dataclass(frozen=True)
class SmallestRise:
    """The smallest counts of a rule that are `reported`, or `paged`, on a day with `rows` rows of which `usual` usually
    meet it.

    None if not even all rows would suffice, or if the rule never pages.
    """

    rule: str
    title: str
    day_off: bool
    rows: int
    usual: float
    reported: int | None
    paged: int | None

    @property
    def usual_text(self) -> str:
        """`2.3행`; `0.1행 미만` for a rule that is hardly ever met (Korean)."""
        return f"{score_text(self.usual, 1)}행" if self.usual >= _FEW_ROWS else f"{_FEW_ROWS}행 미만"


@dataclass(frozen=True)
class Forecast:
    """A forecast for the days after the last scored one: false pages a year under the model, and the smallest
    detectable rises.
    """

    false_pages_per_year: float
    rises: tuple[SmallestRise, ...]


def forecast(watched: WatchedDays) -> Forecast:
    """The expected false pages on days like the last ones without a change, and the detectable changes; for all
    tenants.

    A significance level is rarely used up, because counts are whole numbers and the next lower count would exceed it.
    """
    if not watched.watches:
        return Forecast(0.0, ())
    last = watched.watches[-1]
    is_together = np.array([rule.tenant_id == ALL_TENANTS for rule in last.rules])
    lasting = last.budget.levels(last.episodes.last.rate[0]).paged_evidence
    false_pages, rises = 365 * float(np.exp(-lasting).sum()), []
    for day_off, days in ((False, 365 - _DAYS_OFF_A_YEAR), (True, _DAYS_OFF_A_YEAR)):
        usual = _usual_day(last, day_off)
        levels = last.budget.levels(usual.rate)
        reported = usual.smallest(np.where(is_together, levels.reported_chance, 0.0))
        paged = usual.smallest(levels.paged_chance)
        false_pages += days * float(usual.chance(paged)[paged > 0].sum())
        for stream in np.flatnonzero(is_together).tolist():
            if rows := int(usual.rows[stream]):
                rule, expected = last.rules[stream], float(usual.rate[stream] * rows)
                counts = (int(count) or None for count in (reported[stream], paged[stream]))
                rises.append((stream, SmallestRise(rule.id, rule.title, day_off, rows, expected, *counts)))
    return Forecast(false_pages, tuple(rise for _, rise in sorted(rises, key=itemgetter(0))))


@dataclass(frozen=True)
class _UsualDay:
    """A business day or a day off like the last ones; for each stream its rows (0: too few), its rate and its
    uncertainty.
    """

    rows: Array
    rate: Array
    variance: Array

    def chance(self, counts: Array) -> Array:
        """The probability of so many or more rows without a change."""
        return chance_of(counts, self.rows, self.rate, self.variance)

    def smallest(self, level: Array) -> Array:
        """The smallest count whose probability is below a level; 0 if not even that of all rows is."""
        smallest = np.zeros_like(self.rows)
        found = np.flatnonzero((self.rows > 0) & (level > 0))
        found = found[self._only(found).chance(self.rows[found]) < level[found]]
        those, level = self._only(found), level[found]
        low, high = np.full_like(those.rows, MIN_COUNT - 1), those.rows
        while (high - low).max(initial=0) > 1:
            middle = (low + high + 1) // 2  # never a `low` that has been found, where others are still looked for
            is_below = those.chance(middle) < level
            low, high = np.where(is_below, low, middle), np.where(is_below, middle, high)
        smallest[found] = high
        return smallest

    def _only(self, streams: Array) -> "_UsualDay":
        """Restricts it to some streams: among thousands of tenants few have enough rows for any count to be
        significant.
        """
        return _UsualDay(self.rows[streams], self.rate[streams], self.variance[streams])


def _usual_day(watched: Watch, day_off: bool) -> _UsualDay:
    alike = watched.streams.rows[:, watched.streams.off == day_off][:, -REFERENCE_DAYS:]
    rows = np.array([round(float(np.median(of[of > 0]))) if of.any() else 0 for of in alike])
    return _UsualDay(np.where(rows < MIN_COUNT, 0, rows), *watched.episodes.last.on(day_off))
