"""Scores the days of a backfill in their own flow runs, which any worker of the work pool takes.

The result of a day is in the ledger, which all workers share; Prefect only reports that its run has ended.
"""

import time
from collections.abc import Iterator, Sequence
from datetime import date
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, FlowRunFilterState, FlowRunFilterStateType
from prefect.client.schemas.objects import TERMINAL_STATES, FlowRun, State
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from flows.steps.day import DayOutcome, DayResult
from scoring.errors import AqbError, UsageError
from tasks.chat.day_guard import DayKeptError
from tasks.chat.day_plan import PlannedDay
from tasks.chat.engine import Counts
from tasks.context import Context
from tasks.state.leases import Leases
from tasks.state.run_ledger import BACKFILL, RunLedger

DEPLOYMENT = "backfill-day/backfill-day"
_BETWEEN_LOOKS_S = 1.0


def in_own_runs(context: Context, days: Sequence[PlannedDay], *, allow_shrink: bool) -> Iterator[DayResult]:
    """Yields the days as their flow runs end; a run that no worker takes is waited for.

    Prefect does not notice that a machine died; the ledger does.

    Raises:
        UsageError: the deployment of single days does not exist.
    """
    died_before = set(_dead(context, days))
    service = context.settings.service
    left = {_created(planned.day, service, allow_shrink=allow_shrink): planned for planned in days}
    ended = FlowRunFilterState(type=FlowRunFilterStateType(any_=list(TERMINAL_STATES)))
    with get_client(sync_client=True) as client:
        while left:
            ours = FlowRunFilter(id=FlowRunFilterId(any_=list(left)), state=ended)
            for run in client.read_flow_runs(flow_run_filter=ours):
                if run.state:
                    yield _result(context, left.pop(run.id), run.state)
            dead = {day for run_id, day in _dead(context, list(left.values())).items() if run_id not in died_before}
            for flow_run_id in [one for one, planned in left.items() if planned.day in dead]:
                yield DayResult(left.pop(flow_run_id).day, None, _stopped("the worker that did it died"))
            if left:
                time.sleep(_BETWEEN_LOOKS_S)


def _dead(context: Context, days: Sequence[PlannedDay]) -> dict[str, date]:
    """The runs that were the latest of these days and died, by id, with their days."""
    if not days:
        return {}
    latest = RunLedger(context.state).latest_of_days(days[0].day, days[-1].day)
    running = {run.run_id: day for day, run in latest.items() if run.outcome == "running"}
    alive = Leases(context.state).alive(running)
    return {run_id: day for run_id, day in running.items() if run_id not in alive}


def _created(day: date, service: str, *, allow_shrink: bool) -> UUID:
    parameters = {"day": str(day), "allow_shrink": allow_shrink, **({"service": service} if service else {})}
    name = f"day {day} {service}".strip()
    try:
        created = run_deployment(DEPLOYMENT, parameters=parameters, flow_run_name=name, timeout=0)
    except ObjectNotFound:
        raise UsageError(
            f"there is no deployment {DEPLOYMENT}, which does single days",
            fix="deploy all of deployments/prefect.yaml and start workers, or run the backfill without across_workers",
        ) from None
    assert isinstance(created, FlowRun)
    return created.id


def _result(context: Context, planned: PlannedDay, state: State) -> DayResult:
    """The result of a day whose run has ended, from the ledger, which only stores whether some files were not read."""
    day = planned.day
    if not state.is_completed():
        return DayResult(day, None, _stopped(state.message or f"its flow run is {state.name}"))
    run = [one for one in RunLedger(context.state).of_day(day) if one.kind == BACKFILL][-1]
    if run.outcome == "kept":
        return DayResult(day, None, kept=DayKeptError(day, planned.losses, run.content or "", context.settings.service))
    return DayResult(
        day,
        DayOutcome(
            run_id=run.run_id,
            day=day,
            counts=Counts(run.rows_in or 0, run.scored or 0, run.excluded or 0, run.rejected or 0),
            kpis={},
            figures={},
            alerts=[],
            report=context.reports.report(day),
            problems=(run.message,) if run.message else (),
            notices=(),
            files=len(run.inputs),
            unread=(run.message or "its flow run in Prefect says which",) if run.outcome == "failed" else (),
        ),
    )


def _stopped(why: str) -> AqbError:
    return AqbError(why, fix="its flow run in Prefect says more; the same backfill does it again")
