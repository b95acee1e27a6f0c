"""What the pages of chat rows draw: trends, shares of grades, the heat map of questions and answers.

Source: seed 002, 9 and 10.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from scoring.chat.rubric import GradeScale, RowRubric
from scoring.markdown import percent
from tasks.reports.site.charts import Chart, Link, Table
from tasks.reports.site.kpis import Kpi
from tasks.reports.site.scored_days import ScoredDay
from tasks.reports.site.wording import (
    NOTHING,
    count_text,
    day_text,
)

# A cell's shade by its share of the day; most rows stand in a few cells, so the steps are not even.
_SHADES = (0.001, 0.01, 0.05, 0.15)


@dataclass(frozen=True)
class GradeSet:
    """One way to grade a row: its scale, the title of its column, and the names of its grades from best to worst."""

    scale: GradeScale
    title: str

    @property
    def names(self) -> dict[str, str]:
        """Code -> `★ 우수`."""
        return {grade.code: f"{grade.sign} {grade.title}" for grade in self.scale.grades}

    def counts(self, row: Mapping[str, Any]) -> dict[str, int | None]:
        """Grade -> rows; None where the version that scored the day did not count them."""
        return {code: row[self.scale.count_column(code)] for code in self.scale.codes}


@dataclass(frozen=True)
class HeatCell:
    """One pair of grades: how many rows, their share, its shade 0..5, and whether it is the pair that hurts most."""

    count: int
    share: str
    shade: int
    worst_pair: bool
    href: str
    label: str


@dataclass(frozen=True)
class HeatMap:
    """The cross table of a day: row grade -> column grade -> its cell, and the words around it (Korean)."""

    rows: GradeScale
    columns: GradeScale
    cells: Mapping[str, Mapping[str, HeatCell]]
    title: str
    caption: str
    framed: str


def grade_sets(rubric: RowRubric) -> list[GradeSet]:
    """The scales of the rubric, that of the total first."""
    return [GradeSet(scale, rubric.titles[scale.column]) for scale in rubric.scales]


def trend_chart(days: Sequence[ScoredDay], kpis: Sequence[Kpi]) -> Chart:
    """One KPI over the days; a line never crosses a missing day or a change of the rubric."""
    last = kpis[-1].figure
    points = [
        {
            "day": str(each.day),
            "value": figure.value,
            "low": figure.interval.low if figure.interval else figure.value,
            "high": figure.interval.high if figure.interval else figure.value,
            "segment": each.segment,
            "label": _point_label(each, kpi),
            "href": each.page,
        }
        for each, kpi in zip(days, kpis, strict=True)
        if (figure := kpi.figure).value is not None
    ]
    changes = version_changes(days)
    return Chart(
        id=f"trend-{kpis[-1].name}",
        kind="trend",
        title=last.title,
        summary=_trend_summary(days, kpis, changes),
        data={
            "points": points,
            "target": last.target.value,
            "rate": last.scale == 1,
            "changes": changes,
            "first": str(days[0].day),
            "last": str(days[-1].day),
        },
        table=Table(
            ["날짜", "값", "95% 구간", "n", "판정", "루브릭"],
            [
                [
                    Link(str(each.day), each.page),
                    kpi.shown["value"],
                    kpi.shown["interval"],
                    kpi.shown["n"],
                    kpi.figure.verdict_text,
                    each.version,
                ]
                for each, kpi in reversed(list(zip(days, kpis, strict=True)))
            ],
        ),
        note=f"목표 {last.target_text}",
    )


def version_changes(days: Sequence[ScoredDay]) -> list[dict[str, str]]:
    """The first day of each new rubric version."""
    return [
        {"day": str(after.day), "label": f"루브릭 {before.version} → {after.version}"}
        for before, after in pairwise(days)
        if before.version != after.version
    ]


def shares_chart(days: Sequence[ScoredDay], grades: GradeSet) -> Chart:
    """The grades of every day as shares of its rows."""
    counts = [grades.counts(each.total) for each in days]
    return Chart(
        id=f"shares-{grades.scale.column}",
        kind="shares",
        title=f"{grades.title} 비율",
        summary=f"{day_text(days[0].day)}부터 {day_text(days[-1].day)}까지 날짜별 {grades.title}의 비율",
        data=_stacked(days, grades.title, grades.names, counts) | {"normalize": True, "palette": grades.scale.column},
        table=Table(
            ["날짜", *grades.names.values()],
            [
                [Link(str(each.day), each.page), *(_with_share(n, each.total["rows"]) for n in of_day.values())]
                for each, of_day in reversed(list(zip(days, counts, strict=True)))
            ],
        ),
    )


def alert_rows_chart(rubric: RowRubric, days: Sequence[ScoredDay]) -> Chart:
    """How many rows had an alert of each level, day by day."""
    levels = rubric.alert_levels
    counts = [{level: each.total[f"{level}_rows"] for level in levels} for each in days]
    return Chart(
        id="alert-rows",
        kind="shares",
        title="알림이 있는 행",
        summary=f"날짜별로 {' 또는 '.join(levels.values())} 알림이 하나라도 있는 행의 수",
        data=_stacked(days, "알림", levels, counts) | {"normalize": False, "palette": "level"},
        table=Table(
            ["날짜", *levels.values(), "채점한 행"],
            [
                [Link(str(each.day), each.page), *map(count_text, of_day.values()), count_text(each.total["rows"])]
                for each, of_day in reversed(list(zip(days, counts, strict=True)))
            ],
        ),
    )


def grade_bars(day: ScoredDay, grades: GradeSet, earlier: Sequence[Mapping[str, Any]]) -> Chart:
    """The grades of one day, each beside its usual share: that of the last scored days together."""
    counts, rows = grades.counts(day.total), day.total["rows"]
    usual_rows = sum(past["rows"] for past in earlier)
    usual = {grade: sum(grades.counts(past)[grade] or 0 for past in earlier) for grade in counts}
    bars: list[dict[str, Any]] = [
        {
            "key": grade,
            "label": title,
            "share": (counts[grade] or 0) / rows if rows else 0,
            "shown": _with_share(counts[grade], rows),
            "usual": usual[grade] / usual_rows if usual_rows else None,
        }
        for grade, title in grades.names.items()
    ]
    return Chart(
        id=f"bars-{grades.scale.column}",
        kind="bars",
        title=f"{grades.title} 분포",
        summary=f"{day_text(day.day)}의 {grades.title} 분포. 세로 눈금은 최근 7일의 비율",
        data={"bars": bars, "palette": grades.scale.column},
        table=Table(
            [grades.title, "행", "최근 7일"],
            [[bar["label"], bar["shown"], percent(bar["usual"])] for bar in bars],
        ),
    )


def heat_map(rubric: RowRubric, day: ScoredDay, page: str) -> HeatMap:
    """The cross table of a day; `page` is where the rows of a cell are shown."""
    rows, columns = rubric.crosstab_scales
    counts = {(cell[rows.column], cell[columns.column]): cell["cnt"] for cell in day.crosstab}
    cells = {
        row: {
            column: _heat_cell(rubric, row, column, counts.get((row, column), 0), day.total["rows"], page)
            for column in columns.codes
        }
        for row in rows.codes
    }
    framed = rubric.crosstab.framed
    return HeatMap(rows, columns, cells, rubric.crosstab_title, rubric.crosstab.caption, framed.title if framed else "")


def _heat_cell(rubric: RowRubric, tier: str, grade: str, count: int, rows: int, page: str) -> HeatCell:
    share, framed = count / rows if rows else 0.0, rubric.crosstab.framed
    of_rows, of_columns = (scale.subject for scale in rubric.crosstab_scales)
    return HeatCell(
        count=count,
        share=percent(share),
        shade=1 + sum(share >= step for step in _SHADES) if count else 0,
        worst_pair=bool(framed and tier in framed.row_grades and grade in framed.column_grades),
        href=f"{page}?tier={tier}&grade={grade}#rows",
        label=f"{of_rows} {tier}, {of_columns} {grade}: {count:,}행 보기",
    )


def _stacked(
    days: Sequence[ScoredDay], title: str, names: Mapping[str, str], counts: Sequence[Mapping[str, int | None]]
) -> dict[str, Any]:
    """The data of a chart that stacks counts by day."""
    return {
        "title": title,
        "names": names,
        "rows": [
            {"day": str(each.day), "href": each.page, "counts": [count or 0 for count in of_day.values()]}
            for each, of_day in zip(days, counts, strict=True)
        ],
        "first": str(days[0].day),
        "last": str(days[-1].day),
    }


def _with_share(count: int | None, rows: int) -> str:
    return NOTHING if count is None or not rows else f"{count:,} ({percent(count / rows)})"


def _point_label(day: ScoredDay, kpi: Kpi) -> str:
    figure = kpi.figure
    return (
        f"{day_text(day.day)}\n{figure.value_text} (95% 구간 {figure.interval_text})\n"
        f"n {count_text(figure.n)} · {figure.verdict_text}"
    )


def _trend_summary(days: Sequence[ScoredDay], kpis: Sequence[Kpi], changes: Sequence[Mapping[str, str]]) -> str:
    """What a person who cannot see the line should know of it."""
    known = [(each, kpi) for each, kpi in zip(days, kpis, strict=True) if kpi.figure.value is not None]
    figure = kpis[-1].figure
    if not known:
        return f"{figure.title}: 채점한 행이 있는 날이 없습니다"
    met = sum(kpi.figure.verdict == "met" for _, kpi in known)
    last_day, last = known[-1]
    marks = "".join(f", {change['day']}에 {change['label']}" for change in changes)
    return (
        f"{figure.title}의 추이. 채점한 {len(known)}일 가운데 {met}일은 목표({figure.target_text})를 확실히 달성. "
        f"마지막 날 {day_text(last_day.day)} {last.shown['value']}{marks}"
    )
