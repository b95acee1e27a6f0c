"""The page of alerts: what the shown days would have reported under the current settings, by rule, and snoozes.

It shows the output of `aqb alerts --preview` for a route without filters.

Source: SPEC 8.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from scoring.alerting.blocks import inert, masked_text
from scoring.alerting.decision import RateDecision, WatchedDays
from scoring.alerting.facts import titles_of_rules
from scoring.alerting.growth_wording import tenant_name
from scoring.alerting.messages import MessageKind
from scoring.alerting.preview import KIND_TITLES, Forecast, PreviewedIncident, PreviewedMessage, forecast
from scoring.alerting.snoozes import Snooze
from scoring.alerting.wording import times_text, usual_rate_text
from scoring.chat.kpis import ALL_TENANTS
from scoring.days import day_text
from scoring.markdown import score_text
from tasks.reports.site.day_summaries import DaySummary
from tasks.reports.site.listed_rows import tenant_json
from tasks.reports.site.pages import Cell, Chart, Link, Links, Table, page
from tasks.reports.site.row_pages import LinkedDay, RowLinks
from tasks.reports.site.scored_days import ScoredSpan, SiteDay
from tasks.reports.wording import NOTHING, count_text, counted_share_text, tenant_text

_WHY_CHARACTERS, _WHO_CHARACTERS = 200, 40


def alerts_page(
    watched: WatchedDays,
    reported: Sequence[PreviewedMessage],
    scored: ScoredSpan,
    summaries: Mapping[date, DaySummary],
    snoozes: Sequence[Snooze],
    time_zone: str,
) -> str:
    """The page of the site's days and what they `reported`, with links to their rows."""
    days = scored.days
    if not days:
        return page("alerts.html", root="", section="alerts", title="알림", days=days)
    expected = forecast(watched)
    titles = titles_of_rules(watched.rubric)
    # A day without rows, such as the last one in an outage, has decided nothing.
    decided = (key for day in reversed(days) for key in day.decided)
    rules = dict.fromkeys(rule for rule, tenant in decided if tenant == ALL_TENANTS)
    links = {day.day: LinkedDay(day, summaries[day.day], "").links for day in days}
    with_rows = watched.rubric.rule_titles.keys()
    charts = [
        _rate_chart(
            titles[rule],
            [
                (day, one, _counted(one, links[day.day], with_rows))
                for day in days
                if (one := day.decided.get((rule, ALL_TENANTS)))
            ],
            _reported_days(rule, reported),
            (days[0].day, days[-1].day),
        )
        for rule in rules
    ]
    return page(
        "alerts.html",
        charts=charts,
        root="",
        section="alerts",
        title="알림",
        days=days,
        rates=charts,
        counts={title: sum(one.kind == kind for one in reported) for kind, title in KIND_TITLES.items()},
        expected=score_text(expected.false_pages_per_year, 1),
        allowed=f"{watched.policy.false_pages_per_year:g}",
        messages=messages_table(reported, lambda one, day: _rows_of(one, links[day], with_rows)),
        rises=rises_table(expected),
        snoozes=_snoozes(titles, snoozes, days[-1].day, ZoneInfo(time_zone)),
    )


def _reported_days(rule: str, reported: Sequence[PreviewedMessage]) -> dict[date, tuple[MessageKind, str]]:
    """How each day on which a rise of the rule is news would have reported it, and of which tenants: '' of all
    together, whose rate the chart shows.
    """
    found: dict[date, tuple[MessageKind, str]] = {}
    for message in reported:
        news = [
            one
            for one in message.incidents
            if one.rule == rule and one.change not in ("continuing", "resolved", "settled")
        ]
        named = news or [one for one in message.incidents if message.kind == "page" and one.rule == rule]
        if named:
            tenants = [one.tenant_id for one in named]
            whose = "" if ALL_TENANTS in tenants else ", ".join(map(tenant_name, tenants))
            found.setdefault(message.day, (message.kind, whose))  # pages come first
    return found


def _rows_of(one: PreviewedIncident, links: RowLinks, with_rows: Collection[str]) -> str:
    """The rows of an incident; of a KPI or the day as a whole there are none."""
    if one.rule not in with_rows or not links.there:
        return ""
    tenant = {} if one.tenant_id == ALL_TENANTS else {"tenant": tenant_json(one.tenant_id)}
    return links.href(alert=one.rule, **tenant)


def _counted(one: RateDecision, links: RowLinks, with_rows: Collection[str]) -> Cell:
    if one.rule not in with_rows:
        return counted_share_text(one.count, one.rows)
    return links.count(one.count, one.rows, alert=one.rule)


def _rate_chart(
    title: str,
    decided: Sequence[tuple[SiteDay, RateDecision, Cell]],
    reported: Mapping[date, tuple[MessageKind, str]],
    span: tuple[date, date],
) -> Chart:
    """The rate of a rule by day with links to its rows, the usual range, and the days that reported it."""
    kinds = [kind for kind, _ in reported.values()]
    day, last, _ = decided[-1]
    return Chart(
        id=f"rate-{last.rule}",
        kind="rates",
        title=title,
        summary=f"{title}의 비율과 평소 범위. {len(decided)}일 가운데 긴급 알림 {kinds.count('page')}일, "
        f"요약 {kinds.count('digest')}일. {day_text(day.day)} {counted_share_text(last.count, last.rows)}, "
        f"평소 {usual_rate_text(last.usual)}",
        data={
            "points": [_point(day, one, cell, reported.get(day.day, (None, ""))[0]) for day, one, cell in decided],
            "names": ["평소 범위(95%)", "그날의 비율", "요약으로 알림", "긴급 알림"],
            "first": str(span[0]),
            "last": str(span[1]),
        },
        table=Table(
            ["알린 날", "비율", "평소(95% 범위)", "어떻게"],
            [
                [Link(str(day.day), day.page), cell, usual_rate_text(one.usual), _how(*reported[day.day])]
                for day, one, cell in reversed(decided)
                if day.day in reported
            ]
            or [["없음", NOTHING, NOTHING, NOTHING]],
        ),
    )


def _how(kind: MessageKind, whose: str) -> str:
    """`긴급 알림`, `긴급 알림(테넌트 t02)`."""
    return KIND_TITLES[kind] + (f"({whose})" if whose else "")


def _point(day: SiteDay, decision: RateDecision, counted: Cell, reported: str | None) -> dict[str, Any]:
    usual = decision.usual
    return {
        "day": str(day.day),
        "count": decision.count,
        "rows": decision.rows,
        "low": usual.low,
        "high": usual.high,
        "segment": day.segment,
        "reported": reported,
        "href": counted.href if isinstance(counted, Link) else day.page,
    }


def messages_table(reported: Sequence[PreviewedMessage], rows_of: Callable[[PreviewedIncident, date], str]) -> Table:
    """What would have been reported, latest first; `rows_of` is the URL of the rows of an incident, or ''."""
    rows: list[list[Cell]] = [
        [
            f"{message.day} {day_text(message.day)[-3:]}",
            KIND_TITLES[message.kind],
            Links([Link(one.reason, rows_of(one, message.day)) for one in message.named]),
        ]
        for message in reversed(reported)
    ]
    return Table(["날짜", "종류", "무엇을"], rows)


def rises_table(expected: Forecast) -> Table:
    """The count from which a day reports each rule."""
    rows: list[list[Cell]] = [
        [
            rise.title,
            "쉬는 날" if rise.day_off else "업무일",
            count_text(rise.rows),
            rise.usual_text,
            *(_from_count(count, rise.usual) for count in (rise.reported, rise.paged)),
        ]
        for rise in expected.rises
    ]
    return Table(["규칙", "어떤 날", "행", "평소", "요약 기준", "긴급 알림 기준"], rows)


def _from_count(count: int | None, usual: float) -> str:
    return NOTHING if count is None else f"{count:,}행부터({times_text(count / usual)})"


def _snoozes(titles: Mapping[str, str], snoozes: Sequence[Snooze], last_day: date, zone: ZoneInfo) -> Table:
    """All snoozes, latest first: those in force after the last scored day, and those that are over."""
    rows: list[list[Cell]] = [
        [
            titles.get(one.rule, one.rule),
            tenant_text(one.tenant_id),
            _state(one, last_day, zone),
            str(one.until),
            inert(one.who, _WHO_CHARACTERS),
            masked_text(one.why, _WHY_CHARACTERS),
        ]
        for one in reversed(snoozes)
    ]
    return Table(["규칙", "테넌트", "상태", "언제까지", "누가", "이유"], rows)


def _state(snooze: Snooze, last_day: date, zone: ZoneInfo) -> str:
    if snooze.ended_at is not None:
        return f"{snooze.ended_at.astimezone(zone).date()}에 해제"
    return "일시 중지 중" if last_day <= snooze.until else "끝남"
