"""`aqb backfill`: scores the days of a past period that are not up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.terminal import FirstDay, Json, LastDay, complain, finish, progress, show
from flows.runtime.clock import today
from flows.runtime.prefect_env import prepare_prefect, running_flows
from scoring.days import days_window
from scoring.errors import counted

if TYPE_CHECKING:
    from flows.backfill import BackfillOutcome
    from tasks.chat.day_plan import BackfillPlan, PlannedDay
    from tasks.config.settings import Settings

_MEGABYTE = 1_000_000


def backfill(
    first: FirstDay,
    last: LastDay,
    force: Annotated[bool, typer.Option("--force", help="Score days that are up to date too.")] = False,
    alerts: Annotated[bool, typer.Option("--alerts", help="Send the alerts of these days.")] = False,
    allow_shrink: Annotated[
        bool, typer.Option("--allow-shrink", help="Replace days of which the source has lost most rows, too.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done, and why.")] = False,
    as_json: Json = False,
) -> None:
    """Score a range of days into the warehouse; what is up to date is skipped, so a stopped backfill goes on.

    What is wrong with a day that is skipped, such as rejected rows, is said again, with exit code 1.

    Example: aqb backfill --from 2026-01-01 --to 2026-01-31 --dry-run
    """
    from tasks.config.settings import load_settings

    settings = load_settings()
    if dry_run:
        _show_plan(settings, first, last, force=force, allow_shrink=allow_shrink, as_json=as_json)
    elif force or alerts or not _shown_up_to_date(settings, first, last, as_json=as_json):
        options = {"force": force, "alerts": alerts, "allow_shrink": allow_shrink}
        _run(settings, first, last, options, as_json=as_json)


def _show_plan(settings: Settings, first: date, last: date, *, force: bool, allow_shrink: bool, as_json: bool) -> None:
    from tasks.chat.day_plan import backfill_plan
    from tasks.chat.sources import open_source
    from tasks.config.addresses import is_bigquery
    from tasks.config.services import refuse_several
    from tasks.context import Context

    refuse_several(settings)
    with Context(settings) as context:
        plan = backfill_plan(context, first, last, today(settings.time_zone))
    chosen = plan.to_score(force=force)
    kept = [] if allow_shrink else [planned for planned in chosen if planned.losses]
    lines = [planned.text(force=force, allow_shrink=allow_shrink) for planned in plan.days]
    if chosen and is_bigquery(settings.monitoring.source):
        window = days_window(chosen[0].day, chosen[-1].day, settings.time_zone)
        lines.append(f"reads {open_source(settings.monitoring.source, settings).estimate(window)}")
    show(_plan_dict(plan, chosen, kept), "\n".join(lines + _plan_sums(plan, chosen, kept)), as_json=as_json)
    for failure in plan.failures:
        complain(failure.error)
    if plan.failures:
        raise typer.Exit(1)


def _shown_up_to_date(settings: Settings, first: date, last: date, *, as_json: bool) -> bool:
    """Prints that all days are up to date if nothing is left to do; returns whether that is so.

    Prefect is not started for it.

    Raises:
        typer.Exit: one of the days has a problem, which is printed again.
    """
    from flows.steps.nothing_to_do import backfilled_plan
    from tasks.context import Context

    with Context(settings) as context:
        plan = backfilled_plan(context, first, last, today(settings.time_zone))
    if plan is None:
        return False
    days = len(plan.days)
    text = f"0 days scored, {days} up to date before, 0 failed; 0 rows"
    show({"days": [], "up_to_date": days}, text, as_json=as_json)
    finish(plan.problems)
    return True


def _run(settings: Settings, first: date, last: date, options: dict[str, bool], *, as_json: bool) -> None:
    prepare_prefect(settings.reports)
    from flows.backfill import IncompleteBackfillError, watcher
    from flows.backfill import backfill as backfill_flow

    incomplete = None
    began_s = time.monotonic()
    with progress("backfill", "days") as show_days:

        def watch(days: int, total: int, rows: int) -> None:
            show_days(days, total, f"{rows / (time.monotonic() - began_s):,.0f} rows/s" if rows else "")

        token = watcher.set(watch)
        try:
            with running_flows():
                outcome = backfill_flow(first, last, settings=settings, **options)
        except IncompleteBackfillError as error:
            outcome, incomplete = error.outcome, error
        finally:
            watcher.reset(token)
    show(_outcome_dict(outcome), _outcome_text(outcome), as_json=as_json)
    finish(outcome.problems, incomplete)


def _plan_sums(plan: BackfillPlan, chosen: Sequence[PlannedDay], kept: Sequence[PlannedDay]) -> list[str]:
    return [
        f"{plan.days[0].day} to {plan.days[-1].day}: {_size(plan.days)}",
        f"  up to date: {counted(sum(planned.up_to_date for planned in plan.days), 'day')}",
        f"  to score:   {_size([planned for planned in chosen if planned not in kept])}",
        *(
            [f"  kept:       {counted(len(kept), 'day')} that would shrink; --allow-shrink replaces them"]
            if kept
            else []
        ),
        "  judge:      0 questions, 0 USD (chat rows are scored by rule alone)",
    ]


def _plan_dict(plan: BackfillPlan, chosen: Sequence[PlannedDay], kept: Sequence[PlannedDay]) -> dict[str, Any]:
    """The plan as JSON values: what would be done with each day."""
    chosen_days, kept_days = ({planned.day for planned in days} for days in (chosen, kept))
    return {
        "days": [
            {
                "day": str(planned.day),
                "rows": planned.content.rows,
                "bytes": planned.content.bytes or (None if planned.content.rows else 0),  # unknown for a view
                "up_to_date": planned.up_to_date,
                "reason": "would shrink" if planned.losses and planned.day in chosen_days else planned.reason,
                "to_score": planned.day in chosen_days - kept_days,
                "losses": [asdict(one) for one in planned.losses],
            }
            for planned in plan.days
        ],
        "questions": 0,
        "usd": 0,
        "unread_files": [failure.file for failure in plan.failures],
    }


def _outcome_text(outcome: BackfillOutcome) -> str:
    """The numbers of days and rows, in one line."""
    failed, kept = len(outcome.failed), sum(one.kept is not None for one in outcome.days)
    scored = counted(len(outcome.days) - failed - kept, "day")
    return (
        f"{scored} scored, {outcome.up_to_date} up to date before, {failed} failed"
        + (f", {kept} kept as they were" if kept else "")
        + f"; {counted(outcome.rows, 'row')}"
    )


def _outcome_dict(outcome: BackfillOutcome) -> dict[str, Any]:
    return {
        "days": [
            {
                "day": str(one.day),
                "complete": one.complete,
                "kept": one.kept is not None,
                "run_id": one.outcome and one.outcome.run_id,
                "counts": one.outcome and asdict(one.outcome.counts),
                "problems": list(one.problems),
            }
            for one in outcome.days
        ],
        "up_to_date": outcome.up_to_date,
    }


def _size(days: Sequence[PlannedDay]) -> str:
    rows, size = sum(planned.content.rows for planned in days), sum(planned.content.bytes for planned in days)
    of_text = f", {size / _MEGABYTE:,.1f} MB of text" if size or not rows else ""  # unknown for a view
    return f"{counted(len(days), 'day')}, {counted(rows, 'row')}{of_text}"
