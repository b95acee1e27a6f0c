"""Calendar days: as half-open intervals of UTC time, one after the other, and as people write them."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_NO_NAMES = frozenset({"localtime", "posixrules", "Factory"})
"""Files among the zones of a system that neither Polars nor BigQuery knows."""

_WEEKDAYS = "월화수목금토일"


def is_time_zone(name: str) -> bool:
    """Whether this names a time zone, as `Asia/Seoul` does."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder of zones, a name that is too long
        return False
    return name not in _NO_NAMES


@dataclass(frozen=True)
class Window:
    """Half-open interval `[start, end)` of UTC instants."""

    start: datetime
    end: datetime


def day_window(day: date, time_zone: str) -> Window:
    """The UTC instants that belong to `day` in `time_zone` (23 to 25 hours where clocks change).

    Source: SPEC 1.1, `score_date = DATE(timestamp, tz)`.
    """
    return days_window(day, day, time_zone)


def days_window(first: date, last: date, time_zone: str) -> Window:
    """The UTC instants that belong to the days from `first` to `last` in `time_zone`."""
    zone = ZoneInfo(time_zone)
    midnight = datetime.combine(first, time.min, zone)
    next_midnight = datetime.combine(last + timedelta(days=1), time.min, zone)
    return Window(midnight.astimezone(UTC), next_midnight.astimezone(UTC))


def days_between(first: date, last: date) -> list[date]:
    """Every day from `first` to `last`, both included; empty when `last` is earlier."""
    return [first + timedelta(days=offset) for offset in range((last - first).days + 1)]


def day_text(day: date) -> str:
    """`3월 13일(금)`."""
    return f"{day.month}월 {day.day}일({_WEEKDAYS[day.weekday()]})"
