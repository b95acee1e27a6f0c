"""A receiver of JSON webhooks on 127.0.0.1. Its answers come in the order in which they were scripted, then 204s."""

import json
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.local_server import LocalServer, Request


@dataclass(frozen=True)
class Answer:
    """What a request meets. `hangs` and `drops` take the message and never answer."""

    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    drops: bool = False


@dataclass(frozen=True)
class Received:
    """A request with its body, and whether its sender was answered with a 2xx."""

    path: str
    key: str
    body: dict[str, Any]
    accepted: bool


class JsonReceiver(LocalServer):
    """`with JsonReceiver() as receiver: receiver.address`."""

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.down: Answer | None = None
        """What every request meets until it is taken away."""
        self.received: list[Received] = []
        self._released = threading.Event()

    @property
    def address(self) -> str:
        """The address of the webhook; its path is its secret."""
        return f"{self.url}/hooks/secret-of-receiver"

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """The bodies of the requests that were answered with a 2xx."""
        return [one.body for one in self.received if one.accepted]

    def __exit__(self, *of: object) -> None:
        self._released.set()
        super().__exit__(*of)

    def answer(self, request: Request) -> None:
        answer = self.down or (self.answers.popleft() if self.answers else Answer())
        answers = not (answer.hangs or answer.drops)
        accepted = answers and 200 <= answer.status < 300
        key = request.headers["Idempotency-Key"]
        self.received.append(Received(request.path, key, json.loads(request.body), accepted))
        if answer.hangs:
            self._released.wait()
        if answers:
            request.reply(answer.status, headers=answer.headers)
        else:
            request.close_connection = True
