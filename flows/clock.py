"""The clock, read only where a run begins and ends."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo


def now() -> datetime:
    """This instant, in UTC."""
    return datetime.now(UTC)


def today(time_zone: str) -> date:
    """The calendar day of this instant in a zone."""
    return now().astimezone(ZoneInfo(time_zone)).date()
