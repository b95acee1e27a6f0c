"""Where this process looks for the server of Prefect, and rows where settings look for them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.builders.chat_rows import best, plain, refused, write_rows

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


@pytest.fixture
def source(folder: Path) -> Path:
    """Three scored rows and an excluded one at the place where settings look for them."""
    return write_rows(
        folder / "data" / "chat_rows" / "a.jsonl", [best(0), refused(1), plain(2, llm_response=None), plain(24 * 60)]
    )
