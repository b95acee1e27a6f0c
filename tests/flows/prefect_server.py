"""One temporary Prefect server for every test that runs a flow, whichever folder it stands in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[str]:
    """The address of a server with a database of its own."""
    from prefect.settings import PREFECT_API_URL  # seconds of imports that most tests do without
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield str(PREFECT_API_URL.value())
