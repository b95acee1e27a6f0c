"""Posting one message to Slack and understanding the answer, for webhooks and for bots.

Only what is known not to have arrived is tried again here: a 429, a 500 or 503, a connection that was never made. After
a time-out or a cut connection Slack may have posted the message all the same.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from http.client import HTTPException
from typing import Any, Protocol
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

from scoring.alerting.block_kit import Block
from tasks.alerts.outbox import OutboxMessage

TIMEOUT_S = 10
_RETRIES = 2
_PATIENCE_S = 30
_SKEW = timedelta(minutes=5)  # between Slack's clock and ours
_REPEATED = "다시 보냄: 앞선 전송이 끊겨 도착했는지 알 수 없습니다. 이미 받으셨다면 같은 내용입니다."
_CODE = re.compile(r"[a-z_]{2,60}")
_MAY_NOT_LOOK = {"missing_scope", "not_allowed_token_type", "no_permission"}
# What no other day and no other setting will change. Everything else may be mended within three days.
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


class PostStatus(Enum):
    """What became of a message: taken; not taken, for now or for good; or nobody knows."""

    SENT = "sent"
    NOT_NOW = "not now"
    REFUSED = "refused"
    UNCONFIRMED = "unheard"


@dataclass(frozen=True)
class Answer:
    """Slack's answer in one of its own words, or in ours; never an address. `ts` is its id of a bot's message."""

    status: PostStatus
    error: str = ""
    ts: str = ""


class Post(Protocol):
    """A place that messages can be posted to."""

    @property
    def address(self) -> str:
        """Where that is, for keeping Slack's pace. Never shown: it may be a secret."""
        ...

    def post(self, letter: OutboxMessage, thread_ts: str | None) -> Answer:
        """Posts a letter. Raises nothing that Slack or the network can cause."""
        ...


@dataclass(frozen=True)
class WebhookPost:
    """An incoming webhook. It cannot be asked what it has posted, so a letter that may have arrived says so."""

    address: str = field(repr=False)
    timeout_s: int = TIMEOUT_S

    def post(self, letter: OutboxMessage, thread_ts: str | None) -> Answer:
        """Posts a letter; webhooks have no threads."""
        blocks = _marked(letter.blocks) if letter.unsure_since else list(letter.blocks)
        client = WebhookClient(
            self.address,
            timeout=self.timeout_s,
            logger=_silence(),
            retry_handlers=_handlers(),
        )
        try:
            response = client.send_dict({"text": letter.text, "blocks": blocks, "unfurl_links": False})
        except (OSError, HTTPException, UnicodeDecodeError) as error:
            return _unanswered(error)
        if response.status_code == 200 and response.body == "ok":
            return Answer(PostStatus.SENT)
        return _refusal(response.status_code, response.body)


@dataclass(frozen=True)
class BotPost:
    """A bot and its channel. What may have arrived is looked up in the channel before it is posted again."""

    token: str = field(repr=False)
    channel: str
    api_url: str
    timeout_s: int = TIMEOUT_S

    @property
    def address(self) -> str:
        """The channel."""
        return self.channel

    def post(self, letter: OutboxMessage, thread_ts: str | None) -> Answer:
        """Posts a letter, below the first one of its thread; Critical ones show in the channel as well."""
        client = WebClient(
            self.token,
            self.api_url,
            self.timeout_s,
            logger=_silence(),
            retry_handlers=_handlers(),
        )
        try:
            arrived = self._arrived(client, letter, thread_ts) if letter.unsure_since else ""
            if arrived:
                return Answer(PostStatus.SENT, ts=arrived)
            response = client.chat_postMessage(
                channel=self.channel,
                text=letter.text,
                blocks=_marked(letter.blocks) if arrived is None else list(letter.blocks),
                thread_ts=thread_ts,
                reply_broadcast=letter.level == "critical" if thread_ts else None,
                unfurl_links=False,
                metadata={"event_type": "aqb_alert", "event_payload": {"id": _identity(letter)}},
            )
        except SlackApiError as error:
            return _refusal(error.response.status_code, str(error.response.get("error", "")))
        except (OSError, HTTPException, ValueError) as error:
            return _unanswered(error)
        return Answer(PostStatus.SENT, ts=str(response["ts"]))

    def _arrived(self, client: WebClient, letter: OutboxMessage, thread_ts: str | None) -> str | None:
        """Slack's id of the letter where it stands in the channel, "" where it does not, None if we may not look."""
        assert letter.unsure_since
        since = str((letter.unsure_since - _SKEW).timestamp())
        where: dict[str, Any] = {"channel": self.channel, "oldest": since, "limit": 200, "include_all_metadata": True}
        try:
            places = [client.conversations_history(**where)]
            if thread_ts:
                places.append(client.conversations_replies(ts=thread_ts, **where))
            for message in (one for place in places for page in place for one in page["messages"]):
                if message.get("metadata", {}).get("event_payload", {}).get("id") == _identity(letter):
                    return str(message["ts"])
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
        return asked.isdecimal() and int(asked) <= _PATIENCE_S


def _handlers() -> list[RetryHandler]:
    return [
        _RateLimitPatience(_RETRIES),
        ServerErrorRetryHandler(_RETRIES),
        # Only connections that were never made (URLError): after a cut one Slack may have the message.
        ConnectionErrorRetryHandler(_RETRIES, error_types=[URLError]),
    ]


def _silence() -> logging.Logger:
    """A logger that belongs to nobody: slack_sdk logs the address, which is the secret of a webhook."""
    return logging.Logger("slack", logging.CRITICAL + 1)


def _identity(letter: OutboxMessage) -> str:
    """What no other letter of this or another state database has."""
    return f"{letter.id}-{letter.created_at.isoformat()}"


def _marked(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with a line that they may have been seen before."""
    mark = {"type": "context", "elements": [{"type": "plain_text", "text": _REPEATED}]}
    return [mark, *blocks]


def _refusal(status: int, said: str) -> Answer:
    """What Slack's refusal means. Only its own words are kept: an answer may quote what must not be seen."""
    code = said if _CODE.fullmatch(said) else ""
    meaning = PostStatus.REFUSED if code in _REFUSED_FOR_GOOD else PostStatus.NOT_NOW
    return Answer(meaning, code if status == 200 and code else f"HTTP {status} {code}".rstrip())


def _unanswered(error: Exception) -> Answer:
    """What a failure of the network means."""
    if isinstance(error, URLError):
        return Answer(PostStatus.NOT_NOW, "Slack cannot be reached")
    return Answer(PostStatus.UNCONFIRMED, f"no answer ({type(error).__name__}): it may have arrived")
