"""Where this process looks for the server of Prefect."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

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
