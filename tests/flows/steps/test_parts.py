"""Parts of a day as task runs of a flow."""

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from flows.steps.parts import score_parts
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.chat.local_engine import ScoredRows, ScoringJob
from tasks.chat.sources import ChatRowFiles
from tasks.config.settings import Settings
from tests.builders.chat_rows import best, refused, write_rows
from tests.flows.prefect_server import ended_task_runs

FILES = 4


@pytest.mark.long
def test_parts_in_a_flow_are_task_runs_and_leave_what_one_process_leaves(
    prefect_in_threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.steps.parts.PARTS_WORTH_A_WORKER", FILES // 2)
    for number in range(FILES):
        write_rows(tmp_path / "rows" / f"{number}.jsonl", [best(number), refused(number)])

    def scored(folder: str, **options: Any) -> ScoredRows:
        job = ScoringJob(ChatRowFiles([tmp_path / "rows"]), RUBRIC, "Asia/Seoul", None, "all", tmp_path / folder)
        return job.scored(part_bytes=1, **options)

    @flow
    def scored_in_parts() -> tuple[ScoredRows, UUID]:
        in_parts = partial(score_parts, settings=Settings())
        return scored("parts", workers=2, score_parts=in_parts), UUID(flow_run.id)

    (found, run_id), alone = scored_in_parts(), scored("alone")
    assert found.counts == alone.counts
    assert [frame.rows() for frame in found.score_frames()] == [frame.rows() for frame in alone.score_frames()]
    names = [f"part {number}" for number, _ in enumerate(ChatRowFiles([tmp_path / "rows"]).parts(None, 1))]
    with get_client(sync_client=True) as client:
        tasks = ended_task_runs(client, run_id, len(names))
    assert {task.name: task.state_name for task in tasks} == dict.fromkeys(names, "Completed")
