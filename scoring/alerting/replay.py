"""What past days would have sent: how many messages each route, of which kind, and why.

For teams that set thresholds before they switch alerts on. Every day has the messages of its nightly run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from scoring.alerting.day_messages import day_messages, incident_key, visible_to
from scoring.alerting.facts import AlertFact
from scoring.alerting.figures import with_verdicts
from scoring.alerting.incidents import Incident, incidents
from scoring.alerting.messages import DayDigest, MessageKind, without_part
from scoring.alerting.routing import RouteFilter
from scoring.alerting.wording import headline, tenant_name
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric


@dataclass(frozen=True)
class ReplayedMessage:
    """A message that a day would have sent, and the incidents in it (Korean)."""

    day: date
    kind: MessageKind
    reasons: tuple[str, ...]


def replay(
    facts: Mapping[date, Sequence[AlertFact]],
    days: Sequence[date],
    routes: Mapping[str, RouteFilter],
    rubric: RowRubric,
) -> dict[str, list[ReplayedMessage]]:
    """The messages of `days` by route. `facts` hold every scored day, those before `days` as their history."""
    found: dict[str, list[ReplayedMessage]] = {name: [] for name in routes}
    for day in sorted(set(days) & facts.keys()):
        of_day = with_verdicts(incidents(day, facts[day], facts, rubric), rubric, {})
        for name, route in routes.items():
            found[name] += _of_day(route, day, of_day, rubric)
    return found


def _of_day(route: RouteFilter, day: date, of_day: Sequence[Incident], rubric: RowRubric) -> list[ReplayedMessage]:
    by_key = {incident_key(one): _reason(one) for one in visible_to(route, of_day)}
    return [
        ReplayedMessage(day, message.kind, tuple(by_key[fact] for fact in map(without_part, message.keys)))
        for message in day_messages(DayDigest(day, of_day, rubric, "", 0, 0, 0, {}, ""), route)
    ]


def _reason(one: Incident) -> str:
    tenant = "" if one.fact.tenant_id == ALL_TENANTS else f" ({tenant_name(one.fact.tenant_id)})"
    return headline(one) + tenant
