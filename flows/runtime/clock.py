"""The current time and day."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from scoring.errors import UsageError


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
