"""A run in the ledger, whatever the clock does."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from flows.runtime.run_recorder import recorded_run
from scoring.errors import InputError, StorageError
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


@pytest.mark.parametrize("has_written", [False, True])
def test_run_that_was_taken_for_dead_leaves_the_day_to_the_one_that_took_it_over(
    tmp_path: Path, has_written: bool
) -> None:
    """As where a machine slept, and another one has scored the day: what both have written is scored again."""
    with StateDatabase(f"sqlite:///{tmp_path / 'state.db'}") as state:
        with pytest.raises(StorageError, match="another run took over"), recorded_run(state, "nightly", DAY) as mine:
            mine.require_latest()
            with recorded_run(state, "test_run", DAY) as of_files:
                of_files.ends("completed")
            mine.require_latest(has_written=True)
            with recorded_run(state, "nightly", DAY) as other:
                other.ends("completed")
            mine.require_latest(has_written=has_written)
        latest = RunLedger(state).latest_of_days(DAY, DAY)[DAY]
    expected = (mine.run.run_id, "failed") if has_written else (other.run.run_id, "completed")
    assert (latest.run_id, latest.outcome) == expected
