"""Parts of a day on a cluster: a real scheduler of Dask or head of Ray, and two workers, each a process."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.runtime import flow_run

from flows.steps.parts import score_parts, score_where_shared
from scoring.errors import StorageError, UsageError
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.chat.local_engine import ScoredRows, ScoringJob
from tasks.chat.parts import score_part
from tasks.chat.sources import ChatRowFiles
from tasks.config.engine import EngineSettings
from tasks.config.settings import MonitoringSettings, Settings
from tests.builders.chat_rows import best, refused, write_rows
from tests.builders.deadly_rows import DeadlyRows, RowsOfOneProcess
from tests.flows.prefect_server import eventually, running

Kind = Literal["dask", "ray"]

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
DASK = [sys.executable, "-m", "dask"]
RAY = [
    *(str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--node-ip-address=127.0.0.1"),
    *("--num-cpus=2", "--object-store-memory=100000000", "--include-dashboard=false", "--disable-usage-stats"),
]
FILES = 6


@pytest.fixture(params=["dask", "ray"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """A kind of cluster whose extra is installed."""
    kind: Kind = request.param
    if not find_spec(f"prefect_{kind}"):
        pytest.skip(f"the extra `{kind}` is not installed: `make test-{kind}` has it")
    return kind


@pytest.fixture
def address(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a cluster of two workers, all of this machine."""
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # else Ray takes 127.0.0.1 for the outer address
    with (_dask if kind == "dask" else _ray)(tmp_path) as address:
        yield address


@contextmanager
def _dask(folder: Path) -> Iterator[str]:
    where = folder / "scheduler.json"
    start = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(where)]
    workers = [*DASK, "worker", *start, "--no-nanny", "--nthreads", "1", "--local-directory", str(folder)]
    with ExitStack() as stack:
        stack.enter_context(running([*DASK, "scheduler", *start, "--port", "0"], folder / "scheduler.log", cwd=ROOT))
        address = eventually(
            lambda: (where.exists() and json.loads(where.read_text())["address"]) or None, "a scheduler"
        )
        for name in ("one", "two"):
            stack.enter_context(running([*workers, "--name", name], folder / f"{name}.log", cwd=ROOT))
        yield address


@contextmanager
def _ray(folder: Path) -> Iterator[str]:
    """A head with two worker processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ExitStack() as stack:
        short = stack.enter_context(TemporaryDirectory(prefix="ray-"))  # as names of sockets must be
        log = folder / "head.log"
        stack.enter_context(running([*RAY, f"--port={port}", f"--temp-dir={short}"], log, cwd=ROOT))
        eventually(lambda: "Ray runtime started" in log.read_text() or None, "a head")
        yield f"127.0.0.1:{port}"


def settings_for(kind: Kind, address: str, source: Path) -> Settings:
    engine = EngineSettings(task_runner=kind, task_runner_address=address)
    return Settings(
        engine=engine, monitoring=MonitoringSettings(source=str(source)), warehouse=str(source.with_name("warehouse"))
    )


def job_in(folder: Path, staging: str) -> ScoringJob:
    for number in range(FILES):
        write_rows(folder / "rows" / f"{number}.jsonl", [best(number), refused(number)])
    return ScoringJob(ChatRowFiles([folder / "rows"]), RUBRIC, "Asia/Seoul", None, "all", folder / staging)


def tables_of(rows: ScoredRows) -> list[object]:
    return [rows.counts, [frame.rows() for frame in rows.score_frames()], rows.kpis().rows()]


def test_workers_of_a_cluster_score_what_one_process_scores_also_where_one_is_killed_and_one_sees_no_file(
    prefect_in_threads: str, kind: Kind, address: str, tmp_path: Path
) -> None:
    job, alone = job_in(tmp_path, "shared"), job_in(tmp_path, "alone")
    parts = [*job.parts(1)]
    assert len(parts) > 3
    parts[1] = replace(parts[1], rows=DeadlyRows(parts[1].rows, tmp_path / "killed"))
    parts[2] = replace(parts[2], rows=RowsOfOneProcess(parts[2].rows, os.getpid()))

    @flow
    def on_cluster() -> tuple[UUID, ScoredRows]:
        settings = settings_for(kind, address, tmp_path / "rows")
        return UUID(flow_run.id), job.gathered(score_parts(iter(parts), 2, settings=settings))

    run_id, rows = on_cluster()
    assert (tmp_path / "killed").exists()
    assert tables_of(rows) == tables_of(alone.gathered([score_part(alone.whole())]))
    with get_client(sync_client=True) as client:
        tasks = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run_id])))
    assert sorted(task.name for task in tasks) == sorted(f"part {number}" for number in range(len(parts)))
    assert {task.state_name for task in tasks} == {"Completed"}


def test_cluster_that_is_not_there_and_paths_that_no_worker_knows_are_one_error_each(
    prefect_in_threads: str, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @flow
    def on_cluster(source: Path) -> None:
        [*score_parts(job_in(tmp_path, "staging").parts(1), 2, settings=settings_for(kind, nowhere[kind], source))]

    nowhere = {"dask": "tcp://127.0.0.1:9", "ray": "ray://127.0.0.1:9"}
    with pytest.raises(StorageError, match=f"the {kind.title()} cluster cannot be used"):
        on_cluster(tmp_path / "rows")
    with pytest.raises(UsageError, match="as absolute paths"):
        on_cluster(Path("rows"))


@pytest.mark.skipif(find_spec("prefect_ray") is None, reason="the extra `ray` is not installed: `make test-ray` has it")
@pytest.mark.parametrize("kind", ["ray"], indirect=True)  # of other versions Dask only warns
def test_cluster_of_another_version_is_told_with_both(
    prefect_in_threads: str, kind: Kind, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @flow
    def on_cluster() -> None:
        [*score_parts(job_in(tmp_path, "staging").parts(1), 2, settings=settings_for(kind, address, tmp_path))]

    monkeypatch.setattr("ray.__version__", "2.0.0")
    with pytest.raises(StorageError, match=r"the Ray cluster cannot be used: Version mismatch: .+ Ray: 2\.0\.0 "):
        on_cluster()


def test_part_on_a_machine_without_the_staging_folder_is_refused_there(tmp_path: Path) -> None:
    part = next(iter(job_in(tmp_path, "elsewhere").parts(1)))
    with pytest.raises(StorageError, match="does not see the staging folder"):
        score_where_shared(part)
