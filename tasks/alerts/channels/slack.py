"""Posts one message to Slack and interprets the response, for webhooks and for bots.

Only what certainly has not arrived is retried here: a 429, a 500 or 503, a connection that was never made. After a
gateway's 502 or 504, a time-out or a cut connection Slack may have posted the message anyway.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin

from scoring.alerting.block_kit import block_kit, fallback_text
from scoring.alerting.blocks import Block
from scoring.alerting.messages import OutboxMessage
from scoring.limits import LARGEST_ALERT_ANSWER, LARGEST_CHANNEL_PAGE
from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.alerts.http import HttpPost, NotSentError, Webhook, unconfirmed
from tasks.config.alerts import AlertsSettings, Destination

_POST = HttpPost("Slack", frozenset({500, 503}))
_PAGES = 20
_SKEW = timedelta(minutes=5)  # between Slack's clock and ours
_REPEATED = "다시 보냄: 앞선 전송이 끊겨 도착했는지 알 수 없습니다. 이미 받으셨다면 같은 내용입니다."
_NOT_SLACK = (
    'HTTP 200 without the "ok" of a Slack webhook: check the address that its webhook_env or webhook_secret_block '
    'holds, or set format = "json" where another receiver takes the messages'
)
_GONE = ": Slack knows no webhook at this address; make a new one and set it"
_OF_CHANNEL = ("channel_is_archived", "channel_not_found")
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


_NO_REPLIES = {"thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked"}
# What a gateway says of an answer that it did not get, and Slack of work that it may have done in part.
_HALF_DONE_STATUSES, _HALF_DONE = (502, 504), {"fatal_error", "internal_error", "request_timeout"}


@dataclass(frozen=True)
class SlackWebhook(Webhook):
    """An incoming webhook. It cannot list what it has posted, so a message that may have arrived before says so."""

    post: HttpPost = _POST

    def payload(self, message: OutboxMessage) -> dict[str, Any]:
        """The text and the blocks."""
        return _content(message)

    def send(self, message: OutboxMessage) -> Delivery:
        """Posts a message; webhooks have no threads."""
        content = {**_content(message, repeated=message.unsure_since is not None), "unfurl_links": False}
        try:
            answer = self.post(self.address, longest_body=LARGEST_ALERT_ANSWER, json=content)
        except NotSentError as failure:
            return failure.delivery
        if (answer.status, answer.body) == (200, b"ok"):
            return Delivery(DeliveryStatus.SENT)
        refusal = _refusal(answer.status, answer.body.decode(errors="replace"))
        if answer.status in (404, 410) and not refusal.error.endswith(_OF_CHANNEL):
            return replace(refusal, error=f"{refusal.error}{_GONE}")
        return replace(refusal, error=_NOT_SLACK) if refusal.error == "HTTP 200" else refusal


@dataclass(frozen=True)
class SlackBot:
    """A bot and its channel. What may have arrived is looked up in the channel before it is posted again."""

    token: str = field(repr=False)
    channel: str
    api_url: str
    post: HttpPost = _POST

    @property
    def address(self) -> str:
        """The channel."""
        return self.channel

    @property
    def problem(self) -> str:
        """What is wrong with the token; empty if it can be used."""
        valid = self.token.startswith("xox") and self.token.isascii() and self.token.isprintable()
        return "" if valid else "holds no bot token"

    def payload(self, message: OutboxMessage) -> dict[str, Any]:
        """The text and the blocks."""
        return _content(message)

    def send(self, message: OutboxMessage) -> Delivery:
        """Posts a message, below the first one of its thread; Critical ones show in the channel as well."""
        try:
            arrived = self._arrived(message) if message.unsure_since else ""
            if arrived:
                return Delivery(DeliveryStatus.SENT, ts=arrived)
            content = {
                "channel": self.channel,
                **_content(message, repeated=arrived is None),
                "unfurl_links": False,
                "metadata": {"event_type": "aqb_alert", "event_payload": {"id": message.identity}},
            }
            return Delivery(DeliveryStatus.SENT, ts=str(self._post_message(content, message).get("ts", "")))
        except NotSentError as failure:
            return failure.delivery

    def _post_message(self, content: Mapping[str, Any], message: OutboxMessage) -> dict[str, Any]:
        """Posts as a reply in the thread; as a message of its own if the thread no longer takes replies."""
        method, size = "chat.postMessage", LARGEST_ALERT_ANSWER
        if message.thread_ts:
            reply = {"thread_ts": message.thread_ts, "reply_broadcast": message.level == "critical"}
            try:
                return self._call(method, size, json={**content, **reply})
            except NotSentError as failure:
                if failure.delivery.error not in _NO_REPLIES:
                    raise
        return self._call(method, size, json=content)

    def _arrived(self, message: OutboxMessage) -> str | None:
        """Slack's id of the message where it is in the channel, "" where it is not, None if the bot cannot tell."""
        assert message.unsure_since
        since = str((message.unsure_since - _SKEW).timestamp())
        where = {"channel": self.channel, "oldest": since, "limit": "50", "include_all_metadata": "1"}
        places = {"conversations.history": where}
        if message.thread_ts:
            places["conversations.replies"] = {**where, "ts": message.thread_ts}
        try:
            for posted in (one for method, place in places.items() for one in self._messages(method, place)):
                if posted.get("metadata", {}).get("event_payload", {}).get("id") == message.identity:
                    return str(posted["ts"])
        except NotSentError as failure:
            if failure.delivery.error not in _MAY_NOT_LOOK:
                raise
            return None
        except (KeyError, TypeError, AttributeError):  # pages of another shape, or without an end
            return None
        return ""

    def _messages(self, method: str, place: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        cursor = ""
        for _ in range(_PAGES):
            page = self._call(method, LARGEST_CHANNEL_PAGE, data={**place, "cursor": cursor})
            yield from page["messages"]
            if not (cursor := page.get("response_metadata", {}).get("next_cursor")):
                return
        raise KeyError("the last page")

    def _call(self, method: str, longest_body: int, **content: Any) -> dict[str, Any]:
        """The response of a method of Slack's API; raises NotSentError if it is an error."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self.post(urljoin(self.api_url, method), longest_body=longest_body, headers=headers, **content)
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise NotSentError(_refusal(answer.status, "") if answer.status != 200 else unconfirmed("it is no JSON"))
        if found.get("ok") is not True:
            raise NotSentError(_refusal(answer.status, str(found.get("error", ""))))
        return found


def _content(message: OutboxMessage, *, repeated: bool = False) -> dict[str, Any]:
    """The text and the blocks; if `repeated`, below a line that says that they may have been seen before."""
    mark: list[Block] = [{"type": "context", "text": _REPEATED}] if repeated else []
    blocks = [*map(block_kit, (*mark, *message.blocks))]
    return {"text": fallback_text(message.text), "blocks": blocks}


def _refusal(http_status: int, said: str) -> Delivery:
    """The meaning of Slack's error. Only known error codes are kept: a response may quote secrets."""
    code = said if _CODE.fullmatch(said) else ""
    if http_status in _HALF_DONE_STATUSES or code in _HALF_DONE:
        return unconfirmed(code or f"HTTP {http_status}")
    status = DeliveryStatus.REFUSED if code in _REFUSED_FOR_GOOD else DeliveryStatus.DEFERRED
    return Delivery(status, code if http_status == 200 and code else f"HTTP {http_status} {code}".rstrip())


def open_channel(destination: Destination, secret: str, alerts: AlertsSettings) -> SlackWebhook | SlackBot:
    """The bot's channel, or the webhook with this address."""
    if destination.uses_bot:
        return SlackBot(secret, destination.channel, alerts.api_url)
    return SlackWebhook(secret)
