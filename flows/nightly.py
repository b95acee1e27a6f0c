"""The nightly flow: scores missed or changed days, one day of chat rows, then the inbox of test runs.

The day of a scheduled run is derived from its schedule, not from the clock: a run that was late, or waited for a
worker, still scores its intended day.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Literal

from prefect import flow
from prefect.context import FlowRunContext
from prefect.runtime import flow_run

from flows.runtime.clock import require_started, today
from flows.runtime.flow_run import GivenSettings, day_of_night, name_of_night, settings_of_flow
from flows.runtime.logs import warn
from flows.steps.alerts import notify_days, notify_kept, notify_night, send_all_clears
from flows.steps.day import DayOutcome, DayResult, failure_text, log_unexpected, stopped_day, try_day
from flows.steps.failure_hooks import notify_flow_end, settings_of_run
from flows.steps.inbox_outcome import InboxOutcome
from flows.steps.judge_quality import judge_trust_anew, watch_judge
from flows.steps.site import SiteOutcome, site_after
from flows.test_runs import IncompleteInboxError, score_inbox
from scoring.errors import AqbError
from tasks.alerts.heartbeat import Heartbeat
from tasks.alerts.routed_rubrics import unknown_rubrics
from tasks.chat.day_plan import EarlierDays, earlier_days, has_rows_so_far
from tasks.chat.tables import KPIS
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.presence import is_folder
from tasks.state.run_ledger import INTRADAY, NIGHTLY


@dataclass(frozen=True)
class NightlyOutcome:
    """The result of a nightly run: its day, the inbox (None if there is none), the site, and the earlier days.

    `unfilled` are the first and the last of missed days beyond its reach. `unread` is why it could not check for late
    rows, `unreported` why people could not be notified, `unmeasured` why the judge could not be checked or labels not
    be compared. `still_kept` are earlier days that stay because the source lacks their rows, with the
    message of the run that found it. With several `services` the days belong to them, and the rest to none of them.
    """

    own: DayResult
    test_runs: InboxOutcome | None
    site: SiteOutcome
    earlier: tuple[DayResult, ...] = ()
    unfilled: tuple[date, date] | None = None
    unreported: tuple[str, ...] = ()
    unread: AqbError | None = None
    unmeasured: tuple[str, ...] = ()
    services: tuple["NightlyOutcome", ...] = ()
    still_kept: Mapping[date, str] = field(default_factory=dict)

    @property
    def scored(self) -> DayOutcome:
        """The result of its own day; raises the error that kept or stopped it."""
        return self.own.result()

    @property
    def problems_before(self) -> tuple[str, ...]:
        """Problems of the earlier days that a person should look at."""
        found = [problem for one in self.earlier for problem in one.problems]
        found += [f"{day}: {message}" for day, message in self.still_kept.items()]
        if self.unfilled:
            first, last = self.unfilled
            found.append(f"no run has scored {first} to {last}; `aqb backfill --from {first} --to {last}` does")
        if self.unread:
            found.append(f"late rows could not be looked for: {self.unread}")
        return tuple(found)

    @property
    def problems_after(self) -> tuple[str, ...]:
        """Those of the steps that follow the days."""
        return self.unmeasured + self.unreported + self.site.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems that a person should look at, each once."""
        of_services = (problem for one in self.services for problem in one.problems)
        of_testruns = self.test_runs.problems if self.test_runs else ()
        own = (self.own.outcome or self.own).problems
        return tuple(dict.fromkeys((*of_services, *self.problems_before, *own, *of_testruns, *self.problems_after)))


class IncompleteRunError(AqbError):
    """The run did what it could, but not all of it; `outcome` says what was done."""

    def __init__(self, outcome: NightlyOutcome) -> None:
        scored = outcome.own.outcome
        parts = [f"{failure_text(one)} could not be scored" for one in outcome.earlier if one.failed]
        if outcome.unread:
            parts.append("late rows could not be looked for")
        if scored and scored.unread:
            first = scored.unread[0].partition("\n")[0]
            parts.append(f"{len(scored.unread)} of {scored.files} files could not be read: {first}")
        super().__init__("; ".join(parts), fix="correct or remove what stopped it and run the day again")
        self.outcome = outcome


class IncompleteServicesError(AqbError):
    """Some of several services are incomplete, the others are done; `outcome` says which."""

    def __init__(self, outcome: NightlyOutcome, failures: Mapping[str, AqbError]) -> None:
        done = [one.own.service for one in outcome.services if one.own.service not in failures]
        failed = "; ".join(f"{name}: {str(error).partition(chr(10))[0]}" for name, error in failures.items())
        super().__init__(
            f"{len(failures)} of {len(outcome.services)} services failed, {', '.join(done) or 'none'} done: {failed}",
            fix="; ".join(dict.fromkeys(error.fix for error in failures.values() if error.fix)),
        )
        self.outcome = outcome


def _name() -> str:
    """The name of the run in Prefect."""
    given = flow_run.parameters
    return name_of_night(given, flow_run.scheduled_start_time, settings_of_run(given).time_zone)


@flow(
    name="nightly",
    flow_run_name=_name,
    on_failure=[notify_flow_end],
    on_crashed=[notify_flow_end],
    on_cancellation=[notify_flow_end],
)
def nightly(
    settings: GivenSettings = None,
    day: date | None = None,
    kind: Literal["nightly", "intraday"] = "nightly",
    allow_shrink: bool = False,
) -> NightlyOutcome:
    """Scores one day of chat rows and replaces it in the warehouse, then what has arrived in the inbox of test runs.

    Where there are several services, the day of each.

    Args:
        day: The day to score, and no other. Empty: the day before the scheduled start, after the days before it that
            were missed or have late rows; for `intraday` the day of the scheduled start.
        kind: `nightly` scores a whole day; `intraday` today so far, provisionally.
        allow_shrink: Replace the day even if the source holds far fewer rows than were scored: their scores are lost.
            Days before it are kept as they are.

    Raises:
        IncompleteRunError: some files of the source, or some earlier days, could not be read; the others are scored.
        IncompleteServicesError: some of several services are not complete; the others are.
        InputError: nothing of the source could be read; the day is as it was before.
        UsageError: the day has not begun yet.
    """
    settings = settings_of_flow(settings)
    if day:
        require_started(day, settings.time_zone)
    with Context(settings) as context:
        if kind == INTRADAY:
            so_far = day_of_night({"day": day, "kind": kind}, flow_run.scheduled_start_time, settings.time_zone)
            return _over_services(context, so_far, partial(_score_so_far, day=so_far, allow_shrink=allow_shrink))
        with Heartbeat(settings.alerts.heartbeat.url.get_secret_value()).of("야간 실행"):
            own = day or day_of_night({}, flow_run.scheduled_start_time, settings.time_zone)
            score = partial(_score_night, day=own, is_alone=day is not None, allow_shrink=allow_shrink)
            return _over_services(context, own, score, is_night=True)


def _over_services(
    context: Context, day: date, score: Callable[[Context], NightlyOutcome], *, is_night: bool = False
) -> NightlyOutcome:
    """The outcome of each service and of the shared steps. A service that is alone has both in its own outcome.

    Raises:
        AqbError: something is not complete. What stops one service stops no other.
    """
    if not context.settings.is_of_several:
        outcome = score(context)
        if failure := _failure(outcome):
            raise failure
        return outcome
    services = tuple(_of_service(one, day, score) for one in context.services)
    unmeasured = watch_judge(context) + judge_trust_anew(context) if is_night else ()
    found = _warned(
        NightlyOutcome(
            DayResult(day, None),
            None,
            site_after(context),
            unreported=send_all_clears(context) + _unrouted(context),
            unmeasured=unmeasured,
            services=services,
        )
    )
    if is_night:
        found = replace(found, test_runs=_score_inbox(context.settings))
    failures = {one.own.service: failure for one in found.services if (failure := _failure(one))}
    if failures:
        raise IncompleteServicesError(found, failures)
    return found


def _of_service(context: Context, day: date, score: Callable[[Context], NightlyOutcome]) -> NightlyOutcome:
    try:
        return score(context)
    except Exception as error:  # noqa: BLE001 - `stopped_day` distinguishes the errors
        log_unexpected(day, error)
        stopped = replace(stopped_day(day, error), service=context.settings.service)
        return _warned(NightlyOutcome(stopped, None, SiteOutcome(None)))


def _score_so_far(context: Context, day: date, *, allow_shrink: bool) -> NightlyOutcome:
    """Scores the rows of a day so far; a source without rows yet is not reported, and creates no empty day."""
    if day not in context.warehouse.days(KPIS) and not has_rows_so_far(context.settings, day):
        nothing = DayResult(day, None, why="no rows so far", service=context.settings.service)
        return NightlyOutcome(nothing, None, SiteOutcome(None))
    so_far = try_day(context, day, INTRADAY, allow_shrink=allow_shrink)
    site = site_after(context)
    unreported = notify_days(context, [so_far.day]) if so_far.outcome else notify_kept(context, [so_far])
    unreported += send_all_clears(context)
    return _warned(NightlyOutcome(so_far, None, site, unreported=unreported))


def _score_night(context: Context, day: date, *, is_alone: bool, allow_shrink: bool) -> NightlyOutcome:
    """Scores the day, after the earlier days that need it unless only this day is requested; then the steps that belong
    to no service, if this is the only one.

    A failure of the day stops neither the site nor messages nor the inbox.
    """
    before = EarlierDays() if is_alone else earlier_days(context, day)
    earlier = tuple(
        try_day(context, one, NIGHTLY, why="missing" if one in before.missing else "late rows")
        for one in sorted({*before.missing, *before.late})
    )
    own = try_day(context, day, NIGHTLY, allow_shrink=allow_shrink)
    is_all = not context.settings.service
    unmeasured = watch_judge(context) if is_all else ()
    unmeasured += judge_trust_anew(context)  # before the site, which shows the result
    site = site_after(context)  # before people are notified: messages link to its pages
    unreported = notify_night(context, day) + notify_kept(context, (*earlier, own))
    unreported += send_all_clears(context) + (_unrouted(context) if is_all else ())
    outcome = _warned(
        NightlyOutcome(
            own=own,
            test_runs=None,
            site=site,
            earlier=earlier,
            unfilled=before.out_of_reach,
            unreported=unreported,
            unread=before.unread,
            unmeasured=unmeasured,
            still_kept=before.kept,
        )
    )
    return replace(outcome, test_runs=_score_inbox(context.settings)) if is_all else outcome


def _unrouted(context: Context) -> tuple[str, ...]:
    """The routes that name a rubric which does not exist."""
    return tuple(f"alerts: route {name} {what}" for name, what in unknown_rubrics(context.settings).items())


def _warned(outcome: NightlyOutcome) -> NightlyOutcome:
    warn(outcome.problems_before + outcome.own.problems + outcome.problems_after)
    return outcome


def _failure(outcome: NightlyOutcome) -> AqbError | None:
    """Why the night of a service is incomplete; None if it is complete."""
    if outcome.own.error:
        return outcome.own.error
    is_incomplete = outcome.own.failed or outcome.unread or any(one.failed for one in outcome.earlier)
    return IncompleteRunError(outcome) if is_incomplete else None


def _score_inbox(settings: Settings) -> InboxOutcome | None:
    """Scores the new files in the inbox of test runs, independent of the scored day."""
    if not is_folder(Path(settings.test_runs.inbox)):
        return None
    try:
        # Within a flow run this is a flow run of its own, which Prefect shows.
        return (score_inbox if FlowRunContext.get() else score_inbox.fn)(settings, today(settings.time_zone))
    except IncompleteInboxError as error:
        return error.outcome
    except AqbError as error:
        return InboxOutcome(scored=(), failures=(error,), known=0, arriving=())
