"""The KPIs of a day as cards, cells and charts show them. Source: seed 002, 10.2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scoring.chat.kpis import Quotient, kpi_figures
from scoring.figures import Figure
from scoring.markdown import kpi_text
from scoring.stats.intervals import Interval
from tasks.reports.site.charts import Chart, Mark, Table
from tasks.reports.site.wording import count_text

# Shapes, so that nobody depends on colours.
SIGNS = {"met": "●", "undecided": "▲", "missed": "■"}


@dataclass(frozen=True)
class Kpi:
    """A figure under the name of its KPI, and the median of earlier days."""

    name: str
    figure: Figure
    usual: float | None = None

    @property
    def shown(self) -> Mapping[str, str]:
        """The texts of a KPI card."""
        figure = self.figure
        return {
            "title": figure.title,
            "value": figure.value_text,
            "target": figure.target_text,
            "interval": figure.interval_text,
            "n": count_text(figure.n),
            "usual": kpi_text(self.usual, figure.scale),
        }

    @property
    def verdict(self) -> Mark:
        """The verdict with its sign."""
        return verdict_mark(self.figure, self.figure.verdict_text)

    @property
    def mark(self) -> Mark:
        """The value with its verdict, as a cell of a table."""
        return verdict_mark(self.figure, self.figure.value_text, self.figure.verdict_text)


def verdict_mark(figure: Figure, text: str, words: str = "") -> Mark:
    """A text under the sign of a figure's verdict."""
    return Mark(text, figure.verdict, SIGNS[figure.verdict], words)


def kpis_of(
    quotients: Sequence[Quotient],
    row: Mapping[str, Any],
    mean_intervals: Mapping[str, Interval | None],
    earlier: Sequence[Mapping[str, Any]] = (),
) -> list[Kpi]:
    """The KPIs with a target of one KPI row, with what was usual in `earlier` ones."""
    kpis = []
    for name, figure in kpi_figures(quotients, row, mean_intervals).items():
        known = [past[name] for past in earlier if past[name] is not None]
        kpis.append(Kpi(name, figure, median(known) if known else None))
    return kpis


def interval_chart(kpi: Kpi, prefix: str) -> Chart:
    """The figure, its interval and its target on one line."""
    shown, figure = kpi.shown, kpi.figure
    return Chart(
        id=f"{prefix}-{kpi.name}",
        kind="interval",
        title=shown["title"],
        summary=f"{shown['title']} {shown['value']}, 95% 구간 {shown['interval']}, 목표 {shown['target']}",
        data={
            "value": figure.value,
            "low": figure.interval.low if figure.interval else None,
            "high": figure.interval.high if figure.interval else None,
            "target": figure.target.value,
            "rate": figure.scale == 1,
            "verdict": figure.verdict,
        },
        table=Table(
            ["지표", "값", "95% 구간", "목표", "n"],
            [[shown["title"], shown["value"], shown["interval"], shown["target"], shown["n"]]],
        ),
    )
