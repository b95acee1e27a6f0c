"""Weeks, months and other days: what they are compared with, and their names in files."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.periods import Period, month_of, period_of_key, week_of

DAYS = st.dates(date(1950, 1, 1), date(2100, 1, 1))


@pytest.mark.parametrize(
    ("period", "key", "before", "after"),
    [
        (week_of(date(2026, 2, 15)), "week-2026-02-09", "week-2026-02-02", "week-2026-02-16"),
        (month_of(date(2026, 3, 31)), "month-2026-03", "month-2026-02", "month-2026-04"),
        (month_of(date(2025, 12, 1)), "month-2025-12", "month-2025-11", "month-2026-01"),
        (
            Period(date(2026, 3, 2), date(2026, 3, 4)),
            *("days-2026-03-02-2026-03-04", "days-2026-02-27-2026-03-01", "days-2026-03-05-2026-03-07"),
        ),
        # A February of four whole weeks from Monday on is a month, and seven days from Tuesday on are no week.
        (Period(date(2027, 2, 1), date(2027, 2, 28)), "month-2027-02", "month-2027-01", "month-2027-03"),
        (
            Period(date(2026, 2, 10), date(2026, 2, 16)),
            *("days-2026-02-10-2026-02-16", "days-2026-02-03-2026-02-09", "days-2026-02-17-2026-02-23"),
        ),
    ],
)
def test_period_is_compared_with_the_one_before(period: Period, key: str, before: str, after: str) -> None:
    assert (period.key, period.before.key, period.after.key) == (key, before, after)


@given(DAYS, st.integers(0, 400))
def test_period_is_known_by_its_key_and_stands_between_its_neighbours(first: date, days: int) -> None:
    period = Period(first, first + timedelta(days=days))
    assert period_of_key(period.key) == period
    assert period.before.last + timedelta(days=1) == period.first
    assert period.after.before == period


@pytest.mark.parametrize(
    "key",
    ["2026-02-09", "week-2026-02-10", "month-2026-13", "days-2026-02-30-2026-03-01", "days-2026-02-09-2026-02-15"],
)
def test_period_has_one_key_alone(key: str) -> None:
    assert period_of_key(key) is None
