"""A server of HTTP on 127.0.0.1 in threads of its own, which says how it answers: the base of the fakes."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self


class Request(BaseHTTPRequestHandler):
    """A request of any method, with its body. `close_connection = True` without a reply cuts it off."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece: the second one would wait until the first has been received
    server: _Server
    body: bytes

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.owner.answer(self)

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - the names that the base class asks for

    def reply(self, status: int, content: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """Answers with a status, headers and a body of the right length."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class LocalServer(ABC):
    """`with SomeServer() as server: server.url`."""

    @abstractmethod
    def answer(self, request: Request) -> None:
        """Answers a request, in a thread of its connection."""

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self, owner: LocalServer) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client gave up, or was killed
            super().handle_error(request, client_address)
