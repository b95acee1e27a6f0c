"""Runs of nights in a ledger, as they end in life."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from tasks.state.run_ledger import NIGHTLY, Run

ZONE = ZoneInfo("Asia/Seoul")


def at(day: date, clock: str) -> datetime:
    """An instant in Seoul."""
    return datetime.combine(day, time.fromisoformat(clock), ZONE).astimezone(UTC)


def night(
    day: date, outcome: str = "completed", start: str = "01:00", kind: str = NIGHTLY, message: str | None = None
) -> Run:
    """The run that was to score a day, started on the day after it."""
    started = at(day + timedelta(days=1), start)
    finished = None if outcome == "running" else started + timedelta(minutes=5)
    run_id = f"{kind}-{day}-{start}"
    return Run(run_id, kind, day, "ola-monitoring", "1", "0.1.0", started, finished, outcome, message=message)
