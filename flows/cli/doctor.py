"""`aqb doctor`: shows settings with their origins, checks of what runs need, and versions."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import typer

from flows.cli.terminal import Json, show
from flows.cli.upgrade import lacking_of_state, listed
from flows.runtime.clock import now, today
from flows.runtime.clusters import reach_cluster
from flows.runtime.code_version import code_version
from flows.runtime.prefect_env import prepare_prefect, reaching_prefect
from scoring.alerting.days_off import LAST_DAY
from scoring.days import day_window
from scoring.errors import AqbError, UsageError, counted

if TYPE_CHECKING:
    from tasks.config.settings import Settings

_PREFECT_PATIENCE_S = 10.0
_CALENDAR_NOTICE = timedelta(days=60)
_LIBRARIES = ("prefect", "polars", "pyarrow", "pandas", "sqlalchemy")


def doctor(as_json: Json = False) -> None:
    """Show every setting with its origin, what can be reached, and versions. No secret is ever printed.

    Example: aqb doctor
    """
    from tasks.config.settings import load_settings, setting_origins

    loaded = load_settings()
    settings = setting_origins(loaded)
    checks = list(_checks(loaded))
    versions = {"aqb": code_version(), "python": platform.python_version()}
    versions |= {name: version(name) for name in _LIBRARIES}
    width = max(len(name) for name, _, _ in settings)
    lines = [
        "settings",
        *(f"  {name:<{width}}  {_as_written(value)}   ({origin})" for name, value, origin in settings),
        "checks",
        *(f"  {'ok ' if check.ok else 'NOT'}  {check.name}: {check.seen}" for check in checks),
        "versions",
        "  " + ", ".join(f"{name} {number}" for name, number in versions.items()),
    ]
    value = {
        "settings": [{"name": name, "value": value, "origin": origin} for name, value, origin in settings],
        "checks": [vars(check) for check in checks],
        "versions": versions,
    }
    show(value, "\n".join(lines), as_json=as_json)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def _as_written(value: object) -> str:
    """A value in the notation of a settings file, except that a string has no quotation marks."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Check:
    """The result of checking one requirement of runs: whether it is met (`ok`), and what was found (`seen`)."""

    name: str
    ok: bool
    seen: str


def _checks(settings: Settings) -> Iterator[Check]:
    """Checks everything that runs need; sends, changes and creates nothing but the state database.

    Checks that do not apply are left out. The checks of routes and of the Prefect server create Prefect's home folder.
    """
    from tasks.config.alerts import DEFAULT_WEBHOOK, AlertsSettings
    from tasks.config.secret_places import is_set
    from tasks.config.services import services_of

    services = services_of(settings)
    yield from _of_services("source", _source, services)
    yield from _of_services("rubric", _rubric, services)
    yield from _of_services("warehouse", _warehouse, services)
    yield _check("reports", _reports, settings)
    yield (state := _check("state database", _state, settings))
    yield _check("inbox", _inbox, settings)
    yield _check("days off", _days_off, settings)
    if settings.engine.task_runner != "processes":
        yield from _of_services("task runner", _task_runner, services)
    if state.ok:
        yield from _of_services("last night", _last_night, services)
    if settings.judge.enabled or settings.judge.api_key or is_set("OPENAI_API_KEY"):
        yield _check("judge", partial(_judge, has_store=state.ok), settings)
    if is_set(DEFAULT_WEBHOOK) or settings.alerts != AlertsSettings():
        yield from _routes(settings)
    else:
        yield _nobody_notified()
    if os.environ.get("PREFECT_API_URL"):
        yield _check("Prefect", _prefect, settings)


def _of_services(name: str, look: Callable[[Settings], str], services: Sequence[Settings]) -> Iterator[Check]:
    """Makes the same check for each service; the name of a check includes the service's name, if it has one."""
    for one in services:
        yield _check(f"{name} {one.service}".strip(), look, one)


def _check(name: str, look: Callable[[Settings], str], settings: Settings) -> Check:
    try:
        return Check(name, ok=True, seen=look(settings))
    except (AqbError, OSError) as error:
        return Check(name, ok=False, seen=str(error))


def _source(settings: Settings) -> str:
    """Checks the source; returns what reading yesterday's rows would take."""
    from tasks.chat.sources import open_source
    from tasks.config.addresses import is_bigquery

    if is_bigquery(settings.monitoring.source) and settings.monitoring.columns:
        raise UsageError(
            f"monitoring.columns names {', '.join(settings.monitoring.columns)}, and is for files alone",
            where=settings.monitoring.source,
            fix="name the columns of a view in bigquery.columns",
        )
    yesterday = today(settings.time_zone) - timedelta(days=1)
    return open_source(settings.monitoring.source, settings).estimate(day_window(yesterday, settings.time_zone))


def _rubric(settings: Settings) -> str:
    """Checks the rubric of chat rows, whose file may be missing or invalid; returns its id and version."""
    from tasks.files.rubric_file import chosen_row_rubric

    rubric = chosen_row_rubric(settings.monitoring.rubric)
    return f"{rubric.id} {rubric.version}"


def _warehouse(settings: Settings) -> str:
    """Checks the score tables, and that the engine of the settings can write them; returns the days in them."""
    from tasks.chat.choose_engine import uses_pushdown
    from tasks.chat.tables import KPIS
    from tasks.config.addresses import is_bigquery
    from tasks.context import Context

    days = Context(settings).warehouse.days(KPIS)
    tested = ""
    if is_bigquery(settings.warehouse):
        from tasks.warehouse.bigquery.dataset_checks import refuse_expiring, refuse_unwritable

        refuse_expiring(settings)
        tested = f"; {refuse_unwritable(settings, KPIS)}"
    if uses_pushdown(settings):
        from tasks.chat.bigquery_engine import refuse_two_locations
        from tasks.chat.sources.bigquery import BigQueryChatRows
        from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse

        view, dataset = settings.monitoring.source, settings.warehouse
        refuse_two_locations(BigQueryChatRows(view, settings), BigQueryWarehouse(dataset, settings))
    if "://" not in settings.warehouse:
        _refuse_locked(Path(settings.warehouse))
    _refuse_days_to_come(days, settings)
    return counted(len(days), "scored day") + (f", {days[0]} to {days[-1]}" if days else "") + tested


def _refuse_days_to_come(days: Sequence[date], settings: Settings) -> None:
    """Refuses score tables with days to come: a night whose clock was ahead has made them, without rows."""
    from tasks.config.addresses import dataset_of, is_bigquery

    if not (ahead := [day for day in days if day > today(settings.time_zone)]):
        return
    place = settings.warehouse
    if is_bigquery(place):
        remedy = f"DELETE in all tables of {dataset_of(place)} the rows with score_date from {ahead[0]} on"
    else:
        remedy = f"rm {' '.join(f'{place}/*/{day}.parquet' for day in ahead)}"
    raise AqbError(
        f"there are {counted(len(ahead), 'day')} to come, from {ahead[0]} on, and pages show the last one first",
        where=place,
        fix=f"correct the clock if it is behind; if it was ahead, {remedy}: the next night makes the pages anew",
    )


def _reports(settings: Settings) -> str:
    _refuse_locked(Path(settings.reports))
    return "can be written"


def _refuse_locked(place: Path) -> None:
    from tasks.files.discovery import nearest_there

    nearest = nearest_there(place)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise AqbError("cannot be written", where=str(nearest), fix="choose another folder or change its permissions")


def _state(settings: Settings) -> str:
    """Checks that the state database has the form of this version and can be written, by this user and at all."""
    from tasks.state.database import StateDatabase
    from tasks.state.leases import Leases
    from tasks.state.run_ledger import RunLedger

    if lacking := lacking_of_state(settings):  # looked for first: opening the stores adds some of it
        raise AqbError(f"it lacks {listed(lacking)}", fix="aqb upgrade")
    with StateDatabase(settings.state_url) as state:
        RunLedger(state)
        with Leases(state).held(f"doctor {uuid4().hex}"):
            return "can be written"


def _last_night(settings: Settings) -> str:
    """Checks that the last night that was due is completed and reported; before the first one nothing is missing."""
    from flows.steps.watch import unreported_runs
    from tasks.alerts.unfinished import late_night
    from tasks.context import Context

    with Context(settings) as context:
        late, unreported = late_night(context, now()), unreported_runs(context, now())
    if unreported:
        raise AqbError("it was scored, and nobody was notified", fix=", ".join(one.command for one in unreported))
    if late is None:
        return "done"
    if late.last_day is None:
        return "no night has been completed yet"
    raise AqbError(f"no run has completed {late.day}; the last one that was is {late.last_day}", fix="aqb nightly")


def _days_off(settings: Settings) -> str:
    """Checks that the holidays of the next `_CALENDAR_NOTICE` are known to alerts."""
    last = max((LAST_DAY, *settings.alerts.days_off))
    known = f"holidays are known until {last}"
    if last - today(settings.time_zone) < _CALENDAR_NOTICE:
        raise AqbError(known, where="alerts", fix="upgrade aqb, or list later ones in alerts.days_off")
    return known


def _inbox(settings: Settings) -> str:
    """Checks that the rubrics chosen for test runs exist; returns the number of files in the inbox."""
    from tasks.files.discovery import files_in
    from tasks.files.rubric_file import chosen_testrun_rubric
    from tasks.testruns.files import RUN_FILE_ENDINGS

    for chosen in settings.test_runs.chosen_rubrics:
        chosen_testrun_rubric(chosen)
    folder = Path(settings.test_runs.inbox)
    if not os.path.lexists(folder):
        return "not there, so there are no test runs to score"
    if not folder.is_dir():
        raise AqbError("is no folder", where=str(folder), fix="remove it, or set test_runs.inbox to a folder")
    return counted(len(files_in(folder, RUN_FILE_ENDINGS)), "file")


def _task_runner(settings: Settings) -> str:
    """Checks that the cluster accepts connections; a night of few rows does not need it."""
    reach_cluster(settings)
    return f"{settings.engine.task_runner_address} accepts connections"


def _judge(settings: Settings, *, has_store: bool) -> str:
    from tasks.config.judge import endpoint_of
    from tasks.config.secret_places import is_set, secret_of
    from tasks.context import Context
    from tasks.judge.check import check_endpoint  # importing the openai package takes two seconds
    from tasks.judge.verdict_store import VerdictStore

    endpoint, dialect = endpoint_of(settings.judge), None
    if endpoint and has_store:
        with Context(settings) as context:
            dialect = VerdictStore(context.state).dialect(endpoint.of_model(settings.judge.model))
    seen = check_endpoint(settings.judge, today(settings.time_zone), dialect)
    is_of_settings = settings.judge.api_key or not is_set("OPENAI_API_KEY")
    return seen if is_of_settings else f"{seen}; the key is from {secret_of('OPENAI_API_KEY').origin}"


def _routes(settings: Settings) -> Iterator[Check]:
    """Checks that each route has a valid secret and names rubrics that exist; nothing is sent."""
    try:
        prepare_prefect(settings.reports)
        from flows.steps.subscriptions import wanted_routes  # imports Prefect
        from tasks.alerts.routed_rubrics import unknown_rubrics

        with reaching_prefect():
            found = wanted_routes(settings.alerts)
    except AqbError as error:
        yield Check("routes", ok=False, seen=str(error))
        return
    unknown = unknown_rubrics(settings)
    for one in found:
        seen = one.problem or unknown.get(one.name) or f"has its secret from {one.origin}; nothing was sent"
        yield Check(f"route {one.name}", not one.problem and one.name not in unknown, seen)
    if not found:
        yield _nobody_notified()


def _nobody_notified() -> Check:
    from tasks.config.alerts import DEFAULT_WEBHOOK

    seen = f"nobody is notified: {DEFAULT_WEBHOOK} is not set, and [alerts] names nobody"
    return Check("alerts", ok=True, seen=seen)


def _prefect(settings: Settings) -> str:
    from tasks.config.secrets import shown_url

    prepare_prefect(settings.reports)
    from prefect.client.orchestration import get_client

    with reaching_prefect(), get_client(sync_client=True, httpx_settings={"timeout": _PREFECT_PATIENCE_S}) as client:
        if error := client.api_healthcheck():
            raise error
        client.raise_for_api_version_mismatch()
    return f"{shown_url(os.environ['PREFECT_API_URL'])} answers"
