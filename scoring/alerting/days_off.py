"""Days off in Korea: weekends, public holidays, and days on which the stock exchange is closed.

Source: python-holidays 0.109 (public holidays of KR and closed days of XKRX), including substitute and election days, 1
May, the last day of the year, and Constitution Day from 2026 on. Holidays that are added later belong in the setting
`alerts.days_off`.
"""

from collections.abc import Collection
from datetime import date

_WEEKDAYS_OFF = """
2024-01-01 새해 첫날
2024-02-09 설날 전날
2024-02-12 설날 대체공휴일
2024-03-01 삼일절
2024-04-10 국회의원 선거일
2024-05-01 근로자의 날
2024-05-06 어린이날 대체공휴일
2024-05-15 부처님오신날
2024-06-06 현충일
2024-08-15 광복절
2024-09-16 추석 전날
2024-09-17 추석
2024-09-18 추석 다음날
2024-10-01 국군의 날
2024-10-03 개천절
2024-10-09 한글날
2024-12-25 성탄절
2024-12-31 연말 휴장일
2025-01-01 새해 첫날
2025-01-27 임시공휴일
2025-01-28 설날 전날
2025-01-29 설날
2025-01-30 설날 다음날
2025-03-03 삼일절 대체공휴일
2025-05-01 근로자의 날
2025-05-05 어린이날, 부처님오신날
2025-05-06 어린이날 대체공휴일
2025-06-03 대통령 선거일
2025-06-06 현충일
2025-08-15 광복절
2025-10-03 개천절
2025-10-06 추석
2025-10-07 추석 다음날
2025-10-08 추석 대체공휴일
2025-10-09 한글날
2025-12-25 성탄절
2025-12-31 연말 휴장일
2026-01-01 새해 첫날
2026-02-16 설날 전날
2026-02-17 설날
2026-02-18 설날 다음날
2026-03-02 삼일절 대체공휴일
2026-05-01 노동절
2026-05-05 어린이날
2026-05-25 부처님오신날 대체공휴일
2026-06-03 지방선거일
2026-07-17 제헌절
2026-08-17 광복절 대체공휴일
2026-09-24 추석 전날
2026-09-25 추석
2026-10-05 개천절 대체공휴일
2026-10-09 한글날
2026-12-25 성탄절
2026-12-31 연말 휴장일
2027-01-01 새해 첫날
2027-02-08 설날 다음날
2027-02-09 설날 대체공휴일
2027-03-01 삼일절
2027-05-03 노동절 대체공휴일
2027-05-05 어린이날
2027-05-13 부처님오신날
2027-07-19 제헌절 대체공휴일
2027-08-16 광복절 대체공휴일
2027-09-14 추석 전날
2027-09-15 추석
2027-09-16 추석 다음날
2027-10-04 개천절 대체공휴일
2027-10-11 한글날 대체공휴일
2027-12-27 성탄절 대체공휴일
2027-12-31 연말 휴장일
2028-01-26 설날 전날
2028-01-27 설날
2028-01-28 설날 다음날
2028-03-01 삼일절
2028-04-12 국회의원 선거일
2028-05-01 노동절
2028-05-02 부처님오신날
2028-05-05 어린이날
2028-06-06 현충일
2028-07-17 제헌절
2028-08-15 광복절
2028-10-02 추석 전날
2028-10-03 개천절; 추석
2028-10-04 추석 다음날
2028-10-05 추석 대체공휴일
2028-10-09 한글날
2028-12-25 성탄절
2028-12-29 연말 휴장일
"""

WEEKDAYS_OFF = {date.fromisoformat(line[:10]): line[11:] for line in _WEEKDAYS_OFF.strip().splitlines()}
"""Days off from Monday to Friday, with their names (Korean)."""

FIRST_DAY, LAST_DAY = date(2024, 1, 1), date(2028, 12, 31)
"""The days that the calendar covers; outside them only weekends are known."""

_SATURDAY, _SUNDAY = 5, 6


def is_day_off(day: date, more: Collection[date] = ()) -> bool:
    """Whether a day is a day off: a weekend, a holiday, or one of `more`."""
    return is_weekend(day) or day in WEEKDAYS_OFF or day in more


def is_weekend(day: date) -> bool:
    """Whether a day is a Saturday or a Sunday."""
    return day.weekday() >= _SATURDAY


def weekday_of(day: date) -> int:
    """The weekday that a day off is treated as: its own on a weekend, else Sunday."""
    return day.weekday() if is_weekend(day) else _SUNDAY
