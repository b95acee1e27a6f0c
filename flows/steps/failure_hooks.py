"""Notifies people when a flow run fails, crashes or is cancelled, even if the settings are wrong.

Hooks may run in another process than the flow, and after a failure of the very parts that they need. If the settings
cannot be read, the default webhook gets the message; if the state database cannot be used, the message is sent without
it, and a marker in the temporary folder keeps the next runs of the day from repeating it.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from hashlib import sha256
from shlex import quote
from typing import Any

import httpx
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import TaskRunSort
from prefect.exceptions import MissingResult, ParameterTypeError, PrefectException, UnfinishedRun
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from flows.runtime.clock import now
from flows.runtime.flow_run import day_of_night, name_of_night
from flows.steps.announce import announce
from flows.steps.subscriptions import subscriptions
from scoring.alerting.all_clear import Unfinished
from scoring.alerting.messages import KnownKey, Message, OutboxMessage, RouteFilter, with_mention
from scoring.alerting.run_messages import FlowFailure, failure_message
from scoring.errors import AqbError, StorageError, TakenError, UsageError
from tasks.alerts.channel import DeliveryStatus
from tasks.alerts.markers import is_marked, mark
from tasks.config.settings import Settings, load_settings
from tasks.context import Context
from tasks.state.leases import Leases
from tasks.state.run_ledger import INTRADAY, NIGHTLY, RunLedger

_PATIENCE_S = 2.0
_REMINDED = timedelta(days=1)
_BACKFILL_OPTIONS = ("force", "alerts", "allow_shrink")


def notify_flow_end(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Notifies that a flow run did not complete: once for each run and state, and once a day for a failure that is
    repeated before the work is done.
    """
    wrong = _wrong_parameters(flow, flow_run, state)
    error, reason = (UsageError.__name__, wrong) if wrong else _error(state)
    if error == "KeyboardInterrupt":
        return  # the person who pressed Ctrl-C knows
    given = flow_run.parameters
    settings = settings_of_run(given)
    if error == TakenError.__name__ and (flow.name == "backfill" or _has_other_night(flow, flow_run, settings)):
        return  # the other run of these days notifies of its own end
    stopped = not (state.is_failed() or state.is_crashed())
    step = None if wrong else _failed_step(flow_run, _PATIENCE_S if state.is_failed() else 0.0) or _ended(error)
    cause = _cause(error, reason, step)
    _notify(
        FlowFailure(
            run_name=flow.name if wrong else _run_name(flow, flow_run, settings.time_zone),
            run_id=str(flow_run.id),
            state="failed" if state.is_failed() else "crashed" if state.is_crashed() else "cancelled",
            error=error,
            reason=reason,
            step=step,
            tries=max(1, flow_run.run_count),
            max_tries=(flow.retries or 0) + 1,
            rerun=f"aqb {flow.name} --help" if wrong else _rerun(flow.name, given),
            unfinished=None if stopped or wrong else _unfinished(flow.name, flow_run, cause, settings.time_zone),
        ),
        settings,
    )
    if wrong:
        _show_reason(flow_run, state, wrong)


def _has_other_night(flow: Flow[..., Any], flow_run: FlowRun, settings: Settings) -> bool:
    """Whether another nightly run of the day of a night is alive, such as that of another host."""
    if flow.name != "nightly":
        return False
    day = day_of_night(flow_run.parameters, flow_run.expected_start_time or now(), settings.time_zone)
    with suppress(AqbError), Context(settings) as context:
        unended = RunLedger(context.state).unended_of_days(day, day)
        return bool(Leases(context.state).alive([run.run_id for run in unended if run.kind == NIGHTLY]))
    return False


def notify_without_flow(error: AqbError, settings: Settings | None = None) -> None:
    """Notifies that `aqb nightly` failed outside of any flow; once a day and reason.

    Without settings, which may be what is wrong, the default webhook gets the message.
    """
    flow, command, kind = "nightly", "aqb nightly", type(error).__name__
    run_id = f"{flow}-{kind}-{now():%Y-%m-%d}-{sha256(str(error).encode()).hexdigest()[:8]}"
    unfinished = Unfinished(flow, None, None, run_id)
    ended = FlowFailure(
        run_name=command,
        run_id=run_id,
        state="failed",
        error=kind,
        reason=str(error),
        rerun=command,
        unfinished=unfinished,
    )
    _notify(ended, settings or _defaults())


def _notify(ended: FlowFailure, settings: Settings) -> None:
    def messages_for(route: RouteFilter, known: Mapping[str, KnownKey]) -> list[Message]:
        left = ended.unfinished
        if left and left.is_open(known, now() - _REMINDED):
            return []
        if left and left.name.startswith(f"{ended.run_id} "):
            left = left.numbered(known)
        found = failure_message(replace(ended, unfinished=left))
        return [one for one in found if route.matches_pipeline(one.level)]

    try:
        with Context(settings) as context:
            announce(context, [("", messages_for)])
    except (StorageError, UsageError):  # the state database, or its address, may be the cause of the failure
        _send_without_state(ended, settings)


def _send_without_state(ended: FlowFailure, settings: Settings) -> None:
    """Sends the message to each route that has not had one of the same work and kind of error within a day: an hourly
    run fails each hour as long as a disk is full. The next night is other work, even if it fails a little earlier. It
    promises no all-clear, because nothing remembers it.
    """
    left = ended.unfinished
    found = failure_message(replace(ended, run_name=left.title if left else ended.run_name, unfinished=None))
    work = f"{left.work} {left.first or now().date()}" if left else ended.run_id
    for one in subscriptions(settings.alerts):
        what = "|".join((settings.state_url, settings.service, one.name, work, ended.error))
        new = [] if one.problem or is_marked(what, now()) else found
        for message in (each for each in new if one.filter.matches_pipeline(each.level)):
            called = with_mention(message, one.destination.mention)
            if one.channel.send(OutboxMessage.unsaved(one.name, called, now())).status is DeliveryStatus.SENT:
                mark(what, now())


def _run_name(flow: Flow[..., Any], flow_run: FlowRun, time_zone: str) -> str:
    """The name that Prefect gave the run when it started; the worker of a killed run has only the previous name."""
    given = flow_run.parameters
    if flow.name == "nightly":
        return name_of_night(given, flow_run.expected_start_time or now(), time_zone)
    return str(flow.flow_run_name).format(**given)


def _wrong_parameters(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> str | None:
    """The reason why a run could not start with its parameters, or None; Prefect's first line does not name them."""
    known = flow.parameters.properties
    if unknown := [name for name in flow_run.parameters if name not in known and name != "settings"]:
        return f"no parameter {', '.join(unknown)}; the flow has {', '.join(known)}"
    first, *refused = (state.message or "").splitlines() or [""]
    if ParameterTypeError.__name__ not in first:
        return None
    return "; ".join(f"parameter {line.removeprefix(' - ')}" for line in refused)


def _show_reason(flow_run: FlowRun, state: State[Any], reason: str) -> None:
    """Replaces the message of the run's state, which Prefect's pages show, by the reason of its failure."""
    with suppress(httpx.HTTPError, PrefectException), get_client(sync_client=True) as client:
        shown = State[Any](type=state.type, name=state.name, message=reason)
        client.set_flow_run_state(flow_run.id, shown, force=True)


def _error(state: State[Any]) -> tuple[str, str]:
    """The class and message of the error that ended a run: all lines of an AqbError, the first line of others.

    Without a result, as in another process or while a run is being cancelled, name and message of the state are used.
    """
    try:
        error = state.result(raise_on_failure=False)
    except (MissingResult, UnfinishedRun):
        error = None
    if isinstance(error, AqbError):
        return type(error).__name__, str(error)
    if isinstance(error, BaseException):
        return type(error).__name__, (str(error).splitlines() or [""])[0]
    return state.name or str(state.type), ((state.message or "").splitlines() or [""])[0]


def settings_of_run(parameters: Mapping[str, Any]) -> Settings:
    """The settings of a run: those it was given, as far as Prefect stores them, else those of its folder.

    If these cannot be read: the default webhook and the default state database.
    """
    given = parameters.get("settings")
    if isinstance(given, Settings):
        return given
    options = {name: given[name] for name in ("alerts", "reports", "state_url", "time_zone")} if given else {}
    try:
        return load_settings(**options)
    except UsageError:
        return _defaults()


def _defaults() -> Settings:
    """The settings used if the real ones cannot be read: the default webhook and the default state database."""
    defaults = Settings.model_construct()
    return defaults.model_copy(update={"state_url": os.environ.get("AQB_STATE_URL", defaults.state_url)})


def _ended(error: str) -> str | None:
    """The text shown in place of a failed step if the flow ended with an error that lists what is incomplete."""
    return "모든 단계를 마친 뒤" if error.startswith("Incomplete") else None


def _failed_step(flow_run: FlowRun, patience_s: float) -> str | None:
    """The task run that failed first; None if the failure was outside of one, or Prefect's server is unreachable.

    The server learns of the end of a task run a little later than the flow, so it is queried for up to `patience_s`.
    Without the retries of Prefect's client, which take a minute where the server is gone: the message comes first.
    """
    failed = TaskRunFilterStateType(any_=[StateType.FAILED, StateType.CRASHED])
    asking = Retrying(
        retry=retry_if_result(lambda steps: not steps),
        stop=stop_after_delay(patience_s),
        wait=wait_fixed(0.25),
        retry_error_callback=lambda last: last.outcome.result() if last.outcome else None,
    )
    try:
        with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}), get_client(sync_client=True) as client:
            steps = asking(
                client.read_task_runs,
                flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[flow_run.id])),
                task_run_filter=TaskRunFilter(state=TaskRunFilterState(type=failed)),
                sort=TaskRunSort.END_TIME_DESC,
                limit=200,
            )
    except (httpx.HTTPError, PrefectException):
        return None
    return steps[-1].name if steps else None


def _cause(error: str, reason: str, step: str | None) -> str:
    """A short name of why a run failed, the same for each run that fails so; of its step only the kind counts."""
    kind = (step or "").partition(" ")[0]
    return sha256("|".join((error, reason, kind)).encode()).hexdigest()[:8]


def _unfinished(flow: str, flow_run: FlowRun, cause: str, time_zone: str) -> Unfinished:
    """The unfinished work of a failed run; its days are None if the flow has no days."""
    given, name = flow_run.parameters, f"{flow_run.id} {cause}"
    if flow == "backfill":
        return Unfinished(flow, _day(given["first"]), _day(given["last"]), name)
    if flow != "nightly":
        return Unfinished(flow, None, None, name)
    so_far = given.get("kind") == INTRADAY
    day = day_of_night(given, flow_run.expected_start_time or now(), time_zone)
    # The cause that stops one intraday run stops the next ones, too: one message a day is enough.
    return Unfinished(INTRADAY, day, day, f"intraday {day}") if so_far else Unfinished(flow, day, day, name)


def _day(given: Any) -> date:
    return date.fromisoformat(str(given))


def _rerun(flow: str, given: Mapping[str, Any]) -> str:
    """The command that repeats a run, of one of several services."""
    settings = given.get("settings") or {}
    service = settings.service if isinstance(settings, Settings) else settings.get("service")
    aqb = f"aqb --service {quote(service)}" if service else "aqb"
    if flow == "backfill":
        options = "".join(f" --{name.replace('_', '-')}" for name in _BACKFILL_OPTIONS if given.get(name))
        return f"{aqb} backfill --from {given['first']} --to {given['last']}{options}"
    if flow == "nightly":
        if given.get("kind") == INTRADAY:
            return f"{aqb} nightly --intraday"
        return f"{aqb} nightly --date {given['day']}" if given.get("day") else f"{aqb} nightly"
    return f"{aqb} {flow}"
