"""Writes messages into the outbox and sends the waiting ones; without Prefect, except for its Secret blocks.

No channel can fail a run: unsent messages are kept, and the run reports it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from flows.runtime.clock import now
from flows.steps.subscriptions import Subscription, wanted_routes
from scoring.alerting.blocks import readable
from scoring.alerting.messages import KnownKey, Message, OutboxMessage, with_mention, with_service
from scoring.alerting.run_messages import expired_message
from scoring.chat.kpi_windows import WEEK
from scoring.errors import counted
from tasks.alerts.day_messages import MessagesFor
from tasks.alerts.delivery import Clock, deliver
from tasks.alerts.outbox import Outbox
from tasks.config.settings import Settings
from tasks.context import Context

_CLOCK = Clock(now)
_log = logging.getLogger(__name__)

STILL_NEWS = timedelta(days=3)
"""Maximum age of a day that is reported; older days are scored without messages, as in a backfill."""


@dataclass(frozen=True)
class DeliveryReport:
    """The outcome of a delivery: fallback texts of the messages sent, how many wait, and what a person should fix."""

    sent: tuple[str, ...]
    waiting: int
    problems: tuple[str, ...]


NOTHING_DELIVERED = DeliveryReport((), 0, ())


def to_pipeline(messages: Callable[[Collection[str]], list[Message]]) -> MessagesFor:
    """Messages about the pipeline itself, created from the known keys, for the routes that accept their level."""
    return lambda route, known: [one for one in messages(known) if route.matches_pipeline(one.level)]


def announce(
    context: Context,
    notifications: Sequence[tuple[str, MessagesFor]],
    clock: Clock = _CLOCK,
    *,
    with_prefect: bool = True,
) -> DeliveryReport:
    """Writes new messages of (thread, messages for a route) into the outbox, then sends what waits there.

    Without Prefect, messages to routes whose secret Prefect stores wait for the next run.

    Raises:
        StorageError: the state database cannot be used; never because of a channel.
    """
    wanted = {one.name: one for one in wanted_routes(context.settings.alerts, with_prefect=with_prefect)}
    if not wanted:
        return NOTHING_DELIVERED
    settings, outbox = context.settings, Outbox(context.state)
    dry_run = settings.alerts.dry_run
    _write(outbox, wanted.values(), notifications, clock, settings.service, dry_run=dry_run)
    return NOTHING_DELIVERED if dry_run else _deliver(outbox, wanted, settings, clock)


def _write(
    outbox: Outbox,
    wanted: Collection[Subscription],
    notifications: Sequence[tuple[str, MessagesFor]],
    clock: Clock,
    service: str,
    *,
    dry_run: bool = False,
) -> None:
    """Writes new messages to each route into the outbox."""
    for route in wanted:
        known = outbox.known_keys(route.name)
        for thread, messages_for in notifications:
            messages = new_messages(route, messages_for, outbox, known, service, clock.now())
            if messages and not dry_run:
                outbox.put(route.name, thread, messages, clock.now())
                known |= {key: KnownKey(clock.now(), one.kind, one.service) for one in messages for key in one.keys}
                continue
            for one in messages:
                _log.info("dry run: a %s for route %s would be sent:\n%s", one.kind, route.name, readable(one.blocks))


def new_messages(
    route: Subscription,
    messages_for: MessagesFor,
    outbox: Outbox,
    known: Mapping[str, KnownKey],
    service: str,
    at: datetime,
) -> list[Message]:
    """The messages that are new to a route with these keys, as it gets them; "all is quiet" only if it had no other
    for a week.
    """
    return [
        with_service(with_mention(one, route.destination.mention), service)
        for one in messages_for(route.filter, known)
        if not known.keys() >= set(one.keys)
        and (one.kind != "quiet" or not outbox.has_news(route.name, at - timedelta(WEEK)))
    ]


def _deliver(outbox: Outbox, wanted: Mapping[str, Subscription], settings: Settings, clock: Clock) -> DeliveryReport:
    """Sends waiting messages, and notifies of abandoned messages of its service."""
    time_zone = settings.time_zone

    def is_held(message: OutboxMessage) -> bool:
        return wanted[message.route].destination.holds(message.level, clock.now(), time_zone)

    channels = {name: one.channel for name, one in wanted.items() if not one.problem}
    first = deliver(outbox, channels, is_held, clock)
    lost = [  # without those about such messages
        one
        for one in outbox.given_up(since=clock.now() - timedelta(WEEK))
        if one.kind != "dead_letters" and (one.service or "") == settings.service
    ]
    if lost:
        unknown = to_pipeline(lambda known: expired_message(lost, known, settings.zone))
        _write(outbox, wanted.values(), [("", unknown)], clock, settings.service)
    reachable = {name: channel for name, channel in channels.items() if name not in first.stopped}
    second = deliver(outbox, reachable, is_held, clock)
    stopped = first.stopped | second.stopped | {name: one.problem for name, one in wanted.items() if one.problem}
    waiting = Counter(one.route for one in outbox.waiting())
    problems = [
        *(
            f"alerts: route {one.route}: {wanted[one.route].receiver} refused a message for good"
            for one in first.refused + second.refused
        ),
        *(
            f"alerts: route {one.route}: a message was given up: {one.last_error}"
            for one in first.expired + second.expired
        ),
        *(
            f"alerts: route {name}: {problem}; {counted(waiting[name], 'message')} for the next run"
            for name, problem in stopped.items()
            if waiting[name]
        ),
    ]
    return DeliveryReport(tuple(one.text for one in first.sent + second.sent), waiting.total(), tuple(problems))
