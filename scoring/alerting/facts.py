"""Alert facts of a scored day, before the decision whether and how people are notified.

Source: seed 002, 10.1 and 10.2; SPEC 1.4 and 8.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from scoring.alerting.days_off import is_day_off
from scoring.alerting.decision import RateDecision
from scoring.alerting.growth import Grown, Growth
from scoring.alerting.watch import EXCLUDED_TITLE, WatchedRule, watched_rules
from scoring.chat.kpi_figures import kpi_figure
from scoring.chat.kpis import (
    ALL_TENANTS,
    KpiRow,
    KpisByDay,
    Quotient,
    rows_by_tenant,
    rows_of_tenant,
    rubric_version_of,
    scored_and_excluded,
)
from scoring.chat.rubric import EXCLUDED_RATE_RISING, FEW_ROWS, KPI_RULE, NO_ROWS, ROWS_REJECTED, AlertLevel, RowRubric

HISTORY_DAYS = 7
"""Number of earlier scored days whose counts are shown with those of a day."""

_MAX_EXAMPLES_ON_PAGE = 200

FEW_ROWS_TITLE, VANISHED_TITLE = "행이 평소보다 훨씬 적음", "행이 하나도 없음"
"""Names of too few rows of a day, and of no row of one tenant, under the one rule about these."""

_DAY_TITLES = {
    NO_ROWS: "이날 행이 하나도 없음",
    FEW_ROWS: FEW_ROWS_TITLE,
    ROWS_REJECTED: "읽지 못해 거부한 행",
    EXCLUDED_RATE_RISING: EXCLUDED_TITLE,
}
_NONE_READ_TITLE = "이날 행을 하나도 읽지 못함"
_NOTHING_READ_TITLE = "이날 읽은 행이 하나도 없음"  # where it is not known whether any came


@dataclass(frozen=True)
class AlertFact:
    """One rule on one day for one tenant (`*` for all, None for rows without one).

    `count` of `rows` met the rule. `rows` are the rows that the rule considers: for a blocked call also the excluded
    ones, and for a day without rows those that arrived and could not be read. For a KPI `value` missed `limit`. `usual`
    are the counts of the last scored days, latest first: 0 for days without rows of the tenant, without days that did
    not count this. For a day without rows they are the rows of business days or of days off, whichever it is, if such
    days are known. `usual_values` are the known values of a KPI, or of the excluded rate. `grown` are the values that
    caused most of a rise; `row_ids` are examples of it, and `alike` is the number of rows with their template and
    failure type.
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
    usual_values: tuple[float, ...] = ()
    row_ids: tuple[str, ...] = ()
    alike: tuple[int, ...] = ()
    grown: tuple[Grown, ...] = ()


def titles_of_rules(rubric: RowRubric) -> dict[str, str]:
    """All rules that can create a fact under this rubric, with their titles (Korean)."""
    of_kpis = {KPI_RULE + kpi.name: _kpi_title(kpi) for kpi in rubric.targeted}
    return rubric.rule_titles | of_kpis | _DAY_TITLES


def rows_on_page(examples: Iterable[tuple[str | None, Sequence[str]]]) -> list[str]:
    """The examples of a day's facts, (tenant, row ids) each, that the page of the day shows: messages link to these.

    Those of all tenants together come first; with hundreds of tenants there is no space for all.
    """
    ordered = sorted(examples, key=lambda one: (one[0] != ALL_TENANTS, str(one[0])))
    return list(dict.fromkeys(row_id for _, row_ids in ordered for row_id in row_ids))[:_MAX_EXAMPLES_ON_PAGE]


def monitoring_facts(
    rubric: RowRubric,
    day: date,
    kpis: Sequence[KpiRow],
    history: KpisByDay,
    growth: Mapping[tuple[str, str | None], Growth],
    rejected: int | None,
) -> list[AlertFact]:
    """The facts of a day: row rules that fired, KPIs that significantly missed their target, problems of the day
    itself.

    `kpis` are the day's KPI rows, `history` those of up to seven earlier days scored by the same rubric version, latest
    first: none after the version changed, or on the first day. `growth` are the grown values by (rule, tenant).
    `rejected` is the number of rows that could not be read, None if it is not known.
    """
    facts, of_days = [], [rows_by_tenant(rows) for rows in history.values()]
    rules = watched_rules(rubric, ALL_TENANTS)[:-1]  # but the share of excluded rows, which is decided
    for row in kpis:
        earlier = [of_day.get(row["tenant_id"]) for of_day in of_days]
        facts.extend(_row_rule_facts(rules, row, earlier, growth))
        facts.extend(_kpi_facts(rubric, row, earlier))
    total = rows_by_tenant(kpis).get(ALL_TENANTS)
    read = scored_and_excluded(total) if total else 0
    if not read:
        title = {None: _NOTHING_READ_TITLE, 0: _DAY_TITLES[NO_ROWS]}.get(rejected, _NONE_READ_TITLE)
        usual_rows, came = _rows_of_days_like(day, history), rejected or 0
        facts.append(AlertFact(NO_ROWS, "critical", title, ALL_TENANTS, came, came, usual=usual_rows))
    elif rejected:
        came = rejected + read
        facts.append(AlertFact(ROWS_REJECTED, "warning", _DAY_TITLES[ROWS_REJECTED], ALL_TENANTS, rejected, came))
    return facts


def is_unread(fact: AlertFact) -> bool:
    """Whether it reports that a day has no rows because none that arrived could be read."""
    return fact.rule == NO_ROWS and fact.rows > 0


def rejected_rows(facts: Iterable[tuple[str, int | None]]) -> int:
    """The number of rejected rows of a day, from its facts, as (rule, count)."""
    return sum(count or 0 for rule, count in facts if rule in (NO_ROWS, ROWS_REJECTED))


def excluded_facts(decided: Iterable[RateDecision], history: Sequence[Sequence[KpiRow]]) -> list[AlertFact]:
    """The facts of risen rates of excluded rows, from their decisions."""
    found, of_days = [], [rows_by_tenant(rows) for rows in history]
    for one in decided:
        if one.rule == EXCLUDED_RATE_RISING and one.has_risen:
            earlier = [of_day.get(one.tenant_id) for of_day in of_days]
            counts = tuple(past["excluded"] if past else 0 for past in earlier)
            rates = tuple((past["excluded_rate"] or 0.0) if past else 0.0 for past in earlier)
            found.append(replace(rate_fact(one, EXCLUDED_TITLE), usual=counts, usual_values=rates))
    return found


def rate_fact(decision: RateDecision, title: str) -> AlertFact:
    """The fact of a rate that a decision is about."""
    rate = decision.count / decision.rows if decision.rule == EXCLUDED_RATE_RISING else None
    return AlertFact(
        decision.rule, decision.level, title, decision.tenant_id, decision.count, decision.rows, value=rate
    )


def facts_of_days(rubric: RowRubric, days: KpisByDay) -> dict[date, list[AlertFact]]:
    """The facts of scored days from their KPI rows only: without examples and rejected rows."""
    found: dict[date, list[AlertFact]] = {}
    history: list[date] = []
    for day in sorted(days):
        rows = days[day]
        last = {past: days[past] for past in history[-HISTORY_DAYS:][::-1]}
        version = rubric_version_of(rows[0]) if rows else None
        same = {past: of_past for past, of_past in last.items() if rubric_version_of(of_past[0]) == version}
        found[day] = monitoring_facts(rubric, day, rows, same, {}, rejected=None)
        if any(scored_and_excluded(row) for row in rows):
            history.append(day)
    return found


def _rows_of_days_like(day: date, history: KpisByDay) -> tuple[int, ...]:
    """The rows of earlier business days, if there are none of days off; for a day off those of days off alone: the
    service may rest on them.
    """
    of_all, is_off = rows_of_tenant(history), is_day_off(day)
    alike = [row for when, row in of_all.items() if is_day_off(when) == is_off]
    return tuple(map(scored_and_excluded, alike if alike or is_off else of_all.values()))


def _row_rule_facts(
    rules: Iterable[WatchedRule],
    row: KpiRow,
    earlier: Sequence[KpiRow | None],
    growth: Mapping[tuple[str, str | None], Growth],
) -> list[AlertFact]:
    facts = []
    for rule in rules:
        count, rows = rule.read(row)
        if not count:
            continue
        found = growth.get((rule.id, row["tenant_id"]), Growth())
        usual = (past.get(rule.column) if past else 0 for past in earlier)  # None of days that did not count it
        facts.append(
            AlertFact(
                rule.id,
                rule.level,
                rule.title,
                row["tenant_id"],
                count,
                rows,
                usual=tuple(count for count in usual if count is not None),
                row_ids=found.row_ids,
                alike=found.alike,
                grown=found.grown,
            )
        )
    return facts


def _kpi_facts(rubric: RowRubric, row: KpiRow, earlier: Sequence[KpiRow | None]) -> list[AlertFact]:
    return [
        replace(
            kpi_fact(kpi, row["tenant_id"], row["rows"], row[kpi.name]),
            usual_values=tuple(past[kpi.name] for past in earlier if past and past.get(kpi.name) is not None),
        )
        for kpi in rubric.targeted
        if kpi_figure(kpi, row).verdict == "missed"
    ]


def kpi_fact(kpi: Quotient, tenant: str | None, rows: int, value: float | None) -> AlertFact:
    """The fact of a KPI with a target and this value over so many rows."""
    assert kpi.target is not None
    limit = float(kpi.target.value)
    return AlertFact(KPI_RULE + kpi.name, "warning", _kpi_title(kpi), tenant, None, rows, value, limit)


def _kpi_title(kpi: Quotient) -> str:
    return f"{kpi.title} 목표 미달"
