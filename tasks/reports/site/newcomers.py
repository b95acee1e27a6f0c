"""Tenants and kinds of questions of a period that the one before it does not have. Source: SPEC 10."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from scoring.alerting.episodes import MIN_COUNT
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric
from scoring.days import day_text
from tasks.reports.period_conclusion import RowsOfTenants
from tasks.reports.wording import count_text, tenant_text

_MOST_NEWS = 10

_RowsOfDays = Mapping[date, int]
_KindsOfDays = Mapping[date, Mapping[str, int]]


def newcomers(rubric: RowRubric, period: Period, rows: RowsOfTenants, kinds: _KindsOfDays) -> list[str]:
    """What is new, a line each (Korean); nothing where the period before has fewer scored days than this one.

    `kinds` are the rows of each kind of question on the days of which that is known.
    What has fewer rows than an alert needs may only have been rare before. Of many those with most rows have a line,
    and the last line counts the others.
    """
    this, before = ([row["score_date"] for row in of_all] for of_all in rows[ALL_TENANTS])
    if len(before) < len(this):
        return []
    found = [*_tenants(rows), *_kinds(rubric, [*before, *this], kinds)]
    news = [
        (title, [day for day in this if counts.get(day)], counts)
        for title, counts in found
        if not any(counts.get(day) for day in before)
    ]
    sums = [(sum(counts[day] for day in days), title, days) for title, days, counts in news]
    enough = [one for one in sums if one[0] >= MIN_COUNT]
    named = enough if len(enough) <= _MOST_NEWS else sorted(enough, key=lambda one: -one[0])[:_MOST_NEWS]
    lines = [
        f"앞 {period.word}에 없던 {title}: {day_text(days[0])}부터 {count_text(rows)}행" for rows, title, days in named
    ]
    if more := len(enough) - len(named):
        lines.append(f"앞 {period.word}에 없던 테넌트나 질문 유형이 {count_text(more)}가지 더 있음")
    return lines


def _tenants(rows: RowsOfTenants) -> Iterator[tuple[str, _RowsOfDays]]:
    """Each tenant with its rows by day."""
    for tenant, both in rows.items():
        if tenant is not None and tenant != ALL_TENANTS:
            yield f"테넌트 {tenant_text(tenant)}", {row["score_date"]: row["rows"] for of in both for row in of}


def _kinds(rubric: RowRubric, days: Sequence[date], kinds: _KindsOfDays) -> Iterator[tuple[str, _RowsOfDays]]:
    """Each kind of question with its rows by day; none where that is not known of every day."""
    if rubric.category and all(day in kinds for day in days):
        for code, title in rubric.category.titles.items():
            name = f"{rubric.titles[rubric.category.column]} '{title}'"
            yield name, {day: kinds[day].get(code, 0) for day in days}
