"""A server on 127.0.0.1 that answers each request with whatever bytes a test wants, at whatever pace."""

from __future__ import annotations

import gzip
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

UNTRUSTED = Path(__file__).with_name("untrusted.pem")
"""A key for tests with its certificate, which nobody has signed."""

_TLS = b"\x16"
"""What a handshake begins with. A server without a certificate hangs up."""

Script = Callable[[bytes], Iterable[bytes]]
"""The pieces of an answer to the body of a request. The connection is closed behind the last one."""


def http(body: bytes, status: int = 200, headers: Iterable[str] = ()) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def json_http(value: Any, status: int = 200, headers: Iterable[str] = ()) -> bytes:
    """A whole answer of JSON in ASCII, so that it may hold halves of characters."""
    return http(json.dumps(value).encode(), status, ["Content-Type: application/json", *headers])


@cache
def _packed_spaces() -> bytes:
    return gzip.compress(b" " * 50_000_000)


def packed(status: int = 200) -> Script:
    """An answer of 50 MB that is sent as 50 kB. It is made when it is asked for."""
    return lambda body: [http(_packed_spaces(), status, ["Content-Encoding: gzip"])]


class HostileServer:
    """`with HostileServer(script) as server: server.url`. `received` are the bodies, `sent` counts bytes taken."""

    def __init__(self, script: Script, certificate: Path | None = None) -> None:
        self.script = script
        self.received: list[bytes] = []
        self.sent = 0
        self.stopped = threading.Event()
        self._certificate = certificate

    @property
    def address(self) -> str:
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def __enter__(self) -> HostileServer:
        hostile = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):  # the client has had enough
                    self.request.settimeout(10)
                    if hostile._certificate or self.request.recv(1, socket.MSG_PEEK) != _TLS:
                        hostile._answer(self)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A handshake that failed is what the test wants."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if self._certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: socketserver.StreamRequestHandler) -> None:
        length = 0
        while (line := handler.rfile.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = handler.rfile.read(length)
        self.received.append(body)
        for piece in self.script(body):
            if self.stopped.is_set():
                return
            handler.wfile.write(piece)
            self.sent += len(piece)
