"""What past days would have reported under today's settings, and what is to be expected: for setting thresholds.

Everything comes from the KPI rows of scored days: without rejected rows, and without grouping where nobody counted the
rows that two rules share.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from operator import itemgetter

import numpy as np

from scoring.alerting.day_messages import day_messages, incident_key, visible_to
from scoring.alerting.decision import WatchedDays
from scoring.alerting.episodes import MIN_COUNT
from scoring.alerting.facts import facts_of_days
from scoring.alerting.few_rows import few_rows_incidents
from scoring.alerting.growth_wording import tenant_name
from scoring.alerting.incidents import Incident, IncidentState, incidents_of_days
from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.messages import DayDigest, MessageKind, RouteFilter, without_part
from scoring.alerting.rates import REFERENCE_DAYS, chance_of
from scoring.alerting.watch import Watch
from scoring.alerting.wording import headline
from scoring.chat.kpis import ALL_TENANTS, KpisByDay
from scoring.days import day_text
from scoring.markdown import score_text
from scoring.stats.distributions import Array

KIND_TITLES = {"page": "긴급 알림", "digest": "요약"}
"""What people call the kinds of previewed messages (Korean)."""

_FEW_ROWS = 0.1
_DAYS_OFF_A_YEAR = 118
"""Weekends, and about 14 holidays on weekdays."""


@dataclass(frozen=True)
class PreviewedIncident:
    """An incident of a message: `reason` is what people read (Korean)."""

    rule: str
    tenant_id: str | None
    change: IncidentState
    reason: str


@dataclass(frozen=True)
class PreviewedMessage:
    """A message that a past day would have sent to a route; a digest with what goes on as before, too."""

    day: date
    route: str
    kind: MessageKind
    incidents: tuple[PreviewedIncident, ...]

    @property
    def named(self) -> list[PreviewedIncident]:
        """The incidents that lists of messages name: of a digest not those that go on as before."""
        return [one for one in self.incidents if one.change != "continuing" or self.kind == "page"]

    @property
    def text(self) -> str:
        """`답변 실패 · 급증, 평소의 2.0배; 종합 등급 F · 급증, 평소의 2.2배`."""
        return "; ".join(one.reason for one in self.incidents)


def preview_days(
    watched: WatchedDays, days: Sequence[date], routes: Mapping[str, RouteFilter]
) -> list[PreviewedMessage]:
    """The messages that `days` would have sent, each in its own night, by day and route.

    Every scored day is watched, those before `days` as their history.
    """
    rubric, kpis = watched.rubric, _visible_rows(watched, routes.values())
    shown = {day: watched.decided[day] for day in sorted(set(days) & kpis.keys())}
    found, of_kpis, off = [], kpi_incidents_of_days(kpis, rubric), watched.policy.days_off
    for day, of_day in incidents_of_days(facts_of_days(rubric, kpis), shown, rubric, off).items():
        few = few_rows_incidents(kpis, day, rubric, off)
        digest = DayDigest(day, [*of_day, *few, *of_kpis[day]], rubric, "", 0, {day: kpis[day]}, "")
        for name, route in routes.items():
            found += _of_route(name, route, digest)
    return found


def _visible_rows(watched: WatchedDays, routes: Iterable[RouteFilter]) -> KpisByDay:
    """The KPI rows that routes can hear of: where none names a tenant, those of all together and of what ever paged."""
    if any(route.tenants for route in routes):
        return watched.kpis
    heard: set[str | None] = {ALL_TENANTS}
    for one in watched.watches:
        heard |= {rule.tenant_id for rule, pages in zip(one.rules, one.episodes.pages, strict=True) if pages.any()}
    return {day: [row for row in rows if row["tenant_id"] in heard] for day, rows in watched.kpis.items()}


def preview_for_all(watched: WatchedDays, days: Sequence[date]) -> list[PreviewedMessage]:
    """The same for a route that hears of everything."""
    return preview_days(watched, days, {"": RouteFilter()})


def paged_lines(reported: Iterable[PreviewedMessage]) -> list[str]:
    """What called people, a message a line (Korean): days after them may have made rates usual again."""
    return [f"{day_text(one.day)} 긴급 알림: {one.text}" for one in reported if one.kind == "page"]


def _of_route(name: str, route: RouteFilter, digest: DayDigest) -> list[PreviewedMessage]:
    visible = {incident_key(one): one for one in visible_to(route, digest.incidents)}
    # The parts of a long message are one.
    messages = {tuple(map(without_part, one.keys)): one.kind for one in day_messages(digest, route)}
    reported = {key for keys in messages for key in keys}
    found = []
    for keys, kind in messages.items():
        others = visible.items() if kind == "digest" else ()
        going_on = [one for key, one in others if key not in reported and one.fires]
        incidents = [*(visible[key] for key in keys), *going_on]
        found.append(PreviewedMessage(digest.day, name, kind, tuple(map(_previewed, incidents))))
    return found


def _previewed(one: Incident) -> PreviewedIncident:
    tenant = "" if one.fact.tenant_id == ALL_TENANTS else f" ({tenant_name(one.fact.tenant_id)})"
    return PreviewedIncident(one.fact.rule, one.fact.tenant_id, one.state, headline(one) + tenant)


@dataclass(frozen=True)
class SmallestRise:
    """The smallest counts of a rule that are `reported`, or `paged`, on a day: `usual` of its `rows` usually meet it.

    None where not even all rows would be, or where the rule never pages.
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
        """`2.3행`; `0.1행 미만` of a rule that is hardly ever met (Korean)."""
        return f"{score_text(self.usual, 1)}행" if self.usual >= _FEW_ROWS else f"{_FEW_ROWS}행 미만"


@dataclass(frozen=True)
class Forecast:
    """What is to be expected after the last scored day: false pages a year, by the model, and the smallest rises."""

    false_pages_per_year: float
    rises: tuple[SmallestRise, ...]


def forecast(watched: WatchedDays) -> Forecast:
    """How often days like the last ones would page without a change, and how much must change; for all tenants.

    A level is seldom used up: counts are whole numbers, and the next lower one would be too many.
    """
    if not watched.watches:
        return Forecast(0.0, ())
    last = watched.watches[-1]
    together = [stream for stream, rule in enumerate(last.rules) if rule.tenant_id == ALL_TENANTS]
    lasting = last.budget.levels(last.episodes.last.rate[0]).paged_evidence
    false_pages, rises = 365 * float(np.exp(-lasting).sum()), []
    for day_off, days in ((False, 365 - _DAYS_OFF_A_YEAR), (True, _DAYS_OFF_A_YEAR)):
        usual = _usual_day(last, day_off)
        levels = last.budget.levels(usual.rate)
        is_together = np.isin(np.arange(len(last.rules)), together)
        reported = usual.smallest(np.where(is_together, levels.reported_chance, 0.0))
        paged = usual.smallest(levels.paged_chance)
        false_pages += days * float(usual.chance(paged)[paged > 0].sum())
        for stream in together:
            if rows := int(usual.rows[stream]):
                rule, expected = last.rules[stream], float(usual.rate[stream] * rows)
                counts = (int(count) or None for count in (reported[stream], paged[stream]))
                rises.append((stream, SmallestRise(rule.id, rule.title, day_off, rows, expected, *counts)))
    return Forecast(false_pages, tuple(rise for _, rise in sorted(rises, key=itemgetter(0))))


@dataclass(frozen=True)
class _UsualDay:
    """A business day or a day off like the last ones; of each stream its rows (0: too few), its rate and how sure."""

    day_off: bool
    rows: Array
    rate: Array
    variance: Array

    def chance(self, counts: Array) -> Array:
        """The chance of so many or more without a change."""
        return chance_of(counts, self.rows, self.rate, self.variance)

    def smallest(self, level: Array) -> Array:
        """The smallest count whose chance is below a level; 0 where not even that of all rows is."""
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
        """The same of some streams: of the rules of thousands of tenants few have enough rows for any count to tell."""
        return _UsualDay(self.day_off, self.rows[streams], self.rate[streams], self.variance[streams])


def _usual_day(watched: Watch, day_off: bool) -> _UsualDay:
    alike = watched.streams.rows[:, watched.streams.off == day_off][:, -REFERENCE_DAYS:]
    rows = np.array([round(float(np.median(of[of > 0]))) if of.any() else 0 for of in alike])
    return _UsualDay(day_off, np.where(rows < MIN_COUNT, 0, rows), *watched.episodes.last.on(day_off))
