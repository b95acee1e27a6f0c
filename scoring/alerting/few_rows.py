"""Detects a day with far fewer rows than similar days: it may contain only a part of the conversations. Source: SPEC
10.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date

from scoring.alerting.days_off import is_day_off
from scoring.alerting.facts import HISTORY_DAYS, AlertFact, titles_of_rules
from scoring.alerting.incidents import Incident
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, rows_of_tenant, scored_and_excluded
from scoring.chat.rubric import FEW_ROWS, RowRubric

_LEAST_DAYS, _TIMES = 3, 3
"""A day has few rows if it has less than a third of the minimum of the last days of its kind; three such days are
needed. A load with a standard deviation of a fifth from day to day does not reach that by chance.
"""


def few_rows(days: Mapping[date, KpiRow], day: date, days_off: Collection[date]) -> str:
    """`이날은 3행뿐입니다(쉬는 날 평소 59~72행).`, '' if a day has as many as others, or none at all.

    `days` are the KPI rows of all tenants by day. Business days are compared with each other, and so are days off,
    which include `days_off`.
    """
    usual = _many_more(days, day, days_off)
    if not usual:
        return ""
    ends = "~".join(f"{count:,}" for count in sorted({min(usual), max(usual)}))
    kind = "쉬는 날" if is_day_off(day, days_off) else "업무일"
    return f"이날은 {scored_and_excluded(days[day]):,}행뿐입니다({kind} 평소 {ends}행)."


def few_rows_incidents(days: KpisByDay, day: date, rubric: RowRubric, days_off: Collection[date]) -> list[Incident]:
    """The same as an incident of the day, for a digest; `days` are the KPI rows of all days by day."""
    of_all = rows_of_tenant(days)
    usual = _many_more(of_all, day, days_off) if day in of_all else ()
    if not usual:
        return []
    rows, title = scored_and_excluded(of_all[day]), titles_of_rules(rubric)[FEW_ROWS]
    fact = AlertFact(FEW_ROWS, "warning", title, ALL_TENANTS, rows, rows, usual=tuple(usual[::-1]))
    return [Incident(fact, day, rubric.id, rubric.version, "new", day, day)]


def _many_more(days: Mapping[date, KpiRow], day: date, days_off: Collection[date]) -> Sequence[int]:
    """The rows of the last days of its kind, latest last, if a day has far fewer; else none."""
    off, rows = is_day_off(day, days_off), scored_and_excluded(days[day])
    alike = [row for when, row in sorted(days.items()) if when < day and is_day_off(when, days_off) == off]
    usual = list(filter(None, map(scored_and_excluded, alike)))[-HISTORY_DAYS:]
    return usual if rows and len(usual) >= _LEAST_DAYS and _TIMES * rows < min(usual) else ()
