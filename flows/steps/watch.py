"""The watch over the nights: what runs tell nobody, because there is none. It needs no Prefect.

Each message stands in the outbox, under the key of its night, before it is sent: however often the watch runs, and
whenever it is killed, a route gets it once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from flows.runtime.clock import now
from flows.steps.announce import DeliveryReport, MessagesFor, announce, to_pipeline
from scoring.alerting.all_clear import LateNight, all_clear_message, late_message
from scoring.alerting.messages import Message, RouteFilter
from tasks.alerts.delivery import Clock
from tasks.alerts.unfinished import finished, late_night
from tasks.context import Context


@dataclass(frozen=True)
class WatchReport:
    """The night that is late, None where all is well, and what was sent."""

    late: LateNight | None
    delivery: DeliveryReport


def watch(context: Context, clock: Clock | None = None) -> WatchReport:
    """Tells the routes of a late night and of what is over, and sends what waits.

    Raises:
        StorageError: the state database cannot be used; never because of a channel.
    """
    clock = clock or Clock(now)
    zone = ZoneInfo(context.settings.time_zone)
    late = late_night(context, clock.now())
    news: list[tuple[str, MessagesFor]] = [("", all_clears(context))]
    if late:
        message = late_message(late, zone)
        news.append(("", to_pipeline(lambda _: message)))
    return WatchReport(late, announce(context, news, clock, with_prefect=False))


def all_clears(context: Context, *, inbox_is_done: bool = False) -> MessagesFor:
    """The message that calls off what a route was told of and what is over, whatever the levels of the route."""
    zone = ZoneInfo(context.settings.time_zone)

    def of_route(_: RouteFilter, known: Mapping[str, datetime]) -> list[Message]:
        return all_clear_message(finished(context, known, inbox_is_done=inbox_is_done), zone)

    return of_route
