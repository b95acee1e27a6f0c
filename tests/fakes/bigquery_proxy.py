"""A proxy in front of a local BigQuery: it counts requests, and answers in its place what it does not know to say."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.fakes.local_server import LocalServer, Request

_OF_THE_CONNECTION = ("content-length", "transfer-encoding", "connection", "date", "server")


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
    with _Forwarder(urlsplit(target).netloc, proxy) as server:
        proxy.url = server.url
        yield proxy


class _Forwarder(LocalServer):
    def __init__(self, host: str, proxy: Proxy) -> None:
        self._host = host
        self._proxy = proxy
        self._lock = threading.Lock()

    def answer(self, request: Request) -> None:
        proxy, asked = self._proxy, f"{request.command} {request.path}"
        with self._lock:
            proxy.seen.append(asked)
            proxy.bodies.append(request.body)
            number, refusal = len(proxy.seen), proxy.refusal_of(asked)
        if refusal:
            return request.reply(refusal.status, refusal.body, {"Content-Type": "application/json"})
        status, headers, content = self._forward(request)
        with self._lock:
            proxy.answers.append(content)
        proxy.answered(number)
        if proxy.lost and proxy.lost in asked:
            proxy.lost = ""
            request.close_connection = True
            return None
        return request.reply(status, content.replace(*proxy.rewrite), headers)

    def _forward(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        with closing(http.client.HTTPConnection(self._host)) as connection:
            headers = {name: value for name, value in request.headers.items() if name.lower() != "accept-encoding"}
            connection.request(request.command, request.path, request.body, headers)
            answer = connection.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in _OF_THE_CONNECTION}
            return answer.status, kept, answer.read()
