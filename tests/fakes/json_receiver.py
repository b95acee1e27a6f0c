"""A receiver of JSON webhooks on 127.0.0.1. Its answers come in the order in which they were scripted, then 204s."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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


class JsonReceiver:
    """The server in threads of its own: `with JsonReceiver() as receiver: receiver.address`."""

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.down: Answer | None = None
        """What every request meets until it is taken away."""
        self.received: list[Received] = []
        self._released = threading.Event()

    @property
    def address(self) -> str:
        """The address of the webhook; its path is its secret."""
        return f"http://127.0.0.1:{self._server.server_port}/hooks/secret-of-receiver"

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """The bodies of the requests that were answered with a 2xx."""
        return [one.body for one in self.received if one.accepted]

    def __enter__(self) -> JsonReceiver:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = receiver.down or (receiver.answers.popleft() if receiver.answers else Answer())
                answers = not (answer.hangs or answer.drops)
                accepted = answers and 200 <= answer.status < 300
                receiver.received.append(Received(self.path, self.headers["Idempotency-Key"], body, accepted))
                if answer.hangs:
                    receiver._released.wait()
                if not answers:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
