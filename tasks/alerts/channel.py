"""What a channel is: it sends a message to people, and says what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from scoring.alerting.blocks import Block
from scoring.alerting.messages import Message


class DeliveryStatus(Enum):
    """What became of a message: taken; not taken, for now or for good; or it may have arrived."""

    SENT = "sent"
    DEFERRED = "deferred"
    REFUSED = "refused"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True)
class Delivery:
    """The outcome of one attempt. `error` never holds an address; `ts` is Slack's id of a message that a bot sent."""

    status: DeliveryStatus
    error: str = ""
    ts: str = ""


@dataclass(frozen=True)
class OutboxMessage:
    """A message on its way to one route.

    `thread` is the day that it is about, '' without one. `unsure_since` is when an attempt began whose outcome is not
    known: the message may have arrived. `keys` name its facts and `thread_ts` is Slack's id of the first message of
    its thread; both are read when it is sent.
    """

    id: int
    route: str
    kind: str
    level: str
    thread: str
    text: str
    blocks: Sequence[Block]
    created_at: datetime
    attempts: int = 0
    lease_until: datetime | None = None
    unsure_since: datetime | None = None
    last_error: str | None = None
    sent_at: datetime | None = None
    ts: str | None = None
    dead_at: datetime | None = None
    keys: tuple[str, ...] = ()
    thread_ts: str | None = None

    @property
    def identity(self) -> str:
        """What no other message of this or another state database has."""
        return f"{self.id}-{self.created_at.isoformat()}"

    @classmethod
    def unsaved(cls, route: str, message: Message, now: datetime, thread: str = "") -> OutboxMessage:
        """A message that no outbox holds."""
        return cls(0, route, message.kind, message.level, thread, message.text, message.blocks, now, keys=message.keys)


class Channel(Protocol):
    """A place that messages can be sent to. Its module in `tasks.alerts.channels` has an `open_channel`."""

    @property
    def address(self) -> str:
        """Where that is, for keeping a pace. Never shown: it may be a secret."""
        ...

    @property
    def problem(self) -> str:
        """What its secret is not (`holds no address of a webhook`); empty where it can be reached."""
        ...

    def payload(self, message: OutboxMessage) -> dict[str, Any]:
        """What it sends."""
        ...

    def send(self, message: OutboxMessage) -> Delivery:
        """Sends a message. Raises nothing that the receiver or the network can cause."""
        ...
