"""Whether a day has far fewer rows than days like it: what came may be a part of what was said. Source: SPEC 10."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from scoring.alerting.days_off import is_day_off
from scoring.alerting.facts import HISTORY_DAYS

_LEAST_DAYS, _TIMES = 3, 3
"""A day has few rows with less than a third of the fewest that the last days of its kind had; three such days are
needed. A load whose days vary by a fifth of themselves (standard deviation) does not get there by chance."""


def few_rows(days: Mapping[date, Mapping[str, Any]], day: date) -> str:
    """`이날은 3행뿐입니다(쉬는 날 평소 59~72행).`, '' where a day has as many as others, or none at all.

    `days` are the KPI rows of all tenants by day. Business days are compared with each other, and so are days off.
    """
    off, rows = is_day_off(day), _rows(days[day])
    usual = [_rows(row) for when, row in sorted(days.items()) if when < day and is_day_off(when) == off]
    usual = [count for count in usual if count][-HISTORY_DAYS:]
    if not rows or len(usual) < _LEAST_DAYS or _TIMES * rows >= min(usual):
        return ""
    ends = "~".join(f"{count:,}" for count in sorted({min(usual), max(usual)}))
    return f"이날은 {rows:,}행뿐입니다({'쉬는 날' if off else '업무일'} 평소 {ends}행)."


def _rows(row: Mapping[str, Any]) -> int:
    return int(row["rows"] + row["excluded"])
