"""A service on 127.0.0.1 that takes pings: what it got, and answers that a test chooses."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "secret-of-the-heartbeat"


class PingReceiver:
    """The server in threads of its own: `with PingReceiver() as receiver: receiver.address`."""

    def __init__(self) -> None:
        self.pings: list[tuple[str, str]] = []
        """Path below the address and body of each request."""
        self.status = 200
        self.location = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{SECRET}"

    def __enter__(self) -> PingReceiver:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                receiver.pings.append((self.path.removeprefix(f"/{SECRET}"), body))
                self.send_response(receiver.status)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:  # what a redirect would become
                self.do_POST()

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
