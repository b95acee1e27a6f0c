"""The Prefect server of the session, known to the processes that are to be killed."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _children_know_the_server(prefect_server: str) -> None:
    # The fork server takes its environment along when the first child is started, and keeps it.
    os.environ["PREFECT_API_URL"] = prefect_server
