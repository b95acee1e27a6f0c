"""Simulated years of days at the production load, for counting messages: without a change, or with one planted change.

Turns a day, weekends and holidays, the rules' usual rates, rules that share rows, tenants, and rates that vary from day
to day. Everything is drawn from one seed.

Source: SPEC 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.alerting.days_off import is_day_off
from scoring.rubrics.ola_monitoring import RUBRIC

FIRST_DAY = date(2025, 1, 6)
BUSINESS_DAY, BUSINESS_DAY_SD, DAY_OFF = 776, 60, (126, 300)
TENANTS = {1: (1.0,), 6: (0.40, 0.25, 0.15, 0.10, 0.06, 0.04)}

RATES = {
    "answer_failed": 0.0537,
    "good_question_bad_answer": 0.009,
    "llm_blocked": 0.0174,
    "final_failed": 0.012,
    "weak_answer": 0.008,
    "very_short_answer": 0.0724,
}
"""Shares of turns: the seed's where it has them, else what the sample of the demo has."""

EXCLUDED = 0.004
_F_OF_FAILED = 0.8
"""The share of F grades that are failed answers; all blocked calls are failed answers, too."""

DAYS_OFF_RATIOS = (0.5, 1.0, 2.0)
"""The simulated ratios of rates on days off to rates on business days."""

KpiDays = dict[date, list[dict[str, Any]]]
Times = Callable[[int, str], float | NDArray[np.float64]]
"""The factor of a rule's rate on a day (by number): for all tenants, or for each."""


@dataclass(frozen=True)
class Load:
    """A service's load: `variation` of its rates from day to day, and the ratio of rates on days off."""

    tenants: int = 1
    variation: float = 0.0
    days_off_ratio: float = 1.0


def kpi_days(load: Load, days: int, seed: int, times: Times = lambda day, rule: 1.0) -> KpiDays:
    """The KPI rows of so many days, with the columns that alerts read; `times` changes a rule's rate on a day."""
    draw = np.random.default_rng([seed, load.tenants, round(100 * load.variation), round(100 * load.days_off_ratio)])
    dates = [FIRST_DAY + timedelta(number) for number in range(days)]
    return {day: _kpi_rows(load, day, number, times, draw) for number, day in enumerate(dates)}


def _kpi_rows(load: Load, day: date, number: int, times: Times, draw: np.random.Generator) -> list[dict[str, Any]]:
    off = is_day_off(day)
    turns = draw.integers(*DAY_OFF) if off else max(1, round(draw.normal(BUSINESS_DAY, BUSINESS_DAY_SD)))
    rows = draw.multinomial(turns, TENANTS[load.tenants])
    rates = {
        rule: np.minimum(rate * times(number, rule) * (load.days_off_ratio if off else 1.0) * _varied(load, draw), 1.0)
        for rule, rate in (RATES | {"excluded": EXCLUDED}).items()
    }
    counts = {rule: draw.binomial(rows, rate) for rule, rate in rates.items()}
    blocked = np.minimum(counts["llm_blocked"], counts["answer_failed"])
    of_failed = _F_OF_FAILED * rates["final_failed"] / np.maximum(rates["answer_failed"], 1e-9)
    shared = draw.binomial(counts["answer_failed"], np.minimum(of_failed, 1.0))
    counts["final_failed"] = np.minimum(shared + draw.binomial(rows, rates["final_failed"] * (1 - _F_OF_FAILED)), rows)
    counts |= {"answer_failed_and_final_failed": shared, "answer_failed_and_llm_blocked": blocked}
    by_tenant = [
        _row(f"t{place}", int(rows[place]), {rule: int(of[place]) for rule, of in counts.items()})
        for place in range(load.tenants)
    ]
    total = {rule: int(of.sum()) for rule, of in counts.items()}
    return [*by_tenant, _row("*", int(rows.sum()), total)]


def _row(tenant: str, rows: int, counts: Mapping[str, int]) -> dict[str, Any]:
    excluded = counts["excluded"]
    fired = {f"alert_{rule.id}": 0 for rule in RUBRIC.alert_rules}  # also a rule without a rate above
    fired |= {f"alert{'s' if '_and_' in rule else ''}_{rule}": count for rule, count in counts.items()}
    kpis: dict[str, float | None] = {kpi.name: None for kpi in RUBRIC.quotients if kpi.target}
    kpis |= {
        "answer_excellent_rate": 0.92,
        "failure_rate": counts["answer_failed"] / rows if rows else None,
        "gold_mine_rate": counts["good_question_bad_answer"] / rows if rows else None,
        "mean_final_score": 71.5,
    }
    met = {f"{name}_met": None for name in kpis}  # KPIs are reported by their four-week verdict
    read = {"tenant_id": tenant, "rows": rows, "excluded": excluded, "excluded_rate": excluded / max(rows, 1)}
    return kpis | met | read | fired


def _varied(load: Load, draw: np.random.Generator) -> float:
    """The factor of a rate on a day: lognormal with mean 1."""
    return float(np.exp(draw.normal(-(load.variation**2) / 2, load.variation))) if load.variation else 1.0
