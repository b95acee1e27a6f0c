from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.days import day_window, days_between

ZONES = [
    "Asia/Seoul",
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
]


def test_day_in_seoul_begins_at_three_in_the_afternoon_before() -> None:
    window = day_window(date(2026, 2, 13), "Asia/Seoul")
    assert (window.start, window.end) == (datetime(2026, 2, 12, 15, tzinfo=UTC), datetime(2026, 2, 13, 15, tzinfo=UTC))


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 8), 23), (date(2026, 11, 1), 25), (date(2026, 3, 9), 24)])
def test_day_is_as_long_as_its_clocks_say(day: date, hours: int) -> None:
    window = day_window(day, "America/New_York")
    assert window.end - window.start == timedelta(hours=hours)


def test_day_without_midnight_begins_when_the_day_before_ends() -> None:
    window = day_window(date(2018, 11, 4), "America/Sao_Paulo")
    assert window.start == day_window(date(2018, 11, 3), "America/Sao_Paulo").end
    assert window.end - window.start == timedelta(hours=23)


def test_day_that_a_zone_left_out_has_no_instant() -> None:
    window = day_window(date(2011, 12, 30), "Pacific/Apia")
    assert window.start == window.end


@given(st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC)), st.sampled_from(ZONES))
def test_instant_is_in_the_window_of_its_date_and_of_no_neighbour(instant: datetime, zone: str) -> None:
    day = instant.astimezone(ZoneInfo(zone)).date()
    assert pl.Series([instant]).dt.convert_time_zone(zone).dt.date().item() == day
    inside = [
        window.start <= instant < window.end
        for window in (day_window(day + timedelta(days=offset), zone) for offset in (-1, 0, 1))
    ]
    assert inside == [False, True, False]


def test_days_between_includes_both_ends() -> None:
    assert days_between(date(2026, 2, 27), date(2026, 3, 1)) == [date(2026, 2, 27), date(2026, 2, 28), date(2026, 3, 1)]
    assert days_between(date(2026, 2, 27), date(2026, 2, 27)) == [date(2026, 2, 27)]
    assert days_between(date(2026, 2, 28), date(2026, 2, 27)) == []
