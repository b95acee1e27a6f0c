"""`aqb backfill`: days of the past, scored again where they are not up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.terminal import FirstDay, Json, LastDay, complain, print_json

if TYPE_CHECKING:
    from flows.backfill import Progress
    from tasks.settings import Settings


def backfill(
    first: FirstDay,
    last: LastDay,
    force: Annotated[bool, typer.Option("--force", help="Score days that are up to date too.")] = False,
    alerts: Annotated[bool, typer.Option("--alerts", help="Send the alerts of these days.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: Json = False,
) -> None:
    """Score a range of days into the warehouse; what is up to date is skipped, so a stopped backfill goes on.

    Example: aqb backfill --from 2026-01-01 --to 2026-01-31 --dry-run
    """
    from tasks.settings import load_settings

    settings = load_settings()
    if dry_run:
        _show_plan(settings, first.date(), last.date(), force=force, as_json=as_json)
    else:
        _run(settings, first.date(), last.date(), force=force, alerts=alerts, as_json=as_json)


def _show_plan(settings: Settings, first: date, last: date, *, force: bool, as_json: bool) -> None:
    from flows.backfill_text import plan_dict, plan_text
    from flows.clock import today
    from tasks.day_plan import backfill_plan

    plan = backfill_plan(settings, first, last, today(settings.time_zone))
    if as_json:
        print_json(plan_dict(plan, force=force))
    else:
        typer.echo(plan_text(plan, force=force))
    for failure in plan.failures:
        complain(failure.error)
    if plan.failures:
        raise typer.Exit(1)


def _run(settings: Settings, first: date, last: date, *, force: bool, alerts: bool, as_json: bool) -> None:
    from flows.prefect_home import prepare_prefect, reaching_prefect

    prepare_prefect(Path(settings.reports).parent / ".prefect")
    from flows.backfill import IncompleteBackfillError, watcher
    from flows.backfill import backfill as backfill_flow
    from flows.backfill_text import outcome_dict, outcome_text

    incomplete = None
    with _shown(quiet=as_json) as show:
        token = watcher.set(show)
        try:
            with reaching_prefect():
                outcome = backfill_flow(first, last, force=force, alerts=alerts, settings=settings)
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


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Shows progress on the error stream: a bar on a terminal, a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield (lambda _: None) if quiet else _line
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("days, {task.fields[speed]} rows/s, left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, TextColumn("of"), TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task("", total=None, speed="-")

        def draw(progress: Progress) -> None:
            elapsed_s = bar.tasks[task].elapsed or 0.0
            speed = f"{progress.rows / elapsed_s:,.0f}" if elapsed_s else "-"
            bar.update(task, completed=progress.days, total=progress.total, speed=speed)

        yield draw


def _line(progress: Progress) -> None:
    """A line for every tenth of the days, and for every day that failed."""
    one = progress.latest
    tenth = max(1, progress.total // 10)
    if one is None:
        typer.echo(f"{progress.total} days to score", err=True)
    elif one.error or progress.days % tenth == 0 or progress.days == progress.total:
        said = "failed" if one.error else "scored"
        typer.echo(f"{progress.days}/{progress.total} days, {progress.rows:,} rows; {one.day} {said}", err=True)
