"""`aqb backfill`: days of the past, scored again where they are not up to date."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.progress import Show, progress
from flows.cli.terminal import FirstDay, Json, LastDay, complain, print_json

if TYPE_CHECKING:
    from flows.backfill import BackfillProgress
    from tasks.config.settings import Settings


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

    Example: aqb backfill --from 2026-01-01 --to 2026-01-31 --dry-run
    """
    from tasks.config.settings import load_settings

    settings = load_settings()
    if dry_run:
        _show_plan(settings, first.date(), last.date(), force=force, allow_shrink=allow_shrink, as_json=as_json)
    else:
        options = {"force": force, "alerts": alerts, "allow_shrink": allow_shrink}
        _run(settings, first.date(), last.date(), options, as_json=as_json)


def _show_plan(settings: Settings, first: date, last: date, *, force: bool, allow_shrink: bool, as_json: bool) -> None:
    from flows.cli.backfill_text import plan_dict, plan_text
    from flows.runtime.clock import today
    from tasks.chat.day_plan import backfill_plan
    from tasks.context import Context

    with Context(settings) as context:
        plan = backfill_plan(context, first, last, today(settings.time_zone))
    if as_json:
        print_json(plan_dict(plan, force=force, allow_shrink=allow_shrink))
    else:
        typer.echo(plan_text(plan, force=force, allow_shrink=allow_shrink))
    for failure in plan.failures:
        complain(failure.error)
    if plan.failures:
        raise typer.Exit(1)


def _run(settings: Settings, first: date, last: date, options: dict[str, bool], *, as_json: bool) -> None:
    from flows.runtime.prefect_env import prepare_prefect, reaching_prefect

    prepare_prefect(Path(settings.reports).parent / ".prefect")
    from flows.backfill import IncompleteBackfillError, watcher
    from flows.backfill import backfill as backfill_flow
    from flows.cli.backfill_text import outcome_dict, outcome_text

    incomplete = None
    with progress("backfill", "days") as show:
        token = watcher.set(_watched(show))
        try:
            with reaching_prefect():
                outcome = backfill_flow(first, last, settings=settings, **options)
        except IncompleteBackfillError as error:
            outcome, incomplete = error.outcome, error
        finally:
            watcher.reset(token)
    if as_json:
        print_json(outcome_dict(outcome))
    else:
        typer.echo(outcome_text(outcome))
    for problem in outcome.problems:
        typer.echo(f"warning: {problem}", err=True)
    if incomplete:
        raise incomplete
    if outcome.problems:
        raise typer.Exit(1)


def _watched(show: Show) -> Callable[[BackfillProgress], None]:
    """Tells of each day that is over, and how fast rows are read."""
    began_s = time.monotonic()

    def tell(done: BackfillProgress) -> None:
        seconds = time.monotonic() - began_s
        show(done.days, done.total, f"{done.rows / seconds:,.0f} rows/s" if done.rows else "")

    return tell
