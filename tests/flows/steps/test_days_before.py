"""Days of a backfill that are scored at the same time, and the report that looks at the days before."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from flows.runtime.run_recorder import recorded_run
from flows.steps.days_before import wait_for_days_before
from tasks.context import Context
from tasks.state.run_ledger import BACKFILL
from tests.builders.chat_rows import DAY
from tests.builders.settings import settings_in


def test_a_report_waits_for_the_day_before_and_for_no_later_one(tmp_path: Path) -> None:
    with Context(settings_in(tmp_path)) as context, ThreadPoolExecutor(1) as worker:
        with recorded_run(context.state, BACKFILL, DAY) as before, before.step("score"):
            wait_for_days_before(context, DAY)
            wait_for_days_before(context, DAY - timedelta(1))
            waiting = worker.submit(wait_for_days_before, context, DAY + timedelta(1))
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
        waiting.result()
