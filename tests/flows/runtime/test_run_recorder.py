"""A run in the ledger, whatever the clock does."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from flows.runtime.run_recorder import recorded_run
from scoring.errors import InputError
from tasks.state.database import StateDatabase
from tasks.state.run_ledger import Run, RunLedger

DAY = date(2026, 2, 13)


def test_latest_run_of_a_day_is_the_last_one_also_where_the_clock_was_set_back(tmp_path: Path) -> None:
    """A day that was completed by a run of the future and has failed since must be scored again."""
    ahead = datetime.now(UTC) + timedelta(hours=1)
    before = Run("before", "nightly", DAY, "ola-monitoring", "1", "0.1.0", ahead, ahead, "completed")
    with StateDatabase(f"sqlite:///{tmp_path / 'state.db'}") as state:
        RunLedger(state).save(before)
        with pytest.raises(InputError), recorded_run(state, "nightly", DAY):
            raise InputError("nothing is there")
        latest = RunLedger(state).latest_of_days(DAY, DAY)[DAY]
    assert (latest.run_id != "before", latest.outcome) == (True, "failed")
    assert latest.finished_at is not None
    assert ahead < latest.started_at <= latest.finished_at
