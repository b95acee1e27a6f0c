"""`aqb nightly`, `aqb test-runs`, `aqb demo`: the flows, started by hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from flows.cli.terminal import Json, day_option, print_json
from scoring.errors import UsageError

if TYPE_CHECKING:
    from tasks.config.settings import Settings


def nightly(
    day: Annotated[
        datetime | None,
        day_option(
            "--date", "The day to score, and no other. Default: yesterday, after the days before it that need it."
        ),
    ] = None,
    intraday: Annotated[
        bool, typer.Option("--intraday", help="Score today so far; the nightly run replaces it.")
    ] = False,
    allow_shrink: Annotated[
        bool,
        typer.Option("--allow-shrink", help="Replace the day even if the source has lost most of its rows."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be read, how much that is, and where it would go.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score one day of chat rows into the warehouse, after days that were missed or have late rows.

    Example: aqb nightly --date 2026-02-13
    """
    from flows.runtime.clock import require_started

    if day and intraday:
        raise UsageError("--date and --intraday exclude each other", fix="--intraday always means today")
    if dry_run:
        _show_plan(day.date() if day else None, intraday=intraday, as_json=as_json)
        return
    kind: Literal["nightly", "intraday"] = "intraday" if intraday else "nightly"
    settings = _settings_of_night()
    chosen = require_started(day.date(), settings.time_zone) if day else None
    _run_nightly(settings, [chosen], kind, allow_shrink=allow_shrink, as_json=as_json)


def _show_plan(day: date | None, *, intraday: bool, as_json: bool) -> None:
    """What a run would do with the day, without reading a row: in BigQuery that is a dry run, which costs nothing."""
    from flows.runtime.clock import require_started, today
    from scoring.days import day_window
    from tasks.chat.choose_engine import uses_pushdown
    from tasks.chat.sources import open_source
    from tasks.config.settings import load_settings

    settings = load_settings()
    chosen = (
        require_started(day, settings.time_zone)
        if day
        else today(settings.time_zone) - timedelta(days=0 if intraday else 1)
    )
    source = open_source(settings.monitoring.source, settings)
    plan = {
        "day": str(chosen),
        "reads": source.estimate(day_window(chosen, settings.time_zone)),
        "scores": "inside BigQuery" if uses_pushdown(settings) else "on this machine",
        "writes": settings.warehouse,
    }
    if as_json:
        print_json(plan)
    else:
        typer.echo("\n".join(f"{name:<8}{value}" for name, value in plan.items()))


def _settings_of_night() -> Settings:
    """The settings; where nobody sits at a terminal, the default webhook hears that they are wrong."""
    from tasks.config.alerts import DEFAULT_WEBHOOK
    from tasks.config.settings import load_settings

    try:
        return load_settings()
    except UsageError as error:
        if DEFAULT_WEBHOOK in os.environ and not sys.stderr.isatty():
            from flows.runtime.prefect_env import prepare_prefect

            prepare_prefect(Path("data/.prefect"))
            from flows.steps.failure_hooks import notify_without_flow

            notify_without_flow("nightly", error)
        raise


def test_runs(as_json: Json = False) -> None:
    """Score the new files of the inbox (setting `test_runs.inbox`), each once, as a Prefect flow.

    Example: aqb test-runs
    """
    from flows.runtime.clock import today
    from flows.runtime.prefect_env import prepare_prefect, reaching_prefect
    from tasks.config.settings import load_settings

    settings = load_settings()
    if not Path(settings.test_runs.inbox).is_dir():
        raise UsageError(
            "there is no such inbox", where=settings.test_runs.inbox, fix="make it, or set test_runs.inbox"
        )
    prepare_prefect(Path(settings.reports).parent / ".prefect")
    from flows.cli.nightly_text import inbox_dict, inbox_text
    from flows.test_runs import IncompleteInboxError, score_inbox

    try:
        with reaching_prefect():
            inbox = score_inbox(settings, today(settings.time_zone))
    except IncompleteInboxError as error:
        inbox = error.outcome
    if as_json:
        print_json(inbox_dict(inbox))
    else:
        typer.echo(inbox_text(inbox, asked=settings.judge.enabled))
    for problem in inbox.problems:
        typer.echo(f"warning: {problem}", err=True)
    if inbox.problems:
        raise typer.Exit(1)


def demo(
    out: Annotated[Path, typer.Option(help="The folder that the demo writes.")] = Path("demo"),
) -> None:
    """Run the nightly flow on the bundled synthetic samples, five days and three test runs, into a folder.

    Example: aqb demo --out demo
    """
    from scoring.days import days_between
    from tasks.config.alerts import AlertsSettings
    from tasks.config.settings import InboxSettings, MonitoringSettings, load_settings
    from tasks.samples import SAMPLE_DAYS, SAMPLE_FIRST_DAY, SAMPLE_INBOX, SAMPLE_PATH

    settings = load_settings(
        warehouse=str(out / "warehouse"),
        reports=str(out / "reports"),
        state_url=f"sqlite:///{out / 'state.db'}",
        monitoring=MonitoringSettings(source=str(SAMPLE_PATH)),
        test_runs=InboxSettings(inbox=str(SAMPLE_INBOX), quiet_s=0),
        alerts=AlertsSettings(dry_run=True),
    )
    typer.echo("The samples are synthetic: invented companies, questions, answers and test runs.")
    last_day = SAMPLE_FIRST_DAY + timedelta(days=SAMPLE_DAYS - 1)
    _run_nightly(settings, days_between(SAMPLE_FIRST_DAY, last_day), "nightly")
    from flows.cli.alert_text import digest_text
    from flows.steps.alerts import preview_messages
    from tasks.context import Context

    typer.echo(f"\nwhat Slack would have been told of {last_day}:")
    with Context(settings) as context:
        for message, _ in preview_messages(context, [last_day]):
            typer.echo(digest_text(message))
    typer.echo(f"\nsite: {out / 'reports' / 'index.html'}")


def _run_nightly(
    settings: Settings,
    days: Sequence[date | None],
    kind: Literal["nightly", "intraday"],
    *,
    allow_shrink: bool = False,
    as_json: bool = False,
) -> None:
    """Runs the nightly flow for each day and prints what the last one found."""
    from flows.runtime.prefect_env import PrefectGoneError, prepare_prefect, reaching_prefect

    prepare_prefect(Path(settings.reports).parent / ".prefect")
    from flows.cli.nightly_text import inbox_text, outcome_dict, outcome_text
    from flows.cli.score_text import counts_text
    from flows.nightly import IncompleteRunError
    from flows.nightly import nightly as nightly_flow
    from flows.steps.failure_hooks import notify_without_flow

    incomplete = None
    outcome = None
    for day in days:
        try:
            with reaching_prefect():
                outcome = nightly_flow(settings, day, kind, allow_shrink)
        except IncompleteRunError as error:
            outcome, incomplete = error.outcome, error
        except PrefectGoneError as error:
            if not sys.stderr.isatty():
                notify_without_flow("nightly", error, settings)
            raise
        if not as_json and len(days) > 1 and outcome.own.outcome:
            typer.echo(f"{outcome.scored.day}: {counts_text(vars(outcome.scored.counts))}")
        if not as_json and outcome.test_runs and day == days[0]:
            typer.echo(inbox_text(outcome.test_runs, asked=settings.judge.enabled))
    if outcome is None:
        return
    if as_json:
        print_json(outcome_dict(outcome))
    else:
        typer.echo(outcome_text(outcome, settings))
    for problem in outcome.problems:
        typer.echo(f"warning: {problem}", err=True)
    if incomplete:
        raise incomplete
    if outcome.problems:
        raise typer.Exit(1)
