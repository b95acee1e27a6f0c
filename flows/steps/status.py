"""The state of an installation: nights, days, inbox, outbox, cost, disk and database. Read-only and without Prefect."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from flows.runtime.clock import now, today
from flows.runtime.code_version import code_version
from flows.steps.watch import unreported_runs
from scoring.chat.kpi_windows import WEEK
from scoring.errors import AqbError, counted
from tasks.alerts.outbox import Outbox
from tasks.alerts.unfinished import dead_runs, late_night
from tasks.chat.day_plan import days_kept, days_out_of_reach, lost_days, missing_days, stale_days
from tasks.chat.tables import KPIS
from tasks.config.services import services_of
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.discovery import nearest_there
from tasks.judge.verdict_store import VerdictStore
from tasks.state.leases import Leases
from tasks.state.run_ledger import Run, RunLedger
from tasks.testruns.inbox import files_of_inbox

_LEAST_FREE_BYTES = 1_000_000_000
_MONTH = timedelta(days=30)


@dataclass
class Status:
    """The state by subject, and the problems that a person should look at.

    `facts` are for people and programs: named values by subject, None if unknown. `gauges` are the same as numbers, by
    their Prometheus names, with a label for a service.
    """

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def status_of(settings: Settings) -> Status:
    """Checks everything; a check that fails is a problem and stops no other."""
    found = Status()
    rubrics = dict.fromkeys(one.monitoring.rubric for one in services_of(settings))
    found.facts["versions"] = {"aqb": code_version(), "rubric": ", ".join(rubrics)}
    with Context(settings, read_only=True) as context:
        if _looked(_database, context, found):
            for one in context.services:
                _look_at_service(one, found)
            for look in (_inbox, _outbox, _judge):
                _looked(look, context, found)
        _looked(_disk, context, found)
    found.gauges["problems"] = len(found.problems)
    return found


def _looked(look: Callable[[Context, Status], None], context: Context, found: Status) -> bool:
    try:
        look(context, found)
    except (AqbError, OSError) as error:
        found.problems.append(f"{look.__name__.removeprefix('_')}: {error}")
        return False
    return True


def _look_at_service(context: Context, found: Status) -> None:
    """Checks nights and days; the results of a named service carry its name."""
    name, own = context.settings.service, Status()
    for look in (_nights, _days):
        _looked(look, context, own)
    label = f'{{service="{name}"}}' if name else ""
    found.facts |= {f"{subject} {name}".strip(): facts for subject, facts in own.facts.items()}
    found.gauges |= {gauge + label: value for gauge, value in own.gauges.items()}
    found.problems += [f"{name}: {problem}" if name else problem for problem in own.problems]


def _database(context: Context, found: Status) -> None:
    """Checks that the stores that are read below have their tables."""
    for store in (RunLedger, Leases, Outbox):
        store(context.state)
    outdated = context.state.outdated
    found.facts["database"] = {"kind": "SQLite" if context.state.is_sqlite else "PostgreSQL", "lacking": outdated}
    if outdated:
        raise AqbError(f"it lacks {', '.join(outdated)}", fix="aqb upgrade")
    if unused := context.state.lacking:
        raise AqbError(f"no run has made {', '.join(unused)} yet", fix="aqb nightly")


def _nights(context: Context, found: Status) -> None:
    at, zone = now(), context.settings.zone
    ledger, local = RunLedger(context.state), at.astimezone(zone)
    due = datetime.combine(local.date(), time.fromisoformat(context.settings.alerts.watch.due), zone)
    late, dead, unreported = late_night(context, at), dead_runs(context, at), unreported_runs(context, at)
    last_run, last_day = ledger.last_of_service(1), ledger.last_completed_day(date.max)
    found.facts["nights"] = {
        "last_run": _run(last_run[0], zone) if last_run else None,
        "last_completed_day": last_day,
        "next_due": f"{due if local < due else due + timedelta(days=1):%Y-%m-%d %H:%M}",
        "late": late.day if late else None,
    }
    if last_day:
        found.gauges["last_completed_day_timestamp_seconds"] = datetime.combine(last_day, time(), zone).timestamp()
    found.gauges["night_late"] = float(late is not None)
    found.gauges["dead_runs"] = len(dead)
    if late:
        found.problems.append(f"nights: no run has completed {late.day}; `{late.command}` does")
    died = dict.fromkeys((one.title, one.command) for one in dead)
    found.problems += [f"nights: the process of {title} is gone; `{command}` does it" for title, command in died]
    found.problems += [f"nights: {one.title} has notified nobody; `{one.command}` does" for one in unreported]


def _run(run: Run, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "kind": run.kind,
        "day": run.score_date,
        "outcome": run.outcome,
        "started_at": f"{run.started_at.astimezone(zone):%Y-%m-%d %H:%M}",
    }


def _days(context: Context, found: Status) -> None:
    """Days without a completed run, days that the score tables lost, and days that a backfill would score again.

    A day that a run is just scoring again, because of late rows, is not missing.
    """
    yesterday = today(context.settings.time_zone) - timedelta(days=1)
    in_work = _days_in_work(context, yesterday)
    kept = days_kept(context, yesterday)  # the next night leaves these, too, unless their rows are there again
    missing = [day for day in missing_days(context, yesterday) if day not in {*in_work, *kept}]
    stale = stale_days(context, yesterday)
    beyond, lost = days_out_of_reach(context, yesterday), lost_days(context, yesterday)
    found.facts["days"] = {
        "missing": [*beyond, *missing],
        "lost": lost,
        "stale": {str(day): reason for day, reason in stale.items()},
    }
    found.gauges |= {"days_missing": len(beyond) + len(missing), "days_lost": len(lost), "days_stale": len(stale)}
    if beyond:
        found.problems.append(
            f"days: no run has completed {counted(len(beyond), 'day')} since {beyond[0]}, further back than a night "
            f"catches up; `aqb backfill --from {beyond[0]} --to {beyond[-1]}` does"
        )
    if missing:
        found.problems.append(
            f"days: no run has completed {counted(len(missing), 'day')} since {missing[0]}; `aqb nightly` does"
        )
    if lost:
        found.problems.append(
            f"days: missing in the score tables, or older than their last run: {counted(len(lost), 'day')}, since "
            f"{lost[0]}; check `warehouse`, then `aqb backfill --from {lost[0]} --to {lost[-1]}`"
        )
    if ahead := [day for day in context.warehouse.days(KPIS) if day > yesterday + timedelta(days=1)]:
        found.problems.append(
            f"days: the score tables have {counted(len(ahead), 'day')} to come, scored by a clock that was ahead; "
            "`aqb doctor` says what to do"
        )
    if kept:
        found.problems.append(
            f"days: the source lacks rows of {counted(len(kept), 'day')} that were scored, since {kept[0]}; the scores "
            "stay, check its retention and address"
        )
    if stale:
        first, last = min(stale), max(stale)
        found.problems.append(
            f"days: {len(stale)} are stale ({', '.join(sorted(set(stale.values())))}); "
            f"`aqb backfill --from {first} --to {last}` scores them again"
        )


def _days_in_work(context: Context, last: date) -> set[date]:
    runs = RunLedger(context.state).unended_of_days(date.min, last)
    alive = Leases(context.state).alive([run.run_id for run in runs])
    return {run.score_date for run in runs if run.run_id in alive}


def _inbox(context: Context, found: Status) -> None:
    seen, failed = files_of_inbox(context, now()), RunLedger(context.state).failed_inputs()
    wrong = [first.name for first, *_ in seen.new if first.sha256 in failed.keys() - seen.lost.keys()]
    waiting = len(seen.new) - len(wrong)
    wrong += [file.name for file in seen.refused]
    found.facts["inbox"] = {"waiting": waiting, "scored": len(seen.known), "failed": wrong}
    found.gauges |= {"inbox_waiting": waiting, "inbox_failed": len(wrong)}
    if wrong:
        found.problems.append(f"inbox: {counted(len(wrong), 'file')} cannot be scored: {', '.join(wrong[:3])}")
    if seen.lost:
        found.problems.append(
            f"inbox: the score tables lack {counted(len(seen.lost), 'test run')} that were completed, since "
            f"{min(seen.lost.values())}; check `warehouse`, then `aqb test-runs` scores them again"
        )


def _outbox(context: Context, found: Status) -> None:
    outbox = Outbox(context.state)
    waiting, lost = outbox.waiting(), outbox.given_up(since=now() - timedelta(WEEK))
    found.facts["outbox"] = {"waiting": len(waiting), "given_up_this_week": len(lost)}
    found.gauges |= {"outbox_waiting": len(waiting), "outbox_given_up": len(lost)}
    if failing := [one for one in waiting if one.last_error]:
        found.problems.append(
            f"outbox: {counted(len(failing), 'message')} could not be sent so far ({failing[0].last_error}); every run "
            "tries again, and `aqb alerts`"
        )
    if lost:
        found.problems.append(f"outbox: {counted(len(lost), 'message')} given up this week: `aqb alerts --pending`")


def _judge(context: Context, found: Status) -> None:
    judge, store = context.settings.judge, VerdictStore(context.state)
    is_asked = "verdicts" not in context.state.lacking  # the first question makes the table
    spent_usd = store.usd_since(now() - _MONTH) if is_asked else 0.0
    found.facts["judge"] = {
        "model": judge.model if judge.enabled else None,
        "spent_usd_30_days": spent_usd,
        "budget_usd_a_run": judge.max_usd,
    }
    if spent_usd is not None:
        found.gauges["judge_cost_usd_30_days"] = spent_usd


def _disk(context: Context, found: Status) -> None:
    places = {"reports": context.settings.reports, "warehouse": context.settings.warehouse}
    folders = {name: nearest_there(Path(place).absolute()) for name, place in places.items() if "://" not in place}
    free = {name: shutil.disk_usage(folder).free for name, folder in folders.items()}
    found.facts["disk"] = {f"{name}_free_bytes": count for name, count in free.items()}
    found.gauges["disk_free_bytes"] = min(free.values())
    scarce = {folders[name]: count for name, count in free.items() if count < _LEAST_FREE_BYTES}
    found.problems += [f"disk: {folder}: {count // 1_000_000:,} MB are free" for folder, count in scarce.items()]
    locked = [str(folder) for folder in folders.values() if not os.access(folder, os.W_OK)]
    found.problems += [f"disk: {folder} cannot be written" for folder in dict.fromkeys(locked)]
