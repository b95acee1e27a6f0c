"""The scored days of a warehouse as the site shows them: KPIs, cross table and alert facts of each, in order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from scoring.alerting.decision import DayDecisions
from scoring.alerting.facts import HISTORY_DAYS, AlertFact, rejected_rows
from scoring.alerting.few_rows import few_rows, naming_tenants
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import DECISION_DAYS
from scoring.chat.kpis import (
    ALL_TENANTS,
    KpisByDay,
    RubricVersion,
    days_by_tenant,
    rows_of_tenant,
    rubric_version_of,
)
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric
from scoring.days import days_between
from tasks.chat.tables import CROSSTAB, read_alerts, read_kpis, rows_by_day
from tasks.files.report_paths import page_name
from tasks.reports.period_conclusion import RowsOfTenants, rows_around
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import RUNS

Row = Mapping[str, Any]


@dataclass(frozen=True)
class SiteDay:
    """One day: the KPI row of all tenants, those of each, the cells of its cross table, its alert facts, what is
    decided about their rates, and which of them were snoozed.

    Days of one `segment` follow one another without a gap under one rubric version: only these may be joined by a line.
    `provisional` days were scored before they were over; of the others `few` says (Korean) where rows may be missing.
    """

    day: date
    total: Row
    tenants: Sequence[Row]
    crosstab: Sequence[Row]
    alerts: Sequence[AlertFact]
    segment: int
    provisional: bool
    decided: DayDecisions
    snoozes: Sequence[Snooze]
    few: str

    @property
    def version(self) -> str:
        """The rubric version that scored it."""
        return str(self.total["rubric_version"])

    @property
    def scored_by(self) -> RubricVersion:
        """The rubric that scored it, and its version; days of different ones are never pooled."""
        return rubric_version_of(self.total)

    @property
    def rejected(self) -> int:
        """How many of its rows could not be read."""
        return rejected_rows((fact.rule, fact.count) for fact in self.alerts)

    @property
    def page(self) -> str:
        """Its page, seen from the first page."""
        return page_name(self.day)


@dataclass(frozen=True)
class ScoredSpan:
    """The `days` that the site shows, earliest first, and the KPI rows of these and of the days that they are compared
    with, by day: a page must not change because the first day of the span has moved on."""

    days: Sequence[SiteDay]
    kpis: KpisByDay

    def rows_of(self, tenant: str | None = ALL_TENANTS) -> Mapping[date, Row]:
        """The KPI rows of one tenant by day."""
        return self._by_tenant.get(tenant, {})

    @cached_property
    def _by_tenant(self) -> Mapping[str | None, Mapping[date, Row]]:
        return days_by_tenant(self.kpis)

    def rows_around(self, period: Period) -> RowsOfTenants:
        """The KPI rows of each tenant, and of all, in a period and in the one before it, under the version of the last
        day that the period has."""
        version = next(day.scored_by for day in reversed(self.days) if day.day in period)
        return rows_around(self.rows_by_tenant(period), period, version)

    def rows_by_tenant(self, period: Period) -> dict[str | None, Mapping[date, Row]]:
        """All KPI rows of each tenant that has one in a period, and of all (`*`), by day."""
        tenants = dict.fromkeys(row["tenant_id"] for day in self.kpis if day in period for row in self.kpis[day])
        return {tenant: self.rows_of(tenant) for tenant in tenants}

    def earlier_rows(self, day: SiteDay) -> list[Row]:
        """The KPI rows of the last seven scored days before a day, under its rubric version."""
        return earlier_rows(self.rows_of(), day.day)


@dataclass(frozen=True)
class SpanTables:
    """What the small tables of a warehouse hold of the `days` that the site shows, earliest first.

    `kpis` hold the rows of days before them too. Rows have the columns of the rubric, with None where the version that
    scored a day did not have them. `provisional` days were scored before they were over.
    """

    days: Sequence[date]
    kpis: KpisByDay
    crosstab: Mapping[date, Sequence[Row]]
    alerts: Mapping[date, Sequence[AlertFact]]
    provisional: Collection[date]


def read_span(warehouse: Warehouse, rubric: RowRubric, scored: Sequence[date], span: int) -> SpanTables:
    """Reads the days among the last `span` calendar days up to the last of those that are `scored`."""
    kpis = read_kpis(warehouse, rubric, scored[-span - DECISION_DAYS :])
    days = [day for day in sorted(kpis) if day > max(kpis) - timedelta(days=span)]
    crosstab = rows_by_day(warehouse, CROSSTAB, days, rubric.crosstab_schema)
    return SpanTables(days, kpis, crosstab, read_alerts(warehouse, days), _provisional(warehouse, days))


def scored_days(
    tables: SpanTables,
    decided: Mapping[date, DayDecisions],
    days_off: Collection[date],
    snoozes: Sequence[Snooze],
    zone: ZoneInfo,
) -> ScoredSpan:
    """The days with what was decided about them; `days_off` are days off beside those of the calendar."""
    found: list[SiteDay] = []
    of_all = rows_of_tenant(tables.kpis)
    for day in tables.days:
        rows = tables.kpis[day]
        total, provisional = of_all[day], day in tables.provisional
        few = "" if provisional else few_rows(of_all, day, days_off)
        found.append(
            SiteDay(
                day=day,
                total=total,
                tenants=[row for row in rows if row["tenant_id"] != ALL_TENANTS],
                crosstab=tables.crosstab[day],
                alerts=tables.alerts[day],
                segment=_segment(found, day, total),
                provisional=provisional,
                decided=decided[day],
                snoozes=[one for one in snoozes if one.was_on(day, zone)],
                few=naming_tenants(few, tables.kpis, day, days_off),
            )
        )
    return ScoredSpan(found, tables.kpis)


def _segment(found: Sequence[SiteDay], day: date, total: Row) -> int:
    if not found:
        return 0
    last = found[-1]
    follows = last.day + timedelta(days=1) == day and last.total["rows"] and total["rows"]
    return last.segment if follows and last.scored_by == rubric_version_of(total) else last.segment + 1


def _provisional(warehouse: Warehouse, days: Sequence[date]) -> set[date]:
    """The days whose last completed run was an intraday one."""
    # The ledger has names for these kinds; its import takes a quarter of a second, and `aqb score` needs this module.
    frame = warehouse.read(RUNS, days)
    if frame is None:
        return set()
    last = (
        frame.filter(pl.col("kind") != "test_run", pl.col("outcome") == "completed")
        .select("score_date", "started_at", "kind")
        .sort("started_at")
        .group_by("score_date")
        .agg(pl.col("kind").last())
        .collect()
    )
    return {day for day, kind in last.iter_rows() if kind == "intraday"}


def earlier_rows(rows: Mapping[date, Row], day: date) -> list[Row]:
    """The KPI rows of the last seven scored days before a day, under its rubric version."""
    version = rubric_version_of(rows[day])
    earlier = [row for when, row in sorted(rows.items()) if when < day]
    return [row for row in earlier if rubric_version_of(row) == version and row["rows"]][-HISTORY_DAYS:]


def left_out_text(rows: Mapping[date, Row], period: Period, version: RubricVersion) -> str:
    """The days of a period that another rubric version has scored, which no KPI counts (Korean); empty for none."""
    days = days_between(period.first, period.last)
    others = [rows[day] for day in days if day in rows and rubric_version_of(rows[day]) != version]
    if not others:
        return ""
    counted = f"{len(others)}일 {sum(row['rows'] for row in others):,}행"
    return f"다른 채점 기준이나 버전으로 채점한 {counted}은 지표에 넣지 않았습니다."
