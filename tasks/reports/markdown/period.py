"""The report of a week, a month or other days of chat rows, from the warehouse. Source: SPEC 10."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from scoring.alerting.decision import WatchedDays
from scoring.alerting.preview import paged_lines, preview_days
from scoring.alerting.watch import DECISION_DAYS, AlertPolicy, alert_counts
from scoring.chat.kpi_windows import ComparedKpi
from scoring.chat.kpis import ALL_TENANTS, days_by_tenant, rubric_version_of
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric
from scoring.errors import InputError
from scoring.rules.polars_backend import to_polars
from tasks.chat.tables import CROSSTAB, KPIS, read_kpis, scored_until
from tasks.reports.markdown.grouped_rows import GroupedRows, group_rows, lowest_rows
from tasks.reports.period_conclusion import RowsOfTenants, period_values, period_windows, rows_around
from tasks.reports.site.day_summaries import counted_columns
from tasks.reports.site.day_tables import question_text
from tasks.reports.site.failure_types import failure_counts, failures_by_day
from tasks.reports.site.listed_rows import ListedRows, list_rows
from tasks.reports.site.newcomers import newcomers
from tasks.reports.site.patterns import Questions, failing_kpis, often_asked, repeated_questions, summed_questions
from tasks.reports.site.scored_days import Row, left_out_text
from tasks.reports.templates import markdown
from tasks.reports.wording import MOST_TENANTS, counted_share_text, tenant_text
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.day_queries import ValueCounts

_FRAMED_ROWS, _QUESTIONS = 10, 10

Counted = tuple[str, str, str]
"""What is counted, how often in the period and in the one before it, with its shares: a period may have fewer days. A
dash for one without scored days."""


def period_report(warehouse: Warehouse, rubric: RowRubric, period: Period, time_zone: str, policy: AlertPolicy) -> str:
    """The report of a period compared with the one before it; `policy` decides which alerts have paged in it.

    Days scored by another rubric version than the last day are left out.

    Raises:
        InputError: no day of the period is scored.
    """
    by_tenant, left_out = _kpis_by_tenant(warehouse, rubric, period)
    this, before = by_tenant[ALL_TENANTS]
    framed, questions = _of_rows(
        rubric, (list_rows(warehouse, rubric, row["score_date"], row["rows"], time_zone) for row in this)
    )
    days, category = [row["score_date"] for row in (*before, *this)], rubric.category
    counted = warehouse.value_counts(days, counted_columns(rubric), rubric)
    kinds = {day: dict(counted[day][category.column]) if category and day in counted else {} for day in days}
    framed_count = _framed_count(warehouse, rubric, this)
    return markdown(
        "period.md",
        **period_values(rubric, period, by_tenant, framed_count),
        has_before=bool(before),
        left_out=left_out,
        news=[
            *_paged(warehouse, rubric, [row["score_date"] for row in this], policy),
            *newcomers(rubric, period, by_tenant, kinds),
        ],
        tenants=_tenant_lines(rubric, period, by_tenant),
        most_tenants=MOST_TENANTS,
        framed_count=framed_count,
        framed=framed,
        alerts=_alert_counts(rubric, this, before),
        failures=_failure_counts(rubric, failures_by_day(counted, rubric), this, before),
        questions=[(question_text(one), one) for one in often_asked(questions, _QUESTIONS)],
        failing=failing_kpis(rubric),
        part_titles=[rubric.titles[part.column] for part in rubric.parts],
    )


def _paged(warehouse: Warehouse, rubric: RowRubric, days: Sequence[date], policy: AlertPolicy) -> list[str]:
    history = scored_until(warehouse, max(days))[-len(days) - DECISION_DAYS :]
    return paged_lines(preview_days(WatchedDays(rubric, read_kpis(warehouse, rubric, history), policy), days))


def _kpis_by_tenant(warehouse: Warehouse, rubric: RowRubric, period: Period) -> tuple[RowsOfTenants, str]:
    """The KPI rows of each tenant in the period and before it, of the version of the last scored day; and the days of
    the period that this leaves out (Korean).
    """
    both = Period(period.before.first, period.last)
    kpis = read_kpis(warehouse, rubric, [day for day in warehouse.days(KPIS) if day in both])
    by_tenant = days_by_tenant(kpis)
    scored = [when for when in kpis if when in period]
    if not scored:
        fix = f"aqb backfill --from {period.first} --to {period.last}"
        message = f"no day from {period.first} to {period.last} has been scored"
        raise InputError(message, where=warehouse.url, fix=fix)
    version = rubric_version_of(by_tenant[ALL_TENANTS][max(scored)])
    return rows_around(by_tenant, period, version), left_out_text(by_tenant[ALL_TENANTS], period, version)


def _of_rows(rubric: RowRubric, days: Iterable[ListedRows]) -> tuple[list[dict[str, Any]], list[Questions]]:
    """The lowest rows in the frame of the cross table and the questions of all days, with one day's rows in memory."""
    framed: GroupedRows = {}

    def asked() -> Iterator[list[Questions]]:
        for of_day in days:
            if rubric.framed is not None:
                group_rows(rubric, framed, of_day.frame.filter(to_polars(rubric.framed)).iter_rows(named=True))
            yield repeated_questions(of_day)

    questions = summed_questions(asked())
    return lowest_rows(rubric, framed, _FRAMED_ROWS), questions


def _tenant_lines(
    rubric: RowRubric, period: Period, by_tenant: RowsOfTenants
) -> list[tuple[str, int, list[ComparedKpi]]]:
    """Name, rows and KPIs of each tenant, those with the most rows first."""
    lines = [
        (
            tenant_text(tenant),
            sum(row["rows"] for row in this),
            [one for (one,) in period_windows(rubric, period, this, before).values()],
        )
        for tenant, (this, before) in by_tenant.items()
        if tenant != ALL_TENANTS
    ]
    return sorted((line for line in lines if line[1]), key=lambda line: (-line[1], line[0]))


def _framed_count(warehouse: Warehouse, rubric: RowRubric, rows: Sequence[Row]) -> int:
    pairs = table_rows(warehouse, CROSSTAB, rubric.crosstab_schema, [row["score_date"] for row in rows])
    return rubric.framed_rows(rubric.crosstab_counts(pairs.collect().to_dicts()))


def _alert_counts(rubric: RowRubric, this: Sequence[Row], before: Sequence[Row]) -> list[Counted]:
    both = zip(alert_counts(rubric, this), alert_counts(rubric, before), strict=True)
    return [
        (rule.title, counted_share_text(count, rows), counted_share_text(earlier, of_rows))
        for (rule, count, rows), (_, earlier, of_rows) in sorted(both, key=lambda one: -one[0][1])
    ]


def _failure_counts(
    rubric: RowRubric, failures: Mapping[date, ValueCounts], this: Sequence[Row], before: Sequence[Row]
) -> list[Counted]:
    counts = [failure_counts((row["score_date"] for row in rows), failures) for rows in (this, before)]
    titles = rubric.failure.titles
    found = [(titles.get(code, code), counts[0][code], counts[1][code]) for code in counts[0] | counts[1]]
    now, earlier = (sum(row["rows"] for row in rows) for rows in (this, before))
    return [
        (title, counted_share_text(count, now), counted_share_text(of_before, earlier))
        for title, count, of_before in sorted(found, key=lambda one: (-one[1], one[0]))
    ]
