"""A way to a server on 127.0.0.1 that can be cut in the middle."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class CuttableProxy:
    """Passes bytes on to a server: `with CuttableProxy(address) as proxy: proxy.url; proxy.cut()`."""

    def __init__(self, address: str) -> None:
        self._target = urlsplit(address)
        self._open: list[socket.socket] = []
        self._refused = 0
        self._passes = threading.Event()
        self._passes.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = self._target._replace(netloc=f"127.0.0.1:{port}").geturl()

    def cut(self) -> None:
        """Ends every connection; from now on there is nobody."""
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def interrupt(self, refused: int) -> None:
        """Ends every connection, and so many of the next ones at once, as a server does that starts again."""
        self._refused = refused
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Passes nothing on and ends nothing, like a frozen server or a network that drops packets."""
        self._passes.clear()
        try:
            yield
        finally:
            self._passes.set()

    def __enter__(self) -> CuttableProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):  # the listening socket was closed
            while True:
                client, _ = self._listening.accept()
                if self._refused:
                    self._refused -= 1
                    client.close()
                    continue
                server = socket.create_connection((self._target.hostname or "", self._target.port or 80))
                self._open += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                self._passes.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
