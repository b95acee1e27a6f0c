"""The clock, read only where a run begins and ends."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from scoring.errors import UsageError
from tasks.state.run_ledger import INTRADAY, NIGHTLY


def now() -> datetime:
    """This instant, in UTC."""
    return datetime.now(UTC)


def today(time_zone: str) -> date:
    """The calendar day of this instant in a zone."""
    return now().astimezone(ZoneInfo(time_zone)).date()


def require_started(day: date, time_zone: str) -> date:
    """The same day, if it has begun in the zone: an empty day of the future would be the latest one everywhere.

    Raises:
        UsageError: it has not.
    """
    if day > today(time_zone):
        raise UsageError(f"{day} has not begun yet in {time_zone}", fix="give today or an earlier day")
    return day


def day_of_night(given: Mapping[str, Any], scheduled: datetime, time_zone: str) -> date:
    """The day that a run of the nightly flow scores: the parameter `day`, else what follows from its scheduled start.

    In another process than the flow, Prefect has only the text of a parameter.
    """
    if day := given.get("day"):
        return day if isinstance(day, date) else date.fromisoformat(day)
    scheduled_day = scheduled.astimezone(ZoneInfo(time_zone)).date()
    return scheduled_day if given.get("kind") == INTRADAY else scheduled_day - timedelta(days=1)


def name_of_night(given: Mapping[str, Any], scheduled: datetime, time_zone: str) -> str:
    """What people know a run of the nightly flow by: its kind and its day."""
    return f"{given.get('kind', NIGHTLY)} {day_of_night(given, scheduled, time_zone)}"
