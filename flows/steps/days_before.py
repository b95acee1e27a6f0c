"""Days of a backfill in the order that their reports need."""

import time
from datetime import date, timedelta

from scoring.chat.kpi_windows import FOUR_WEEKS
from tasks.context import Context
from tasks.state.leases import Leases
from tasks.state.run_ledger import RunLedger

_LONGEST_WAIT_S = 1800.0
_BETWEEN_LOOKS_S = 0.05


def wait_for_days_before(context: Context, day: date) -> None:
    """Waits for the earlier days that other workers are scoring: the report of a day is read beside four weeks.

    Nobody waits for a later day, so no two wait for each other. Of a run that takes too long the report knows nothing.
    """
    ledger, leases = RunLedger(context.state), Leases(context.state)
    given_up = time.monotonic() + _LONGEST_WAIT_S
    while time.monotonic() < given_up:
        latest = ledger.latest_of_days(day - timedelta(2 * FOUR_WEEKS), day - timedelta(1))
        if not leases.alive([run.run_id for run in latest.values() if run.outcome == "running"]):
            return
        time.sleep(_BETWEEN_LOOKS_S)
