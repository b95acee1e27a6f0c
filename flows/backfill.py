"""The backfill flow: scores every day of a range that is not up to date, several in parallel.

Completed days are skipped, so that a backfill that died continues where it stopped. A day that fails stops no other.
"""

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path

from prefect import flow

from flows.runtime.clock import now, today
from flows.runtime.fan_out import FanOut, processes
from flows.runtime.flow_run import GivenSettings, ProgressArtifact, settings_of_flow, step
from flows.runtime.logs import warn
from flows.steps.alerts import notify_kept, notify_unreported, send_all_clears
from flows.steps.day import DayResult, failure_text, log_unexpected, score_day, stopped_day
from flows.steps.day_runs import in_own_runs
from flows.steps.days_before import NONE_TAKEN, DaysTaken
from flows.steps.failure_hooks import notify_flow_end
from flows.steps.site import site_after
from scoring.errors import AqbError
from tasks.chat.day_guard import DayKeptError
from tasks.chat.day_plan import PlannedDay, backfill_plan, portions, worthwhile_workers
from tasks.chat.multi_day_cache import read_at_once
from tasks.chat.sources import ChatRowFiles, ChatRowSource, open_source
from tasks.config.settings import Settings, settings_of_service
from tasks.context import Context
from tasks.state.run_ledger import BACKFILL

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BackfillOutcome:
    """The result of a backfill, earliest day first; `up_to_date` days were skipped, `known` are their remaining
    problems.

    `unpublished` is why the site could not be built or people could not be notified. `stopped` are the services whose
    days could not be planned, with the reason.
    """

    days: tuple[DayResult, ...]
    up_to_date: int
    unpublished: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows that were read for the days."""
        return sum(one.outcome.counts.rows_in for one in self.days if one.outcome)

    @property
    def failed(self) -> tuple[DayResult, ...]:
        """The days that could not be scored completely; kept days are not included."""
        return tuple(one for one in self.days if one.failed)

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems that a person should look at."""
        of_days = (problem for one in self.days for problem in one.problems)
        return (*self.known, *of_days, *self.stopped, *self.unpublished)

    def __add__(self, other: "BackfillOutcome") -> "BackfillOutcome":
        return BackfillOutcome(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


class IncompleteBackfillError(AqbError):
    """Some days could not be scored; `outcome` says what was done."""

    def __init__(self, outcome: BackfillOutcome, *, forced: bool) -> None:
        failed = [failure_text(one) for one in outcome.failed]
        days = f"{len(failed)} of {len(outcome.days)} days are not complete: {', '.join(failed[:10])}"
        more = f" and {len(failed) - 10} more" if len(failed) > 10 else ""
        if why := next((problem for one in outcome.failed for problem in one.problems), ""):
            more += f"; the first, {why.partition(chr(10))[0]}"
        super().__init__(
            "; ".join([*outcome.stopped, *([days + more] if failed else [])]),
            fix="fix what stopped them and run the same backfill again"
            + ("" if forced else ": it does these days only"),
        )
        self.outcome = outcome


watcher: ContextVar[Callable[[int, int, int], None] | None] = ContextVar("watcher", default=None)
"""Called with the number of finished days, of all days, and of the rows read; not a parameter, because Prefect stores
those.
"""


@flow(
    name="backfill",
    flow_run_name="backfill {first} to {last}",
    on_failure=[notify_flow_end],
    on_crashed=[notify_flow_end],
    on_cancellation=[notify_flow_end],
)
def backfill(
    first: date,
    last: date,
    force: bool = False,
    alerts: bool = False,
    settings: GivenSettings = None,
    allow_shrink: bool = False,
    across_workers: bool = False,
) -> BackfillOutcome:
    """Scores every day of a range that is not up to date.

    A day is up to date when it was scored with this version of the rubric, these settings and the rows that the
    source holds now. A day of which the source holds far fewer rows than were scored is kept as it is.

    Args:
        first: The first day.
        last: The last day; it must be over.
        force: Score days that are up to date too.
        alerts: Send the alerts of these days; usually no message about last year is wanted.
        allow_shrink: Replace days of which the source has lost most rows, too: their scores are lost.
        across_workers: Give each day to a flow run of its own, which any worker of the work pool takes.

    Raises:
        IncompleteBackfillError: some days could not be scored; the others are.
        InputError: the source is not there.
        UsageError: no such range of days; or no deployment of single days for the workers.
    """
    settings = settings_of_flow(settings)
    chosen = _Chosen(first, last, force, alerts, allow_shrink, across_workers)
    with Context(settings) as context:
        if context.settings.is_of_several:
            outcome = sum((_of_service(one, chosen) for one in context.services), BackfillOutcome((), 0))
            outcome += BackfillOutcome((), 0, site_after(context).problems + send_all_clears(context))
        else:
            outcome = _backfill_service(context, chosen)
    warn(outcome.problems)
    if outcome.failed or outcome.stopped:
        raise IncompleteBackfillError(outcome, forced=force)
    return outcome


@dataclass(frozen=True)
class _Chosen:
    """The parameters of a backfill."""

    first: date
    last: date
    force: bool
    alerts: bool
    allow_shrink: bool
    across_workers: bool


def _of_service(context: Context, chosen: _Chosen) -> BackfillOutcome:
    """The result of one of several services; a failing service stops no other."""
    try:
        return _backfill_service(context, chosen)
    except Exception as error:  # noqa: BLE001 - `stopped_day` distinguishes the errors
        log_unexpected(chosen.first, error)
        why = stopped_day(chosen.first, error).error
        return BackfillOutcome((), 0, stopped=(f"{context.settings.service}: {why}",))


def _backfill_service(context: Context, chosen: _Chosen) -> BackfillOutcome:
    service, first, last = context.settings.service, chosen.first, chosen.last
    plan = backfill_plan(context, first, last, today(context.settings.time_zone))
    to_score = plan.to_score(force=chosen.force)
    for planned in plan.days:
        text = planned.text(force=chosen.force, allow_shrink=chosen.allow_shrink)
        _log.info("plan: %s", f"{service} {text}".strip())
    if chosen.across_workers:
        days = in_own_runs(context, to_score, allow_shrink=chosen.allow_shrink)
    else:
        days = _scored(context, to_score, f"{BACKFILL}-{first}-{last}", allow_shrink=chosen.allow_shrink)
    shown = _shown(days, len(to_score), f"{service} {first} ~ {last}".strip())
    done = sorted((replace(one, service=service) for one in shown), key=lambda one: one.day)
    # Also if nothing was left to score: a run that died may have scored it without building the site or notifying
    # people.
    unpublished = site_after(context).problems + notify_kept(context, done)
    if chosen.alerts:
        unpublished += notify_unreported(context, BACKFILL, first, last)
    unpublished += send_all_clears(context)
    known = () if chosen.force else tuple(f"{service} {problem}".strip() for problem in plan.problems)
    return BackfillOutcome(tuple(done), len(plan.days) - len(to_score), unpublished, known=known)


@flow(name="backfill-day", flow_run_name="day {day}")
def backfill_day(day: date, allow_shrink: bool = False, settings: GivenSettings = None, service: str = "") -> None:
    """Scores one day of a backfill whose days are spread over workers.

    Args:
        day: The day.
        allow_shrink: Replace the day even if the source holds far fewer rows than were scored: their scores are lost.
        service: Whose day it is, where there are several services.
    """
    settings = settings_of_flow(settings)
    with Context(settings_of_service(settings, service) if service else settings) as context:
        score_one(context, day, None, allow_shrink)


@step("day", run_name="day {day}", timeout_s=8 * 3600)
def score_one(
    context: Context, day: date, read_before: ChatRowSource | None, allow_shrink: bool, taken: DaysTaken = NONE_TAKEN
) -> DayResult:
    """Scores one day of a backfill; an error is raised, so that the step is retried if a retry may help."""
    try:
        return DayResult(day, score_day(context, day, BACKFILL, read_before, taken, allow_shrink=allow_shrink))
    except DayKeptError as kept:
        return DayResult(day, None, kept=kept)
    except Exception as error:
        log_unexpected(day, error)
        raise


def _scored(context: Context, days: Sequence[PlannedDay], name: str, *, allow_shrink: bool) -> Iterator[DayResult]:
    """Yields the days as they finish, several in parallel.

    The rows of files are read for several days in one pass, into a staging folder of this name.
    """
    settings = context.settings
    workers = min(settings.monitoring.parallel_days, len(days)) or worthwhile_workers(days, os.cpu_count() or 1)
    with ExitStack() as stack:
        if workers > 1:  # a day in a worker has no workers of its own
            engine = settings.engine.model_copy(update={"workers": 1})
            context = stack.enter_context(Context(settings.model_copy(update={"engine": engine})))
        # The folder is opened even if no day is left: this removes what a killed run of these days left there.
        folder = stack.enter_context(context.warehouse.staging(name))
        fan_out = stack.enter_context(FanOut(processes(workers, settings.log_format)))
        for some in portions(days):
            try:
                read_before = _read_before(settings, some, folder)
            except AqbError as error:
                yield from (DayResult(day, None, error) for day in some)
                continue
            since, others = now(), workers - 1 if fan_out.is_parallel else 0
            calls = {
                day: {
                    "context": context,
                    "day": day,
                    "read_before": read_before.get(day),
                    "allow_shrink": allow_shrink,
                    "taken": DaysTaken(some[max(0, number - others) : number], since),
                }
                for number, day in enumerate(some)
            }
            for day, found in fan_out.each(score_one, calls):
                yield found if isinstance(found, DayResult) else stopped_day(day, found)


def _read_before(settings: Settings, days: Sequence[date], folder: Path) -> Mapping[date, ChatRowSource]:
    shutil.rmtree(folder, ignore_errors=True)  # the rows of the days before these
    source = open_source(settings.monitoring.source, settings)
    # BigQuery can read a single day; files would all be read for each day.
    return read_at_once(source, days, settings.time_zone, folder) if isinstance(source, ChatRowFiles) else {}


def _shown(days: Iterator[DayResult], total: int, title: str) -> Iterator[DayResult]:
    """Yields the same days; each updates the watcher and Prefect's progress artifact."""
    watch = watcher.get() or (lambda *_: None)
    artifact = ProgressArtifact(f"백필: {title}, {total:,}일")
    watch(0, total, 0)
    rows = 0
    for count, one in enumerate(days, start=1):
        rows += one.outcome.counts.rows_in if one.outcome else 0
        watch(count, total, rows)
        artifact.show(count, total)
        yield one
