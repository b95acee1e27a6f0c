"""Where this process looks for the server of Prefect, rows where settings look for them, and what doctor says."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest

from tests.builders.chat_rows import best, plain, refused, write_rows
from tests.flows.conftest import Command

PrefectAt = Callable[[str | None], None]


@pytest.fixture
def prefect_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrefectAt]:
    """Sets the address of the server, None for no server: Prefect has read its settings when it was imported."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with ExitStack() as settings:

        def set_address(url: str | None) -> None:
            settings.close()
            if url is None:
                monkeypatch.delenv("PREFECT_API_URL", raising=False)
                settings.enter_context(temporary_settings(restore_defaults={PREFECT_API_URL}))
            else:
                monkeypatch.setenv("PREFECT_API_URL", url)
                settings.enter_context(temporary_settings({PREFECT_API_URL: url}))

        yield set_address


@pytest.fixture(autouse=True)
def _known_holidays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calendar goes on: doctor warns of its end, on whatever day the tests run."""
    monkeypatch.setattr("flows.cli.doctor.LAST_DAY", date(2999, 12, 31))


@pytest.fixture
def source(folder: Path) -> Path:
    """Three scored rows and an excluded one at the place where settings look for them."""
    return write_rows(
        folder / "data" / "chat_rows" / "a.jsonl", [best(0), refused(1), plain(2, llm_response=None), plain(24 * 60)]
    )


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on this machine is asked directly."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port at which nobody answers."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        yield nobody.getsockname()[1]


def checks(aqb: Command) -> dict[str, str]:
    """What doctor says of each thing, `NOT ` before what is not as it should be."""
    ended = aqb("doctor", "--json")
    found = json.loads(ended.out)["checks"]
    assert ended.exit_code == (0 if all(one["ok"] for one in found) else 1)
    return {one["name"]: ("" if one["ok"] else "NOT ") + one["seen"] for one in found}
