"""The page of one day of chat rows, and the parts that the first page shares with it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scoring.alerting.facts import is_unusual
from scoring.alerting.figures import fact_figure
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.figures import Figure
from scoring.markdown import kpi_text, percent, score_text
from tasks.reports.site.charts import Cell, Link, Table
from tasks.reports.site.kpis import Kpi, interval_chart, kpis_of
from tasks.reports.site.monitoring_charts import grade_bars, grade_sets, heat_map
from tasks.reports.site.pages import page
from tasks.reports.site.scored_days import ScoredDay, earlier_rows
from tasks.reports.site.wording import (
    NOTHING,
    count_text,
    day_text,
    tenant_text,
)
from tasks.reports.site.worst_rows import DayRows

_EXAMPLES = 3


@dataclass(frozen=True)
class ShownAlert:
    """One alert fact as people read it; `examples` lead to rows of the day's page."""

    level: str
    title: str
    tenant: str
    shown: str
    usual: str
    unusual: bool
    examples: Sequence[Link]


def day_page(rubric: RowRubric, days: Sequence[ScoredDay], position: int, rows: DayRows) -> str:
    """The page of `days[position]`."""
    day, earlier = days[position], earlier_rows(days, position)
    kpis = kpis_of(rubric.quotients, day.total, rows.mean_intervals, earlier)
    intervals = [interval_chart(kpi, "kpi") for kpi in kpis]
    bars = [grade_bars(day, grades, earlier) for grades in grade_sets(rubric)]
    alerts = shown_alerts(rubric, day, kpis, {row.row_id for row in rows.rows}, "")
    everybody = tenant_text(ALL_TENANTS)
    return page(
        "day.html",
        charts=[*intervals, *bars],
        root="../",
        section="monitoring",
        day=day,
        title=f"{day_text(day.day)} 대화 품질",
        rubric=rubric,
        kpis=list(zip(kpis, intervals, strict=True)),
        bars=bars,
        heat=heat_map(rubric, day, ""),
        failures=failure_table(rows, day.total["rows"]),
        alerts=[alert for alert in alerts if alert.tenant == everybody],
        tenant_alerts=[alert for alert in alerts if alert.tenant != everybody],
        tenants=tenant_table(rubric, day),
        rows=rows.rows,
        before=days[position - 1] if position else None,
        after=days[position + 1] if position + 1 < len(days) else None,
    )


def alert_examples(day: ScoredDay) -> list[str]:
    """The rows that the alerts of all tenants point to: these are on the day's page whatever their score."""
    facts = (fact for fact in day.alerts if fact["tenant_id"] == ALL_TENANTS)
    return [row_id for fact in facts for row_id in (fact["row_ids"] or [])[:_EXAMPLES]]


def shown_alerts(
    rubric: RowRubric, day: ScoredDay, kpis: Sequence[Kpi], row_ids: Collection[str], page_of_day: str
) -> list[ShownAlert]:
    """The alert facts of a day: all tenants first, critical before warning, as they were found.

    Examples lead to those of the `row_ids` that the day's page shows.
    """
    facts = sorted(day.alerts, key=lambda fact: (fact["tenant_id"] != ALL_TENANTS, fact["level"] != "critical"))
    of_all = {kpi.name: kpi.figure for kpi in kpis}
    found = []
    for fact in facts:
        figure = fact_figure(rubric, fact["rule"], fact["tenant_id"], fact["value"], fact["rows"], of_all)
        found.append(
            ShownAlert(
                level=fact["level"],
                title=figure.goal_text if figure else fact["title"],
                tenant=tenant_text(fact["tenant_id"]),
                shown=_alert_figure(fact, figure),
                usual=_usual(fact, figure),
                unusual=fact["count"] is not None and is_unusual(fact["count"], fact["usual"] or []),
                examples=[
                    Link(f"예 {number}", f"{page_of_day}#row-{row_id}")
                    for number, row_id in enumerate((fact["row_ids"] or [])[:_EXAMPLES], start=1)
                    if row_id in row_ids
                ],
            )
        )
    return found


def _usual(fact: Mapping[str, Any], figure: Figure | None) -> str:
    """The median of the last scored days."""
    if figure:
        return kpi_text(median(fact["usual_values"]), figure.scale) if fact.get("usual_values") else NOTHING
    return f"{median(fact['usual']):,g}행" if fact["usual"] else NOTHING


def _alert_figure(fact: Mapping[str, Any], figure: Figure | None) -> str:
    """Rows of rows, or the value of a KPI against its target."""
    if figure:
        return f"{figure.value_text} (목표 {figure.target_text})"
    if fact["count"] is None:  # of a KPI that the rubric no longer has
        return score_text(fact["value"], 3)
    share = f" ({percent(fact['count'] / fact['rows'])})" if fact["rows"] else ""
    return f"{count_text(fact['count'])}행{share}"


def tenant_table(rubric: RowRubric, day: ScoredDay) -> Table:
    """The KPIs of each tenant with their verdicts."""
    shown = [quotient for quotient in rubric.quotients if quotient.target]
    levels = rubric.alert_levels
    rows: list[list[Cell]] = []
    for tenant in sorted(day.tenants, key=lambda row: -row["rows"]):
        kpis = kpis_of(rubric.quotients, tenant, {})
        rows.append(
            [
                tenant_text(tenant["tenant_id"]),
                count_text(tenant["rows"]),
                count_text(tenant["excluded"]),
                *(kpi.mark for kpi in kpis),
                *(count_text(tenant[f"{level}_rows"]) for level in levels),
            ]
        )
    return Table(["테넌트", "채점", "제외", *(quotient.title for quotient in shown), *levels.values()], rows)


def failure_table(rows: DayRows, scored: int) -> Table:
    """The failed rows by their type, most first."""
    return Table(
        ["실패 유형", "행", "비율"],
        [[title, count_text(count), percent(count / scored)] for title, count in rows.failures],
    )
