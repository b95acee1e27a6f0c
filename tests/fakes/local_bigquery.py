"""A local BigQuery (`local-bigquery`, in an environment of its own): started, and ended by its process id."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = Path(__file__).parents[2] / ".venv-bigquery"
PROJECT = "team-project"
_START_S = 180


@dataclass(frozen=True)
class Emulator:
    """Where a local BigQuery listens: its API, and its Storage API."""

    rest: str
    storage: str


def is_set_up() -> bool:
    """Whether `.ci/local-bigquery` has made the environment."""
    return (ENVIRONMENT / ".installed").is_file()


@contextmanager
def running(folder: Path) -> Iterator[Emulator]:
    """A server that keeps its data in `folder`, for as long as the block lasts."""
    rest, storage = _free_port(), _free_port()
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
