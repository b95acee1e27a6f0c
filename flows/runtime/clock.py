"""The clock, read only where a run begins and ends."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from scoring.errors import UsageError


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
