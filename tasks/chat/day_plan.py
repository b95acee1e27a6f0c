"""Selects the days to score: those of a backfill, and those that a nightly run scores before its own.

A day is done if the latest run that wrote it began when it was over and completed it as a whole. It is up to date if
that run also used this version of the rubric, these parameters and the current rows of the source, and the tables still
have the day. A day that has lost most of its rows in the source is not replaced (`tasks/chat/day_guard.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from scoring.chat.day_content import DayContent, day_contents, local_day
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rows import FileFailure
from scoring.chat.rubric import RowRubric
from scoring.chat.shrinkage import NOT_SCORED, Loss, TenantRows
from scoring.days import day_window, days_between, days_window
from scoring.errors import AqbError, InputError, UsageError
from tasks.chat.day_guard import day_guards, losses_text
from tasks.chat.sources import ChatRowSource, open_source
from tasks.chat.tables import KPIS
from tasks.chat.written_days import WrittenDays
from tasks.config.addresses import is_bigquery
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.state.run_ledger import INTRADAY, Run, RunLedger

PORTION_BYTES, _MOST_PORTIONS = 500_000_000, 10
# CPU seconds of a backfill, from benchmarks/RESULTS.md and docs/scale.md: per day and per row; the startup of a worker
# process, and each further day in it; and the share of the work that workers may cost.
_DAY_S, _ROW_S = 0.15, 30e-6
_WORKER_S, _DAY_IN_WORKER_S = 2.5, 0.01
_MOST_OVERHEAD = 0.15
_RULES = "rules"


@dataclass(frozen=True)
class PlannedDay:
    """A day of a backfill: its content in the source, the reason to score it, and what would be lost.

    `reason` is None for a day that is up to date. A day with `losses` is not replaced unless it may shrink. `problem`
    is the problem reported by the run that made it, '' for none: it still exists if the day is up to date.
    """

    day: date
    content: DayContent
    reason: str | None
    losses: tuple[Loss, ...] = ()
    problem: str = ""

    @property
    def up_to_date(self) -> bool:
        """Whether its tables would be the same if made now."""
        return self.reason is None

    def text(self, *, force: bool, allow_shrink: bool) -> str:
        """The day with its rows in the source, the action and its reason, in one line."""
        if self.losses and (force or self.reason):
            outcome = "replaced all the same" if allow_shrink else "kept"
            what = f"would shrink, {outcome}: {losses_text(self.losses)}"
        else:
            what = self.reason or ("forced" if force else "up to date")
        return f"{self.day}  {self.content.rows:>10,} rows  {what}"


@dataclass(frozen=True)
class SourceContents:
    """The content of every day with rows, and the files that could not be read."""

    days: dict[date, DayContent]
    failures: list[FileFailure]

    def of(self, day: date) -> DayContent:
        """The content of a day; a day without rows has empty content."""
        return self.days.get(day, DayContent())


@dataclass(frozen=True)
class BackfillPlan:
    """Every day from first to last, and the source files that could not be read."""

    days: tuple[PlannedDay, ...]
    failures: tuple[FileFailure, ...]

    def to_score(self, *, force: bool) -> list[PlannedDay]:
        """The days that are not up to date; all of them with `force`."""
        return [planned for planned in self.days if force or not planned.up_to_date]

    @property
    def problems(self) -> tuple[str, ...]:
        """The existing problems of the days that are up to date."""
        return tuple(f"{one.day}: {one.problem}" for one in self.days if one.up_to_date and one.problem)


@dataclass(frozen=True)
class EarlierDays:
    """The days that a nightly run scores before its own: days without a completed run, days whose rows have changed.

    `kept` are the days that stay because the source still lacks their rows, with the message of the run that found it.
    `out_of_reach` are the first and the last day of a longer gap that no nightly run fills. `unread` is why changed
    rows could not be read from the source: then none are known.
    """

    missing: tuple[date, ...] = ()
    late: tuple[date, ...] = ()
    kept: Mapping[date, str] = field(default_factory=dict)
    out_of_reach: tuple[date, date] | None = None
    unread: AqbError | None = None


def day_parameters(settings: Settings, rubric: RowRubric) -> dict[str, Any]:
    """The settings that a day's tables depend on, and the fingerprint of the rubric's file, if there is one."""
    return {
        "time_zone": settings.time_zone,
        "keep_text": settings.monitoring.keep_text,
        "warehouse": settings.warehouse,
        _RULES: rubric.fingerprint,
    }


def backfill_plan(context: Context, first: date, last: date, today: date) -> BackfillPlan:
    """The plan of a backfill of these days. Reads the source once and writes nothing.

    Raises:
        UsageError: the days are no range, or not over `today`.
        InputError: the source does not exist.
    """
    settings = context.settings
    if last < first:
        raise UsageError(f"the first day {first} is after the last day {last}", fix="swap the two days")
    if last >= today:
        raise UsageError(f"{last} is not over yet in {settings.time_zone}", fix="end with an earlier day")
    contents = _contents(settings, first, last)
    days = days_between(first, last)
    written = WrittenDays(context, days)
    guarded = [day for day in days if day in written.kpis]
    guards = day_guards(context.warehouse, context.state, guarded)
    runs = RunLedger(context.state).latest_of_days(first, last)

    def planned(day: date) -> PlannedDay:
        content, run = contents.of(day), runs.get(day)
        made = run if run and written.have(run) else None
        lacking = "tables older than the last run" if run and written.are_older(run) else "missing"
        reason = _reason(made, context) if made else lacking
        if made and made.content != content.fingerprint:
            reason = reason or "rows changed"
        losses = guards.get(day, NOT_SCORED).losses(_all_scored(content))
        return PlannedDay(day, content, reason, losses, (made and made.message) or "")

    return BackfillPlan(tuple(map(planned, days)), tuple(contents.failures))


def source_contents(source: ChatRowSource, first: date, last: date, time_zone: str) -> SourceContents:
    """The contents of these days in a source; if it cannot report them, from one pass over its rows."""
    window = days_window(first, last, time_zone)
    known = source.contents(window, time_zone)
    if known is not None:
        return SourceContents(known, [])
    found = SourceContents({}, [])
    for batch in source.batches(window):
        if isinstance(batch, FileFailure):
            found.failures.append(batch)
            continue
        for day, content in day_contents(batch.rows, local_day(time_zone)):
            found.days[day] = found.of(day) + content
    return found


def portions(days: Sequence[PlannedDay]) -> Iterator[list[date]]:
    """The days in portions of about `PORTION_BYTES` of text, or a tenth of all if that is more, earliest first: each is
    read from the source at once, for which all of its files are read.
    """
    portion: list[date] = []
    size, enough = 0, max(PORTION_BYTES, sum(planned.content.bytes for planned in days) // _MOST_PORTIONS)
    for planned in days:
        portion.append(planned.day)
        size += planned.content.bytes
        if size >= enough:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def worthwhile_workers(days: Sequence[PlannedDay], cores: int) -> int:
    """The number of worker processes that costs at most 15 % more CPU than this process alone; 1 is this process."""
    work_s = _DAY_S * len(days) + _ROW_S * sum(planned.content.rows for planned in days)
    spare_s = _MOST_OVERHEAD * work_s - _DAY_IN_WORKER_S * len(days)
    return max(1, min(cores, len(days), int(spare_s / _WORKER_S)))


def earlier_days(context: Context, day: date) -> EarlierDays:
    """The days that a nightly run of `day` scores first.

    A gap begins after a completed day: before the first one no day is missing.
    """
    ledger, reach, yesterday = RunLedger(context.state), context.settings.monitoring, day - timedelta(days=1)
    missing, out_of_reach = missing_days(context, day), None
    last_completed, catch_up_from = ledger.last_completed_day(day), day - timedelta(days=reach.catch_up_days)
    if last_completed and reach.catch_up_days and last_completed + timedelta(days=1) < catch_up_from:
        out_of_reach = last_completed + timedelta(days=1), catch_up_from - timedelta(days=1)
    look_back_from = day - timedelta(days=reach.lookback_days)
    first = min(look_back_from, catch_up_from)
    runs, kept = ledger.latest_of_days(first, yesterday), ledger.latest_kept(first, yesterday)
    watched = [
        one
        for one in days_between(first, yesterday)
        if (run := runs.get(one)) and ((one >= look_back_from and _completed(run)) or (one in missing and one in kept))
    ]
    try:
        late, still_kept = _changed(context.settings, watched, runs, kept)
    except AqbError as error:
        return EarlierDays(missing, out_of_reach=out_of_reach, unread=error)
    missing = tuple(one for one in missing if one not in still_kept)  # only a part of these was scored
    return EarlierDays(missing, late, still_kept, out_of_reach)


def missing_days(context: Context, day: date) -> tuple[date, ...]:
    """The days before another that no run has completed after their end, as far back as a nightly run catches up."""
    ledger, monitoring = RunLedger(context.state), context.settings.monitoring
    reach, look_back = timedelta(days=monitoring.catch_up_days), timedelta(days=monitoring.lookback_days)
    runs = ledger.latest_of_days(day - max(reach, look_back), day - timedelta(days=1))
    completed = {one: run for one, run in runs.items() if _completed(run)}
    done = {one for one, run in completed.items() if run.began_after_its_day(context.settings.zone)}
    is_known = ledger.last_completed_day(day - reach) is not None
    first = day - reach if is_known else max(day - reach, min(completed, default=day))
    return tuple(one for one in days_between(first, day - timedelta(days=1)) if one not in done)


def days_out_of_reach(context: Context, day: date) -> list[date]:
    """The days since the first night that no run has completed and that are too early for the nightly run of `day`."""
    ledger, reach = RunLedger(context.state), timedelta(days=context.settings.monitoring.catch_up_days)
    first, last = ledger.first_night(had_rows=True), day - reach - timedelta(days=1)
    if first is None or first > last:
        return []
    done = ledger.completed_days(first, last, context.settings.zone)
    return [one for one in days_between(first, last) if one not in done]


def stale_days(context: Context, last: date) -> dict[date, str]:
    """The scored days up to `last` that a backfill would score again regardless of the source's rows, with the reason.

    Days that a run is working on are left out.
    """
    if not (days := [day for day in context.warehouse.days(KPIS) if day <= last]):
        return {}
    runs = RunLedger(context.state).latest_of_days(days[0], days[-1])
    ended = {day: runs[day] for day in days if day in runs and runs[day].outcome != "running"}
    return {day: why for day, run in ended.items() if (why := _reason(run, context))}


def days_kept(context: Context, last: date) -> list[date]:
    """The days up to `last` that their last run kept as they were, as far back as a nightly run looks; those of which
    only a part was scored, as far back as it catches up.
    """
    monitoring, ledger = context.settings.monitoring, RunLedger(context.state)
    look_back_from, missing = last - timedelta(days=monitoring.lookback_days), missing_days(context, last)
    first = min((look_back_from, *missing))
    runs, kept = ledger.latest_of_days(first, last), ledger.latest_kept(first, last)
    watched = {day: run for day, run in kept.items() if day >= look_back_from or day in missing}
    return sorted(day for day, run in watched.items() if day not in runs or runs[day].started_at < run.started_at)


def lost_days(context: Context, last: date) -> list[date]:
    """The days up to `last` that the score tables lack, or have older than their last run, except expired ones."""
    ledger, zone = RunLedger(context.state), context.settings.zone
    runs, done = ledger.latest_of_days(date.min, last), ledger.completed_days(date.min, last, zone)
    written = WrittenDays(context, sorted(done))
    return sorted(day for day in done if not (written.have(runs[day]) or written.may_have_expired(day, written.kpis)))


def finished_night(context: Context, day: date) -> Run | None:
    """The run that scored `day`, if a nightly run of it would find it and the days before up to date; else None.

    The source is queried last: on a usual night the ledger already shows that the day is not scored.

    Raises:
        AqbError: the state database, the warehouse or the source cannot be read.
    """
    if not _known_up_to_date(context, [day]) or earlier_days(context, day) != EarlierDays():
        return None
    ledger = RunLedger(context.state)
    runs = ledger.latest_of_days(day, day)
    is_changed = any(_changed(context.settings, [day], runs, ledger.latest_kept(day, day)))
    return None if is_changed else runs[day]


def finished_backfill(context: Context, first: date, last: date, today: date) -> BackfillPlan | None:
    """The plan of a backfill, if every day of it is up to date; else None. The source is asked as for `finished_night`.

    Raises:
        AqbError: as for `backfill_plan`.
    """
    if not _known_up_to_date(context, days_between(first, last)):
        return None
    plan = backfill_plan(context, first, last, today)
    return None if plan.failures or plan.to_score(force=False) else plan


def _known_up_to_date(context: Context, days: Sequence[date]) -> bool:
    """Whether the ledger has no reason to score any of these days, regardless of the source's current rows."""
    runs = RunLedger(context.state).latest_of_days(days[0], days[-1])
    if len(runs) < len(days) or not all(map(WrittenDays(context, days).have, runs.values())):
        return False
    return not any(_reason(run, context) for run in runs.values())


def has_rows_so_far(settings: Settings, day: date) -> bool:
    """Whether the source has rows of a day in progress. Files unchanged since the day began are not read.

    A BigQuery view is assumed to have rows: the query would cost as much as scoring. A missing source has none.
    """
    if is_bigquery(settings.monitoring.source):
        return True
    began = day_window(day, settings.time_zone).start.timestamp()
    try:
        source = open_source(settings.monitoring.source, settings)
        if all(Path(file).stat().st_mtime < began for file in source.files):
            return False
    except (InputError, FileNotFoundError):
        return False
    return source_contents(source, day, day, settings.time_zone).of(day).rows > 0


def _changed(
    settings: Settings, days: list[date], runs: Mapping[date, Run], kept: Mapping[date, Run]
) -> tuple[tuple[date, ...], dict[date, str]]:
    """The days whose rows differ from the scored ones: those that are late, and those that a run has kept for the same
    rows, with its message.
    """
    if not days:
        return (), {}
    contents = _contents(settings, days[0], days[-1])
    differing = [day for day in days if contents.of(day).fingerprint != runs[day].content]
    still_kept = {
        day: kept[day].message or ""
        for day in differing
        if day in kept and contents.of(day).fingerprint == kept[day].content
    }
    return tuple(day for day in differing if day not in still_kept), still_kept


def _contents(settings: Settings, first: date, last: date) -> SourceContents:
    return source_contents(open_source(settings.monitoring.source, settings), first, last, settings.time_zone)


def _completed(run: Run) -> bool:
    return run.outcome == "completed" and run.kind != INTRADAY


def _reason(run: Run, context: Context) -> str | None:
    """Why a run now would produce other results from the same rows; None if it would not."""
    if run.outcome == "running":
        return "run died"
    if run.outcome != "completed":
        return "run failed"
    if run.kind == INTRADAY or not run.began_after_its_day(context.settings.zone):
        return "provisional"
    rubric = context.rubric
    if (run.rubric, run.rubric_version) != (rubric.id, rubric.version):
        name = "rubric" if run.rubric == rubric.id else f"rubric {run.rubric} -> {rubric.id},"
        return f"{name} {run.rubric_version} -> {rubric.version}"
    parameters = day_parameters(context.settings, rubric)
    made = {_RULES: parameters[_RULES], **(run.parameters or {})}  # runs of earlier versions did not store it
    if made[_RULES] != parameters[_RULES]:
        return f"rules of {rubric.id} {rubric.version} changed"
    return None if made == parameters else "settings"


def _all_scored(content: DayContent) -> dict[str | None, TenantRows]:
    """The rows of the source as if all were scored: an upper bound of the scored rows."""
    tenants = {tenant: TenantRows(rows) for tenant, rows in content.tenants.items()}
    return {**tenants, ALL_TENANTS: TenantRows(content.rows)}
