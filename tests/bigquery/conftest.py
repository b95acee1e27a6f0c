"""A local BigQuery for all tests here, which skip where it is not set up; and the settings that reach it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.bigquery import Client, Dataset

from tasks.bigquery.settings import BigQuerySettings
from tasks.settings import Settings

ENVIRONMENT = Path(".venv-bigquery").resolve()
PROJECT = "team-project"
_START_S = 60


@dataclass(frozen=True)
class Emulator:
    """Where the local BigQuery listens."""

    rest: str
    storage: str


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """One server for the session, with its data in a folder of its own; ended by its process id."""
    if not (ENVIRONMENT / ".installed").is_file():
        pytest.skip("no local BigQuery: `make test-bigquery` sets it up (it needs Python 3.13)")
    rest, storage = _free_port(), _free_port()
    folder = tmp_path_factory.mktemp("bigquery")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(ENVIRONMENT / "bin" / "local-bigquery", "--host", "127.0.0.1", "--project", PROJECT),
                *("--port", str(rest), "--grpc-port", str(storage), "--data-dir", folder / "data"),
            ],
            env=os.environ | {"HOME": str(ENVIRONMENT)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_it_answers(process, rest, folder / "log")
        yield Emulator(f"http://127.0.0.1:{rest}", f"127.0.0.1:{storage}")
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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


@pytest.fixture
def dataset(client: Client) -> str:
    """The full name of an empty dataset."""
    name = f"{PROJECT}.d{uuid.uuid4().hex}"
    client.create_dataset(Dataset(name))
    return name


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


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    waited_until = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < waited_until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/bigquery/v2/projects/{PROJECT}/datasets", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError(f"the local BigQuery did not start:\n{log.read_text(encoding='utf-8')}")
