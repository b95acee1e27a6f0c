"""A webhook of any receiver: a POST of one JSON object a message, described in `docs/alerts-webhook.md`.

Only what has certainly not arrived, or what a receiver that knows the idempotency key cannot take twice, is tried again
at once: a 429, a server error, a connection that was never made. Redirects are not followed: they would turn the POST
into a GET.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message as Headers
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tasks.alerts.channel import (
    FAILURES,
    PATIENCE_S,
    RETRIES,
    TIMEOUT_S,
    Delivery,
    DeliveryStatus,
    OutboxMessage,
    address_problem,
    failed_delivery,
)
from tasks.config.alerts import AlertsSettings, Destination

VERSION = 1
"""The version of the payload; it is raised when a field changes its meaning or goes away."""

_SERVER_ERRORS = {500, 502, 503, 504}
_REFUSED_FOR_GOOD = {400, 413, 415, 422}  # the message itself is wrong: no other day will change that


@dataclass(frozen=True)
class JsonWebhook:
    """A webhook that takes JSON. It gets a message at least once, each time with the same idempotency key."""

    address: str = field(repr=False)
    timeout_s: float = TIMEOUT_S
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    @property
    def problem(self) -> str:
        """Why the address is none."""
        return address_problem(self.address)

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
            "run_id": next((block.get("run_id") for block in message.blocks if block["type"] == "context"), None),
            "keys": list(message.keys),
            "written_at": message.created_at.isoformat(),
            "may_have_arrived": message.unsure_since is not None,
            "blocks": list(message.blocks),
        }

    def send(self, message: OutboxMessage) -> Delivery:
        """Posts a message."""
        body = json.dumps(self.payload(message), ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.identity}
        request = Request(self.address, body, headers)  # noqa: S310  # an address with another scheme is a `problem`
        for retry in range(RETRIES):
            delivery, wait_s = self._attempt(request, retry)
            if wait_s is None:
                return delivery
            self.sleep(wait_s)
        return self._attempt(request, RETRIES)[0]

    def _attempt(self, request: Request, retry: int) -> tuple[Delivery, float | None]:
        """One POST, and the seconds to wait before the next; None where that is useless."""
        backoff_s = 2.0**retry
        try:
            with build_opener(_NoRedirect).open(request, timeout=self.timeout_s):
                return Delivery(DeliveryStatus.SENT), None
        except HTTPError as refusal:
            refusal.close()
            status = DeliveryStatus.REFUSED if refusal.code in _REFUSED_FOR_GOOD else DeliveryStatus.DEFERRED
            wait_s = _asked_wait_s(refusal.headers) if refusal.code == 429 else backoff_s
            may_retry = refusal.code in _SERVER_ERRORS or refusal.code == 429
            return Delivery(status, f"HTTP {refusal.code}"), wait_s if may_retry else None
        except FAILURES as error:
            return failed_delivery(error, "the webhook"), backoff_s if isinstance(error, URLError) else None


class _NoRedirect(HTTPRedirectHandler):
    """Leaves a redirect as the answer that it is."""

    def redirect_request(self, *args: Any) -> None:
        """Follows no redirect."""


def _asked_wait_s(headers: Headers) -> float | None:
    """The wait that the receiver asks for; None where it is longer than a run should stand still."""
    asked = headers.get("Retry-After", "1")
    return float(asked) if asked.isdecimal() and int(asked) <= PATIENCE_S else None


def open_channel(destination: Destination, secret: str, alerts: AlertsSettings) -> JsonWebhook:
    """The webhook with this address."""
    return JsonWebhook(secret)
