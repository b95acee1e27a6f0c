"""The KPIs and the conclusion of a period, for its page and report."""

from collections.abc import Mapping, Sequence

from scoring.alerting.rule_changes import risen_rules, tenant_of_rise
from scoring.chat.conclusion import Conclusion, conclusion
from scoring.chat.kpi_windows import ComparedKpi, compared_kpi
from scoring.chat.kpis import ALL_TENANTS, KpiRow
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric

RowsOfTenants = Mapping[str | None, tuple[Sequence[KpiRow], Sequence[KpiRow]]]
"""The KPI rows of each tenant in a period and in the one before it, also of all (`*`)."""


def before_name(period: Period, this: Sequence[KpiRow], before: Sequence[KpiRow]) -> str:
    """`앞 주`, or `앞 주(3일)` if fewer of its days have rows, as in `ComparedKpi.before_text` (Korean)."""
    days, days_before = (sum(row["rows"] > 0 for row in rows) for rows in (this, before))
    return period.before_name(days, days_before)


def period_windows(
    rubric: RowRubric, period: Period, this: Sequence[KpiRow], before: Sequence[KpiRow]
) -> dict[str, list[ComparedKpi]]:
    """The window of each KPI with a target: the whole period."""
    name = f"이 {period.word}"
    return {kpi.name: [compared_kpi(kpi, name, this, before)] for kpi in rubric.targeted}


def period_conclusion(
    rubric: RowRubric,
    period: Period,
    windows: Mapping[str, Sequence[ComparedKpi]],
    rows: RowsOfTenants,
    framed: int,
) -> Conclusion:
    """The conclusion about a period from its `windows`; `framed` is the number of its rows in the frame of the cross
    table.
    """
    this, before = rows[ALL_TENANTS]
    risen = risen_rules(rubric, this, before)
    columns = [f"alert_{rule.id}" for rule in rubric.alert_rules]
    return conclusion(
        rubric,
        windows,
        sum(row["rows"] for row in this),
        {column: sum(row[column] or 0 for row in this) for column in columns},
        framed,
        risen,
        f"{before_name(period, this, before)}보다",
        mostly=tenant_of_rise(rubric, risen, rows),
    )
