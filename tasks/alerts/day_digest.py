"""What messages about a scored day need, read from the warehouse and the ledger of runs."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl

from scoring.alerting.decision import DECISION_DAYS, AlertPolicy, decide
from scoring.alerting.facts import rows_on_page
from scoring.alerting.incidents import incidents
from scoring.alerting.messages import DayDigest
from scoring.chat.kpis import ALL_TENANTS, kpi_figures
from scoring.chat.rubric import RowRubric
from scoring.errors import InputError
from tasks.chat.tables import KPIS, read_alerts, read_examples, read_kpis
from tasks.files.report_paths import ReportPaths
from tasks.state.run_ledger import INTRADAY, TEST_RUN, Run
from tasks.warehouse import Warehouse

INCIDENT_DAYS = 30
"""Scored days before a day in which the beginning of an incident is looked for."""


def day_digest(
    warehouse: Warehouse, rubric: RowRubric, day: date, runs: Sequence[Run], reports: ReportPaths, policy: AlertPolicy
) -> DayDigest:
    """The incidents of a scored day, and what their messages need. `runs` are those of the day, the latest last.

    Where the ledger has lost the run, no row counts as rejected.

    Raises:
        InputError: the day is not scored.
    """
    kpis = _kpis(warehouse, day, rubric)
    figures = kpi_figures(rubric.quotients, kpis, warehouse.day_queries(day, rubric).mean_intervals())
    facts = read_alerts(warehouse, day, INCIDENT_DAYS)
    decided = decide(rubric, read_kpis(warehouse, rubric, day, DECISION_DAYS + 1), policy)
    found = incidents(day, facts, decided[day], rubric)
    run = next((one for one in reversed(runs) if one.kind != TEST_RUN and one.rows_in is not None), None)
    row_ids = {row_id for one in found if one.fires for row_id in one.fact.row_ids}
    page = reports.day_page(day)
    report = page if page.exists() else reports.day_report(day)
    address = reports.address(page) if page.exists() else ""
    on_page = rows_on_page((fact.tenant_id, fact.row_ids) for fact in facts[day]) if address else ()
    return DayDigest(
        day,
        found,
        rubric,
        run.run_id if run else "",
        kpis["rows"],
        kpis["excluded"],
        (run.rejected or 0) if run else 0,
        figures,
        str(report),
        reports.address(report),
        read_examples(warehouse, rubric, day, row_ids),
        {row_id: f"{address}#row-{row_id}" for row_id in on_page},
        kind="intraday" if run and run.kind == INTRADAY else "nightly",
    )


def _kpis(warehouse: Warehouse, day: date, rubric: RowRubric) -> Mapping[str, Any]:
    """The KPIs of all tenants."""
    kpis = warehouse.read(KPIS, [day], rubric.kpis_schema)
    of_all = kpis.filter(pl.col("tenant_id") == ALL_TENANTS).collect().to_dicts() if kpis is not None else []
    if not of_all:
        raise InputError(f"{day} has not been scored", where=warehouse.url, fix=f"aqb nightly --date {day}")
    return of_all[0]
