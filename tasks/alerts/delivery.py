"""Sends the messages of the outbox at a limited rate; those that fail stay there for the next run."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from scoring.alerting.messages import OutboxMessage
from tasks.alerts.channel import Channel, DeliveryStatus
from tasks.alerts.outbox import Outbox

_PACE_S = 1.0
"""Between two messages to one address. Slack takes one a second for each webhook."""


@dataclass(frozen=True)
class Clock:
    """The current time and a sleep; tests pass their own."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Deliveries:
    """The messages that a delivery gave up, sent, or saw rejected; by route, why it stopped early."""

    expired: list[OutboxMessage]
    sent: list[OutboxMessage] = field(default_factory=list)
    refused: list[OutboxMessage] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)


def deliver(
    outbox: Outbox, channels: Mapping[str, Channel], is_held: Callable[[OutboxMessage], bool], clock: Clock
) -> Deliveries:
    """Sends the waiting messages of the routes in `channels` that are not held, oldest first.

    A route stops at a message that is deferred or unconfirmed: the next ones would have the same outcome.

    Raises:
        StorageError: the state database cannot be used; never because of a channel.
    """
    done = Deliveries(outbox.expire(clock.now()))
    last_sent: dict[str, float] = {}
    for waiting in outbox.waiting():
        if waiting.route not in channels or waiting.route in done.stopped or is_held(waiting):
            continue
        message = outbox.to_send(waiting)
        if message is None:
            continue
        channel = channels[message.route]
        _keep_pace(clock, last_sent, channel.address)
        # Nothing stands between the claim and the request, nor between the answer and its record.
        if not outbox.claim(message):
            continue
        delivery = channel.send(message)
        outbox.record(message, delivery, clock.now())
        if delivery.status is DeliveryStatus.SENT:
            done.sent.append(message)
        elif delivery.status is DeliveryStatus.REFUSED:
            done.refused.append(message)
        else:
            done.stopped[message.route] = delivery.error
    return done


def _keep_pace(clock: Clock, last_sent: dict[str, float], address: str) -> None:
    """Waits until a second has passed since the last message to the same address."""
    if address in last_sent and (wait_s := last_sent[address] + _PACE_S - clock.monotonic()) > 0:
        clock.sleep(wait_s)
    last_sent[address] = clock.monotonic()
