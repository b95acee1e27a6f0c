"""The pages of `aqb web` in this process, asked as a browser asks, and read as one reads them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from tasks.config.secret_places import Secret
from tasks.config.settings import Settings
from tasks.config.web import WebSettings
from tasks.context import Context
from tasks.web.access import Access, SecretOf
from tasks.web.app import web_app
from tests.builders.site import Page

TOKENS = {"TOKEN_READER": "r" * 30, "TOKEN_REVIEWER": "v" * 30, "TOKEN_OPERATOR": "o" * 30}
USERS = [
    {"name": name, "role": name, "token_env": f"TOKEN_{name.upper()}"} for name in ("reader", "reviewer", "operator")
]
OF_TOKENS = WebSettings.model_validate({"auth": "token", "users": USERS})


class Watch:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def secrets_of(values: Mapping[str, str]) -> SecretOf:
    """Secrets by the names of their variables."""
    return lambda variable: Secret(values.get(variable, ""), variable)


@contextmanager
def browser(
    settings: Settings, web: WebSettings | None = None, clock: Watch | None = None, **options: Any
) -> Iterator[TestClient]:
    """A browser on this machine before the pages of some settings; it follows no redirect and keeps its cookies."""
    pages = (web or WebSettings()).model_copy(update={"uploads": settings.web.uploads})
    chosen = settings.model_copy(update={"web": pages})
    with Context(chosen) as context:
        access = Access(chosen.web, "127.0.0.1", clock or Watch(), secrets_of(TOKENS))
        usual: dict[str, Any] = {"base_url": "http://127.0.0.1:8400", "client": ("127.0.0.1", 50_000)}
        app = web_app(context, access)
        with TestClient(app, follow_redirects=False, **usual | options) as client:
            yield client


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """The address of the pages of some settings, served by a thread as `aqb web` serves them."""
    with Context(settings) as context:
        access = Access(settings.web, "127.0.0.1", time.monotonic, secrets_of(TOKENS))
        config = uvicorn.Config(web_app(context, access), port=0, log_level="error")
        server, socket = uvicorn.Server(config), config.bind_socket()
        socket.listen()
        thread = Thread(target=server.run, args=([socket],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def log_in(client: TestClient, role: str = "reader") -> None:
    """Begins a session with the token of a role."""
    answer = client.post("/login", data={"token": TOKENS[f"TOKEN_{role.upper()}"], "next": "/rows"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/rows")


def opened_page(client: TestClient, address: str, headers: Mapping[str, str] | None = None) -> Page:
    """A page that is there."""
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200, answer.text
    return page_of(answer.text)


def page_of(text: str) -> Page:
    """What a browser makes of a page."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(text, encoding="utf-8")
        return Page(path)
