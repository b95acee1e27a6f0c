"""The KPIs and the conclusion of a period, which its page and its report show."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from scoring.alerting.rule_changes import risen_rules, tenant_of_rise
from scoring.chat.conclusion import conclusion
from scoring.chat.kpi_windows import ComparedKpi, compared_kpi, rows_of_period
from scoring.chat.kpis import ALL_TENANTS, KpiRow, RubricVersion
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric

RowsOfTenants = Mapping[str | None, tuple[Sequence[KpiRow], Sequence[KpiRow]]]
"""The KPI rows of each tenant in a period and in the one before it, also of all (`*`)."""


def rows_around(
    by_tenant: Mapping[str | None, Mapping[date, KpiRow]], period: Period, version: RubricVersion
) -> RowsOfTenants:
    """The rows of each tenant in a period and in the one before it that a rubric version has scored."""
    return {
        tenant: (rows_of_period(rows, period, version), rows_of_period(rows, period.before, version))
        for tenant, rows in by_tenant.items()
    }


def period_windows(
    rubric: RowRubric, period: Period, this: Sequence[KpiRow], before: Sequence[KpiRow]
) -> dict[str, list[ComparedKpi]]:
    """The window of each KPI with a target: the whole period."""
    name = f"이 {period.word}"
    return {kpi.name: [compared_kpi(kpi, name, this, before)] for kpi in rubric.targeted}


def period_values(rubric: RowRubric, period: Period, rows: RowsOfTenants, framed: int) -> dict[str, Any]:
    """The values of both templates; `framed` is the number of rows of the period in the frame of the cross table."""
    this, before = rows[ALL_TENANTS]
    days, days_before = (sum(row["rows"] > 0 for row in of_period) for of_period in (this, before))
    before_name, scored = period.before_name(days, days_before), sum(row["rows"] for row in this)
    windows, risen = period_windows(rubric, period, this, before), risen_rules(rubric, this, before)
    columns = [f"alert_{rule.id}" for rule in rubric.alert_rules]
    return {
        "rubric": rubric,
        "period": period,
        "before_name": before_name,
        "version": this[0]["rubric_version"],
        "scored": scored,
        "scored_days": days,
        "empty_days": len(this) - days,
        "windows": windows,
        "concluded": conclusion(
            rubric,
            windows,
            scored,
            {column: sum(row[column] or 0 for row in this) for column in columns},
            framed,
            risen,
            f"{before_name}보다",
            mostly=tenant_of_rise(rubric, risen, rows),
        ),
    }
