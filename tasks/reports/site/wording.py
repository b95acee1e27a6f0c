"""Words and numbers as the pages show them, in Korean. Numbers are rounded half away from zero."""

from datetime import date

from scoring.chat.kpis import ALL_TENANTS
from scoring.markdown import score_text

NOTHING = "–"
_WEEKDAYS = "월화수목금토일"

CLASS_TITLES = {"SINGLE": "단일 도구", "MULTI": "복수 도구"}


def day_text(day: date) -> str:
    """`3월 13일(금)`."""
    return f"{day.month}월 {day.day}일({_WEEKDAYS[day.weekday()]})"


def count_text(count: int | None) -> str:
    """A count with its thousands apart; None is a dash."""
    return NOTHING if count is None else f"{count:,}"


def tenant_text(tenant: str | None) -> str:
    """A tenant as people know it."""
    return "전체" if tenant == ALL_TENANTS else tenant or "(테넌트 없음)"


def seconds_text(seconds: float | None) -> str:
    """Seconds with two decimals."""
    return NOTHING if seconds is None else f"{score_text(seconds)}초"
