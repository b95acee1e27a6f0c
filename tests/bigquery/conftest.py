"""A local BigQuery for all tests here, which skip where it is not set up; and the settings that reach it."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.bigquery import Client, Dataset

from tasks.config.bigquery import BigQuerySettings
from tasks.config.settings import Settings
from tests.fakes.local_bigquery import PROJECT, is_set_up, running
from tests.fakes.local_bigquery import Emulator as Emulator


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """One server for the session, with its data in a folder of its own."""
    if not is_set_up():
        pytest.skip("no local BigQuery: `make test-bigquery` sets it up (it needs Python 3.13)")
    with running(tmp_path_factory.mktemp("bigquery")) as emulator:
        yield emulator


@pytest.fixture
def client(emulator: Emulator) -> Iterator[Client]:
    """The official client."""
    client = Client(
        project=PROJECT,
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options=ClientOptions(api_endpoint=emulator.rest),
    )
    yield client
    client.close()  # type: ignore[no-untyped-call]


@contextmanager
def new_dataset(client: Client, name: str) -> Iterator[str]:
    """An empty dataset that is dropped at the end: each table that is left makes every later statement 3 ms slower."""
    client.create_dataset(Dataset(name))
    yield name
    client.delete_dataset(name, delete_contents=True)


@pytest.fixture
def dataset(client: Client) -> Iterator[str]:
    """The full name of an empty dataset."""
    with new_dataset(client, f"{PROJECT}.d{uuid.uuid4().hex}") as name:
        yield name


@pytest.fixture
def settings(emulator: Emulator, tmp_path: Path) -> Settings:
    """Settings that reach the local BigQuery, with everything else in the test's folder."""
    return Settings(
        reports=str(tmp_path / "reports"),
        state_url=f"sqlite:///{tmp_path / 'state.db'}",
        bigquery=BigQuerySettings(
            endpoint=emulator.rest, anonymous=True, retry_s=20, scratch=str(tmp_path / "scratch")
        ),
    )
