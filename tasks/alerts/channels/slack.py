"""Posting one message to Slack and understanding the answer, for webhooks and for bots.

Only what is known not to have arrived is tried again here: a 429, a 500 or 503, a connection that was never made. After
a time-out or a cut connection Slack may have posted the message all the same.
"""

import logging
import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.error import URLError

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry import HttpRequest, HttpResponse, RetryHandler, RetryState
from slack_sdk.http_retry.builtin_handlers import (
    ConnectionErrorRetryHandler,
    RateLimitErrorRetryHandler,
    ServerErrorRetryHandler,
)
from slack_sdk.webhook import WebhookClient

from tasks.alerts.block_kit import block_kit, fallback_text
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

_SKEW = timedelta(minutes=5)  # between Slack's clock and ours
_REPEATED = "다시 보냄: 앞선 전송이 끊겨 도착했는지 알 수 없습니다. 이미 받으셨다면 같은 내용입니다."
_CODE = re.compile(r"[a-z_]{2,60}")
_MAY_NOT_LOOK = {"missing_scope", "not_allowed_token_type", "no_permission"}
# What no other day and no other setting will change. Everything else may be fixed within three days.
_REFUSED_FOR_GOOD = {
    "invalid_payload",
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_attachments",
    "too_many_attachments",
    "no_text",
    "msg_too_long",
    "msg_blocks_too_long",
    "metadata_too_large",
    "invalid_metadata_format",
    "invalid_metadata_schema",
}


@dataclass(frozen=True)
class SlackWebhook:
    """An incoming webhook. It cannot be asked what it has posted, so a message that may have arrived says so."""

    address: str = field(repr=False)
    timeout_s: int = TIMEOUT_S

    @property
    def problem(self) -> str:
        """Why the address is none."""
        return address_problem(self.address)

    def payload(self, message: OutboxMessage) -> dict[str, Any]:
        """The text and the blocks."""
        return _content(message)

    def send(self, message: OutboxMessage) -> Delivery:
        """Posts a message; webhooks have no threads."""
        client = WebhookClient(self.address, timeout=self.timeout_s, logger=_silence(), retry_handlers=_handlers())
        content = _content(message, repeated=message.unsure_since is not None)
        try:
            response = client.send_dict({**content, "unfurl_links": False})
        except (*FAILURES, UnicodeDecodeError) as error:
            return failed_delivery(error, "Slack")
        if response.status_code == 200 and response.body == "ok":
            return Delivery(DeliveryStatus.SENT)
        return _refusal(response.status_code, response.body)


@dataclass(frozen=True)
class SlackBot:
    """A bot and its channel. What may have arrived is looked up in the channel before it is posted again."""

    token: str = field(repr=False)
    channel: str
    api_url: str
    timeout_s: int = TIMEOUT_S

    @property
    def address(self) -> str:
        """The channel."""
        return self.channel

    @property
    def problem(self) -> str:
        """Why the token is none."""
        valid = self.token.startswith("xox") and self.token.isascii() and self.token.isprintable()
        return "" if valid else "holds no bot token"

    def payload(self, message: OutboxMessage) -> dict[str, Any]:
        """The text and the blocks."""
        return _content(message)

    def send(self, message: OutboxMessage) -> Delivery:
        """Posts a message, below the first one of its thread; Critical ones show in the channel as well."""
        client = WebClient(self.token, self.api_url, self.timeout_s, logger=_silence(), retry_handlers=_handlers())
        try:
            arrived = self._arrived(client, message) if message.unsure_since else ""
            if arrived:
                return Delivery(DeliveryStatus.SENT, ts=arrived)
            response = client.chat_postMessage(
                channel=self.channel,
                **_content(message, repeated=arrived is None),
                thread_ts=message.thread_ts,
                reply_broadcast=message.level == "critical" if message.thread_ts else None,
                unfurl_links=False,
                metadata={"event_type": "aqb_alert", "event_payload": {"id": message.identity}},
            )
        except SlackApiError as error:
            return _refusal(error.response.status_code, str(error.response.get("error", "")))
        except (*FAILURES, ValueError) as error:
            return failed_delivery(error, "Slack")
        return Delivery(DeliveryStatus.SENT, ts=str(response["ts"]))

    def _arrived(self, client: WebClient, message: OutboxMessage) -> str | None:
        """Slack's id of the message where it is in the channel, "" where it is not, None if the bot may not look."""
        assert message.unsure_since
        since = str((message.unsure_since - _SKEW).timestamp())
        where: dict[str, Any] = {"channel": self.channel, "oldest": since, "limit": 200, "include_all_metadata": True}
        try:
            places = [client.conversations_history(**where)]
            if message.thread_ts:
                places.append(client.conversations_replies(ts=message.thread_ts, **where))
            for posted in (one for place in places for page in place for one in page["messages"]):
                if posted.get("metadata", {}).get("event_payload", {}).get("id") == message.identity:
                    return str(posted["ts"])
        except SlackApiError as error:
            if error.response.get("error") in _MAY_NOT_LOOK:
                return None
            raise
        return ""


class _RateLimitPatience(RateLimitErrorRetryHandler):
    """Waits as Slack asks, but not longer than a run should stand still; then the next run tries again."""

    def _can_retry(
        self,
        *,
        state: RetryState,
        request: HttpRequest,
        response: HttpResponse | None = None,
        error: Exception | None = None,
    ) -> bool:
        if response is None or response.status_code != 429:
            return False
        asked = next((value[0] for name, value in response.headers.items() if name.lower() == "retry-after"), "1")
        return asked.isdecimal() and int(asked) <= PATIENCE_S


def _handlers() -> list[RetryHandler]:
    return [
        _RateLimitPatience(RETRIES),
        ServerErrorRetryHandler(RETRIES),
        # Only connections that were never made (URLError): after a cut one Slack may have the message.
        ConnectionErrorRetryHandler(RETRIES, error_types=[URLError]),
    ]


def _silence() -> logging.Logger:
    """A logger without handlers: slack_sdk logs the address, which is the secret of a webhook."""
    return logging.Logger("slack", logging.CRITICAL + 1)


def _content(message: OutboxMessage, *, repeated: bool = False) -> dict[str, Any]:
    """The text and the blocks, on request below a line that they may have been seen before."""
    mark = {"type": "context", "elements": [{"type": "plain_text", "text": _REPEATED}]}
    blocks = [*([mark] if repeated else []), *map(block_kit, message.blocks)]
    return {"text": fallback_text(message.text), "blocks": blocks}


def _refusal(http_status: int, said: str) -> Delivery:
    """What Slack's refusal means. Only its own words are kept: an answer may quote what must not be seen."""
    code = said if _CODE.fullmatch(said) else ""
    status = DeliveryStatus.REFUSED if code in _REFUSED_FOR_GOOD else DeliveryStatus.DEFERRED
    return Delivery(status, code if http_status == 200 and code else f"HTTP {http_status} {code}".rstrip())


def open_channel(destination: Destination, secret: str, alerts: AlertsSettings) -> SlackWebhook | SlackBot:
    """The bot's channel, or the webhook with this address."""
    if destination.uses_bot:
        return SlackBot(secret, destination.channel, alerts.api_url)
    return SlackWebhook(secret)
