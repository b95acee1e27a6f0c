"""The data of messages about a scored day, from the warehouse and the run ledger."""

from collections import defaultdict
from collections.abc import Collection, Sequence, Set
from dataclasses import replace
from datetime import date
from itertools import chain

from scoring.alerting.decision import DayDecisions, WatchedDays
from scoring.alerting.facts import rows_on_page
from scoring.alerting.few_rows import few_rows_incidents
from scoring.alerting.growth import Growth
from scoring.alerting.incidents import Incident, incidents
from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.messages import DayDigest
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.watch import DECISION_DAYS, AlertPolicy, RuleOfTenant, watched_rules
from scoring.alerting.weekly import Week
from scoring.chat.kpi_windows import WEEK
from scoring.chat.kpis import KpisByDay, rows_of_tenant, rubric_version_of
from scoring.chat.periods import week_of
from scoring.chat.rubric import RowRubric
from scoring.errors import InputError
from tasks.chat.tables import (
    growth_of_days,
    read_alerts,
    read_examples,
    read_fired_rows,
    read_growth,
    read_kpis,
    scored_until,
)
from tasks.files.report_paths import ReportPaths
from tasks.state.run_ledger import INTRADAY, TEST_RUN, Run
from tasks.warehouse import Warehouse

INCIDENT_DAYS = 30
"""Scored days before a day in which the beginning of an incident is looked for."""


def day_digest(
    warehouse: Warehouse, rubric: RowRubric, day: date, runs: Sequence[Run], reports: ReportPaths, policy: AlertPolicy
) -> DayDigest:
    """The incidents of a scored day and the data of their messages. `runs` are those of the day, the latest last.

    If the ledger has lost the run, no row counts as rejected.

    Raises:
        InputError: the day is not scored.
    """
    scored = scored_until(warehouse, day)
    history = read_kpis(warehouse, rubric, scored[-DECISION_DAYS - 1 :])
    if day not in rows_of_tenant(history):
        raise InputError(f"{day} has not been scored", where=warehouse.url, fix=f"aqb nightly --date {day}")
    watched, facts = WatchedDays(rubric, history, policy), read_alerts(warehouse, scored[-INCIDENT_DAYS - 1 :])
    decided = watched.decided
    of_rules = _with_growth(incidents(day, facts, decided[day], rubric, policy.days_off), warehouse, watched, day)
    few = few_rows_incidents(history, rubric, policy.days_off).get(day, [])
    found = [*of_rules, *few, *kpi_incidents_of_days(history, rubric)[day]]
    run = next((one for one in reversed(runs) if one.kind != TEST_RUN and one.rows_in is not None), None)
    row_ids = {row_id for one in found if one.fires for row_id in one.fact.row_ids}
    version = rubric_version_of(history[day][0])
    lately = [when for when, of_when in history.items() if of_when and rubric_version_of(of_when[0]) == version][-WEEK:]
    page = reports.day_page(day)
    report = page if page.exists() else reports.day_report(day)
    address = reports.address(page) if page.exists() else ""
    on_page = rows_on_page((fact.tenant_id, fact.row_ids) for fact in facts[day]) if address else ()
    return DayDigest(
        day,
        found,
        rubric,
        run.run_id if run else "",
        (run.rejected or 0) if run else 0,
        history,
        str(report),
        reports.address(report),
        read_examples(warehouse, rubric, day, row_ids),
        {row_id: f"{address}#row-{row_id}" for row_id in on_page},
        kind="intraday" if run and run.kind == INTRADAY else "nightly",
        lately={when: decided[when] for when in lately},
    )


def _with_growth(found: Collection[Incident], warehouse: Warehouse, watched: WatchedDays, day: date) -> list[Incident]:
    """The incidents; ongoing rises have their count over all their days, and what grew on them compared with the days
    before.

    A single day has too few rows to name a cause, and after a week the days before it include the rise. Days of an
    earlier rise of the same rules are no comparison if there is a week of others.
    """
    rubric, decided, version = watched.rubric, watched.decided, rubric_version_of(watched.kpis[day][0])
    known = {when: rows for when, rows in watched.kpis.items() if rows and rubric_version_of(rows[0]) == version}
    lasting: dict[date, set[RuleOfTenant]] = defaultdict(set)
    for one in found:
        if one.lasts:
            lasting[one.since].add((one.fact.rule, one.fact.tenant_id))
    if not lasting:
        return [*found]

    def around(since: date) -> tuple[KpisByDay, KpisByDay]:
        """The days of a rise, and those before it."""
        earlier = [when for when in sorted(known) if when < since]
        calm = [when for when in earlier if not _any_risen(decided[when], lasting[since])]
        before = (calm if len(calm) >= WEEK else earlier)[-REFERENCE_DAYS:]
        days = {when: rows for when, rows in known.items() if since <= when <= day}
        return days, {when: known[when] for when in before}

    compared = {since: around(since) for since in lasting}
    fired = read_fired_rows(warehouse, rubric, {when for days in compared.values() for when in chain(*days)})
    growth = {since: growth_of_days(fired, *days, lasting[since]) for since, days in compared.items()}

    def of_all_days(one: Incident) -> Incident:
        grown = growth[one.since].get((one.fact.rule, one.fact.tenant_id), Growth()).grown
        during, before = (rows_of_tenant(days, one.fact.tenant_id).values() for days in compared[one.since])
        rules = (rule for rule in watched_rules(rubric, one.fact.tenant_id) if rule.id == one.fact.rule)
        so_far = next(((rule.total(during), rule.total(before)) for rule in rules), None)
        return replace(one, fact=replace(one.fact, grown=grown), so_far=so_far)

    return [of_all_days(one) if one.lasts else one for one in found]


def _any_risen(decided: DayDecisions, rules: Set[RuleOfTenant]) -> bool:
    return any(one.has_risen for rule in rules if (one := decided.get(rule)))


def read_week(
    warehouse: Warehouse, rubric: RowRubric, last: date, reports: ReportPaths, run_id: str, policy: AlertPolicy
) -> Week:
    """The week that ends with a scored day, and the week before it."""
    history = read_kpis(warehouse, rubric, scored_until(warehouse, last)[-DECISION_DAYS - WEEK :])
    read = [*history.items()][-2 * WEEK :]
    version = (rubric.id, rubric.version)
    kpis = {day: rows for day, rows in read if rows and rubric_version_of(rows[0]) == version}
    this, before = ({day: kpis[day] for day in kpis if 0 <= (last - day).days - back < WEEK} for back in (0, WEEK))
    growth = read_growth(warehouse, rubric, this, before)
    page = reports.period_page(week_of(last))
    report, address = (str(page), reports.address(page)) if page.exists() else ("", "")
    return Week(last, rubric, kpis, growth, WatchedDays(rubric, history, policy), report, address, run_id)
