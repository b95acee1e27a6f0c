"""A service on 127.0.0.1 that takes pings: what it got, and answers that a test chooses."""

from tests.fakes.local_server import LocalServer, Request

SECRET = "secret-of-the-heartbeat"


class PingReceiver(LocalServer):
    """`with PingReceiver() as receiver: receiver.address`."""

    def __init__(self) -> None:
        self.pings: list[tuple[str, str]] = []
        """Path below the address and body of each request."""
        self.status = 200
        self.location = ""

    @property
    def address(self) -> str:
        return f"{self.url}/{SECRET}"

    def answer(self, request: Request) -> None:
        self.pings.append((request.path.removeprefix(f"/{SECRET}"), request.body.decode()))
        request.reply(self.status, headers={"Location": self.location} if self.location else None)
