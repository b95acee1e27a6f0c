"""Periods of calendar days: a week, a month or any other range, each with the period that it is compared with.

Source: SPEC 10.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

_ONE = timedelta(days=1)
_DAY = r"(\d{4}-\d\d-\d\d)"
_KEY = re.compile(rf"week-{_DAY}|month-(\d{{4}}-\d\d)|days-{_DAY}-{_DAY}", re.ASCII)


@dataclass(frozen=True, order=True)
class Period:
    """The days from `first` to `last`, inclusive."""

    first: date
    last: date

    @property
    def kind(self) -> Literal["week", "month", "days"]:
        """A week from Monday to Sunday, a calendar month, or any other range."""
        if self.first.weekday() == 0 and self.length == 7:
            return "week"
        return "month" if self == month_of(self.first) else "days"

    @property
    def length(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "Period":
        """The period that it is compared with: the calendar month before a month, else as many days right before it."""
        if self.kind == "month":
            return month_of(self.first - _ONE)
        return Period(self.first - timedelta(self.length), self.first - _ONE)

    @property
    def after(self) -> "Period":
        """The next period of the same kind."""
        if self.kind == "month":
            return month_of(self.last + _ONE)
        return Period(self.last + _ONE, self.last + timedelta(self.length))

    @property
    def key(self) -> str:
        """The name in files: `week-2026-02-09`, `month-2026-02`, `days-2026-02-03-2026-02-20`."""
        names = {"week": f"{self.first}", "month": f"{self.first:%Y-%m}", "days": f"{self.first}-{self.last}"}
        return f"{self.kind}-{names[self.kind]}"

    @property
    def word(self) -> str:
        """`주`, `달`, `기간`, as in `이 주` and `앞 주` (Korean)."""
        return {"week": "주", "month": "달", "days": "기간"}[self.kind]

    def before_name(self, days: int, days_before: int) -> str:
        """`앞 주`, or `앞 달(3일)` if fewer of its days are scored than of this period (Korean)."""
        return f"앞 {self.word}" + (f"({days_before}일)" if 0 < days_before < days else "")

    @property
    def title(self) -> str:
        """`2026년 2월`, `2026-02-09 ~ 2026-02-15` (Korean)."""
        return f"{self.first.year}년 {self.first.month}월" if self.kind == "month" else f"{self.first} ~ {self.last}"

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last


def week_of(day: date) -> Period:
    """The week that contains a day, Monday to Sunday."""
    monday = day - timedelta(days=day.weekday())
    return Period(monday, monday + timedelta(days=6))


def month_of(day: date) -> Period:
    """The calendar month that contains a day."""
    first = day.replace(day=1)
    return Period(first, (first + timedelta(days=31)).replace(day=1) - _ONE)


def period_of_key(key: str) -> Period | None:
    """The period with this name in files; None for an invalid name."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    try:
        days = [date.fromisoformat(day if day.count("-") == 2 else f"{day}-01") for day in match.groups() if day]
        period = Period(*days) if len(days) == 2 else week_of(*days) if key.startswith("week") else month_of(*days)
    except ValueError:  # February 30
        return None
    return period if period.key == key else None
