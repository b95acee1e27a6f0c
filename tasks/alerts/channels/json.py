"""A webhook of any receiver: a POST of one JSON object a message, described in `docs/alerts-webhook.md`.

Only what has certainly not arrived, or what a receiver that knows the idempotency key cannot take twice, is tried again
at once: a 429, a server error, a connection that was never made. Redirects are not followed: they would turn the POST
into a GET.
"""

from dataclasses import dataclass
from typing import Any

from scoring.alerting.messages import OutboxMessage
from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.alerts.http import HttpPost, NotSentError, Webhook
from tasks.config.alerts import AlertsSettings, Destination

VERSION = 1
"""The version of the payload; it is raised when a field changes its meaning or goes away."""

_POST = HttpPost("the webhook", retried=frozenset({500, 502, 503, 504}))
_REFUSED_FOR_GOOD = {400, 413, 415, 422}  # the message itself is wrong: no other day will change that


@dataclass(frozen=True)
class JsonWebhook(Webhook):
    """A webhook that takes JSON. It gets a message at least once, each time with the same idempotency key."""

    post: HttpPost = _POST

    def payload(self, message: OutboxMessage) -> dict[str, Any]:
        """What the receiver gets."""
        return {
            "version": VERSION,
            "id": message.identity,
            "route": message.route,
            "kind": message.kind,
            "level": message.level,
            "title": next((block["text"] for block in message.blocks if block["type"] == "header"), ""),
            "text": message.text,
            "day": message.thread or None,
            **({"service": message.service} if message.service else {}),
            "run_id": next((block.get("run_id") for block in message.blocks if block["type"] == "context"), None),
            "keys": list(message.keys),
            "written_at": message.created_at.isoformat(),
            "may_have_arrived": message.unsure_since is not None,
            "blocks": list(message.blocks),
        }

    def send(self, message: OutboxMessage) -> Delivery:
        """Posts a message; its answer is a status alone."""
        headers = {"Idempotency-Key": message.identity}
        try:
            status = self.post(self.address, longest_body=0, headers=headers, json=self.payload(message)).status
        except NotSentError as failure:
            return failure.delivery
        if 200 <= status < 300:
            return Delivery(DeliveryStatus.SENT)
        refused = DeliveryStatus.REFUSED if status in _REFUSED_FOR_GOOD else DeliveryStatus.DEFERRED
        return Delivery(refused, f"HTTP {status}")


def open_channel(destination: Destination, secret: str, alerts: AlertsSettings) -> JsonWebhook:
    """The webhook with this address."""
    return JsonWebhook(secret)
