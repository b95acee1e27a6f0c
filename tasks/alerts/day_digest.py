"""What there is to tell of a scored day, read from the warehouse and the ledger of runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import polars as pl

from scoring.alerting.day_messages import day_messages
from scoring.alerting.incidents import Incident, incidents
from scoring.alerting.messages import DayContext, DayCounts, Message
from scoring.alerting.routing import RouteFilter
from scoring.chat.kpis import ALL_TENANTS, kpi_figures
from scoring.chat.rubric import RowRubric
from scoring.errors import InputError
from tasks.chat.tables import KPIS, read_alerts, read_examples
from tasks.files.report_paths import ReportPaths
from tasks.state.run_ledger import INTRADAY, TEST_RUN, Run
from tasks.warehouse import Warehouse

INCIDENT_DAYS = 30
"""Scored days before a day that tell since when something goes on."""


@dataclass(frozen=True)
class DayDigest:
    """A scored day with its incidents, ready to be told to any route."""

    day: date
    incidents: list[Incident]
    context: DayContext

    def messages(self, route: RouteFilter, told: Collection[str]) -> list[Message]:
        """What is news to a route that has been told these keys."""
        return day_messages(route, self.day, self.incidents, replace(self.context, told=told))


def day_digest(
    warehouse: Warehouse, rubric: RowRubric, day: date, runs: Sequence[Run], reports: ReportPaths
) -> DayDigest:
    """What there is to tell of a scored day. `runs` are those of the day, the latest last.

    Raises:
        InputError: the day is not scored.
    """
    kpis = _kpis(warehouse, day, rubric)
    figures = kpi_figures(rubric.quotients, kpis, warehouse.day_queries(day, rubric).mean_intervals())
    facts = read_alerts(warehouse, day, INCIDENT_DAYS)
    found = incidents(day, facts[day], facts, rubric)
    run = next((one for one in reversed(runs) if one.kind != TEST_RUN and one.rows_in is not None), None)
    row_ids = {row_id for one in found if one.fires for row_id in one.fact.row_ids}
    page = reports.day_page(day)
    report = page if page.exists() else reports.day_report(day)
    context = DayContext(
        rubric,
        run.run_id if run else "",
        _counts(run, kpis),
        figures,
        str(report),
        reports.address(report),
        read_examples(warehouse, rubric, day, row_ids),
        kind="intraday" if run and run.kind == INTRADAY else "nightly",
    )
    return DayDigest(day, found, context)


def _kpis(warehouse: Warehouse, day: date, rubric: RowRubric) -> Mapping[str, Any]:
    """The KPIs of all tenants."""
    kpis = warehouse.read(KPIS, [day], rubric.kpis_schema)
    of_all = kpis.filter(pl.col("tenant_id") == ALL_TENANTS).collect().to_dicts() if kpis is not None else []
    if not of_all:
        raise InputError(f"{day} has not been scored", where=warehouse.url, fix=f"aqb nightly --date {day}")
    return of_all[0]


def _counts(run: Run | None, kpis: Mapping[str, Any]) -> DayCounts:
    """The counts of the run; where the ledger has lost it, what the tables tell."""
    scored, excluded = kpis["rows"], kpis["excluded"]
    rejected = (run.rejected or 0) if run else 0
    return DayCounts(scored + excluded + rejected, scored, excluded, rejected)
