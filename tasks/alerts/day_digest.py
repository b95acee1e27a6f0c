"""The data of messages about a scored day, from the warehouse and the run ledger."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain

from scoring.alerting.decision import WatchedDays
from scoring.alerting.facts import rows_on_page
from scoring.alerting.few_rows import few_rows_incidents
from scoring.alerting.growth import Growth, examples_of, rows_of_one_session, rules_with_rows_of
from scoring.alerting.incidents import Incident, incidents_of_days
from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.messages import DayDigest
from scoring.alerting.rise_days import rise_days, with_so_far
from scoring.alerting.watch import DECISION_DAYS, AlertPolicy, RuleOfTenant
from scoring.alerting.weekly import Week
from scoring.chat.kpi_windows import WEEK
from scoring.chat.kpis import ALL_TENANTS, rows_of_tenant, rubric_version_of
from scoring.chat.periods import week_of
from scoring.chat.rubric import RowRubric
from scoring.errors import InputError
from tasks.chat.tables import (
    growth_of_days,
    read_alerts,
    read_examples,
    read_fired_rows,
    read_kpis,
    read_kpis_of_verdicts,
    scored_until,
)
from tasks.files.report_paths import ReportPaths
from tasks.state.run_ledger import INTRADAY, TEST_RUN, Run
from tasks.warehouse import Warehouse

INCIDENT_DAYS = 30
"""Scored days before a day in which the beginning of an incident is looked for."""


def day_digest(
    warehouse: Warehouse,
    rubric: RowRubric,
    day: date,
    runs: Sequence[Run],
    reports: ReportPaths,
    policy: AlertPolicy,
    tenants: Collection[str | None] = (ALL_TENANTS,),
) -> DayDigest:
    """The incidents of a scored day and the data of their messages. `runs` are those of the day, the latest last, and
    `tenants` those whose KPIs a route receives.

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
    of_rules = incidents_of_days(facts, {day: decided[day]}, rubric, policy.days_off)[day]
    of_rules = _with_growth(with_so_far(of_rules, watched, day), warehouse, watched, day)
    few = few_rows_incidents(history, rubric, policy.days_off).get(day, [])
    of_verdicts = read_kpis_of_verdicts(warehouse, rubric, scored, history, day, tenants)
    found = [*of_rules, *few, *kpi_incidents_of_days(of_verdicts, rubric, tenants)[day]]
    run = next((one for one in reversed(runs) if one.kind != TEST_RUN and one.rows_in is not None), None)
    row_ids = {row_id for one in found if one.fires for row_id in one.fact.row_ids}
    version = rubric_version_of(history[day][0])
    lately = [when for when, of_when in history.items() if of_when and rubric_version_of(of_when[0]) == version][-WEEK:]
    before = [when for when, of_when in history.items() if of_when and when < min(lately, default=day)]
    began_lately = bool(before) and rubric_version_of(history[before[-1]][0]) != version
    page = reports.page(day)
    report = page if page.exists() else reports.report(day)
    address = reports.address(page) if page.exists() else ""
    on_page = rows_on_page((fact.tenant_id, fact.row_ids) for fact in facts[day]) if address else ()
    return DayDigest(
        day=day,
        incidents=found,
        rubric=rubric,
        run_id=run.run_id if run else "",
        rejected=(run.rejected or 0) if run else 0,
        kpis=history,
        report=str(report),
        report_url=reports.address(report),
        examples=read_examples(warehouse, rubric, day, row_ids),
        row_urls={row_id: f"{address}#row-{row_id}" for row_id in on_page},
        kind="intraday" if run and run.kind == INTRADAY else "nightly",
        lately={when: decided[when] for when in lately},
        of_version_before=decided[before[-1]] if began_lately else {},
    )


def _with_growth(found: Collection[Incident], warehouse: Warehouse, watched: WatchedDays, day: date) -> list[Incident]:
    """The incidents with what the rows of their days tell.

    Ongoing rises have what grew on all their days compared with the days before, and examples of it from this day.
    Those that are news have the rules with mostly the same rows, and the rows of one session, if these are most of
    theirs.
    """
    lasting: dict[date, set[RuleOfTenant]] = defaultdict(set)
    for one in found:
        if one.lasts:
            lasting[one.since].add((one.fact.rule, one.fact.tenant_id))
    if not any(_is_news(one) for one in found):
        return [*found]
    compared = {since: rise_days(watched, day, since, rules) for since, rules in lasting.items()}
    days_read = {day, *(when for days in compared.values() for when in chain(*days))}
    fired = read_fired_rows(warehouse, watched.rubric, days_read)
    of_session, same_rows = rows_of_one_session(fired[day]), rules_with_rows_of(fired[day])
    growth = {since: growth_of_days(fired, *days, lasting[since]) for since, days in compared.items()}

    def shown(one: Incident) -> Incident:
        rule, fact = (one.fact.rule, one.fact.tenant_id), one.fact
        if one.lasts:
            fact = replace(fact, grown=growth[one.since].get(rule, Growth()).grown)
        if one.lasts and fact.grown:
            row_ids, alike = examples_of(fact.grown, fired[day], *rule)
            fact = replace(fact, row_ids=row_ids, alike=alike)
        together = {*one.together, *same_rows.get(rule, ())}
        return replace(one, fact=fact, of_session=of_session.get(rule, 0), together=tuple(sorted(together)))

    return [shown(one) if _is_news(one) else one for one in found]


def _is_news(one: Incident) -> bool:
    """Whether a message may show the rows of an incident."""
    return one.fires and one.usual is not None and (one.pages or one.state in ("new", "rising", "drifting"))


def read_week(
    warehouse: Warehouse, rubric: RowRubric, last: date, reports: ReportPaths, run_id: str, policy: AlertPolicy
) -> Week:
    """The week that ends with a scored day, and the week before it."""
    kpis = read_kpis(warehouse, rubric, scored_until(warehouse, last)[-DECISION_DAYS - WEEK :])
    version = (rubric.id, rubric.version)
    known = {day: rows for day, rows in kpis.items() if rows and rubric_version_of(rows[0]) == version}
    this, before = ({day: known[day] for day in known if 0 <= (last - day).days - back < WEEK} for back in (0, WEEK))
    growth = growth_of_days(read_fired_rows(warehouse, rubric, {*this, *before}), this, before)
    page = reports.page(week_of(last))
    report, address = (str(page), reports.address(page)) if page.exists() else ("", "")
    return Week(last, rubric, kpis, growth, WatchedDays(rubric, kpis, policy), report, address, run_id)
