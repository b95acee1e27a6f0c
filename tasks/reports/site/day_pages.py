"""The first page (current state, trend, where to look next) and the page of one day of chat rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Any

from markupsafe import Markup

from scoring.alerting.facts import AlertFact, rows_on_page, titles_of_rules
from scoring.alerting.growth_wording import grown_texts, tokens_action
from scoring.alerting.rule_changes import tenant_of_day
from scoring.alerting.snoozes import fact_rate
from scoring.alerting.standing_out import standing_out
from scoring.alerting.wording import change_text, usual_rate_text
from scoring.chat.conclusion import conclusion, verdicts_text
from scoring.chat.kpi_figures import kpi_figure
from scoring.chat.kpi_windows import WEEK, ComparedKpi, kpi_windows
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.periods import Period, week_of
from scoring.chat.rubric import KPI_RULE, RowRubric
from scoring.days import day_text
from scoring.figures import Figure
from scoring.markdown import kpi_text, score_text
from tasks.files.report_paths import TESTRUNS
from tasks.reports.site.day_charts import (
    alert_rows_chart,
    grade_bars,
    shares_chart,
    trend_chart,
    version_changes,
)
from tasks.reports.site.day_summaries import DaySummary
from tasks.reports.site.day_tables import (
    category_table,
    day_table,
    failure_table,
    question_table,
    rate_cells,
    tenant_table,
)
from tasks.reports.site.kpi_cards import kpi_cards
from tasks.reports.site.listed_rows import tenant_json
from tasks.reports.site.pages import Cell, Link, page
from tasks.reports.site.period_pages import period_link, tenant_trend_table
from tasks.reports.site.row_pages import LinkedDay, RowLinks
from tasks.reports.site.scored_days import Row, ScoredSpan, SiteDay
from tasks.reports.site.testrun_pages import testrun_list
from tasks.reports.site.testrun_tables import PublishedTestRun
from tasks.reports.site.worst_rows import ShownRow, one_of_each_template
from tasks.reports.templates import html
from tasks.reports.wording import MOST_TENANTS, NOTHING, count_text, share_text, tenant_text

_EXAMPLES = 3
_WORST_ROWS = 5
_RUNS = 8
_MOST_TENANT_ALERTS = 100
_PERIOD_TITLES = {"week": "주", "month": "달", "days": "고른 기간"}
_EVERYBODY = tenant_text(ALL_TENANTS)


@dataclass(frozen=True)
class ShownAlert:
    """One alert fact as people read it; `change` is '' where its rate is as usual, `is_high` where this day's is not.

    `grown` is what made most of a rise, `shown` leads to all rows, `examples` to some of them on the day's page.
    """

    level: str
    title: str
    tenant: str
    shown: Cell
    usual: str
    change: str
    is_high: bool
    grown: Sequence[str]
    snoozed: str
    examples: Sequence[Link]


def overview(
    rubric: RowRubric,
    span: ScoredSpan,
    summaries: Sequence[DaySummary],
    last_rows: Sequence[ShownRow],
    runs: Sequence[PublishedTestRun],
    periods: Sequence[Period],
    over_all: str | None,
) -> str:
    """The first page; `summaries` belong to the days of the span, `last_rows` to the last of them.

    `periods` have a page; `over_all` is the way to the site with the test runs, if this one has none.
    """
    listed = testrun_list(runs[:_RUNS], f"{TESTRUNS}/")
    shown: dict[str, Any] = {"root": "", "section": "overview", "title": "품질 현황"}
    shown |= {"runs": listed, "over_all": over_all}
    days = span.days
    if not days:
        return page("no_days.html", **shown)
    linked = [LinkedDay(day, summary, "") for day, summary in zip(days, summaries, strict=True)]
    shown |= _parts_of_day(rubric, span, linked[-1], last_rows, days[-1].page)
    trends = [trend_chart(kpi, linked) for kpi in rubric.targeted]
    shares = [shares_chart(rubric, linked, scale) for scale in rubric.scales]
    alert_rows = alert_rows_chart(rubric, linked)
    last_week = Period(days[-1].day - timedelta(WEEK - 1), days[-1].day)
    return page(
        "overview.html",
        charts=[*(card.chart for card in shown["cards"]), *trends, *shares, *shown["bars"], alert_rows],
        **shown,
        days=days,
        run_count=len(runs),
        trends=trends,
        changes=version_changes(linked),
        shares=shares,
        alert_rows=alert_rows,
        worst=one_of_each_template(rubric, _risen_first(days[-1], shown["risen"], last_rows))[:_WORST_ROWS],
        periods=[
            (title, [period_link(period, "") for period in reversed(periods) if period.kind == kind])
            for kind, title in _PERIOD_TITLES.items()
        ],
        tenant_trends=tenant_trend_table(rubric, span, last_week, days[-1].scored_by),
        day_table=day_table(rubric, linked),
    )


def day_page(rubric: RowRubric, span: ScoredSpan, day: SiteDay, summary: DaySummary, rows: Sequence[ShownRow]) -> str:
    """The page of one day."""
    shown = _parts_of_day(rubric, span, LinkedDay(day, summary, "../"), rows, page_of_day="")
    return page(
        "day.html",
        charts=[*(card.chart for card in shown["cards"]), *shown["bars"]],
        **shown,
        root="../",
        section="monitoring",
        title=f"{day_text(day.day)} 대화 품질",
        rows=rows,
        steps=Markup(summary.steps),  # noqa: S704  made by `day_steps`
    )


def day_steps(days: Sequence[SiteDay], position: int) -> str:
    """The links of the page of the day at `position` to the neighbouring days and its week."""
    return html(
        "day_steps.html",
        week=period_link(week_of(days[position].day), "../").href,
        before=days[position - 1] if position else None,
        after=days[position + 1] if position + 1 < len(days) else None,
    )


def _parts_of_day(
    rubric: RowRubric, span: ScoredSpan, linked: LinkedDay, rows: Sequence[ShownRow], page_of_day: str
) -> dict[str, Any]:
    """The values that both pages show of a day; examples of its alerts are on `page_of_day`."""
    day, links = linked.site, linked.links
    windows = {kpi.name: kpi_windows(kpi, span.rows_of(), day.day) for kpi in rubric.targeted}
    cards = kpi_cards(rubric, windows, linked)
    alerts = _shown_alerts(rubric, linked, {row.scores["row_id"] for row in rows}, page_of_day)
    of_tenants = [alert for alert in alerts if alert.tenant != _EVERYBODY]
    high = standing_out(rubric, span.rows_of(), day.day, lambda: day.decided, day.alerts)
    crosstab = rubric.crosstab_counts(day.crosstab)
    framed = rubric.framed_rows(crosstab)
    concluded = conclusion(
        rubric,
        windows,
        day.total["rows"],
        day.total,
        framed,
        high,
        few=day.few,
        mostly=tenant_of_day(rubric, high, span.kpis, day.day, day.decided),
        rejected=day.rejected,
        action=_action(day, high),
    )
    return {
        "rubric": rubric,
        "day": day,
        "links": links,
        "headline": _headline(windows, day, [titles_of_rules(rubric)[rule] for rule in high]),
        "concluded": concluded,
        "risen": high,
        "first_rows": links.first_rows(concluded.first),
        "repeated": linked.summary.repeated,
        "cards": cards,
        "bars": [grade_bars(rubric, linked, scale, span.earlier_rows(day)) for scale in rubric.scales],
        "crosstab": crosstab,
        "failures": failure_table(rubric, linked),
        "rates": rate_cells(rubric, linked),
        "categories": category_table(rubric, linked),
        "questions": question_table(rubric, linked),
        "alerts": [alert for alert in alerts if alert.tenant == _EVERYBODY],
        "tenant_alerts": of_tenants[:_MOST_TENANT_ALERTS],
        "tenant_alert_count": len(of_tenants),
        "tenants": tenant_table(rubric, linked),
        "has_other_tenants": len(day.tenants) > MOST_TENANTS,
    }


def _headline(windows: Mapping[str, Sequence[ComparedKpi]], day: SiteDay, raised: Sequence[str]) -> str:
    """The headline of a day: no or few rows, unusual alerts, the verdicts."""
    verdicts = verdicts_text(windows.values())
    if not day.total["rows"]:
        is_known = any(one.figure.n for of_kpi in windows.values() for one in of_kpi)
        return "이날은 채점한 행이 없음" + (f" · 앞서 채점한 날까지 {verdicts}" if is_known else "")
    if day.few:
        return f"이날은 {day.total['rows']:,}행뿐 · {verdicts}"
    if not raised:
        return verdicts
    others = f" 외 알림 {len(raised) - 1}종" if len(raised) > 1 else " 알림"
    return f"'{raised[0]}'{others}이 평소보다 많음 · {verdicts}"


def alert_examples(day: SiteDay) -> list[str]:
    """The example rows of alerts, which are on the day's page whatever their score."""
    return rows_on_page((fact.tenant_id, fact.row_ids) for fact in day.alerts)


def _risen_first(day: SiteDay, risen: Sequence[str], rows: Sequence[ShownRow]) -> list[ShownRow]:
    """The rows of a day's page, the examples of the alert rules that stand out before the others."""
    examples = {fact.rule: fact.row_ids for fact in day.alerts if fact.tenant_id == ALL_TENANTS}
    first = [row_id for rule in risen for row_id in examples.get(rule, ())]
    place = {row_id: number for number, row_id in reversed([*enumerate(first)])}
    return sorted(rows, key=lambda row: place.get(row.scores["row_id"], len(first)))


def _shown_alerts(rubric: RowRubric, linked: LinkedDay, row_ids: Collection[str], page_of_day: str) -> list[ShownAlert]:
    """The alert facts of a day: all tenants first, critical before warning, as they were found. Of the tenants first
    what is higher than usual, then what is critical, then what has most rows.

    A target is among them where the day alone decides that it is missed: the KPI cards tell what longer windows decide.
    Examples lead to those of the `row_ids` that the day's page shows.
    """
    day = linked.site
    facts = sorted(day.alerts, key=lambda fact: _place(fact, day))
    totals = {row["tenant_id"]: row for row in (day.total, *day.tenants)}
    found = []
    for fact in facts:
        figure = _kpi_figure(rubric, fact, totals)
        if figure and figure.verdict != "missed":
            continue
        decision = day.decided.get((fact.rule, fact.tenant_id))
        is_high = _is_high(fact, day)
        found.append(
            ShownAlert(
                level=fact.level,
                title=figure.goal_text if figure else fact.title,
                tenant=tenant_text(fact.tenant_id),
                shown=_alert_figure(rubric, fact, figure, linked.links),
                usual=usual_rate_text(decision.usual) if decision else _usual(fact, figure),
                change=change_text(decision, day.day),
                is_high=is_high,
                grown=grown_texts(fact.grown, rubric, compared=bool(fact.usual)) if is_high else [],
                snoozed=_snoozed(fact, day),
                examples=[
                    Link(f"예 {number}", f"{page_of_day}#row-{row_id}")
                    for number, row_id in enumerate(fact.row_ids[:_EXAMPLES], start=1)
                    if row_id in row_ids
                ],
            )
        )
    return found


def _action(day: SiteDay, high: Sequence[str]) -> str:
    """What to do about the first rule that stands out, if its cause is known."""
    facts = (fact for fact in day.alerts if fact.tenant_id == ALL_TENANTS and fact.rule in high[:1])
    return next((tokens_action(fact.grown) for fact in facts), "")


def _place(fact: AlertFact, day: SiteDay) -> tuple[bool, bool, bool, int]:
    """The sort key of the alerts of a day."""
    is_usual, is_warning = not _is_high(fact, day), fact.level != "critical"
    if fact.tenant_id == ALL_TENANTS:
        return False, False, is_warning, 0
    return True, is_usual, is_warning, -(fact.count or 0)


def _is_high(fact: AlertFact, day: SiteDay) -> bool:
    decision = day.decided.get((fact.rule, fact.tenant_id))
    return decision is not None and decision.is_high


def _kpi_figure(rubric: RowRubric, fact: AlertFact, totals: Mapping[str | None, Row]) -> Figure | None:
    """The figure behind the fact of a KPI; None for other facts, and for a KPI that the rubric no longer has."""
    kpi = next((kpi for kpi in rubric.targeted if KPI_RULE + kpi.name == fact.rule), None)
    row = totals.get(fact.tenant_id)
    return kpi_figure(kpi, row) if kpi and row else None


def _usual(fact: AlertFact, figure: Figure | None) -> str:
    """The median of the last scored days, for what has no rate whose usual range is known."""
    values = fact.usual_values if figure else fact.usual
    if not values:
        return NOTHING
    shown = kpi_text(median(values), is_rate=figure.is_rate) if figure else f"{median(values):,g}행"
    return f"앞서 채점한 {len(values)}일의 중앙값 {shown}"


def _snoozed(fact: AlertFact, day: SiteDay) -> str:
    """The end of the snooze of the alert on its day; '' if there was none, or its rate broke the snooze."""
    rule, tenant, rate = fact.rule, fact.tenant_id, fact_rate(fact)
    held = [one.until for one in day.snoozes if one.is_about(rule, tenant) and one.holds(day.day, tenant, rate)]
    return f"일시 중지, {day_text(max(held))}까지" if held else ""


def _alert_figure(rubric: RowRubric, fact: AlertFact, figure: Figure | None, links: RowLinks) -> Cell:
    """Rows of rows, which lead to these, or the value of a KPI against its target."""
    if figure:
        return f"{figure.value_text} (목표 {figure.target_text})"
    if fact.count is None:  # of a KPI that the rubric no longer has
        return score_text(fact.value, 3)
    if fact.rule in rubric.rule_titles:
        tenant = {} if fact.tenant_id == ALL_TENANTS else {"tenant": tenant_json(fact.tenant_id)}
        return links.count(fact.count, fact.rows, alert=fact.rule, **tenant)
    share = f" ({share_text(fact.count, fact.rows)})" if fact.rows else ""
    return f"{count_text(fact.count)}행{share}"
