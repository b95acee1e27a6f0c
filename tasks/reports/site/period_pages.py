"""The page of a week, a month or any days of chat rows: its KPIs beside those before it, all and by tenant, and what
stood out day by day.

Source: SPEC 10.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from scoring.chat.conclusion import FirstRows, verdicts_text
from scoring.chat.kpi_windows import WEEK, ComparedKpi, compared_kpi, rows_of_period, window_sums
from scoring.chat.kpis import ALL_TENANTS, Quotient, RubricVersion
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric
from scoring.days import day_text
from scoring.figures import VERDICT_SIGNS
from tasks.files.report_paths import page_name
from tasks.reports.period_conclusion import period_values
from tasks.reports.site.day_summaries import DaySummary
from tasks.reports.site.day_tables import day_table, question_text
from tasks.reports.site.kpi_cards import KpiCard, counted_of
from tasks.reports.site.listed_rows import MOST_ROWS, ListedRows
from tasks.reports.site.pages import Cell, Link, Table, Trend, page
from tasks.reports.site.patterns import often_asked, summed_questions
from tasks.reports.site.row_pages import LinkedDay, RowLinks, values_of
from tasks.reports.site.scored_days import Row, ScoredSpan, SiteDay, left_out_text
from tasks.reports.wording import MOST_TENANTS, count_text, other_tenants_text, tenant_text

_MOST_QUESTIONS = 15
_MOST_COLUMNS = 62
_TREND_WEEKS = 8
_TREND_WIDTH, _TREND_HEIGHT, _TREND_EDGE = 560, 160, 20
_Line = tuple[str, Sequence[int | None], Mapping[str, str]]
"""What is counted, its rows on each day, and the values that these have."""


@dataclass(frozen=True)
class _Shown:
    """The days of a period, and their rows as the page of its rows lists them."""

    period: Period
    days: Sequence[LinkedDay]
    listed: ListedRows

    def sum(self, total: int, **wanted: str) -> Cell:
        """The rows of all days together that have these values."""
        complete = self.listed.complete or self.listed.count(**wanted) == total
        return RowLinks(self.period, "../", self.listed.frame.height > 0, complete).count(total, **wanted)

    def first_rows(self, first: FirstRows | None) -> Cell:
        """The number in the sentence; no link where days of another rubric version have such rows too."""
        is_exact = first is not None and self.listed.count(**values_of(first)) == first.count
        return RowLinks(self.period, "../", is_exact, complete=True).first_rows(first)


def period_page(
    span: ScoredSpan,
    period: Period,
    summaries: Mapping[date, DaySummary],
    listed: ListedRows,
    known: Collection[Period],
    news: Sequence[str] = (),
) -> str:
    """The page of a period of which at least one day is in the span; it leads to its neighbours among the `known`.

    `listed` are the rows of these days on the page of its rows, to which sums lead; `news` say what called people,
    and what the period before had not (Korean).

    Days that another rubric version has scored than the last one are in its tables, not in its KPIs.
    """
    rubric, found = listed.rubric, [day for day in span.days if day.day in period]
    days = [LinkedDay(day, summaries[day.day], "../") for day in found]
    version = found[-1].scored_by
    values = period_values(rubric, period, span.rows_around(period), _framed(rubric, found, version))
    cards = [KpiCard(name, of_kpi) for name, of_kpi in values["windows"].items()]
    shown = _Shown(period, days, listed)
    return page(
        "period.html",
        charts=[card.chart for card in cards],
        root="../",
        section="monitoring",
        title=f"{period.title} 대화 품질",
        **values,
        left_out=left_out_text(span.rows_of(), period, version),
        news=news,
        headline=verdicts_text(values["windows"].values()),
        first_rows=shown.first_rows(values["concluded"].first),
        cards=cards,
        day_table=day_table(rubric, days),
        tenants=tenant_trend_table(rubric, span, period, version),
        tables=_tables(shown),
        before=period_link(period.before, "../") if period.before in known else None,
        after=period_link(period.after, "../") if period.after in known else None,
    )


def period_link(period: Period, root: str) -> Link:
    """A link to the page of a period from a page for which `root` leads to the first page."""
    return Link(period.title, f"{root}{page_name(period)}")


def _framed(rubric: RowRubric, days: Iterable[SiteDay], version: RubricVersion) -> int:
    counted = (rubric.crosstab_counts(day.crosstab) for day in days if day.scored_by == version)
    return sum(map(rubric.framed_rows, counted))


def _tables(shown: _Shown) -> list[tuple[str, Table]]:
    """Title and table of what is counted day by day; every count leads to its rows."""
    rubric, days = shown.listed.rubric, shown.days
    failures = [dict(day.summary.failures) for day in days]
    of_kpis: list[_Line] = [
        (kpi.counted_title, [counted_of(kpi, day.site.total) for day in days], {"kpi": kpi.name})
        for kpi in rubric.rates.values()
    ]
    of_alerts: list[_Line] = [
        (rule.title, [day.site.total[f"alert_{rule.id}"] for day in days], {"alert": rule.id})
        for rule in rubric.alert_rules
    ]
    of_failures: list[_Line] = [
        (title, [of_day.get(code, 0) for of_day in failures], {rubric.failure.column: code})
        for code, title in rubric.failure.titles.items()
    ]
    return [
        ("지표에 포함된 행", _by_day("지표", shown, of_kpis)),
        ("알림", _by_day("알림", shown, of_alerts)),
        ("실패 유형", _by_day("실패 유형", shown, of_failures)),
        *_category_table(shown),
        *_question_table(shown),
    ]


def _category_table(shown: _Shown) -> list[tuple[str, Table]]:
    rubric, days = shown.listed.rubric, shown.days
    category = rubric.category
    if category is None or not all(day.summary.categories for day in days):
        return []
    lines = [
        (
            title,
            [day.summary.categories.get(code, {}).get("flagged", 0) for day in days],
            {category.column: code, "flagged": "1"},
        )
        for code, title in category.titles.items()
    ]
    return [("질문 유형별 알림이나 낮은 등급", _by_day(rubric.titles[category.column], shown, lines))]


def _question_table(shown: _Shown) -> list[tuple[str, Table]]:
    asked = [day.summary.questions for day in shown.days]
    of_days = [{one.template: one.rows for one in of_day} for of_day in asked]
    lines = [
        (question_text(one), [of_day.get(one.template, 0) for of_day in of_days], {"template": one.template})
        for one in often_asked(summed_questions(asked), _MOST_QUESTIONS)
    ]
    limit = "" if all(day.summary.complete for day in shown.days) else f"(하루 {MOST_ROWS:,}행까지 셈)"
    return [(f"알림이나 낮은 등급에서 반복된 질문{limit}", _by_day("질문", shown, lines))] if lines else []


def _by_day(title: str, shown: _Shown, lines: Iterable[_Line]) -> Table:
    """A line for each thing that is counted, the most frequent first: the sum, then each day, with their rows.

    Of more than two months there are only the sums: nobody reads so many columns.
    """
    days = shown.days if len(shown.days) <= _MOST_COLUMNS else []
    counted = [(name, sum(count or 0 for count in counts), counts, wanted) for name, counts, wanted in lines]
    rows: list[list[Cell]] = []
    for name, total, counts, wanted in sorted((one for one in counted if one[1]), key=lambda one: (-one[1], one[0])):
        cells = (day.links.count(count, **wanted) for day, count in zip(days, counts, strict=False))
        rows.append([name, shown.sum(total, **wanted), *cells])
    # A heading breaks before the weekday, too: a month has many narrow columns.
    return Table([title, "합계", *(day_text(day.site.day).replace("(", "\u200b(") for day in days)], rows)


def tenant_trend_table(rubric: RowRubric, span: ScoredSpan, period: Period, version: RubricVersion) -> Table:
    """A period of each tenant, those with the most rows first, under one rubric version."""
    kpis = rubric.targeted
    by_tenant = span.rows_by_tenant(period)
    sizes = {
        tenant: sum(row["rows"] for row in rows_of_period(rows, period, version))
        for tenant, rows in by_tenant.items()
        if tenant != ALL_TENANTS
    }
    largest = sorted((tenant for tenant in sizes if sizes[tenant]), key=lambda one: (-sizes[one], str(one)))
    lines: list[list[Cell]] = [
        [
            tenant_text(tenant),
            count_text(sizes[tenant]),
            *(_trend(kpi, by_tenant[tenant], period, version) for kpi in kpis),
        ]
        for tenant in largest[:MOST_TENANTS]
    ]
    if hidden := largest[MOST_TENANTS:]:
        lines.append(
            [other_tenants_text(len(hidden)), count_text(sum(map(sizes.__getitem__, hidden))), *[""] * len(kpis)]
        )
    return Table(["테넌트", "채점", *(kpi.title for kpi in kpis)], lines)


def _trend(kpi: Quotient, rows: Mapping[date, Row], period: Period, version: RubricVersion) -> Cell:
    """A KPI of a period with its verdict, whether it went up or down, and its course over eight weeks up to its end."""
    compared = compared_kpi(kpi, "", *(rows_of_period(rows, one, version) for one in (period, period.before)))
    ends = (period.last - timedelta(WEEK * back) for back in reversed(range(_TREND_WEEKS)))
    weeks = (rows_of_period(rows, Period(end - timedelta(WEEK - 1), end), version) for end in ends)
    figure = compared.figure
    values = [sum(sums) / sum(sizes) for sums, sizes in (window_sums(kpi, week) for week in weeks) if sizes]
    words = f"{figure.verdict_text}, 앞 {period.word} {compared.before_text}, {compared.change_text}"
    text = figure.value_text + (f" ({figure.verdict_text})" if figure.despite_one_day else "")
    return Trend(text, figure.verdict, VERDICT_SIGNS[figure.verdict], words, _arrow(compared), _line(values))


def _arrow(compared: ComparedKpi) -> str:
    change = compared.change
    return "" if change is None or change.low <= 0 <= change.high else "↗" if change.low > 0 else "↘"


def _line(values: Sequence[float]) -> str:
    """The points of a line through the values; none for fewer than two."""
    if len(values) < 2:
        return ""
    low, room = min(values), (max(values) - min(values)) or 1.0
    step, height = (_TREND_WIDTH - 2 * _TREND_EDGE) / (len(values) - 1), _TREND_HEIGHT - 2 * _TREND_EDGE
    places = (
        (_TREND_EDGE + number * step, _TREND_HEIGHT - _TREND_EDGE - (value - low) / room * height)
        for number, value in enumerate(values)
    )
    return " ".join(f"{round(x)},{round(y)}" for x, y in places)
