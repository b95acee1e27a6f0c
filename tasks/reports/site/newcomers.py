"""Tenants and kinds of questions that a period has and the one before it had not. Source: SPEC 10."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from scoring.alerting.episodes import MIN_COUNT
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.periods import Period
from scoring.chat.row_filter import RowFilter
from scoring.chat.rubric import RowRubric
from tasks.reports.site.scored_days import Row
from tasks.reports.wording import count_text, day_text, tenant_text
from tasks.warehouse import Warehouse

RowsOfTenants = Mapping[str | None, tuple[Sequence[Row], Sequence[Row]]]
"""The KPI rows of each tenant in a period and in the one before it, also of all (`*`)."""

_RowsOfDays = Mapping[date, int]


def newcomers(warehouse: Warehouse, rubric: RowRubric, period: Period, rows: RowsOfTenants) -> list[str]:
    """What is new, a line each (Korean); nothing where the period before has fewer scored days than this one.

    What has fewer rows than an alert needs may only have been rare before.
    """
    this, before = ([row["score_date"] for row in of_all] for of_all in rows[ALL_TENANTS])
    if len(before) < len(this):
        return []
    found = [*_tenants(rows), *_categories(warehouse, rubric, period)]
    news = [
        (title, [day for day in this if counts.get(day)], counts)
        for title, counts in found
        if not any(counts.get(day) for day in before)
    ]
    return [
        f"앞 {period.word}에 없던 {title}: {day_text(days[0])}부터 {count_text(sum(counts[day] for day in days))}행"
        for title, days, counts in news
        if sum(counts[day] for day in days) >= MIN_COUNT
    ]


def _tenants(rows: RowsOfTenants) -> Iterator[tuple[str, _RowsOfDays]]:
    """Each tenant with its rows by day."""
    for tenant, both in rows.items():
        if tenant is not None and tenant != ALL_TENANTS:
            yield f"테넌트 {tenant_text(tenant)}", {row["score_date"]: row["rows"] for of in both for row in of}


def _categories(warehouse: Warehouse, rubric: RowRubric, period: Period) -> Iterator[tuple[str, _RowsOfDays]]:
    """Each kind of question with its rows by day."""
    if rubric.category is None:
        return
    search, column = warehouse.row_search(rubric), rubric.category.column
    for code, title in rubric.category.titles.items():
        wanted = RowFilter(period.before.first, period.last, codes={column: (code,)})
        by_day: dict[date, int] = {}
        for day, count in search.counts(wanted).select("score_date", "rows").iter_rows():
            by_day[day] = by_day.get(day, 0) + count
        yield f"{rubric.titles[column]} '{title}'", by_day
