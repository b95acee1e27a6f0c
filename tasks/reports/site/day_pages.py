"""The first page (where things stand, how they got there, where to look next) and the page of one day of chat rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Any

from scoring.alerting.decision import RateDecision
from scoring.alerting.facts import KPI_RULE, rows_on_page
from scoring.alerting.wording import STATE_NAMES, usual_rate_text
from scoring.chat.kpis import ALL_TENANTS, kpi_figure
from scoring.chat.rubric import RowRubric
from scoring.figures import VERDICT_TITLES, Figure
from scoring.markdown import kpi_text, score_text
from scoring.stats.intervals import Interval
from tasks.files.report_paths import TESTRUNS
from tasks.reports.site.day_charts import (
    Kpi,
    alert_rows_chart,
    grade_bars,
    interval_chart,
    kpis_of,
    shares_chart,
    trend_chart,
    version_changes,
)
from tasks.reports.site.pages import Cell, Link, Table, page
from tasks.reports.site.scored_days import SiteDay, earlier_rows
from tasks.reports.site.testrun_pages import testrun_list
from tasks.reports.site.testrun_tables import PublishedTestRun
from tasks.reports.site.worst_rows import DayRows
from tasks.reports.wording import NOTHING, count_text, day_text, share_text, tenant_text

_EXAMPLES = 3
_WORST_ROWS = 5
_RUNS = 8
_EVERYBODY = tenant_text(ALL_TENANTS)


@dataclass(frozen=True)
class ShownAlert:
    """One alert fact as people read it; `change` is '' where its rate is as usual, `examples` lead to rows."""

    level: str
    title: str
    tenant: str
    shown: str
    usual: str
    change: str
    examples: Sequence[Link]


def overview(
    rubric: RowRubric,
    days: Sequence[SiteDay],
    mean_intervals: Sequence[Mapping[str, Interval | None]],
    last_rows: DayRows | None,
    runs: Sequence[PublishedTestRun],
) -> str:
    """The first page; `mean_intervals` belong to `days`, `last_rows` to the last of them."""
    listed = testrun_list(runs[:_RUNS], f"{TESTRUNS}/")
    shown: dict[str, Any] = {"root": "", "section": "overview", "title": "품질 현황", "runs": listed}
    if not days or last_rows is None:
        return page("no_days.html", **shown)
    by_day = [
        kpis_of(rubric.quotients, each.total, intervals, earlier_rows(days, position))
        for position, (each, intervals) in enumerate(zip(days, mean_intervals, strict=True))
    ]
    shown |= _parts_of_day(rubric, days, len(days) - 1, by_day[-1], last_rows, days[-1].page)
    trends = [trend_chart(days, list(of_days)) for of_days in zip(*by_day, strict=True)]
    shares = [shares_chart(rubric, days, scale) for scale in rubric.scales]
    alert_rows = alert_rows_chart(rubric, days)
    title_of_day, details = _headline(by_day[-1], shown["alerts"])
    return page(
        "overview.html",
        charts=[*(chart for _, chart in shown["kpis"]), *trends, *shares, *shown["bars"], alert_rows],
        **shown,
        days=days,
        run_count=len(runs),
        title_of_day=title_of_day,
        details=details,
        trends=trends,
        changes=version_changes(days),
        shares=shares,
        alert_rows=alert_rows,
        worst=last_rows.rows[:_WORST_ROWS],
        day_table=_day_table(rubric, days, by_day),
    )


def day_page(rubric: RowRubric, days: Sequence[SiteDay], position: int, rows: DayRows) -> str:
    """The page of `days[position]`."""
    day = days[position]
    kpis = kpis_of(rubric.quotients, day.total, rows.mean_intervals, earlier_rows(days, position))
    shown = _parts_of_day(rubric, days, position, kpis, rows, "")
    return page(
        "day.html",
        charts=[*(chart for _, chart in shown["kpis"]), *shown["bars"]],
        **shown,
        root="../",
        section="monitoring",
        title=f"{day_text(day.day)} 대화 품질",
        rows=rows.rows,
        before=days[position - 1] if position else None,
        after=days[position + 1] if position + 1 < len(days) else None,
    )


def _parts_of_day(
    rubric: RowRubric, days: Sequence[SiteDay], position: int, kpis: Sequence[Kpi], rows: DayRows, page_of_day: str
) -> dict[str, Any]:
    """What both pages show of `days[position]`."""
    day = days[position]
    alerts = _shown_alerts(rubric, day, kpis, {row.scores["row_id"] for row in rows.rows}, page_of_day)
    failures = [[title, count_text(count), share_text(count, day.total["rows"])] for title, count in rows.failures]
    return {
        "rubric": rubric,
        "day": day,
        "kpis": [(kpi, interval_chart(kpi)) for kpi in kpis],
        "bars": [grade_bars(rubric, day, scale, earlier_rows(days, position)) for scale in rubric.scales],
        "crosstab": rubric.crosstab_counts(day.crosstab),
        "failures": Table(["실패 유형", "행", "비율"], failures),
        "alerts": [alert for alert in alerts if alert.tenant == _EVERYBODY],
        "tenant_alerts": [alert for alert in alerts if alert.tenant != _EVERYBODY],
        "tenants": _tenant_table(rubric, day),
    }


def alert_examples(day: SiteDay) -> list[str]:
    """The rows that alerts point to: these are on the day's page whatever their score."""
    return rows_on_page((fact["tenant_id"], fact["row_ids"] or ()) for fact in day.alerts)


def _shown_alerts(
    rubric: RowRubric, day: SiteDay, kpis: Sequence[Kpi], row_ids: Collection[str], page_of_day: str
) -> list[ShownAlert]:
    """The alert facts of a day: all tenants first, critical before warning, as they were found.

    Examples lead to those of the `row_ids` that the day's page shows.
    """
    facts = sorted(day.alerts, key=lambda fact: (fact["tenant_id"] != ALL_TENANTS, fact["level"] != "critical"))
    of_all = {kpi.name: kpi.figure for kpi in kpis}
    found = []
    for fact in facts:
        figure = _kpi_figure(rubric, fact, of_all)
        decision = day.decided.get((fact["rule"], fact["tenant_id"]))
        found.append(
            ShownAlert(
                level=fact["level"],
                title=figure.goal_text if figure else fact["title"],
                tenant=tenant_text(fact["tenant_id"]),
                shown=_alert_figure(fact, figure),
                usual=usual_rate_text(decision.usual) if decision else _usual(fact, figure),
                change=_change(decision, day.day),
                examples=[
                    Link(f"예 {number}", f"{page_of_day}#row-{row_id}")
                    for number, row_id in enumerate((fact["row_ids"] or [])[:_EXAMPLES], start=1)
                    if row_id in row_ids
                ],
            )
        )
    return found


def _kpi_figure(rubric: RowRubric, fact: Mapping[str, Any], of_all: Mapping[str, Figure]) -> Figure | None:
    """The figure behind the fact of a KPI; None for other facts, and for a KPI that the rubric no longer has.

    The mean of one tenant has no interval.
    """
    kpi = next((kpi for kpi in rubric.quotients if kpi.target and KPI_RULE + kpi.name == fact["rule"]), None)
    if kpi is None:
        return None
    known = of_all.get(kpi.name) if fact["tenant_id"] == ALL_TENANTS else None
    return known or kpi_figure(kpi, fact["value"], fact["rows"])


def _usual(fact: Mapping[str, Any], figure: Figure | None) -> str:
    """The median of the last scored days, for what has no rate."""
    if figure:
        return kpi_text(median(fact["usual_values"]), figure.scale) if fact.get("usual_values") else NOTHING
    return f"{median(fact['usual']):,g}행" if fact["usual"] else NOTHING


def _change(decision: RateDecision | None, day: date) -> str:
    """`급증`, or since when the rate has been higher; '' where it is as usual."""
    if decision is None or decision.since is None or decision.change == "resolved":
        return ""
    since = "" if decision.since == day else f", {day_text(decision.since)}부터"
    return f"{STATE_NAMES[decision.change]}{since}" if decision.change else ""


def _alert_figure(fact: Mapping[str, Any], figure: Figure | None) -> str:
    """Rows of rows, or the value of a KPI against its target."""
    if figure:
        return f"{figure.value_text} (목표 {figure.target_text})"
    if fact["count"] is None:  # of a KPI that the rubric no longer has
        return score_text(fact["value"], 3)
    share = f" ({share_text(fact['count'], fact['rows'])})" if fact["rows"] else ""
    return f"{count_text(fact['count'])}행{share}"


def _headline(kpis: Sequence[Kpi], alerts: Sequence[ShownAlert]) -> tuple[str, list[str]]:
    """The day in a sentence, and what stands behind it: for people who read no further."""
    by_verdict: dict[str, list[str]] = {title: [] for title in VERDICT_TITLES.values()}
    for kpi in kpis:
        by_verdict[kpi.figure.verdict_text].append(kpi.figure.title)
    unusual = [f"{alert.title} {alert.shown}" for alert in alerts if alert.change]
    counts = [f"{len(titles)}개 {verdict}" for verdict, titles in by_verdict.items() if titles]
    title = f"목표 {len(kpis)}개 중 " + " · ".join(counts)
    if unusual:
        title += f", 알림 {len(unusual)}종이 평소보다 높음"
    details = {
        "목표 미달": by_verdict["미달"],
        "판단 보류(표본 30건 미만이거나 오차 범위 안)": by_verdict["판단 보류"],
        "평소보다 높은 알림": unusual,
    }
    return title, [f"{name}: {', '.join(what)}" for name, what in details.items() if what]


def _tenant_table(rubric: RowRubric, day: SiteDay) -> Table:
    """The KPIs of each tenant with their verdicts."""
    levels = rubric.alert_levels
    rows: list[list[Cell]] = [
        [
            tenant_text(tenant["tenant_id"]),
            count_text(tenant["rows"]),
            count_text(tenant["excluded"]),
            *(kpi.mark for kpi in kpis_of(rubric.quotients, tenant, {})),
            *(count_text(tenant[f"{level}_rows"]) for level in levels),
        ]
        for tenant in sorted(day.tenants, key=lambda row: -row["rows"])
    ]
    titles = [quotient.title for quotient in rubric.quotients if quotient.target]
    return Table(["테넌트", "채점", "제외", *titles, *levels.values()], rows)


def _day_table(rubric: RowRubric, days: Sequence[SiteDay], by_day: Sequence[Sequence[Kpi]]) -> Table:
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
