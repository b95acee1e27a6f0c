"""What a scored day says that people should hear: alert facts, before anybody decides how to tell them.

Source: seed 002, 10.1 and 10.2; SPEC 1.4 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from scoring.derived_tables import ALL_TENANTS
from scoring.rubric import AlertLevel, RowRubric

# A count is out of the usual when it reaches all three. Source: SPEC 8.
UNUSUAL_MIN_COUNT = 5
UNUSUAL_TIMES_MEDIAN = 2
HISTORY_DAYS = 7
EXAMPLES = 5


@dataclass(frozen=True)
class AlertFact:
    """One rule on one day for one tenant (`*` for all, None for rows without one).

    `count` of `rows` met the rule; for a KPI `value` missed `limit`. `usual` are the counts of the last scored days,
    latest first, 0 where the tenant had no rows. `row_ids` are the worst examples.
    """

    rule: str
    level: AlertLevel
    title: str
    tenant_id: str | None
    count: int | None
    rows: int
    value: float | None = None
    limit: float | None = None
    usual: tuple[int, ...] = ()
    row_ids: tuple[str, ...] = field(default=())


def is_unusual(count: int, usual: Sequence[int]) -> bool:
    """Whether a count is far outside that of the last scored days: at least 5, twice the median, above the largest."""
    return count >= UNUSUAL_MIN_COUNT and _far_above(count, usual)


def _far_above(value: float, usual: Sequence[float]) -> bool:
    return not usual or (value >= UNUSUAL_TIMES_MEDIAN * median(usual) and value > max(usual))


def monitoring_facts(
    rubric: RowRubric,
    kpis: Sequence[Mapping[str, Any]],
    history: Sequence[Sequence[Mapping[str, Any]]],
    examples: Mapping[tuple[str, str | None], Sequence[str]],
    rejected: int,
) -> list[AlertFact]:
    """The facts of one day: row rules that fired, KPIs that missed their target, and troubles of the day itself.

    `kpis` are the day's KPI rows, `history` those of up to seven earlier scored days (latest first), `examples` the
    worst row ids by (rule, tenant).
    """
    facts = []
    for row in kpis:
        tenant = row["tenant_id"]
        earlier = [next((past for past in day if past["tenant_id"] == tenant), None) for day in history]
        facts.extend(_row_rule_facts(rubric, row, earlier, examples))
        facts.extend(_kpi_facts(rubric, row))
        facts.extend(_excluded_facts(row, earlier))
    total = next((row for row in kpis if row["tenant_id"] == ALL_TENANTS), None)
    rows = total["rows"] if total else 0
    if total is None or rows + total["excluded"] == 0:
        facts.append(AlertFact("no_rows", "critical", "이날 행이 하나도 없음", ALL_TENANTS, 0, 0))
    if rejected:
        facts.append(AlertFact("rows_rejected", "warning", "읽지 못해 거부한 행", ALL_TENANTS, rejected, rows))
    return facts


def _row_rule_facts(
    rubric: RowRubric,
    row: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any] | None],
    examples: Mapping[tuple[str, str | None], Sequence[str]],
) -> list[AlertFact]:
    return [
        AlertFact(
            rule.id,
            rule.level,
            rule.title,
            row["tenant_id"],
            row[f"alert_{rule.id}"],
            row["rows"],
            usual=tuple(past[f"alert_{rule.id}"] if past else 0 for past in earlier),
            row_ids=tuple(examples.get((rule.id, row["tenant_id"]), ())),
        )
        for rule in rubric.alert_rules
        if row[f"alert_{rule.id}"]
    ]


def _kpi_facts(rubric: RowRubric, row: Mapping[str, Any]) -> list[AlertFact]:
    return [
        AlertFact(
            f"kpi_{kpi.name}",
            "warning",
            f"{kpi.title} 목표 미달",
            row["tenant_id"],
            None,
            row["rows"],
            value=row[kpi.name],
            limit=float(kpi.target.value),
        )
        for kpi in rubric.quotients
        if kpi.target and row[f"{kpi.name}_met"] is False
    ]


def _excluded_facts(row: Mapping[str, Any], earlier: Sequence[Mapping[str, Any] | None]) -> list[AlertFact]:
    """An outage that leaves answers NULL lowers the failure rate; the rising share of excluded rows gives it away."""
    usual_rates = [(past["excluded_rate"] or 0.0) if past else 0.0 for past in earlier]
    if row["excluded"] < UNUSUAL_MIN_COUNT or not _far_above(row["excluded_rate"], usual_rates):
        return []
    return [
        AlertFact(
            "excluded_rate_rising",
            "critical",
            "질문이나 답변이 NULL인 행의 비율이 오름",
            row["tenant_id"],
            row["excluded"],
            row["rows"] + row["excluded"],
            row["excluded_rate"],
            usual=tuple(past["excluded"] if past else 0 for past in earlier),
        )
    ]
