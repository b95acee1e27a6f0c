"""The current time and day, and the day that a run of the nightly flow scores."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from scoring.errors import UsageError
from tasks.state.run_ledger import INTRADAY, NIGHTLY


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def today(time_zone: str) -> date:
    """The current calendar day in a time zone."""
    return now().astimezone(ZoneInfo(time_zone)).date()


def require_started(day: date, time_zone: str) -> date:
    """Returns the day if it has begun in the time zone: an empty future day would count as the latest one everywhere.

    Raises:
        UsageError: the day has not begun.
    """
    if day > today(time_zone):
        raise UsageError(f"{day} has not begun yet in {time_zone}", fix="give today or an earlier day")
    return day


def day_of_night(given: Mapping[str, Any], scheduled: datetime, time_zone: str) -> date:
    """The day that a run of the nightly flow scores: the parameter `day`, or else derived from its scheduled start.

    Outside of the flow's process Prefect has parameters as text only.
    """
    if day := given.get("day"):
        return day if isinstance(day, date) else date.fromisoformat(day)
    scheduled_day = scheduled.astimezone(ZoneInfo(time_zone)).date()
    return scheduled_day if given.get("kind") == INTRADAY else scheduled_day - timedelta(days=1)


def name_of_night(given: Mapping[str, Any], scheduled: datetime, time_zone: str) -> str:
    """The name of a run of the nightly flow: its kind and its day."""
    return f"{given.get('kind', NIGHTLY)} {day_of_night(given, scheduled, time_zone)}"
