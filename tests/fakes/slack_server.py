"""A Slack on 127.0.0.1: webhooks, `chat.postMessage` and the reading of channels, with Slack's limits and faults.

What is asked for goes wrong in the order in which it was scripted; after that everything works. A message is `posted`
when its readers would see it, whatever the sender hears of that.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs

from tests.fakes.local_server import LocalServer, Request
from tests.fakes.slack_limits import block_problems

TOKEN = "xoxb-0000-secret"
CHANNEL = "C0123456789"
Fault = Literal[
    "rate_limited",
    "slow_rate_limit",
    "server_error",
    "invalid_payload",
    "no_such_webhook",
    "login_page",
    "hang",
    "drop",
    "hang_after_posting",
    "drop_after_posting",
    "gateway_after_posting",
    "archived",
    "not_in_channel",
    "may_not_look",
]
_WEBHOOK_ANSWERS = {
    "invalid_payload": (200, "invalid_payload"),
    "no_such_webhook": (404, "no_service"),
    "archived": (410, "channel_is_archived"),
    "login_page": (200, "<html><title>Log in</title></html>"),
}


@dataclass(frozen=True)
class Posted:
    """A message that stands in a channel."""

    place: str
    text: str
    blocks: list[dict[str, Any]]
    ts: str
    thread_ts: str | None = None
    broadcast: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Everything that its reader sees."""
        return self.text + json.dumps(self.blocks, ensure_ascii=False)


class FakeSlack(LocalServer):
    """`with FakeSlack() as slack: slack.webhook("qa")`."""

    def __init__(self) -> None:
        self.faults: deque[Fault] = deque()
        self.down: Fault | None = None
        """What every request meets until it is taken away."""
        self.locked_threads = False
        self.tells_time = False
        """Whether messages have the time of the machine, not one that is later than any clock of a test."""
        self.posted: list[Posted] = []
        self.refused: list[str] = []
        self.requests: list[str] = []
        self.on_posted: Callable[[], None] = lambda: None
        """Called when a message has been posted and nobody has been told yet."""
        self._lock = threading.Lock()
        self._released = threading.Event()

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    def webhook(self, name: str = "qa") -> str:
        """The address of an incoming webhook; its last part is its secret."""
        return f"{self.url}/services/T0/B0/secret-of-{name}"

    def texts(self, place: str = "") -> list[str]:
        """The fallback texts of what was posted, in order."""
        return [one.text for one in self.posted if place in one.place]

    def __exit__(self, *of: object) -> None:
        self._released.set()
        super().__exit__(*of)

    def answer(self, request: Request) -> None:
        path, _, query = request.path.partition("?")
        with self._lock:
            fault = self.down or (self.faults.popleft() if self.faults else None)
            self.requests.append(path)
        if fault in ("hang", "drop"):
            return self._leave(request, fault)
        if fault in ("rate_limited", "slow_rate_limit"):
            wait = {"Retry-After": "0" if fault == "rate_limited" else "3600"}
            return request.reply(429, b'{"ok":false,"error":"ratelimited"}', wait)
        if fault == "server_error":
            return request.reply(500, b"server_error")
        if path.startswith("/services/"):
            status, text = _WEBHOOK_ANSWERS.get(fault or "") or self._webhook(path, request.body)
        else:
            token = str(request.headers.get("authorization"))
            status, text = 200, json.dumps(self._api(path.removeprefix("/api/"), token, query, request.body, fault))
        if fault in ("hang_after_posting", "drop_after_posting"):
            return self._leave(request, fault)
        if fault == "gateway_after_posting":
            return request.reply(502, b"<html>Bad Gateway</html>")
        return request.reply(status, text.encode())

    def _leave(self, request: Request, fault: Fault) -> None:
        if fault.startswith("hang"):
            self._released.wait(60)
        request.close_connection = True

    def _webhook(self, path: str, body: bytes) -> tuple[int, str]:
        try:
            payload = json.loads(body)
        except ValueError:
            return 400, "invalid_payload"
        if problem := self._problem(payload):
            return 400, problem
        self._post(Posted(path, payload["text"], payload.get("blocks", []), ""))
        return 200, "ok"

    def _api(self, method: str, authorization: str, query: str, body: bytes, fault: Fault | None) -> dict[str, Any]:
        if authorization != f"Bearer {TOKEN}":
            return {"ok": False, "error": "invalid_auth"}
        if method == "chat.postMessage":
            return self._post_message(json.loads(body), fault)
        if fault == "may_not_look":
            return {"ok": False, "error": "missing_scope"}
        asked = {name: values[0] for name, values in parse_qs(query or body.decode()).items()}
        thread = asked.get("ts") if method == "conversations.replies" else None
        with self._lock:
            found = [
                {"ts": one.ts, "text": one.text, "metadata": one.metadata}
                for one in reversed(self.posted)
                if one.place == asked["channel"]
                and float(one.ts) >= float(asked["oldest"])
                and (one.thread_ts == thread or (thread is None and one.broadcast))
            ]
        first = int(asked.get("cursor", 0))
        last = first + 2  # small pages, so that reading only the first one is noticed
        more = {"response_metadata": {"next_cursor": str(last)}} if last < len(found) else {}
        return {"ok": True, "messages": found[first:last], **more}

    def _post_message(self, payload: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
        if fault == "not_in_channel" or payload["channel"] != CHANNEL:
            return {"ok": False, "error": "not_in_channel"}
        if fault == "invalid_payload" or self._problem(payload):
            return {"ok": False, "error": "invalid_blocks"}
        if self.locked_threads and payload.get("thread_ts"):
            return {"ok": False, "error": "restricted_action_thread_locked"}
        told = Posted(
            payload["channel"],
            payload["text"],
            payload.get("blocks", []),
            "",
            payload.get("thread_ts"),
            bool(payload.get("reply_broadcast")),
            payload.get("metadata", {}),
        )
        return {"ok": True, "channel": CHANNEL, "ts": self._post(told).ts}

    def _problem(self, payload: dict[str, Any]) -> str:
        problems = block_problems(payload)
        self.refused += problems
        return "invalid_blocks" if problems else ""

    def _post(self, message: Posted) -> Posted:
        with self._lock:
            at = int(time.time()) if self.tells_time else 4_000_000_000
            ts = f"{at + len(self.posted)}.000100"
            posted = Posted(**{**vars(message), "ts": ts})
            self.posted.append(posted)
        self.on_posted()
        return posted
