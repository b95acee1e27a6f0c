"""Orders the days of a backfill as their reports require."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from scoring.chat.kpi_windows import FOUR_WEEKS
from tasks.context import Context
from tasks.state.leases import Leases
from tasks.state.run_ledger import RunLedger

_LONGEST_WAIT_S = 1800.0
_LONGEST_START_S = 10.0
_BETWEEN_LOOKS_S = 0.05


@dataclass(frozen=True)
class DaysTaken:
    """Days that other workers have taken just before a day; their runs begin after `since`."""

    days: Collection[date]
    since: datetime

    def are_recorded(self, ledger: RunLedger) -> bool:
        """Whether the runs of all of them have begun."""
        runs = ledger.whole_days(min(self.days), max(self.days)) if self.days else ()
        return set(self.days) <= {run.score_date for run in runs if run.started_at >= self.since}


NONE_TAKEN = DaysTaken((), datetime.max.replace(tzinfo=UTC))


def wait_for_days_before(context: Context, day: date, taken: DaysTaken) -> None:
    """Waits for earlier days that other workers are scoring: the report of a day shows four weeks.

    No day waits for a later one, so there is no deadlock. Runs that take too long, or that ended before they were
    recorded, are missing in the report.
    """
    ledger, leases = RunLedger(context.state), Leases(context.state)
    started = time.monotonic()
    while (waited_s := time.monotonic() - started) < _LONGEST_WAIT_S:
        if waited_s > _LONGEST_START_S or taken.are_recorded(ledger):
            going = _going(ledger, day - timedelta(2 * FOUR_WEEKS), day - timedelta(1))
            if not going or not leases.alive(going):
                return
        time.sleep(_BETWEEN_LOOKS_S)


def _going(ledger: RunLedger, first: date, last: date) -> list[str]:
    """The active runs of these days, without those that died and whose day has been scored since."""
    unended = [run.run_id for run in ledger.unended_of_days(first, last)]
    if not unended:
        return []
    latest = {run.score_date: run.run_id for run in ledger.whole_days(first, last)}
    return [run_id for run_id in unended if run_id in latest.values()]
