"""KPIs as incidents: reported when the verdict of their last four weeks changes, not on every day that misses a target.

Source: SPEC 8 and 10.
"""

from collections.abc import Collection
from datetime import date

from scoring.alerting.facts import kpi_fact
from scoring.alerting.incidents import Incident, IncidentState
from scoring.chat.kpi_windows import Standing, keeps_verdict_of_before, may_be_decided, standings
from scoring.chat.kpis import KpisByDay, Quotient, days_by_tenant
from scoring.chat.rubric import RowRubric


def kpi_incidents_of_days(
    days: KpisByDay, rubric: RowRubric, tenants: Collection[str | None]
) -> dict[date, list[Incident]]:
    """The incidents of these tenants' KPIs on each scored day, from the KPI rows of that day and earlier ones.

    `new` when a target is missed, `resolved` when it is met again, `continuing` while it is missed.
    """
    found: dict[date, list[Incident]] = {day: [] for day in days}
    asked = {day: [row for row in rows if row["tenant_id"] in tenants] for day, rows in days.items()}
    by_tenant = {tenant: rows for tenant, rows in days_by_tenant(asked).items() if may_be_decided(rows)}
    for kpi in rubric.targeted:
        for tenant, of_tenant in by_tenant.items():
            for day, standing in standings(kpi, of_tenant).items():
                if standing.changed or standing.verdict == "missed":
                    found[day].append(_incident(kpi, tenant, day, standing, rubric))
    return found


def keep_verdicts_of_before(days: KpisByDay, rubric: RowRubric, tenants: Collection[str | None], first: date) -> bool:
    """Whether the verdict of a KPI before `first` may stem from days before these: undecided days keep the last one."""
    asked = {day: [row for row in rows if row["tenant_id"] in tenants] for day, rows in days.items()}
    by_tenant = [rows for rows in days_by_tenant(asked).values() if may_be_decided(rows)]
    return any(keeps_verdict_of_before(kpi, rows, first) for kpi in rubric.targeted for rows in by_tenant)


def _incident(kpi: Quotient, tenant: str | None, day: date, standing: Standing, rubric: RowRubric) -> Incident:
    assert standing.since is not None, "a decided verdict has its day"
    figure = standing.figure
    state: IncidentState = "continuing"
    if standing.changed:
        state = "new" if standing.verdict == "missed" else "resolved"
    fact = kpi_fact(kpi, tenant, figure.n, figure.value)
    return Incident(
        *(fact, day, rubric.id, rubric.version, state, standing.since, day), figure=figure, figure_days=standing.days
    )
