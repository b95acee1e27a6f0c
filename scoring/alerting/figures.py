"""The numbers of a message: how many of how many, how sure that is, and what is usual. Korean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from scoring.alerting.block_kit import Inline, bold, plain
from scoring.alerting.facts import EXCLUDED_RATE_RISING, KPI_RULE, NO_ROWS, ROWS_REJECTED, AlertFact
from scoring.alerting.messages import KpiFigure
from scoring.chat.kpis import Quotient
from scoring.chat.rubric import RowRubric
from scoring.markdown import kpi_text, percent, score_text
from scoring.stats.exact import exact, rounded
from scoring.stats.intervals import Interval, wilson_interval

_SIDES = {">=": "이상", "<=": "이하"}
_MET_SIGNS = {True: "🟢", False: "🔴", None: "⚪"}


def kpi_figures(rubric: RowRubric, kpis: Mapping[str, Any]) -> tuple[KpiFigure, ...]:
    """The KPIs with a target out of a row of the KPI table."""
    return tuple(
        KpiFigure(
            kpi.title,
            kpis[kpi.name],
            kpi.scale,
            kpi.target.operator,
            float(kpi.target.value),
            kpis[f"{kpi.name}_met"],
            kpis["rows"],
            _rate_interval(kpis[kpi.name], kpis["rows"], kpi.scale),
        )
        for kpi in rubric.quotients
        if kpi.target
    )


def fact_figures(fact: AlertFact, rubric: RowRubric) -> list[Inline]:
    """`535건 중 64건 (12.0%, 95% 구간 9.5~15.0%) · 평소 18건 (최근 7일 14건~22건)`."""
    if fact.rule == NO_ROWS:
        return [bold("행이 하나도 들어오지 않았습니다."), plain(f" · {_usual(fact.usual, _cases)}")]
    if fact.count is None:
        return _kpi_fact(fact, _quotient(fact, rubric))
    share = percent(fact.count / fact.rows if fact.rows else None)
    # What is usual of rejected rows nobody counts; to say that there is no day to compare with would be false.
    usual = "" if fact.rule == ROWS_REJECTED else f" · {_usual(fact.usual, _cases)}"
    return [
        bold(f"{_cases(fact.rows)} 중 {_cases(fact.count)}"),
        plain(f" ({share}{_interval(wilson_interval(fact.count, fact.rows))}){usual}"),
    ]


def brief_figure(fact: AlertFact, rubric: RowRubric) -> str:
    """`29건(평소 28건)`, for a KPI `5.4%`."""
    if fact.count is None:
        return "" if fact.value is None else _kpi_value(fact.value, _quotient(fact, rubric))
    return _cases(fact.count) + (f"(평소 {_cases(median(fact.usual))})" if fact.usual else "")


def times_usual(fact: AlertFact) -> str:
    """`평소의 3.6배`; '' where nothing was usual."""
    rate = fact.rule == EXCLUDED_RATE_RISING  # its title speaks of the rate, and a day may have half as many rows
    value, usual = (fact.value, fact.usual_values) if rate else (fact.count, fact.usual)
    return f"평소의 {score_text(value / median(usual), 1)}배" if value and usual and median(usual) else ""


def kpi_line(kpi: KpiFigure) -> list[Inline]:
    """`🔴 실패율 5.4% (95% 구간 3.8~7.7%) · 목표 3% 이하 · n=535`."""
    value = "값 없음" if kpi.value is None else kpi_text(kpi.value, kpi.scale)
    interval = f" ({_interval(kpi.interval).removeprefix(', ')})" if kpi.interval else ""
    target = f"목표 {kpi_text(kpi.target, kpi.scale, 0)} {_SIDES[kpi.operator]}"
    return [plain(f"{_MET_SIGNS[kpi.met]} {kpi.title} "), bold(value), plain(f"{interval} · {target} · n={kpi.n:,}")]


def _kpi_fact(fact: AlertFact, kpi: Quotient | None) -> list[Inline]:
    assert fact.value is not None, "a value that is not known misses no target"
    if kpi is None or kpi.target is None:
        return [bold(_kpi_value(fact.value, None)), plain(f" (n={fact.rows:,})")]
    return [
        bold(f"{kpi.title} {kpi_text(fact.value, kpi.scale)}"),
        plain(f" (n={fact.rows:,}{_interval(_rate_interval(fact.value, fact.rows, kpi.scale))})"),
        plain(f" · 목표 {kpi_text(float(kpi.target.value), kpi.scale, 0)} {_SIDES[kpi.target.operator]}"),
        plain(f" · {_usual(fact.usual_values, lambda value: kpi_text(value, kpi.scale))}"),
    ]


def _kpi_value(value: float, kpi: Quotient | None) -> str:
    """A KPI that the rubric no longer has is a bare number."""
    return score_text(value, 3) if kpi is None else kpi_text(value, kpi.scale)


def _quotient(fact: AlertFact, rubric: RowRubric) -> Quotient | None:
    """The KPI of a fact; None where an earlier version of the rubric had it."""
    return next((kpi for kpi in rubric.quotients if KPI_RULE + kpi.name == fact.rule), None)


def _rate_interval(value: float | None, n: int, scale: int) -> Interval | None:
    """The interval of a rate (scale 1) of `n` rows; None for a mean, whose spread is not known here."""
    return None if value is None or scale != 1 else wilson_interval(round(value * n), n)


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f", 95% 구간 {percent(interval.low).removesuffix('%')}~{percent(interval.high)}"


def _usual(values: Sequence[float], shown: Callable[[float], str]) -> str:
    if not values:
        return "비교할 지난 날이 없음"
    low, high = shown(min(values)), shown(max(values))
    return f"평소 {shown(median(values))} (최근 {len(values)}일 {low if low == high else f'{low}~{high}'})"


def _cases(count: float) -> str:
    """A number of rows; a median may lie between two."""
    return f"{rounded(exact(count), 1 if count % 1 else 0):,}건"
