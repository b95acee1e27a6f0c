"""The data that a person's decision about a rule is based on: its latest rates and the known tenants."""

from collections.abc import Mapping
from datetime import date, datetime

import polars as pl

from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.snoozes import Snooze, rates_to_break
from scoring.alerting.watch import DECISION_DAYS
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import KPI_RULE, RowRubric
from scoring.errors import InputError
from tasks.chat.tables import KPIS, read_alerts, read_kpis
from tasks.context import Context
from tasks.state.alert_choices import AlertChoices
from tasks.warehouse import Warehouse


def rates_of_rule(
    warehouse: Warehouse, rubric: RowRubric, rule: str, today: date
) -> tuple[date, Mapping[str | None, float]]:
    """The last scored day, and by tenant the rate that a snooze of the rule is made at.

    Of `today` there may be an intraday run with a few rows: then the day before counts as well.

    Raises:
        InputError: no day has been scored.
    """
    scored = scored_days(warehouse)
    lately = scored[-REFERENCE_DAYS:]
    facts = read_alerts(warehouse, lately)
    if rule.startswith(KPI_RULE):  # reported of the last four weeks together; the facts of a day are of that day
        kpis = read_kpis(warehouse, rubric, scored[-DECISION_DAYS:])
        missed = kpi_incidents_of_days(kpis, rubric, known_tenants(warehouse))
        facts = {day: [one.fact for one in missed.get(day, ()) if not one.is_over] for day in lately}
    return lately[-1], rates_to_break(rule, facts, latest=2 if lately[-1] == today else 1)


def snooze_rule(
    context: Context, rule: str, tenant_id: str | None, until: date, why: str, who: str, now: datetime
) -> tuple[Snooze, date]:
    """Stores a snooze that begins now; returns it with the rates of the last scored day.

    Raises:
        InputError: no day has been scored.
    """
    today = now.astimezone(context.settings.zone).date()
    day, rates = rates_of_rule(context.warehouse, context.rubric, rule, today)
    made = Snooze(rule, tenant_id, until, why, who, now, rates)
    AlertChoices(context.state).snooze(made)
    return made, day


def known_tenants(warehouse: Warehouse) -> set[str | None]:
    """The tenants of recent rows, None for rows without one, and `*`.

    Raises:
        InputError: no day has been scored.
    """
    kpis = warehouse.read(KPIS, scored_days(warehouse)[-REFERENCE_DAYS:])
    found = kpis.select(pl.col("tenant_id").unique()).collect()["tenant_id"] if kpis is not None else ()
    return {*found, ALL_TENANTS}


def scored_days(warehouse: Warehouse) -> list[date]:
    """The days that were scored, completely or in part, earliest first.

    Raises:
        InputError: there are none.
    """
    if not (days := warehouse.days(KPIS)):
        raise InputError("no day has been scored yet", where=warehouse.url, fix="aqb nightly, or aqb backfill")
    return days
