"""The KPIs of a day with how sure they are, and what may be said of their targets. Source: seed 002, 10.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from scoring.chat.kpis import Quotient, Target
from scoring.markdown import kpi_text
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Interval, wilson_interval
from tasks.reports.site.charts import Chart, Mark, Table
from tasks.reports.site.wording import count_text, interval_text, target_text

_SIGNS = {"met": "●", "unsure": "▲", "missed": "■", "unknown": "–"}


@dataclass(frozen=True)
class Verdict:
    """What may be said of a target: its code for the style, its sign, and the words (Korean)."""

    code: Literal["met", "unsure", "missed", "unknown"]
    text: str

    @property
    def sign(self) -> str:
        """A shape, so that nobody depends on colours."""
        return _SIGNS[self.code]


@dataclass(frozen=True)
class Kpi:
    """One figure over `n` rows; `value` and `interval` are None without rows, `usual` is the median of earlier days."""

    quotient: Quotient
    value: float | None
    n: int
    interval: Interval | None
    usual: float | None = None

    @property
    def shown(self) -> Mapping[str, str]:
        """The texts of a KPI card."""
        return {
            "title": self.quotient.title,
            "value": kpi_text(self.value, self.quotient.scale),
            "target": target_text(self.quotient),
            "interval": interval_text(self.quotient, self.interval),
            "n": count_text(self.n),
            "usual": kpi_text(self.usual, self.quotient.scale),
        }

    @property
    def mark(self) -> Mark:
        """The value with its verdict, as a cell of a table."""
        verdict = self.verdict
        return Mark(self.shown["value"], verdict.code, verdict.sign, verdict.text)

    @property
    def verdict(self) -> Verdict:
        """What may be said of the target."""
        target = self.quotient.target
        return verdict_on(target, self.value, self.n, self.interval) if target else Verdict("unknown", "목표 없음")


def verdict_on(target: Target, value: float | None, n: int, interval: Interval | None) -> Verdict:
    """Whether a target is met, and whether the interval leaves a doubt. Small samples get no verdict."""
    if value is None:
        return Verdict("unknown", "값 없음")
    if n < MIN_N_FOR_VERDICT:
        return Verdict("unknown", f"표본 {MIN_N_FOR_VERDICT}건 미만")
    sides = [value, *((interval.low, interval.high) if interval else ())]
    met, *ends = [side >= target.value if target.operator == ">=" else side <= target.value for side in sides]
    if any(end is not met for end in ends):
        return Verdict("unsure", f"{'달성' if met else '미달'}, 오차 범위 안")
    return Verdict("met", "목표 달성") if met else Verdict("missed", "목표 미달")


def kpis_of(
    quotients: Sequence[Quotient],
    row: Mapping[str, Any],
    mean_interval: Interval | None = None,
    earlier: Sequence[Mapping[str, Any]] = (),
) -> list[Kpi]:
    """The KPIs with a target of one KPI row; rates get Wilson's interval, the mean the one given."""
    kpis = []
    for quotient in quotients:
        if quotient.target is None:
            continue
        value, n = row[quotient.name], row["rows"]
        is_rate = quotient.scale == 1
        interval = wilson_interval(round(value * n), n) if is_rate and value is not None else mean_interval
        known = [past[quotient.name] for past in earlier if past[quotient.name] is not None]
        kpis.append(Kpi(quotient, value, n, interval if n else None, median(known) if known else None))
    return kpis


def interval_chart(kpi: Kpi, prefix: str) -> Chart:
    """The figure, its interval and its target on one line."""
    shown, target = kpi.shown, kpi.quotient.target
    return Chart(
        id=f"{prefix}-{kpi.quotient.name}",
        kind="interval",
        title=shown["title"],
        summary=f"{shown['title']} {shown['value']}, 95% 구간 {shown['interval']}, 목표 {shown['target']}",
        data={
            "value": kpi.value,
            "low": kpi.interval.low if kpi.interval else None,
            "high": kpi.interval.high if kpi.interval else None,
            "target": target.value if target else None,
            "rate": kpi.quotient.scale == 1,
            "verdict": kpi.verdict.code,
        },
        table=Table(
            ["지표", "값", "95% 구간", "목표", "n"],
            [[shown["title"], shown["value"], shown["interval"], shown["target"], shown["n"]]],
        ),
    )
