from datetime import date, timedelta

import pytest

from scoring.alerting.days_off import FIRST_DAY, LAST_DAY, WEEKDAYS_OFF, is_day_off


@pytest.mark.parametrize(
    "day",
    [
        *("2024-09-16", "2024-09-18", "2025-01-28", "2025-10-06", "2025-10-08"),  # Seollal and Chuseok
        *("2026-02-16", "2026-02-18", "2026-09-25", "2027-02-09", "2027-09-14"),
        *("2024-05-01", "2025-05-01", "2026-05-01", "2024-12-31", "2027-12-31"),  # the exchange is closed
        *("2026-05-25", "2026-08-17", "2026-10-05", "2026-03-02", "2026-06-03"),  # substitutes, an election
        *("2026-03-07", "2026-03-08"),  # a weekend
    ],
)
def test_holiday_is_a_day_off(day: str) -> None:
    assert is_day_off(date.fromisoformat(day))


@pytest.mark.parametrize("day", ["2026-02-19", "2026-02-13", "2026-09-28", "2025-10-10", "2025-07-17", "2026-03-03"])
def test_weekday_beside_holidays_is_a_business_day(day: str) -> None:
    assert not is_day_off(date.fromisoformat(day))


def test_setting_adds_days_off() -> None:
    day = date(2026, 3, 4)
    assert is_day_off(day, {day})
    assert not is_day_off(day)


def test_every_year_that_is_covered_has_its_holidays() -> None:
    assert all(day.weekday() < 5 and FIRST_DAY <= day <= LAST_DAY for day in WEEKDAYS_OFF)
    for year in range(FIRST_DAY.year, LAST_DAY.year + 1):
        of_year = [day for day in WEEKDAYS_OFF if day.year == year]
        assert 14 <= len(of_year) <= 20
        # The exchange is closed on the last weekday of the year.
        last = date(year, 12, 31)
        assert max(of_year) == next(
            last - timedelta(back) for back in range(3) if (last - timedelta(back)).weekday() < 5
        )
