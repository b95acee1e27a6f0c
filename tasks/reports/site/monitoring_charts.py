"""What the pages of chat rows draw: trends, shares of grades, the heat map of questions and answers.

Source: seed 002, 9 and 10.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from scoring.chat.rubric import RowRubric
from scoring.markdown import percent
from scoring.rubrics.ola_monitoring.thresholds import BAD_GRADES, GOOD_TIERS
from tasks.reports.site.charts import Chart, Link, Table
from tasks.reports.site.kpis import Kpi
from tasks.reports.site.scored_days import ScoredDay
from tasks.reports.site.wording import (
    ANSWER_GRADE_TITLES,
    NOTHING,
    TIER_TITLES,
    count_text,
    day_text,
)

# A cell's shade by its share of the day; most rows stand in a few cells, so the steps are not even.
_SHADES = (0.001, 0.01, 0.05, 0.15)


@dataclass(frozen=True)
class GradeSet:
    """One way to grade a row: the prefix of its KPI columns, and its grades from best to worst with their names."""

    prefix: str
    title: str
    grades: Mapping[str, str]

    def counts(self, row: Mapping[str, Any]) -> dict[str, int | None]:
        """Grade -> rows; None where the version that scored the day did not count them."""
        return {grade: row[f"{self.prefix}_{grade.lower()}"] for grade in self.grades}


@dataclass(frozen=True)
class HeatCell:
    """One pair of grades: how many rows, their share, its shade 0..5, and whether it is the pair that hurts most."""

    count: int
    share: str
    shade: int
    worst_pair: bool
    href: str
    label: str


def grade_sets(rubric: RowRubric) -> tuple[GradeSet, GradeSet, GradeSet]:
    """Final grades, question tiers, answer grades."""
    return (
        GradeSet(
            "final_grade", "종합 등급", {g: f"{label.sign} {label.label}" for g, label in rubric.grade_labels.items()}
        ),
        GradeSet("q_tier", "질문 등급", {tier: f"{tier} {title}" for tier, title in TIER_TITLES.items()}),
        GradeSet("a_grade", "답변 등급", {grade: f"{grade} {title}" for grade, title in ANSWER_GRADE_TITLES.items()}),
    )


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
        id=f"shares-{grades.prefix}",
        kind="shares",
        title=f"{grades.title} 비율",
        summary=f"{day_text(days[0].day)}부터 {day_text(days[-1].day)}까지 날짜별 {grades.title}의 비율",
        data=_stacked(days, grades.title, grades.grades, counts) | {"normalize": True, "palette": grades.prefix},
        table=Table(
            ["날짜", *grades.grades.values()],
            [
                [Link(str(each.day), each.page), *(_with_share(n, each.total["rows"]) for n in of_day.values())]
                for each, of_day in reversed(list(zip(days, counts, strict=True)))
            ],
        ),
    )


def alert_rows_chart(days: Sequence[ScoredDay]) -> Chart:
    """How many rows had a critical alert or a warning, day by day."""
    levels = {"critical": "Critical", "warning": "Warning"}
    counts = [{level: each.total[f"{level}_rows"] for level in levels} for each in days]
    return Chart(
        id="alert-rows",
        kind="shares",
        title="알림이 있는 행",
        summary="날짜별로 Critical 또는 Warning 알림이 하나라도 있는 행의 수",
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
        for grade, title in grades.grades.items()
    ]
    return Chart(
        id=f"bars-{grades.prefix}",
        kind="bars",
        title=f"{grades.title} 분포",
        summary=f"{day_text(day.day)}의 {grades.title} 분포. 세로 눈금은 최근 7일의 비율",
        data={"bars": bars, "palette": grades.prefix},
        table=Table(
            [grades.title, "행", "최근 7일"],
            [[bar["label"], bar["shown"], percent(bar["usual"])] for bar in bars],
        ),
    )


def heat_map(day: ScoredDay, page: str) -> dict[str, dict[str, HeatCell]]:
    """Tier -> answer grade -> its cell; `page` is where the rows of a cell are shown."""
    counts = {(cell["q_tier"], cell["a_grade"]): cell["cnt"] for cell in day.crosstab}
    rows = day.total["rows"]
    return {
        tier: {
            grade: _heat_cell(tier, grade, counts.get((tier, grade), 0), rows, page) for grade in ANSWER_GRADE_TITLES
        }
        for tier in TIER_TITLES
    }


def _heat_cell(tier: str, grade: str, count: int, rows: int, page: str) -> HeatCell:
    share = count / rows if rows else 0.0
    return HeatCell(
        count=count,
        share=percent(share),
        shade=1 + sum(share >= step for step in _SHADES) if count else 0,
        worst_pair=tier in GOOD_TIERS and grade in BAD_GRADES,
        href=f"{page}?tier={tier}&grade={grade}#rows",
        label=f"질문 {tier}, 답변 {grade}: {count:,}행 보기",
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
