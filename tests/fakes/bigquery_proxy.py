"""A proxy in front of a local BigQuery: it counts requests, and answers in its place what it does not know to say."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Refusal:
    """An error as BigQuery words it."""

    status: int
    reason: str
    message: str

    @property
    def body(self) -> bytes:
        detail = {"reason": self.reason, "message": self.message, "domain": "global"}
        return json.dumps({"error": {"code": self.status, "message": self.message, "errors": [detail]}}).encode()


@dataclass
class Proxy:
    """What came through, as `METHOD path`, with what was sent and answered; and what is to be refused.

    Of the refusals the first match wins, each so many times.
    """

    url: str = ""
    seen: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    refusals: list[tuple[str, Refusal, int]] = field(default_factory=list)
    lost: str = ""
    """The first request with this text is done, and its answer lost on the way."""

    rewrite: tuple[bytes, bytes] = (b"\0", b"")
    """What is replaced in every answer, and by what."""

    answered: Callable[[int], None] = lambda _: None
    """Called with the number of a request when BigQuery has done it, before the answer goes back."""

    def refuse(self, part_of_request: str, refusal: Refusal, times: int = 1) -> None:
        """Refuses the next requests whose `METHOD path` contains a text."""
        self.refusals.append((part_of_request, refusal, times))

    def refusal_of(self, request: str) -> Refusal | None:
        """The refusal of a request, used up once."""
        for place, (part, refusal, times) in enumerate(self.refusals):
            if part in request and times:
                self.refusals[place] = (part, refusal, times - 1)
                return refusal
        return None


@contextmanager
def proxy_to(target: str) -> Iterator[Proxy]:
    """A proxy to the BigQuery at `target`, for as long as the block lasts."""
    proxy = Proxy()
    lock = threading.Lock()
    host = urlsplit(target).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = f"{self.command} {self.path}"
            with lock:
                proxy.seen.append(request)
                proxy.bodies.append(body)
                number, refusal = len(proxy.seen), proxy.refusal_of(request)
            if refusal:
                self.reply(refusal.status, {"Content-Type": "application/json"}, refusal.body)
                return
            connection = http.client.HTTPConnection(host)
            try:
                headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                content = answer.read()
            finally:
                connection.close()
            with lock:
                proxy.answers.append(content)
            proxy.answered(number)
            if proxy.lost and proxy.lost in request:
                proxy.lost = ""
                self.close_connection = True
                return
            self.reply(answer.status, dict(answer.getheaders()), content.replace(*proxy.rewrite))

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

        def reply(self, status: int, headers: dict[str, str], content: bytes) -> None:
            try:
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                pass  # whoever asked was killed

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
