"""Parts of a day as task runs of a flow."""

from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import TaskRunFilter, TaskRunFilterName

from flows.steps.parts import score_parts
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.chat.local_engine import ScoredRows, score_chat_rows
from tasks.chat.sources import ChatRowFiles
from tasks.config.settings import Settings
from tests.builders.chat_rows import best, refused, write_rows
from tests.flows.prefect_server import ended_task_runs

PARTS = 4


def test_parts_in_a_flow_are_task_runs_and_leave_what_one_process_leaves(
    prefect_in_threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.steps.parts.PARTS_WORTH_A_WORKER", PARTS // 2)
    for number in range(PARTS):
        write_rows(tmp_path / "rows" / f"{number}.jsonl", [best(number), refused(number)])

    def scored(folder: str, **options: Any) -> ScoredRows:
        return score_chat_rows(
            ChatRowFiles([tmp_path / "rows"]),
            RUBRIC,
            time_zone="Asia/Seoul",
            window=None,
            staging=tmp_path / folder,
            keep_text="all",
            part_bytes=1,
            **options,
        )

    @flow
    def in_parts() -> ScoredRows:
        return scored("parts", workers=2, score_parts=lambda *given: score_parts(*given, settings=Settings()))

    found, alone = in_parts(), scored("alone")
    assert found.counts == alone.counts
    assert [frame.rows() for frame in found.score_frames()] == [frame.rows() for frame in alone.score_frames()]
    names = TaskRunFilter(name=TaskRunFilterName(any_=[f"part {number}" for number in range(PARTS)]))
    with get_client(sync_client=True) as client:
        tasks = ended_task_runs(client, task_run_filter=names)
    assert [task.state_name for task in tasks] == ["Completed"] * PARTS
