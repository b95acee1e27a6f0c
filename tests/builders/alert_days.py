"""Generated days of a chatbot's load, as the KPI rows that alert facts are made of. Names and texts are invented."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from scoring.alerting.decision import WatchedDays
from scoring.alerting.facts import HISTORY_DAYS, AlertFact, monitoring_facts
from scoring.alerting.growth import Growth
from scoring.alerting.incidents import Incident, incidents_of_days
from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.messages import DayDigest, Example
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpis import days_by_tenant
from scoring.rubrics.ola_monitoring import RUBRIC

FIRST_DAY = date(2026, 3, 2)  # a Monday
TURNS = 535
RATES = {
    "answer_failed": 0.054,
    "good_question_bad_answer": 0.009,
    "llm_blocked": 0.004,
    "final_failed": 0.012,
    "weak_answer": 0.008,
    "very_short_answer": 0.006,
}
"""Shares of turns; about 48 row alerts a day at the load that the requirements were written for."""

KpiRow = dict[str, Any]


def kpi_row(counts: Mapping[str, int], rows: int = TURNS, excluded: int = 0, tenant: str | None = "*") -> KpiRow:
    """The KPI row of a day on which these rules fired this often."""
    rates: dict[str, float | None] = {kpi.name: kpi.target.value for kpi in RUBRIC.quotients if kpi.target}
    rates |= {
        "answer_excellent_rate": 0.92,
        "failure_rate": counts.get("answer_failed", 0) / rows if rows else None,
        "gold_mine_rate": counts.get("good_question_bad_answer", 0) / rows if rows else None,
        "mean_final_score": 71.5,
        "mean_final_score_low": 70.6,
        "mean_final_score_high": 72.4,
    }
    met = {
        f"{kpi.name}_met": None
        if (value := rates[kpi.name]) is None
        else (value >= kpi.target.value if kpi.target.operator == ">=" else value <= kpi.target.value)
        for kpi in RUBRIC.quotients
        if kpi.target
    }
    fired = {f"alert_{rule.id}": counts.get(rule.id, 0) for rule in RUBRIC.alert_rules}
    share = excluded / (rows + excluded) if rows + excluded else None
    return {"tenant_id": tenant, "rows": rows, "excluded": excluded, "excluded_rate": share, **rates, **met, **fired}


class Facts(dict[date, list[AlertFact]]):
    """The facts of days, and the KPI rows that they were made of."""

    def __init__(self, kpis: Mapping[date, Sequence[KpiRow]]) -> None:
        super().__init__()
        self.kpis = kpis
        self._found: dict[str, tuple[WatchedDays, dict[date, list[Incident]]]] = {}

    def found(self, policy: AlertPolicy) -> tuple[WatchedDays, dict[date, list[Incident]]]:
        """What the days that have facts decide, each from those before it, and the incidents of their KPIs."""
        days = {day: rows for day, rows in self.kpis.items() if day in self}
        key = f"{list(days)} {policy}"
        if key not in self._found:
            of_kpis = kpi_incidents_of_days(days, RUBRIC, days_by_tenant(days))
            self._found[key] = WatchedDays(RUBRIC, days, policy), of_kpis
        return self._found[key]


USUAL_POLICY = AlertPolicy()


def incidents_on(facts: Facts, day: date, policy: AlertPolicy = USUAL_POLICY) -> list[Incident]:
    """The incidents of a day, as a nightly run finds them: it decides the same without the days after it."""
    watched, of_kpis = facts.found(policy)
    past = {when: of_day for when, of_day in facts.items() if when <= day}
    of_rules = incidents_of_days(past, {day: watched.decided.get(day, {})}, RUBRIC, policy.days_off)[day]
    return [*of_rules, *of_kpis.get(day, [])]


def days_of_facts(days: Iterable[tuple[date, Sequence[KpiRow]]]) -> Facts:
    """The facts of days, each with the days before it as its history, as the warehouse gives them."""
    kpis = dict(days)
    facts, past = Facts(kpis), list[date]()
    for day, rows in kpis.items():
        growth = {
            (rule.id, row["tenant_id"]): _examples(rule.id, day, row[f"alert_{rule.id}"])
            for rule in RUBRIC.alert_rules
            for row in rows
        }
        last = {when: kpis[when] for when in past[-1 : -HISTORY_DAYS - 1 : -1]}
        facts[day] = monitoring_facts(RUBRIC, day, rows, last, growth, rejected=0)
        if any(row["rows"] + row["excluded"] for row in rows):
            past.append(day)
    return facts


def _examples(rule: str, day: date, count: int) -> Growth:
    """Examples of the rows of a rule, no two alike."""
    row_ids = tuple(f"{rule}-{day}-{number}" for number in range(min(count, 5)))
    return Growth((), row_ids, (1,) * len(row_ids))


def counted(counts: Sequence[int], rule: str = "answer_failed", first: date = FIRST_DAY) -> Facts:
    """The facts of consecutive days on which one rule fired this often; KPIs are met."""
    rows = ({rule: count} for count in counts)
    made = ((first + timedelta(number), [met(kpi_row(of_day))]) for number, of_day in enumerate(rows))
    return days_of_facts(made)


def met(row: KpiRow) -> KpiRow:
    """The same day with every target met, whatever its rules did."""
    reached = {"failure_rate": 0.0, "gold_mine_rate": 0.0} if row["rows"] else {}
    return {name: True if name.endswith("_met") else value for name, value in row.items()} | reached


def usual_load(seed: int, days: int, times: Callable[[int, str], float] = lambda day, rule: 1) -> list[KpiRow]:
    """Days of the usual load with fewer turns on weekends; `times` multiplies a rule's rate on a day."""
    chance = random.Random(seed)
    load = []
    for number in range(days):
        weekend = (FIRST_DAY + timedelta(number)).weekday() >= 5
        rows = round(chance.gauss(TURNS * (0.7 if weekend else 1.12), 40))
        counts = {
            rule: sum(chance.random() < rate * times(number, rule) for _ in range(rows)) for rule, rate in RATES.items()
        }
        load.append(kpi_row(counts, rows, excluded=sum(chance.random() < 0.004 for _ in range(rows))))
    return load


def load_facts(load: Sequence[KpiRow]) -> Facts:
    """The facts of consecutive days of one tenant: all tenants together are the same rows once more."""
    return days_of_facts(
        (FIRST_DAY + timedelta(number), [row, row | {"tenant_id": "t1"}]) for number, row in enumerate(load)
    )


def day_digest(
    day: date,
    facts: Facts,
    row: KpiRow,
    examples: Mapping[str, Example] | None = None,
    **changes: Any,
) -> DayDigest:
    """A day with the incidents of its facts, and the counts and KPIs of a row."""
    values: dict[str, Any] = {"run_id": "7c1f0a5e9b3d4c62", "report": "data/reports/monitoring-2026-03-14.md"}
    before = {when: rows for when, rows in facts.kpis.items() if when < day}
    of_tenants = [one for one in facts.kpis.get(day, ()) if one["tenant_id"] != "*"]
    return DayDigest(
        day,
        incidents_on(facts, day),
        RUBRIC,
        rejected=0,
        kpis=before | {day: [row, *of_tenants]},
        examples=examples or {},
        **values | changes,
    )
