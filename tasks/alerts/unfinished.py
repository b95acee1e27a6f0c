"""Late nights, and unfinished work that has been completed since, from the run ledger."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta

from scoring.alerting.all_clear import LateNight, NightState, Unfinished, without_all_clear
from scoring.alerting.messages import KnownKey
from scoring.days import days_between
from tasks.context import Context
from tasks.state.leases import Leases
from tasks.state.run_ledger import INTRADAY, NIGHTLY, TEST_RUN, Run, RunLedger

_NEWS = timedelta(days=1)
TELLING = timedelta(minutes=30)
"""The time-out of a run's messages: so long after a night has scored its day it may still be sending them."""
_ENDED = ("completed", "kept")
"""How a run of a whole day ends when nothing is left to do: a day that was kept is reported for itself."""


def late_night(context: Context, now: datetime) -> LateNight | None:
    """The night that was due last, if no run of its day was completed; else None.

    A day that was scored without some files is not late: the failure of its run has been reported. Nor is one before
    the first night: an installation of the small hours begins with yesterday, which is not due yet. Who scored a day by
    hand while it lasted has scored a part of it.
    """
    zone, due = context.settings.zone, time.fromisoformat(context.settings.alerts.watch.due)
    local = now.astimezone(zone)
    due_day = local.date() if local.time() >= due else local.date() - timedelta(days=1)
    day, ledger = due_day - timedelta(days=1), RunLedger(context.state)
    of_whole_day = [run for run in ledger.whole_days(day, day) if run.began_after_its_day(zone)]
    if any(run.outcome in _ENDED or run.scored is not None for run in of_whole_day):
        return None
    if (first := ledger.first_night()) and day < first:
        return None
    last_day = ledger.last_completed_day(day)
    # Those of the night, which also catches up with days before; a backfill of whatever day is none of it.
    runs = [run for run in ledger.whole_days_since(datetime.combine(due_day, time(), zone)) if run.kind == NIGHTLY]
    if not runs or runs[-1].outcome in _ENDED:  # of other days: it never came to its own
        return LateNight(day, due, "absent", last_day=last_day)
    last = runs[-1]
    return LateNight(day, due, _state(context, last), last.started_at, last.run_id, last.message or "", last_day)


def _state(context: Context, run: Run) -> NightState:
    """The state of a run that has not ended well."""
    if run.outcome == "running":
        return "running" if Leases(context.state).alive([run.run_id]) else "died"
    return "failed"


def dead_runs(context: Context, now: datetime) -> dict[Unfinished, Run]:
    """The runs of the last 24 hours whose process is gone and whose work no later run has completed, by what is left to
    do.
    """
    ledger = RunLedger(context.state)
    unended = ledger.unended_since(now - _NEWS)
    alive = Leases(context.state).alive([run.run_id for run in unended])
    scored = {sha256 for sha256, outcome in ledger.outcomes_of_inputs().items() if outcome == "completed"}
    found = {
        _left_by(run): run
        for run in unended
        if run.run_id not in alive and (run.kind != TEST_RUN or {file["sha256"] for file in run.inputs} - scored)
    }
    return {one: run for one, run in found.items() if not _is_over(context, one, run.started_at)}


def unreported_nights(context: Context, now: datetime) -> dict[Unfinished, Run]:
    """The nightly runs of the last 24 hours that have scored their day but whose process ended before it notified
    anybody.

    Only meaningful if there is a route: without one no run notifies anybody.
    """
    ledger = RunLedger(context.state)
    if Leases(context.state).alive([run.run_id for run in ledger.unended_since(now - _NEWS)]):
        return {}  # a night that catches up tells of all its days at its end
    since = (now - _NEWS - timedelta(days=2)).date()
    scored = [run for run in ledger.unreported(NIGHTLY, since) if run.outcome == "completed" and run.finished_at]
    return {_left_by(run): run for run in scored if run.finished_at and now - _NEWS <= run.finished_at <= now - TELLING}


def _left_by(run: Run) -> Unfinished:
    if run.kind == TEST_RUN:
        return Unfinished("test-runs", None, None, run.run_id)
    name = f"{INTRADAY} {run.score_date}" if run.kind == INTRADAY else run.run_id
    return Unfinished(run.kind, run.score_date, run.score_date, name)


def finished(
    context: Context, known: Mapping[str, KnownKey], *, inbox_is_done: bool = False
) -> dict[Unfinished, datetime]:
    """What a route with these keys was notified of and is over now, with the time of the notification.

    A service without stored name shares its keys with what belongs to no service, which is over when all are done. The
    ledger does not know the inbox: only its files tell whether its work is done.
    """
    service = context.settings.service
    own = {key: one for key, one in known.items() if one.service == service or one.kind == "all_clear"}
    return {
        one: told_at
        for one, told_at in without_all_clear(own).items()
        if (inbox_is_done if one.work == "test-runs" else _is_over(context, one, told_at))
    }


def _is_over(context: Context, one: Unfinished, told_at: datetime) -> bool:
    """Whether the days of all services that there were have been scored since."""
    services = [
        service for service in context.services if not (context.settings.is_of_several and _is_newer(service, one))
    ]
    return all(_is_over_for(service, one, told_at) for service in services)


def _is_newer(context: Context, one: Unfinished) -> bool:
    """Whether a service had its first night after this one, which it has not tried: it was added or renamed since."""
    ledger = RunLedger(context.state)
    if one.work not in ("nightly", "late") or one.last is None or (first := ledger.first_night()) is None:
        return False
    return one.last < first and not ledger.of_day(one.last)


def _is_over_for(context: Context, one: Unfinished, told_at: datetime) -> bool:
    """Whether the days of a service have been scored since.

    A failed flow is over when a run was completed later, its own days are completed, and no day that a night would
    repeat is still failed. The run that was taken for dead may be that run: its machine may have slept.
    """
    ledger = RunLedger(context.state)
    since = [run for run in ledger.whole_days_ended_since(told_at) if run.outcome in _ENDED]
    if one.work == "late":
        of_day = ledger.whole_days(one.first, one.first) if one.first else []
        return bool(of_day) and of_day[-1].outcome in _ENDED and of_day[-1].began_after_its_day(context.settings.zone)
    if one.work == "intraday":
        return any(run.score_date >= (one.first or run.score_date) for run in since) or any(
            run.kind == INTRADAY and run.outcome == "completed" and run.started_at > told_at
            for run in (ledger.of_day(one.first) if one.first else ())
        )
    if one.work not in ("nightly", "backfill") or not since:
        return False
    if not (one.first and one.last):
        return True
    reach = timedelta(days=context.settings.monitoring.catch_up_days)
    last_outcomes = {run.score_date: run.outcome for run in ledger.whole_days(one.first - reach, one.last)}
    is_run = last_outcomes.keys() >= set(days_between(one.first, one.last))
    return is_run and all(outcome in _ENDED for outcome in last_outcomes.values())
