"""A Prefect server and its database that start again in the middle of a backfill over two workers."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import State
from prefect.settings import PREFECT_API_URL, temporary_settings

from tasks.config.settings import MonitoringSettings
from tasks.state.run_ledger import RunLedger
from tests.builders import flows
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.fakes.postgresql import postgresql_programs, running_postgresql
from tests.flows.conftest import AQB
from tests.flows.prefect_server import PREFECT, eventually, running

pytestmark = pytest.mark.skipif("SOAK" not in os.environ, reason="takes minutes: `make soak`")

DAYS = [DAY + timedelta(days=number) for number in range(6)]
DEPLOYMENTS = Path("deployments").resolve()
LEASES = "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"


@dataclass
class Service:
    """A server on PostgreSQL, whose settings outlast its restarts, and a client of it."""

    folder: Path
    programs: Path
    database: str
    environment: dict[str, str]
    client: SyncPrefectClient

    @contextmanager
    def server(self) -> Iterator[None]:
        """The server, which answers when the block begins."""
        port = self.environment["PREFECT_API_URL"].rpartition(":")[2].removesuffix("/api")
        command = [str(PREFECT), "server", "start", "--host", "127.0.0.1", "--port", port, "--no-ui"]
        with running(command, self.folder / "server.log", env=self.environment):
            eventually(lambda: True if self.client.api_healthcheck() is None else None, "the Prefect server answers")
            yield

    def restart_database(self) -> None:
        """Does what an operator would; who is connected is thrown out."""
        engine = sa.create_engine(f"postgresql+psycopg://{self.database}/postgres")
        with engine.connect() as connection:
            data = connection.exec_driver_sql("SHOW data_directory").scalar_one()
        engine.dispose()
        command: list[str | Path] = [self.programs / "pg_ctl", "-D", data, "-m", "fast", "-w", "restart"]
        user = "postgres" if os.getuid() == 0 else None
        subprocess.run(command, user=user, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def deploy(self) -> None:
        """Makes the work pool and the deployments."""
        self.client.create_work_pool(WorkPoolCreate(name="aqb", type="process"))
        command: list[str | Path] = [
            PREFECT,
            "--no-prompt",
            "deploy",
            "--prefect-file",
            DEPLOYMENTS / "prefect.yaml",
            "--all",
        ]
        subprocess.run(command, check=True, capture_output=True, env=self.environment, cwd=self.folder)

    def wait_for_days(self, count: int) -> None:
        """Returns when so many days have been completed."""
        with opened(RunLedger, self.environment["AQB_STATE_URL"]) as ledger:

            def are_done() -> bool | None:
                return len({run.score_date for run in ledger.completed("backfill", 99)}) >= count or None

            eventually(are_done, f"{count} days are done")

    @contextmanager
    def backfill(self) -> Iterator[list[State]]:
        """A backfill of all days over the workers; the list has its end when the block has ended."""
        deployment = self.client.read_deployment_by_name("backfill/backfill")
        days = {"first": str(DAYS[0]), "last": str(DAYS[-1]), "across_workers": True}
        run_id = self.client.create_flow_run_from_deployment(deployment.id, parameters=days).id
        end: list[State] = []
        yield end

        def final() -> State | None:
            with suppress(httpx.HTTPError):  # a server without its database is asked again
                state = self.client.read_flow_run(run_id).state
                return state if state and state.is_final() else None
            return None

        end.append(eventually(final, "the backfill ends"))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service that is not started yet, in a folder with its settings."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server (Debian: postgresql)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
    shipped = dict(line.split("=", 1) for line in (DEPLOYMENTS / "aqb.env").read_text().splitlines() if LEASES in line)
    folder = tmp_path / "service"
    folder.mkdir()
    (folder / "aqb.toml").write_text(f'warehouse = "warehouse"\nmonitoring.source = "{tmp_path / "rows.jsonl"}"\n')
    with running_postgresql(programs) as database, temporary_settings({PREFECT_API_URL: url}):
        environment = (
            os.environ
            | shipped
            | {
                "AQB_STATE_URL": f"postgresql+psycopg://{database}/postgres",
                "PREFECT_API_URL": url,
                "PREFECT_HOME": str(tmp_path / "prefect"),
                "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://{database}/postgres",
            }
        )
        with get_client(sync_client=True) as client:
            yield Service(folder, programs, database, environment, client)


def tables(folder: Path) -> dict[Path, str]:
    """Each file of the score tables with its digest; `runs` holds the times of runs."""
    found = {path.relative_to(folder): path for path in (folder / "warehouse").rglob("*.parquet")}
    return {name: sha256(path.read_bytes()).hexdigest() for name, path in found.items() if name.parts[1] != "runs"}


def test_backfill_over_two_workers_outlasts_restarts_with_the_same_tables(tmp_path: Path, service: Service) -> None:
    minutes = [number * 24 * 60 for number in range(len(DAYS))]
    rows = write_rows(tmp_path / "rows.jsonl", [row(minute) for minute in minutes for row in (best, refused)])
    source = MonitoringSettings(source=str(rows))
    flows.backfill(DAYS[0], DAYS[-1], settings=settings_in(tmp_path / "alone", monitoring=source))

    with ExitStack() as server, ExitStack() as workers:
        server.enter_context(service.server())
        service.deploy()
        for number in range(2):
            log = tmp_path / f"worker-{number}.log"
            workers.enter_context(running([str(AQB), "worker"], log, env=service.environment, cwd=service.folder))
        with service.backfill() as end:
            service.wait_for_days(1)
            server.close()
            server.enter_context(service.server())
            service.wait_for_days(2)
            service.restart_database()
        if not end[0].is_completed():  # it names the days that a worker was just starting; the same again does them
            assert "run the same backfill again" in str(end[0].message)
            with service.backfill() as end:
                pass
        assert end[0].is_completed(), end[0].message
    assert tables(service.folder) == tables(tmp_path / "alone")
    assert len(tables(service.folder)) >= len(DAYS)
