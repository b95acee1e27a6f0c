"""The tables of the pages of chat rows; every count of flagged rows links to these rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.chat.kpi_figures import kpi_figures
from scoring.chat.kpis import Quotient
from scoring.chat.rubric import RowRubric
from scoring.days import day_text
from tasks.reports.site.kpi_cards import counted_of
from tasks.reports.site.listed_rows import tenant_json
from tasks.reports.site.pages import Cell, Link, Table, figure_cell
from tasks.reports.site.patterns import Questions, failing_kpis, often_asked
from tasks.reports.site.row_pages import LinkedDay
from tasks.reports.site.scored_days import SiteDay
from tasks.reports.wording import MOST_TENANTS, count_text, other_tenants_text, tenant_text

_MOST_TEMPLATES = 15


def failure_table(rubric: RowRubric, day: LinkedDay) -> Table:
    """The number of rows by failure type, most frequent first, beside its share on the days before."""
    failure, rows, earlier = rubric.failure, day.site.total["rows"], day.summary.earlier
    return Table(
        ["실패 유형", "행", earlier.title],
        [
            [
                failure.titles.get(code, code),
                day.links.count(count, rows, **{failure.column: code}),
                earlier.share(code),
            ]
            for code, count in day.summary.failures
        ],
    )


def rate_cells(rubric: RowRubric, day: LinkedDay) -> list[tuple[str, Cell]]:
    """Title and rows of each rate without a target, if the day has it."""
    total = day.site.total
    rates = rubric.rates_without_target(total)
    return [(rate.title, day.links.count(count, total["rows"], kpi=rate.name)) for rate, count in rates]


def category_table(rubric: RowRubric, day: LinkedDay) -> Table:
    """The kinds of questions, most frequent first, with their failures."""
    if rubric.category is None:
        return Table([], [])
    kpis, column, titles = failing_kpis(rubric), rubric.category.column, rubric.category.titles

    def line(category: str, of: Mapping[str, int]) -> list[Cell]:
        wanted = {column: category}
        return [
            titles.get(category, category),
            count_text(of["rows"]),
            day.links.count(of["flagged"], of["rows"], **wanted, flagged="1"),
            *(day.links.count(of[kpi.name], of["rows"], **wanted, kpi=kpi.name) for kpi in kpis),
        ]

    ordered = sorted(day.summary.categories.items(), key=lambda one: (-one[1]["rows"], one[0]))
    header = [rubric.titles[column], "행", "알림이나 낮은 등급", *map(_counted_in, kpis)]
    return Table(header, [line(category, of) for category, of in ordered])


def question_table(rubric: RowRubric, day: LinkedDay) -> Table:
    """The most frequent questions among those whose texts are stored, with their failures."""
    kpis = failing_kpis(rubric)
    return Table(
        ["반복된 질문", "글이 있는 행", *map(_counted_in, kpis)],
        [
            [
                question_text(one),
                day.links.count(one.rows, template=one.template),
                *(
                    day.links.count(one.counts.get(kpi.name, 0), one.rows, template=one.template, kpi=kpi.name)
                    for kpi in kpis
                ),
            ]
            for one in often_asked(day.summary.questions, _MOST_TEMPLATES)
        ],
    )


def question_text(one: Questions) -> str:
    """The template and, where it stands for different words, the question of it that came most."""
    question, count = max(one.questions.items(), key=lambda counted: (counted[1], counted[0]))
    return f"{one.template} (예: {question}, {count:,}번)" if "{" in one.template else one.template


def _counted_in(kpi: Quotient) -> str:
    return f"{kpi.title}에 포함된 행"


def tenant_table(rubric: RowRubric, day: LinkedDay) -> Table:
    """The KPIs of the largest tenants with their verdicts, and their rows with alerts and failures; the others in one
    line."""
    kpis = failing_kpis(rubric)

    def line(row: Mapping[str, Any]) -> list[Cell]:
        tenant = tenant_json(row["tenant_id"])
        return [
            tenant_text(row["tenant_id"]),
            count_text(row["rows"]),
            count_text(row["excluded"]),
            *map(figure_cell, kpi_figures(rubric.quotients, row).values()),
            *(day.links.count(counted_of(kpi, row), tenant=tenant, kpi=kpi.name) for kpi in kpis),
            *(day.links.count(row[f"{level}_rows"], tenant=tenant, alert_level=level) for level in rubric.alert_levels),
        ]

    titles = [quotient.title for quotient in rubric.targeted]
    header = ["테넌트", "채점", "제외", *titles, *map(_counted_in, kpis), *rubric.alert_levels.values()]
    largest = sorted(day.site.tenants, key=lambda row: -row["rows"])
    lines, others = [line(row) for row in largest[:MOST_TENANTS]], largest[MOST_TENANTS:]
    if others:
        counted = [sum(counted_of(kpi, row) or 0 for row in others) for kpi in kpis]
        alerted = [sum(row[f"{level}_rows"] for row in others) for level in rubric.alert_levels]
        sizes = [sum(row[name] for row in others) for name in ("rows", "excluded")]
        values = [*map(count_text, sizes), *[""] * len(titles), *map(count_text, (*counted, *alerted))]
        lines.append([other_tenants_text(len(others)), *values])
    return Table(header, lines)


def day_table(rubric: RowRubric, days: Sequence[LinkedDay]) -> Table:
    """One line per day, latest first."""

    def line(day: SiteDay, linked: LinkedDay) -> list[Cell]:
        return [
            Link(f"{day.day} {day_text(day.day)[-3:]}", f"{linked.root}{day.page}"),
            count_text(day.total["rows"]),
            *map(figure_cell, kpi_figures(rubric.quotients, day.total).values()),
            *(linked.links.count(day.total[f"{level}_rows"], alert_level=level) for level in rubric.alert_levels),
            count_text(day.total["excluded"]),
            f"버전 {day.version}",
        ]

    titles = [kpi.title for kpi in rubric.targeted]
    header = ["날짜", "채점", *titles, *rubric.alert_levels.values(), "제외", "채점 기준"]
    return Table(header, [line(each.site, each) for each in reversed(days)])
