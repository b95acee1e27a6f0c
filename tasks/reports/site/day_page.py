"""The page of one day of chat rows, and the parts that the first page shares with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scoring.alerts import is_unusual
from scoring.derived_tables import ALL_TENANTS
from scoring.markdown import percent
from scoring.rubric import RowRubric
from tasks.reports.site.charts import Cell, Link, Table
from tasks.reports.site.kpis import interval_chart, kpis_of
from tasks.reports.site.monitoring_charts import grade_bars, grade_sets, heat_map
from tasks.reports.site.pages import page
from tasks.reports.site.scored_days import ScoredDay, earlier_rows
from tasks.reports.site.wording import (
    ANSWER_GRADE_TITLES,
    LEVEL_TITLES,
    NOTHING,
    TIER_TITLES,
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
    level_title: str
    title: str
    tenant: str
    shown: str
    usual: str
    unusual: bool
    examples: Sequence[Link]


def day_page(rubric: RowRubric, days: Sequence[ScoredDay], position: int, rows: DayRows) -> str:
    """The page of `days[position]`."""
    day, earlier = days[position], earlier_rows(days, position)
    kpis = kpis_of(rubric.quotients, day.total, rows.mean_interval, earlier)
    intervals = [interval_chart(kpi, "kpi") for kpi in kpis]
    bars = [grade_bars(day, grades, earlier) for grades in grade_sets(rubric)]
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
        heat=heat_map(day, ""),
        tiers=TIER_TITLES,
        grades=ANSWER_GRADE_TITLES,
        failures=failure_table(rows, day.total["rows"]),
        alerts=shown_alerts(day, ""),
        tenants=tenant_table(rubric, day),
        rows=rows.rows,
        before=days[position - 1] if position else None,
        after=days[position + 1] if position + 1 < len(days) else None,
        is_last=position + 1 == len(days),
    )


def shown_alerts(day: ScoredDay, page_of_day: str) -> list[ShownAlert]:
    """The alert facts of a day: all tenants first, critical before warning, as they were found."""
    facts = sorted(day.alerts, key=lambda fact: (fact["tenant_id"] != ALL_TENANTS, fact["level"] != "critical"))
    return [_shown_alert(fact, page_of_day) for fact in facts]


def _shown_alert(fact: Mapping[str, Any], page_of_day: str) -> ShownAlert:
    count, usual = fact["count"], fact["usual"] or []
    links = [Link(f"예 {n}", f"{page_of_day}#row-{row_id}") for n, row_id in enumerate(fact["row_ids"] or [], start=1)]
    return ShownAlert(
        level=fact["level"],
        level_title=LEVEL_TITLES.get(fact["level"], fact["level"]),
        title=fact["title"],
        tenant=tenant_text(fact["tenant_id"]),
        shown=_alert_figure(fact),
        usual=f"{median(usual):,g}행" if usual else NOTHING,
        unusual=count is not None and is_unusual(count, usual),
        examples=links[:_EXAMPLES],
    )


def _alert_figure(fact: Mapping[str, Any]) -> str:
    """Rows of rows, or a value against its limit."""
    if fact["count"] is not None:
        share = f" ({percent(fact['count'] / fact['rows'])})" if fact["rows"] else ""
        return f"{fact['count']:,}행{share}"
    value, limit = fact["value"], fact["limit"]
    if value is None:
        return NOTHING
    is_rate = limit is not None and limit <= 1
    texts = [NOTHING if each is None else percent(each) if is_rate else f"{each:.1f}점" for each in (value, limit)]
    return f"{texts[0]} (목표 {texts[1]})"


def tenant_table(rubric: RowRubric, day: ScoredDay) -> Table:
    """The KPIs of each tenant with their verdicts."""
    shown = [quotient for quotient in rubric.quotients if quotient.target]
    rows: list[list[Cell]] = []
    for tenant in sorted(day.tenants, key=lambda row: -row["rows"]):
        kpis = kpis_of(rubric.quotients, tenant)
        rows.append(
            [
                tenant_text(tenant["tenant_id"]),
                count_text(tenant["rows"]),
                count_text(tenant["excluded"]),
                *(f"{kpi.shown['value']} {kpi.verdict.sign}" for kpi in kpis),
                count_text(tenant["critical_rows"]),
                count_text(tenant["warning_rows"]),
            ]
        )
    return Table(["테넌트", "채점", "제외", *(quotient.title for quotient in shown), "Critical", "Warning"], rows)


def failure_table(rows: DayRows, scored: int) -> Table:
    """The failed rows by their type, most first."""
    return Table(
        ["실패 유형", "행", "비율"],
        [[title, count_text(count), percent(count / scored)] for title, count in rows.failures],
    )
