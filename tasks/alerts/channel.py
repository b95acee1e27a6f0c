"""The interface of a channel: it sends a message and reports the outcome."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from scoring.alerting.messages import OutboxMessage


class DeliveryStatus(Enum):
    """The outcome of an attempt: delivered; not delivered, temporarily or permanently; or unknown."""

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
        """The address whose rate is limited. Never shown: it may be a secret."""
        ...

    @property
    def problem(self) -> str:
        """What is wrong with its secret (`holds no address of a webhook`); empty if nothing is."""
        ...

    def payload(self, message: OutboxMessage) -> dict[str, Any]:
        """What it sends."""
        ...

    def send(self, message: OutboxMessage) -> Delivery:
        """Sends a message. Raises nothing that the receiver or the network can cause."""
        ...
