"""Parts of a day on a Dask cluster: a real scheduler and two workers of it, each a process."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
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

pytest.importorskip("prefect_dask", reason="the extra `dask` is not installed")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
DASK = [sys.executable, "-m", "dask"]
FILES = 6


@pytest.fixture
def dask_address(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler that has two workers."""
    where = tmp_path / "scheduler.json"
    start = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(where)]
    workers = [*DASK, "worker", *start, "--no-nanny", "--nthreads", "1", "--local-directory", str(tmp_path)]
    with ExitStack() as stack:
        stack.enter_context(running([*DASK, "scheduler", *start, "--port", "0"], tmp_path / "scheduler.log", cwd=ROOT))
        address = eventually(
            lambda: (where.exists() and json.loads(where.read_text())["address"]) or None, "a scheduler"
        )
        for name in ("one", "two"):
            stack.enter_context(running([*workers, "--name", name], tmp_path / f"{name}.log", cwd=ROOT))
        yield address


def settings_for(address: str, source: Path) -> Settings:
    engine = EngineSettings(task_runner="dask", task_runner_address=address)
    return Settings(engine=engine, monitoring=MonitoringSettings(source=str(source)))


def job_in(folder: Path, staging: str) -> ScoringJob:
    for number in range(FILES):
        write_rows(folder / "rows" / f"{number}.jsonl", [best(number), refused(number)])
    return ScoringJob(ChatRowFiles([folder / "rows"]), RUBRIC, "Asia/Seoul", None, "all", folder / staging)


def tables_of(rows: ScoredRows) -> list[object]:
    return [rows.counts, [frame.rows() for frame in rows.score_frames()], rows.kpis().rows()]


def test_dask_workers_score_what_one_process_scores_also_where_one_is_killed_and_one_sees_no_file(
    prefect_in_threads: str, dask_address: str, tmp_path: Path
) -> None:
    job, alone = job_in(tmp_path, "shared"), job_in(tmp_path, "alone")
    parts = [*job.parts(1)]
    assert len(parts) > 3
    parts[1] = replace(parts[1], rows=DeadlyRows(parts[1].rows, tmp_path / "killed"))
    parts[2] = replace(parts[2], rows=RowsOfOneProcess(parts[2].rows, os.getpid()))

    @flow
    def on_cluster() -> tuple[UUID, ScoredRows]:
        settings = settings_for(dask_address, tmp_path / "rows")
        return UUID(flow_run.id), job.gathered(score_parts(iter(parts), 2, settings=settings))

    run_id, rows = on_cluster()
    assert (tmp_path / "killed").exists()
    assert tables_of(rows) == tables_of(alone.gathered([score_part(alone.whole())]))
    with get_client(sync_client=True) as client:
        tasks = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run_id])))
    assert sorted(task.name for task in tasks) == sorted(f"part {number}" for number in range(len(parts)))
    assert {task.state_name for task in tasks} == {"Completed"}


def test_dask_cluster_that_is_not_there_and_paths_that_no_worker_knows_are_one_error_each(
    prefect_in_threads: str, tmp_path: Path
) -> None:
    import dask

    @flow
    def on_cluster(source: Path) -> None:
        [*score_parts(job_in(tmp_path, "staging").parts(1), 2, settings=settings_for("tcp://127.0.0.1:9", source))]

    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        with pytest.raises(StorageError, match="the Dask cluster cannot be reached"):
            on_cluster(tmp_path / "rows")
        with pytest.raises(UsageError, match="as absolute paths"):
            on_cluster(Path("rows"))


def test_part_on_a_machine_without_the_staging_folder_is_refused_there(tmp_path: Path) -> None:
    part = next(iter(job_in(tmp_path, "elsewhere").parts(1)))
    with pytest.raises(StorageError, match="does not see the staging folder"):
        score_where_shared(part)
