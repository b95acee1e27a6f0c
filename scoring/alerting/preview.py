"""What past days would have told under today's settings, and what is to be expected of them: for setting thresholds.

Everything comes from the KPI rows of scored days: without rejected rows, and without grouping where nobody counted the
rows that two rules share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import exp

from scoring.alerting.day_messages import day_messages, incident_key, visible_to
from scoring.alerting.decision import decide
from scoring.alerting.episodes import MIN_COUNT
from scoring.alerting.facts import facts_of_days
from scoring.alerting.growth_wording import tenant_name
from scoring.alerting.incidents import Incident, IncidentState, incidents_of_days
from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.messages import DayDigest, MessageKind, RouteFilter, without_part
from scoring.alerting.rates import REFERENCE_DAYS, chance_of
from scoring.alerting.watch import AlertPolicy, KpiRow, Watch, watch
from scoring.alerting.wording import headline
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric

_DAYS_OFF_A_YEAR = 118
"""Weekends, and about 14 holidays on weekdays."""

_COUNTS_TRIED = 2_000


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


def preview_days(
    kpis: Mapping[date, Sequence[KpiRow]],
    days: Sequence[date],
    routes: Mapping[str, RouteFilter],
    rubric: RowRubric,
    policy: AlertPolicy,
) -> list[PreviewedMessage]:
    """The messages that `days` would have sent, each in its own night, by day and route.

    `kpis` hold the KPI rows of every scored day, those before `days` as their history.
    """
    decided = decide(rubric, kpis, policy)
    shown = {day: decided[day] for day in sorted(set(days) & kpis.keys())}
    found, of_kpis = [], kpi_incidents_of_days(kpis, rubric)
    for day, of_day in incidents_of_days(facts_of_days(rubric, kpis), shown, rubric).items():
        digest = DayDigest(day, [*of_day, *of_kpis[day]], rubric, "", 0, 0, 0, {}, "")
        for name, route in routes.items():
            found += _of_route(name, route, digest)
    return found


def _of_route(name: str, route: RouteFilter, digest: DayDigest) -> list[PreviewedMessage]:
    visible = {incident_key(one): one for one in visible_to(route, digest.incidents)}
    # The parts of a long message are one.
    messages = {tuple(map(without_part, one.keys)): one.kind for one in day_messages(digest, route)}
    told = {key for keys in messages for key in keys}
    found = []
    for keys, kind in messages.items():
        going_on = [one for key, one in visible.items() if key not in told and one.fires] if kind == "digest" else []
        incidents = [*(visible[key] for key in keys), *going_on]
        found.append(PreviewedMessage(digest.day, name, kind, tuple(map(_previewed, incidents))))
    return found


def _previewed(one: Incident) -> PreviewedIncident:
    tenant = "" if one.fact.tenant_id == ALL_TENANTS else f" ({tenant_name(one.fact.tenant_id)})"
    return PreviewedIncident(one.fact.rule, one.fact.tenant_id, one.state, headline(one) + tenant)


@dataclass(frozen=True)
class SmallestRise:
    """The smallest count of a rule that a day tells: of `rows` usually `usual` meet it; `told` and `paged` are told.

    None where not even all rows would be, or where the rule never pages.
    """

    rule: str
    title: str
    day_off: bool
    rows: int
    usual: float
    told: int | None
    paged: int | None


@dataclass(frozen=True)
class Forecast:
    """What is to be expected after the last scored day: false pages a year, by the model, and the smallest rises."""

    false_pages_per_year: float
    rises: tuple[SmallestRise, ...]


def forecast(kpis: Mapping[date, Sequence[KpiRow]], rubric: RowRubric, policy: AlertPolicy) -> Forecast:
    """How often days like the last ones would page without a change, and how much must change; for all tenants.

    A level is seldom used up: counts are whole numbers, and the next lower one would be too many.
    """
    watched = watch(rubric, kpis, policy)
    if not watched:
        return Forecast(0.0, ())
    last = watched[-1]
    false_pages, rises = 0.0, []
    for stream in range(len(last.rules)):
        false_pages += 365 * float(exp(-last.levels.paged_evidence[stream]))
        for day_off, days in ((False, 365 - _DAYS_OFF_A_YEAR), (True, _DAYS_OFF_A_YEAR)):
            rise, chance = _smallest(last, stream, day_off)
            false_pages += days * chance
            if rise and last.rules[stream].tenant_id == ALL_TENANTS:
                rises.append(rise)
    return Forecast(false_pages, tuple(rises))


def _smallest(watched: Watch, stream: int, day_off: bool) -> tuple[SmallestRise | None, float]:
    """The smallest rise of a rule on such a day, and the chance that a day without a change pages."""
    import numpy as np

    rule, streams, levels = watched.rules[stream], watched.streams, watched.levels
    alike = streams.rows[stream, streams.off == day_off][-REFERENCE_DAYS:]
    rows = round(float(np.median(alike[alike > 0]))) if alike.any() else 0
    if rows < MIN_COUNT:
        return None, 0.0
    rate, variance = (values[stream] for values in watched.episodes.last.on(day_off))
    most = min(rows, max(4 * MIN_COUNT, int(rows * rate * 12) + 4 * MIN_COUNT))
    counts = np.unique(np.linspace(MIN_COUNT, most, _COUNTS_TRIED).astype(int))
    chances = chance_of(counts, np.full(len(counts), rows), np.full(len(counts), rate), np.full(len(counts), variance))

    def first(level: float) -> int | None:
        below = np.flatnonzero((chances < level) & (counts <= rows))
        return int(counts[below[0]]) if len(below) else None

    paged = first(levels.paged_chance[stream])
    chance = float(chances[counts == paged][0]) if paged else 0.0
    told = first(levels.told_chance[stream])
    return SmallestRise(rule.id, rule.title, day_off, rows, float(rate * rows), told, paged), chance
