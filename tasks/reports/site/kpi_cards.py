"""KPI cards of a page: each KPI over its windows, with the verdict of the shortest deciding one. Source: SPEC 10."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scoring.chat.kpi_windows import ComparedKpi, deciding
from scoring.chat.kpis import Quotient
from scoring.chat.rubric import RowRubric
from tasks.reports.site.pages import Cell, Chart
from tasks.reports.site.row_pages import LinkedDay
from tasks.reports.site.scored_days import Row


@dataclass(frozen=True)
class KpiCard:
    """A KPI over its windows; `counted` are the rows that count against its target, `counted_title` is their name."""

    name: str
    windows: Sequence[ComparedKpi]
    counted_title: str = ""
    counted: Cell = ""

    @property
    def decided(self) -> ComparedKpi:
        """The deciding window."""
        return deciding(self.windows)

    @property
    def chart(self) -> Chart:
        """The figure of the deciding window with interval and target on one line."""
        figure = self.decided.figure
        interval, target = figure.interval_text, figure.target_text
        return Chart(
            id=f"kpi-{self.name}",
            kind="interval",
            title=figure.title,
            summary=f"{figure.title} {figure.value_text}, 95% 구간 {interval}, 목표 {target}",
            data={
                "value": figure.value,
                "low": figure.interval.low if figure.interval else None,
                "high": figure.interval.high if figure.interval else None,
                "target": figure.target.value,
                "rate": figure.is_rate,
                "verdict": figure.verdict,
            },
        )


def kpi_cards(rubric: RowRubric, windows: Mapping[str, Sequence[ComparedKpi]], day: LinkedDay) -> list[KpiCard]:
    """A card for each KPI with a target; its counts lead to rows of the day."""
    cards = []
    for kpi in rubric.targeted:
        counted = day.links.count(counted_of(kpi, day.site.total), kpi=kpi.name) if kpi.is_rate else ""
        cards.append(KpiCard(kpi.name, windows[kpi.name], kpi.counted_title, counted))
    return cards


def counted_of(kpi: Quotient, row: Row) -> int | None:
    """How many rows of a KPI row count against the target of a rate."""
    if row[kpi.name] is None:
        return None
    rows = int(row["rows"])
    met = round(float(row[kpi.name]) * rows)
    return rows - met if kpi.target and kpi.target.operator == ">=" else met
