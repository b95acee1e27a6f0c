"""Calendar days of a time zone as half-open intervals of UTC time."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class Window:
    """Half-open interval `[start, end)` of UTC instants."""

    start: datetime
    end: datetime


def day_window(day: date, time_zone: str) -> Window:
    """The UTC instants that belong to `day` in `time_zone` (23 to 25 hours where clocks change).

    Source: SPEC 1.1, `score_date = DATE(timestamp, tz)`.
    """
    zone = ZoneInfo(time_zone)
    midnight = datetime.combine(day, time.min, zone)
    next_midnight = datetime.combine(day + timedelta(days=1), time.min, zone)
    return Window(midnight.astimezone(UTC), next_midnight.astimezone(UTC))


def days_between(first: date, last: date) -> list[date]:
    """Every day from `first` to `last`, both included; empty when `last` is earlier."""
    return [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
