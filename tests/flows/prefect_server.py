"""One Prefect server for every test that needs one, whichever folder it stands in and whichever worker runs it."""

import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import pytest

from tests.fakes.postgresql import postgresql_programs, postgresql_version, prepared_database, running_postgresql

if TYPE_CHECKING:  # tests that start no server do not wait for its import
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import TaskRun

_CACHE = Path(__file__).parents[2] / ".pytest_cache"
PREFECT = Path(sys.executable).with_name("prefect")
_DEADLINE_S = 600.0

_UNUSED_SERVICES = (
    *("EVENT_PERSISTER", "TRIGGERS", "FOREMAN", "LATE_RUNS", "CANCELLATION_CLEANUP", "REPOSSESSOR"),
    *("CLEANUP_RECONCILER", "PAUSE_EXPIRATIONS"),
)

T = TypeVar("T")


def eventually(look: Callable[[], T | None], what: str) -> T:
    """What `look` finds, as soon as it does."""
    deadline = time.monotonic() + _DEADLINE_S
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"waited {_DEADLINE_S:g} s in vain: {what}"
        time.sleep(0.25)  # between two questions to another process, which answering keeps from its work
    return found


def ended_task_runs(client: "SyncPrefectClient", flow_run_id: UUID, count: int) -> "list[TaskRun]":
    """The task runs of a flow run when so many have ended: the server hears of each a little after the flow."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    of_run = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))

    def ended() -> "list[TaskRun] | None":
        found = client.read_task_runs(flow_run_filter=of_run)
        has_ended = [task.state is not None and task.state.is_final() for task in found]
        return found if len(found) >= count and all(has_ended) else None

    return eventually(ended, f"{count} task runs have ended")


@contextmanager
def running(command: list[str], log: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process for as long as the block lasts; its log is shown when a test fails."""
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, **options) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
            sys.stdout.write(log.read_text(encoding="utf-8", errors="replace"))


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, started as docs/operate.md says; flows here use it.

    The first worker that asks for it starts it, and stops it when the others have ended.
    """
    from prefect.settings import (  # seconds of imports that most tests do without
        PREFECT_API_URL,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        temporary_settings,
    )

    of_worker = tmp_path_factory.getbasetemp()
    shared = of_worker.parent if "PYTEST_XDIST_WORKER" in os.environ else of_worker
    address, starting, using = (shared / f"prefect-{name}" for name in ("address", "starting", "using"))
    with ExitStack() as server, ExitStack() as user:
        with _locked(starting, fcntl.LOCK_EX):
            ours = not address.exists()
            if ours:
                started = started_server(tmp_path_factory.mktemp("prefect"), _UNUSED_SERVICES)
                address.write_text(server.enter_context(started))
            user.enter_context(_locked(using, fcntl.LOCK_SH))
        url = address.read_text()
        # The end of a flow waits up to a second for the thread of its heartbeats, which no test listens to.
        with temporary_settings({PREFECT_API_URL: url, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            yield url
        user.close()
        if ours:
            with _locked(starting, fcntl.LOCK_EX), _locked(using, fcntl.LOCK_EX):
                address.unlink()
                server.close()


@contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield


@contextmanager
def started_server(home: Path, unused: Sequence[str] = (), *, pages: bool = False) -> Iterator[str]:
    """The address of a server with an empty database, without its unused services; flows in the block use it.

    It has no pages for people unless they are asked for.

    Its database is of PostgreSQL where that is installed: in SQLite's it refuses writes of processes that write at the
    same time, who then wait for half a minute.
    """
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, temporary_settings

    port = _free_port()
    url = f"http://127.0.0.1:{port}/api"
    environment = os.environ | {f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in unused}
    environment |= {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    if pages:
        environment |= {"PREFECT_API_URL": url, "PREFECT_UI_STATIC_DIRECTORY": str(home / "pages")}
    command = [str(PREFECT), "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    command.append("--ui" if pages else "--no-ui")
    with ExitStack() as server:
        if programs := postgresql_programs():
            database = server.enter_context(running_postgresql(programs, begin_with=_migrated(programs)))
            environment |= _database_of_prefect(database) | {"PREFECT_SERVER_DATABASE_MIGRATE_ON_START": "false"}
        process = server.enter_context(running(command, home / "server.log", env=environment))
        server.callback(process.kill)  # asked to end it waits seconds for clients that are still there
        server.enter_context(temporary_settings({PREFECT_API_URL: url}))
        with get_client(sync_client=True) as client:
            eventually(lambda: True if client.api_healthcheck() is None else None, "the Prefect server answers")
        yield url


def _migrated(programs: Path) -> Path:
    """The files of a database as this version of Prefect begins with it, which takes it ten seconds to make."""

    def migrate(address: str) -> None:
        command: list[str | Path] = [PREFECT, "server", "database", "upgrade", "--yes"]
        subprocess.run(command, env=os.environ | _database_of_prefect(address), check=True, capture_output=True)

    name = f"prefect-{version('prefect')}-postgresql-{postgresql_version(programs)}"
    return prepared_database(programs, _CACHE / name, migrate)


def _database_of_prefect(address: str) -> dict[str, str]:
    return {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://{address}/postgres"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
