"""What a channel is: it sends a message to people, and says what became of it."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from scoring.alerting.messages import OutboxMessage


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
