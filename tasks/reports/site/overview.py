"""The first page: where things stand, how they got there, and where to look next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.figures import VERDICT_TITLES
from scoring.stats.intervals import Interval
from tasks.files.report_paths import TESTRUNS
from tasks.reports.site.charts import Cell, Link, Table
from tasks.reports.site.day_page import ShownAlert, failure_table, shown_alerts, tenant_table
from tasks.reports.site.kpis import Kpi, interval_chart, kpis_of
from tasks.reports.site.monitoring_charts import (
    alert_rows_chart,
    grade_bars,
    grade_sets,
    heat_map,
    shares_chart,
    trend_chart,
    version_changes,
)
from tasks.reports.site.pages import page
from tasks.reports.site.scored_days import ScoredDay, earlier_rows
from tasks.reports.site.testrun_pages import testrun_list
from tasks.reports.site.testrun_tables import PublishedTestRun
from tasks.reports.site.wording import count_text, day_text, tenant_text
from tasks.reports.site.worst_rows import DayRows

_WORST_ROWS = 5
_RUNS = 8


def overview(
    rubric: RowRubric,
    days: Sequence[ScoredDay],
    mean_intervals: Sequence[Mapping[str, Interval | None]],
    last_rows: DayRows | None,
    runs: Sequence[PublishedTestRun],
) -> str:
    """The first page; `mean_intervals` belong to `days`, `last_rows` to the last of them."""
    listed = testrun_list(runs[:_RUNS], f"{TESTRUNS}/")
    if not days or last_rows is None:
        return page("no_days.html", root="", section="overview", title="품질 현황", runs=listed, run_count=len(runs))
    by_day = [
        kpis_of(rubric.quotients, each.total, intervals, earlier_rows(days, position))
        for position, (each, intervals) in enumerate(zip(days, mean_intervals, strict=True))
    ]
    last, kpis = days[-1], by_day[-1]
    intervals = [interval_chart(kpi, "kpi") for kpi in kpis]
    trends = [trend_chart(days, list(of_days)) for of_days in zip(*by_day, strict=True)]
    shares = [shares_chart(days, grades) for grades in grade_sets(rubric)]
    bars = [grade_bars(last, grades, earlier_rows(days, len(days) - 1)) for grades in grade_sets(rubric)]
    alert_rows = alert_rows_chart(rubric, days)
    all_alerts = shown_alerts(rubric, last, kpis, {row.row_id for row in last_rows.rows}, last.page)
    alerts = [alert for alert in all_alerts if alert.tenant == tenant_text(ALL_TENANTS)]
    return page(
        "overview.html",
        charts=[*intervals, *trends, *shares, *bars, alert_rows],
        root="",
        section="overview",
        title="품질 현황",
        rubric=rubric,
        day=last,
        days=days,
        kpis=list(zip(kpis, intervals, strict=True)),
        headline=headline(kpis, alerts),
        trends=trends,
        changes=version_changes(days),
        shares=shares,
        bars=bars,
        heat=heat_map(rubric, last, last.page),
        alerts=alerts,
        alert_rows=alert_rows,
        tenants=tenant_table(rubric, last),
        failures=failure_table(last_rows, last.total["rows"]),
        worst=last_rows.rows[:_WORST_ROWS],
        day_table=_day_table(rubric, days, by_day),
        runs=listed,
        run_count=len(runs),
    )


@dataclass(frozen=True)
class Headline:
    """The day in a sentence, and what stands behind it."""

    title: str
    details: Sequence[str]


def headline(kpis: Sequence[Kpi], alerts: Sequence[ShownAlert]) -> Headline:
    """What a person should know who reads no further."""
    by_verdict: dict[str, list[str]] = {title: [] for title in VERDICT_TITLES.values()}
    for kpi in kpis:
        by_verdict[kpi.figure.verdict_text].append(kpi.figure.title)
    unusual = [f"{alert.title} {alert.shown}" for alert in alerts if alert.unusual]
    counts = [f"{len(titles)}개 {verdict}" for verdict, titles in by_verdict.items() if titles]
    parts = [f"목표 {len(kpis)}개 중 " + " · ".join(counts)]
    if unusual:
        parts.append(f"알림 {len(unusual)}종이 평소의 2배 이상")
    details = {
        "목표 미달": by_verdict["미달"],
        "판단 보류(표본 30건 미만이거나 오차 범위 안)": by_verdict["판단 보류"],
        "크게 늘어난 알림": unusual,
    }
    return Headline(", ".join(parts), [f"{name}: {', '.join(what)}" for name, what in details.items() if what])


def _day_table(rubric: RowRubric, days: Sequence[ScoredDay], by_day: Sequence[Sequence[Kpi]]) -> Table:
    """A line a day, latest first."""
    rows: list[list[Cell]] = [
        [
            Link(f"{each.day} {day_text(each.day)[-3:]}", each.page),
            count_text(each.total["rows"]),
            *(kpi.mark for kpi in kpis),
            *(count_text(each.total[f"{level}_rows"]) for level in rubric.alert_levels),
            count_text(each.total["excluded"]),
            each.version,
        ]
        for each, kpis in reversed(list(zip(days, by_day, strict=True)))
    ]
    titles = [kpi.figure.title for kpi in by_day[-1]]
    return Table(["날짜", "채점", *titles, *rubric.alert_levels.values(), "제외", "루브릭"], rows)
