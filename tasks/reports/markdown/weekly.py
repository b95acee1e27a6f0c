"""The report of a week of chat rows for the weekly meeting, from the warehouse. Source: SPEC 10."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import polars as pl

from scoring.chat.conclusion import conclusion
from scoring.chat.kpi_windows import WEEK, ComparedKpi, compared_kpi
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.errors import InputError
from scoring.rules.polars_backend import to_polars
from tasks.chat.tables import CROSSTAB, read_kpis, scored_until
from tasks.reports.site.day_tables import question_text
from tasks.reports.site.listed_rows import ListedRows, list_rows
from tasks.reports.site.patterns import failing_kpis, repeated_questions, summed_questions
from tasks.reports.site.scored_days import Row, monday_of, rows_until
from tasks.reports.templates import markdown
from tasks.reports.wording import tenant_text
from tasks.warehouse import Warehouse

_FRAMED_ROWS, _QUESTIONS, _LEAST_REPEATED = 10, 10, 2

Counted = tuple[str, int, int]
"""What is counted, in this week and in the week before."""


def weekly_report(warehouse: Warehouse, rubric: RowRubric, day: date, time_zone: str) -> tuple[date, str]:
    """The Monday of the week that holds a day, and the report of that week beside the week before.

    Days that another rubric version has scored than the last one are left out.

    Raises:
        InputError: no day of the week is scored.
    """
    monday = monday_of(day)
    last = monday + timedelta(WEEK - 1)
    weeks = _weeks(warehouse, rubric, monday)
    this, before = weeks[ALL_TENANTS]
    windows = _windows(rubric, this, before)
    listed = [list_rows(warehouse, rubric, row["score_date"], row["rows"], time_zone) for row in this]
    alerts = {f"alert_{rule.id}": sum(row[f"alert_{rule.id}"] or 0 for row in this) for rule in rubric.alert_rules}
    rows, framed = sum(row["rows"] for row in this), _framed_count(warehouse, rubric, this)
    questions = summed_questions(repeated_questions(of_day) for of_day in listed)
    text = markdown(
        "weekly.md",
        rubric=rubric,
        monday=monday,
        last=last,
        version=this[0]["rubric_version"],
        days=len(this),
        rows=rows,
        sentences=conclusion(rubric, windows.values(), rows, alerts, framed),
        windows=[of_kpi[0] for of_kpi in windows.values()],
        tenants=_tenant_lines(rubric, weeks),
        framed_count=framed,
        framed=_worst_framed(rubric, listed),
        alerts=_alert_counts(rubric, this, before),
        failures=_failure_counts(warehouse, rubric, this, before),
        questions=[(question_text(one), one) for one in questions if one.rows >= _LEAST_REPEATED][:_QUESTIONS],
        failing=failing_kpis(rubric),
        part_titles=[rubric.titles[part.column] for part in rubric.parts],
    )
    return monday, text


def _weeks(warehouse: Warehouse, rubric: RowRubric, monday: date) -> dict[str | None, tuple[list[Row], list[Row]]]:
    """The KPI rows of each tenant in the week and in the week before, under the version of the last scored day."""
    last = monday + timedelta(WEEK - 1)
    kpis = read_kpis(warehouse, rubric, scored_until(warehouse, last)[-2 * WEEK :])
    by_tenant: dict[str | None, dict[date, Row]] = {}
    for when, rows in kpis.items():
        for row in rows:
            by_tenant.setdefault(row["tenant_id"], {})[when] = row
    scored = [when for when in kpis if when >= monday]
    if not scored:
        fix = f"aqb backfill --from {monday} --to {last}"
        raise InputError(f"no day from {monday} to {last} has been scored", where=warehouse.url, fix=fix)
    version = str(by_tenant[ALL_TENANTS][max(scored)]["rubric_version"])
    return {
        tenant: (rows_until(days, last, WEEK, version), rows_until(days, monday - timedelta(1), WEEK, version))
        for tenant, days in by_tenant.items()
    }


def _windows(rubric: RowRubric, this: Sequence[Row], before: Sequence[Row]) -> dict[str, list[ComparedKpi]]:
    return {kpi.name: [compared_kpi(kpi, "이 주", this, before)] for kpi in rubric.quotients if kpi.target}


def _tenant_lines(
    rubric: RowRubric, weeks: Mapping[str | None, tuple[Sequence[Row], Sequence[Row]]]
) -> list[tuple[str, int, list[ComparedKpi]]]:
    """Name, rows and KPIs of each tenant, those with the most rows first."""
    lines = [
        (
            tenant_text(tenant),
            sum(row["rows"] for row in this),
            [one for (one,) in _windows(rubric, this, before).values()],
        )
        for tenant, (this, before) in weeks.items()
        if tenant != ALL_TENANTS
    ]
    return sorted((line for line in lines if line[1]), key=lambda line: (-line[1], line[0]))


def _framed_count(warehouse: Warehouse, rubric: RowRubric, rows: Sequence[Row]) -> int:
    pairs = warehouse.read(CROSSTAB, [row["score_date"] for row in rows], rubric.crosstab_schema)
    return rubric.framed_rows(rubric.crosstab_counts(pairs.collect().to_dicts())) if pairs is not None else 0


def _worst_framed(rubric: RowRubric, listed: Sequence[ListedRows]) -> list[dict[str, Any]]:
    """The lowest rows in the frame of the cross table."""
    if rubric.framed is None or not listed:
        return []
    framed = pl.concat([of_day.frame.filter(to_polars(rubric.framed)) for of_day in listed], how="diagonal_relaxed")
    return framed.sort(rubric.total, "timestamp", "row_id").head(_FRAMED_ROWS).to_dicts()


def _alert_counts(rubric: RowRubric, this: Sequence[Row], before: Sequence[Row]) -> list[Counted]:
    def total(rows: Sequence[Row], rule: str) -> int:
        return sum(row[f"alert_{rule}"] or 0 for row in rows)

    found = [(rule.title, total(this, rule.id), total(before, rule.id)) for rule in rubric.alert_rules]
    return sorted(found, key=lambda one: -one[1])


def _failure_counts(
    warehouse: Warehouse, rubric: RowRubric, this: Sequence[Row], before: Sequence[Row]
) -> list[Counted]:
    column, counts = rubric.failure.column, (Counter[str](), Counter[str]())
    for counted, rows in zip(counts, (this, before), strict=True):
        for row in rows:
            for failure in warehouse.day_queries(row["score_date"], rubric).failure_types():
                counted[failure[column]] += failure["row_count"]
    titles = rubric.failure.titles
    found = [(titles.get(code, code), counts[0][code], counts[1][code]) for code in counts[0] | counts[1]]
    return sorted(found, key=lambda one: (-one[1], one[0]))
