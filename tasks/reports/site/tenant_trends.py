"""The tenants over a period beside the one before, and how each KPI got there. Source: SPEC 10."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from scoring.chat.kpi_windows import WEEK, ComparedKpi, compared_kpi, rows_of_period, window_sums
from scoring.chat.kpis import ALL_TENANTS, Quotient, RubricVersion
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric
from scoring.figures import VERDICT_SIGNS
from tasks.reports.site.pages import Cell, Table, Trend
from tasks.reports.site.scored_days import Row, ScoredSpan
from tasks.reports.wording import MOST_TENANTS, count_text, other_tenants_text, tenant_text

_WEEKS = 8
_WIDTH, _HEIGHT, _EDGE = 560, 160, 20


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
    ends = (period.last - timedelta(WEEK * back) for back in reversed(range(_WEEKS)))
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
    step, height = (_WIDTH - 2 * _EDGE) / (len(values) - 1), _HEIGHT - 2 * _EDGE
    places = (
        (_EDGE + number * step, _HEIGHT - _EDGE - (value - low) / room * height) for number, value in enumerate(values)
    )
    return " ".join(f"{round(x)},{round(y)}" for x, y in places)
