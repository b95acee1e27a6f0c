"""Days of a backfill that are scored at the same time, and the report that looks at the days before."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from flows.runtime.clock import now
from flows.runtime.run_recorder import recorded_run
from flows.steps.days_before import NONE_TAKEN, DaysTaken, wait_for_days_before
from tasks.context import Context
from tasks.state.run_ledger import BACKFILL
from tests.builders.chat_rows import DAY
from tests.builders.settings import settings_in


def test_report_waits_for_the_day_before_and_for_no_later_one(tmp_path: Path) -> None:
    with Context(settings_in(tmp_path)) as context, ThreadPoolExecutor(1) as worker:
        with recorded_run(context.state, BACKFILL, DAY) as before, before.step("score"):
            wait_for_days_before(context, DAY, NONE_TAKEN)
            wait_for_days_before(context, DAY - timedelta(1), NONE_TAKEN)
            waiting = worker.submit(wait_for_days_before, context, DAY + timedelta(1), NONE_TAKEN)
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
        waiting.result()


def test_report_waits_for_a_day_that_another_worker_has_taken_and_not_begun_yet(tmp_path: Path) -> None:
    with Context(settings_in(tmp_path)) as context, ThreadPoolExecutor(1) as worker:
        with recorded_run(context.state, BACKFILL, DAY) as earlier_run:
            earlier_run.ends("completed")
        taken = DaysTaken([DAY], now())
        waiting = worker.submit(wait_for_days_before, context, DAY + timedelta(1), taken)
        with pytest.raises(TimeoutError):
            waiting.result(0.2)
        with recorded_run(context.state, BACKFILL, DAY) as run:
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
            run.ends("kept")
        waiting.result()


def test_report_waits_for_no_run_of_a_day_that_was_done_again_since(tmp_path: Path) -> None:
    with (
        Context(settings_in(tmp_path)) as context,
        ThreadPoolExecutor(1) as worker,
        recorded_run(context.state, BACKFILL, DAY) as earlier,
        earlier.step("score"),
    ):
        with recorded_run(context.state, BACKFILL, DAY) as again:
            again.ends("completed")
        worker.submit(wait_for_days_before, context, DAY + timedelta(1), NONE_TAKEN).result(60)
