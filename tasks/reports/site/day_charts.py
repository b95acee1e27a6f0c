"""The charts of the pages of chat rows: KPIs over the days, and shares of grades.

Source: seed 002, 9 and 10.2.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from scoring.chat.kpi_figures import kpi_figure
from scoring.chat.kpis import Quotient, RubricVersion
from scoring.chat.rubric import GradeScale, RowRubric
from scoring.days import day_text
from scoring.figures import Figure
from scoring.markdown import percent
from scoring.stats.intervals import MIN_N_FOR_VERDICT
from tasks.reports.site.kpi_cards import counted_of
from tasks.reports.site.pages import Cell, Chart, Link, Table
from tasks.reports.site.row_pages import LinkedDay
from tasks.reports.site.scored_days import SiteDay
from tasks.reports.wording import NOTHING, count_text, counted_share_text


def trend_chart(kpi: Quotient, days: Sequence[LinkedDay]) -> Chart:
    """One KPI over the days; a line never crosses a missing day or a change of the rubric.

    Days with far fewer rows than the others are drawn hollow and do not stretch the scale. Points lead to the rows that
    count against the target, else to the day.
    """
    figures = [(each.site, kpi_figure(kpi, each.site.total)) for each in days]
    counted: list[Cell] = [
        each.links.count(counted_of(kpi, each.site.total), kpi=kpi.name) if kpi.is_rate else NOTHING for each in days
    ]
    _, last = figures[-1]
    changes = version_changes(days)
    usual = median(figure.n for _, figure in figures)
    few = [figure.n < MIN_N_FOR_VERDICT and 2 * figure.n < usual for _, figure in figures]
    return Chart(
        id=f"trend-{kpi.name}",
        kind="trend",
        title=last.title,
        summary=_trend_summary(figures, changes),
        data={
            "points": [
                _point(day, figure, cell) | {"few": of_few}
                for (day, figure), cell, of_few in zip(figures, counted, few, strict=True)
                if figure.value is not None
            ],
            "target": last.target.value,
            "rate": last.is_rate,
            "changes": changes,
            **_ends(days),
        },
        table=Table(
            ["날짜", "값", "95% 구간", "n", "판단", "살펴볼 행", "채점 기준"],
            [
                [
                    Link(str(day.day), day.page),
                    figure.value_text,
                    figure.interval_text,
                    count_text(figure.n),
                    figure.verdict_text,
                    cell,
                    f"버전 {day.version}",
                ]
                for (day, figure), cell in reversed(list(zip(figures, counted, strict=True)))
            ],
        ),
        note=f"목표 {last.target_text}" + (", 빈 점은 행이 아주 적은 날" if any(few) else ""),
    )


def _point(day: SiteDay, figure: Figure, counted: Cell) -> dict[str, Any]:
    rows = counted if isinstance(counted, Link) else None
    return {
        "day": str(day.day),
        "value": figure.value,
        "low": figure.interval.low if figure.interval else figure.value,
        "high": figure.interval.high if figure.interval else figure.value,
        "segment": day.segment,
        "label": f"{day_text(day.day)}\n{figure.value_text} (95% 구간 {figure.interval_text})\n"
        f"n {count_text(figure.n)} · {figure.verdict_text}" + (f"\n{rows.text}행 보기" if rows else ""),
        "href": rows.href if rows else day.page,
    }


def _trend_summary(figures: Sequence[tuple[SiteDay, Figure]], changes: Sequence[Mapping[str, str]]) -> str:
    """The description of the line for people who cannot see it."""
    known = [(day, figure) for day, figure in figures if figure.value is not None]
    title, target = figures[-1][1].title, figures[-1][1].target_text
    if not known:
        return f"{title}: 채점한 행이 있는 날이 없습니다"
    met = sum(figure.verdict == "met" for _, figure in known)
    last_day, last = known[-1]
    marks = "".join(f", {change['day']}에 {change['label']}" for change in changes)
    return (
        f"{title}의 추이. 채점한 {len(known)}일 가운데 {met}일은 목표({target})를 확실히 달성. "
        f"마지막 날 {day_text(last_day.day)} {last.value_text}{marks}"
    )


def version_changes(days: Sequence[LinkedDay]) -> list[dict[str, str]]:
    """The first day of each new rubric, or new version of it."""
    return [
        {"day": str(after.day), "label": f"채점 기준 {_change(before.scored_by, after.scored_by)}"}
        for before, after in pairwise(each.site for each in days)
        if before.scored_by != after.scored_by
    ]


def _change(before: RubricVersion, after: RubricVersion) -> str:
    """`버전 1 → 2`, or `support-bot 버전 1 → other-bot 버전 1`."""
    if before[0] == after[0]:
        return f"버전 {before[1]} → {after[1]}"
    return " → ".join(f"{rubric} 버전 {version}" for rubric, version in (before, after))


def shares_chart(rubric: RowRubric, days: Sequence[LinkedDay], scale: GradeScale) -> Chart:
    """The grades of every day as shares of its rows."""
    title, names = rubric.titles[scale.column], scale.names
    counts = [_counts(scale, each.site.total) for each in days]
    return Chart(
        id=f"shares-{scale.column}",
        kind="shares",
        title=f"{title} 비율",
        summary=f"{day_text(days[0].site.day)}부터 {day_text(days[-1].site.day)}까지 날짜별 {title}의 비율",
        data=_stacked(days, title, names, counts) | {"normalize": True, "palette": scale.column},
        table=Table(
            ["날짜", *names.values()],
            [
                [
                    Link(str(each.site.day), each.site.page),
                    *(
                        each.links.count(count, each.site.total["rows"], **{scale.column: code})
                        for code, count in of_day.items()
                    ),
                ]
                for each, of_day in reversed(list(zip(days, counts, strict=True)))
            ],
        ),
    )


def alert_rows_chart(rubric: RowRubric, days: Sequence[LinkedDay]) -> Chart:
    """The number of rows with an alert by level and day."""
    levels = rubric.alert_levels
    counts = [{level: each.site.total[f"{level}_rows"] for level in levels} for each in days]
    return Chart(
        id="alert-rows",
        kind="shares",
        title="알림이 있는 행",
        summary=f"날짜별로 {' 또는 '.join(levels.values())} 알림이 하나라도 있는 행의 수",
        data=_stacked(days, "알림", levels, counts) | {"normalize": False, "palette": "level"},
        table=Table(
            ["날짜", *levels.values(), "채점한 행"],
            [
                [
                    Link(str(each.site.day), each.site.page),
                    *(each.links.count(count, alert_level=level) for level, count in of_day.items()),
                    count_text(each.site.total["rows"]),
                ]
                for each, of_day in reversed(list(zip(days, counts, strict=True)))
            ],
        ),
    )


def grade_bars(rubric: RowRubric, day: LinkedDay, scale: GradeScale, earlier: Sequence[Mapping[str, Any]]) -> Chart:
    """The grades of one day, each beside its usual share, that of the last scored days together."""
    total, title = day.site.total, rubric.titles[scale.column]
    counts, rows = _counts(scale, total), total["rows"]
    before = f"앞서 채점한 {len(earlier)}일" if earlier else "앞서 채점한 날"
    usual_rows = sum(past["rows"] for past in earlier)
    usual = {code: sum(_counts(scale, past)[code] or 0 for past in earlier) for code in counts}
    bars: list[dict[str, Any]] = [
        {
            "key": code,
            "label": name,
            "share": (counts[code] or 0) / rows if rows else 0,
            "shown": counted_share_text(counts[code], rows),
            "usual": usual[code] / usual_rows if usual_rows else None,
        }
        for code, name in scale.names.items()
    ]
    return Chart(
        id=f"bars-{scale.column}",
        kind="bars",
        title=f"{title} 분포",
        summary=f"{day_text(day.site.day)}의 {title} 분포. 세로 눈금은 {before}의 비율",
        data={"bars": bars, "palette": scale.column},
        table=Table(
            [title, "행", before],
            [
                [
                    bar["label"],
                    day.links.count(counts[bar["key"]], rows, **{scale.column: bar["key"]}),
                    percent(bar["usual"]),
                ]
                for bar in bars
            ],
        ),
    )


def _counts(scale: GradeScale, row: Mapping[str, Any]) -> dict[str, int | None]:
    """Grade -> rows; None if the version that scored the day did not count them."""
    return {code: row[scale.count_column(code)] for code in scale.codes}


def _stacked(
    days: Sequence[LinkedDay], title: str, names: Mapping[str, str], counts: Sequence[Mapping[str, int | None]]
) -> dict[str, Any]:
    """The data of a chart that stacks counts by day."""
    return {
        "title": title,
        "names": names,
        "rows": [
            {"day": str(each.site.day), "href": each.site.page, "counts": [count or 0 for count in of_day.values()]}
            for each, of_day in zip(days, counts, strict=True)
        ],
        **_ends(days),
    }


def _ends(days: Sequence[LinkedDay]) -> dict[str, str]:
    return {"first": str(days[0].site.day), "last": str(days[-1].site.day)}
