"""A web server that is none of what a setting promised: to everything it answers with a page."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def serving_pages() -> Iterator[str]:
    """Its address. A path that is a number is answered with this status; the page repeats the secret it was given."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = self.path.split("/")[1]
        self.send_response(int(status) if status.isdecimal() else 200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<html>{self.headers.get('authorization')}</html>".encode())

    do_POST = do_GET  # noqa: N815  (the name is the library's)

    def log_message(self, *_: object) -> None:
        return
