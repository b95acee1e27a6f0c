"""A web server that is none of what a setting promised: to everything it answers with a page."""

from tests.fakes.local_server import LocalServer, Request


class Website(LocalServer):
    """A path that is a number is answered with this status; the page repeats the secret it was given."""

    def answer(self, request: Request) -> None:
        status = request.path.split("/")[1]
        page = f"<html>{request.headers.get('authorization')}</html>".encode()
        request.reply(int(status) if status.isdecimal() else 200, page, {"Content-Type": "text/html"})
