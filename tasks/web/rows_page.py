"""The page of scored rows: a filter, its trend and cross table, and the rows a page at a time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import ceil
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.row_filter import HOURS, NOTHING, RowFilter, tenant_of, tenant_value
from scoring.chat.rubric import RowRubric
from scoring.days import day_text
from scoring.judging.masking import masked
from scoring.markdown import one_line, score_text, shortened
from tasks.chat.tables import read_kpis, read_kpis_of_all
from tasks.files.report_paths import rows_page_name
from tasks.files.web_addresses import row_address, rows_address
from tasks.reports.row_columns import RowColumn, shown_value, table_columns
from tasks.reports.site.pages import Cell, Link, Mark
from tasks.reports.wording import count_text, tenant_text
from tasks.web.asked import Asked
from tasks.web.row_results import PAGE_ROWS, RowsView, counts_of, rows_view, searchable, unscored_rows

_TEXT_CHARACTERS = 120
_CHART_WIDTH, _CHART_HEIGHT = 1_000.0, 120.0
_MOST_TICKS = 7


@dataclass(frozen=True)
class FilterValue:
    """One selectable value: in the URL, its title, and whether it is selected."""

    value: str
    title: str
    chosen: bool


@dataclass(frozen=True)
class FilterGroup:
    """A group of values of which several can be selected."""

    name: str
    title: str
    values: Sequence[FilterValue]


@dataclass(frozen=True)
class Bar:
    """A day of the trend: position and height in the chart, that of its mean, and the URL of its rows."""

    left: float
    width: float
    top: float
    mean_top: float
    title: str
    href: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class CellLinks:
    """The links of the cross table, as its macro needs them."""

    view: RowsView

    def count(self, count: int, /, **grades: str) -> Cell:
        """A count that links to its rows."""
        return Link(count_text(count), self.view.narrowed(**grades)) if count else count_text(count)


def rows_page(asked: Asked) -> Response:
    """The page of the rows of a URL."""
    rubric, view = asked.context.rubric, rows_view(asked)
    asked.record("행 목록", rows_address(view.wanted))
    search = asked.context.warehouse.row_search(rubric)
    wanted = searchable(rubric, search, view.wanted, personal=asked.sees_personal_data)
    counts = counts_of(search, wanted, rubric)
    start = (view.page - 1) * PAGE_ROWS
    always = [column for column in view.every_column if column.name in ("timestamp", "row_id")]
    read = table_columns([*view.columns, *always])
    names = list(dict.fromkeys(["score_date", "row_id", rubric.final_scale.column, *read]))
    found = search.rows(wanted, names, view.order, start, PAGE_ROWS).to_dicts() if counts.rows > start else []
    return asked.page(
        "scored_rows.html",
        section="rows",
        title="운영 대화",
        rubric=rubric,
        view=view,
        wanted=view.wanted,
        counts=counts,
        unscored=unscored_rows(asked.context.warehouse, view.wanted, rubric),
        excluded=0 if counts.rows else _excluded_rows(asked, view),
        unscored_page=_page_of_report(asked, view.wanted),
        mean=score_text(counts.mean, 1),
        conditions=list(_conditions(view, rubric)),
        facets=_facets(asked, view),
        bars=_bars(view, counts.by_day),
        ticks=_ticks(_shown_days(view), counts.by_day),
        links=CellLinks(view),
        rows=[_cells(asked, view, row) for row in found],
        sees_personal_data=asked.sees_personal_data,
        last_page=ceil(counts.rows / PAGE_ROWS),
    )


def _excluded_rows(asked: Asked, view: RowsView) -> int:
    """The number of rows of these days that lack a question or an answer: without any row, they may be the reason."""
    days = [day for day in view.days if view.wanted.first <= day <= view.wanted.last]
    kpis = read_kpis_of_all(asked.context.warehouse, asked.context.rubric, days)
    return sum(of_day["excluded"] for of_day in kpis.values())


def _cells(asked: Asked, view: RowsView, row: dict[str, Any]) -> list[Cell]:
    """The cells of a row; the first one links to its page."""
    first, *others = (_cell(asked, column, row) for column in view.columns)
    text = first.text if isinstance(first, Mark) else first
    return [Link(text or "보기", row_address(row["score_date"], row["row_id"])), *others]


def _cell(asked: Asked, column: RowColumn, row: dict[str, Any]) -> str | Mark:
    rubric = asked.context.rubric
    if column.is_text:
        text = column.value(row)
        if not isinstance(text, str):
            return "–"
        # Masked before it is cut: half a card number would not be recognised.
        seen = text if asked.sees_personal_data else masked(text, end=10 * _TEXT_CHARACTERS)
        return shortened(one_line(seen), _TEXT_CHARACTERS)
    if column.name == rubric.total:
        grade = rubric.final_scale.grade(row[rubric.final_scale.column])
        return Mark(score_text(row[rubric.total], 1), grade.tone, grade.sign, grade.title)
    if column.name == "tenant_id":
        return tenant_text(row["tenant_id"])
    value = shown_value(column, row, personal=True)
    match value:
        case None | "":
            return "–"
        case datetime():
            return f"{value:%m-%d %H:%M:%S}"
        case float():
            return f"{value:,g}"
        case _:
            return str(value)


def _page_of_report(asked: Asked, wanted: RowFilter) -> str:
    """The report's list of all rows of a day and a rule; '' for several days, and if the report is not served."""
    reports = asked.context.reports
    page = reports.address(reports.folder / rows_page_name(wanted.first)) if wanted.first == wanted.last else ""
    return page and f"{page}#{urlencode([('alert', rule) for rule in wanted.rules[:1]])}"


def _conditions(view: RowsView, rubric: RowRubric) -> Iterable[Link]:
    """The conditions of the filter besides the days, each with the URL without it."""
    coded = {one.column: one.titles for one in rubric.coded_columns}
    named: dict[str, tuple[str, Callable[[str], str]]] = {
        "tenant": ("테넌트", lambda value: tenant_text(tenant_of(value))),
        "alert": ("알림", rubric.rule_titles.__getitem__),
        "kpi": ("지표", lambda value: rubric.rates[value].title),
        "hour": ("시각", _hour_text),
        "lowest": ("점수", lambda value: f"{value}점부터"),
        "highest": ("점수", lambda value: f"{value}점까지"),
        "text": ("찾는 말", str),
        "template": ("반복된 질문", str),
        "session": ("세션", str),
    }
    for name, value in view.wanted.pairs()[2:]:
        if name in coded:
            title, shown = rubric.titles[name], coded[name].get(value, "없음")
        else:
            title, shown = named[name][0], named[name][1](value)
        yield Link(f"{title}: {shown}", view.without((name, value)))


def _facets(asked: Asked, view: RowsView) -> list[FilterGroup]:
    rubric, wanted = asked.context.rubric, view.wanted
    kpis = read_kpis(asked.context.warehouse, rubric, [day for day in wanted.days if day in set(view.days)])
    tenants = {row["tenant_id"] for rows in kpis.values() for row in rows if row["tenant_id"] != ALL_TENANTS}
    tenants |= {*wanted.tenants}
    of_tenants = [(tenant_value(one), tenant_text(one)) for one in sorted(tenants, key=lambda one: one or "")]
    groups = [("tenant", "테넌트", of_tenants)]
    for column in rubric.coded_columns:
        nothing = [] if column.column in rubric.grade_names else [(NOTHING, "없음")]
        groups.append((column.column, rubric.titles[column.column], [*column.titles.items(), *nothing]))
    groups.append(("alert", "알림", [*rubric.rule_titles.items()]))
    groups.append(("hour", "시각", [(hour, _hour_text(hour)) for hour in HOURS]))
    chosen = set(wanted.pairs())
    return [
        FilterGroup(name, title, [FilterValue(value, shown, (name, value) in chosen) for value, shown in values])
        for name, title, values in groups
    ]


def _hour_text(hour: str) -> str:
    return f"{hour}시"


def _shown_days(view: RowsView) -> list[date]:
    """The days of the filter from the first scored one to the last."""
    return [day for day in view.wanted.days if view.days[0] <= day <= view.days[-1]]


def _ticks(days: Sequence[date], by_day: Mapping[date, tuple[int, float]]) -> list[tuple[str, str]]:
    """The labels of the axis: day and rows of the bar in the middle of each of at most seven equal parts."""
    parts = min(_MOST_TICKS, len(days))
    chosen = (days[int((part + 0.5) * len(days) / parts)] for part in range(parts))
    return [(f"{day.month}월 {day.day}일", f"{by_day[day][0] if day in by_day else 0:,}행") for day in chosen]


def _bars(view: RowsView, by_day: dict[date, tuple[int, float]]) -> list[Bar]:
    """The bars of the days with rows, of equal width; heights are relative to the highest."""
    days = _shown_days(view)
    most = max((count for count, _ in by_day.values()), default=1)
    width = _CHART_WIDTH / max(len(days), 1)
    bars = []
    for place, day in enumerate(days):
        if day not in by_day:
            continue
        count, mean = by_day[day]
        link = view.narrowed(first=str(day), last=str(day))
        shown = score_text(mean, 1)
        bars.append(
            Bar(
                left=round(place * width, 2),
                width=round(width, 2),
                top=round(_CHART_HEIGHT * (1 - count / most), 2),
                mean_top=round(_CHART_HEIGHT * (1 - min(mean, 100) / 100), 2),
                title=f"{day_text(day)}: {count:,}행, 평균 {shown}점",
                href=link,
                cells=[Link(str(day), link), count_text(count), shown],
            )
        )
    return bars
