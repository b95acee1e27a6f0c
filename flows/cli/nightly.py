"""`aqb nightly`, `aqb test-runs`, `aqb demo`: run the flows from the command line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.alerts import message_text
from flows.cli.finished_night import show_finished_night
from flows.cli.score import counts_text, kpi_line, no_judge_text
from flows.cli.terminal import Json, day_option, finish, show
from flows.runtime.clock import now, require_started, today
from flows.runtime.prefect_env import PrefectGoneError, prepare_prefect, running_flows
from scoring.days import day_window, days_between
from scoring.errors import AqbError, StorageError, UsageError, shown_name

if TYPE_CHECKING:
    from flows.nightly import NightlyOutcome
    from flows.steps.day import DayOutcome
    from flows.steps.inbox_outcome import InboxOutcome
    from tasks.config.settings import Settings


def nightly(
    day: Annotated[
        date | None,
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

    Without --date a night that is finished is left as it is.

    Example: aqb nightly --date 2026-02-13
    """
    if day and intraday:
        raise UsageError("--date and --intraday exclude each other", fix="--intraday always means today")
    if dry_run:
        _show_plan(day, intraday=intraday, as_json=as_json)
        return
    settings = _settings_of_night()
    if not (day or intraday or allow_shrink) and show_finished_night(settings, as_json=as_json):
        return
    chosen = require_started(day, settings.time_zone) if day else None
    _run_nightly(settings, [chosen], "intraday" if intraday else "nightly", allow_shrink=allow_shrink, as_json=as_json)


def _show_plan(day: date | None, *, intraday: bool, as_json: bool) -> None:
    """Prints what a run would do with the day.

    Of files only the first rows of the newest one are read; of BigQuery none: a dry run of the query costs nothing.
    """
    from tasks.chat.choose_engine import uses_pushdown
    from tasks.chat.sources import open_source
    from tasks.config.services import refuse_several
    from tasks.config.settings import load_settings

    settings = load_settings()
    refuse_several(settings)
    zone = settings.time_zone
    chosen = require_started(day, zone) if day else today(zone) - timedelta(days=0 if intraday else 1)
    source = open_source(settings.monitoring.source, settings)
    plan = {
        "day": str(chosen),
        "reads": source.estimate(day_window(chosen, zone)),
        "scores": "inside BigQuery" if uses_pushdown(settings) else "on this machine",
        "writes": settings.warehouse,
    }
    show(plan, "\n".join(f"{name:<8}{value}" for name, value in plan.items()), as_json=as_json)


def _settings_of_night() -> Settings:
    """Loads the settings; if they are wrong and there is no terminal, notifies the default webhook.

    Raises:
        UsageError: a wrong setting.
    """
    from tasks.config.alerts import DEFAULT_WEBHOOK
    from tasks.config.secret_places import is_set
    from tasks.config.settings import Settings, load_settings

    try:
        return load_settings()
    except UsageError as error:
        if is_set(DEFAULT_WEBHOOK) and not sys.stderr.isatty():
            prepare_prefect(Settings.model_fields["reports"].default)
            from flows.steps.failure_hooks import notify_without_flow

            notify_without_flow(error)
        raise


def test_runs(as_json: Json = False) -> None:
    """Score the new files of the inbox (setting `test_runs.inbox`), each once, as a Prefect flow.

    With --json `failures` says of every file that was not scored why, `refused` of those of them that cannot be read.

    Example: aqb test-runs
    """
    from flows.steps.nothing_to_do import scored_inbox
    from tasks.config.settings import load_settings
    from tasks.context import Context
    from tasks.files.presence import is_folder

    settings = load_settings()
    if not is_folder(Path(settings.test_runs.inbox)):
        raise UsageError(
            "there is no such inbox", where=settings.test_runs.inbox, fix="make it, or set test_runs.inbox"
        )
    with Context(settings) as context:
        inbox = None if settings.service else scored_inbox(context, now())
    if inbox is None:
        prepare_prefect(settings.reports)
        from flows.test_runs import IncompleteInboxError, score_inbox

        try:
            with running_flows():
                inbox = score_inbox(settings, today(settings.time_zone))
        except IncompleteInboxError as error:
            inbox = error.outcome
    show(_inbox_dict(inbox), _inbox_text(inbox, asked=settings.judge.enabled), as_json=as_json)
    finish(inbox.problems)


def demo(
    out: Annotated[Path, typer.Option(help="The folder that the demo writes.")] = Path("demo"),
) -> None:
    """Run the nightly flow on the bundled synthetic samples, five days and three test runs, into a folder.

    Example: aqb demo --out demo
    """
    from tasks.config.alerts import AlertsSettings
    from tasks.config.settings import MonitoringSettings, load_settings
    from tasks.config.testruns import InboxSettings
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
    from flows.steps.alerts import preview_messages
    from tasks.context import Context

    typer.echo(f"\nwhat Slack would have been told of {last_day}:")
    with Context(settings) as context:
        for message, _ in preview_messages(context, [last_day]):
            typer.echo(message_text(message))
    typer.echo(f"\ndashboard: {out / 'reports' / 'index.html'}")
    typer.echo(f"every row in a browser: {places_as_variables(settings)} aqb web")


def places_as_variables(settings: Settings) -> str:
    """The environment variables for source, tables, reports and state, as written before a shell command."""
    places = {
        "AQB_WAREHOUSE": settings.warehouse,
        "AQB_REPORTS": settings.reports,
        "AQB_STATE_URL": settings.state_url,
        "AQB_MONITORING__SOURCE": settings.monitoring.source,
    }
    return " ".join(f"{name}={shlex.quote(place)}" for name, place in places.items())


def _run_nightly(
    settings: Settings,
    days: Sequence[date | None],
    kind: Literal["nightly", "intraday"],
    *,
    allow_shrink: bool = False,
    as_json: bool = False,
) -> None:
    """Runs the nightly flow for each day and prints the result of the last one."""
    try:
        prepare_prefect(settings.reports)
    except StorageError as error:
        _notify_unseen(error, settings)
        raise
    from flows.nightly import IncompleteRunError, IncompleteServicesError
    from flows.nightly import nightly as nightly_flow

    incomplete = outcome = None
    for day in days:
        try:
            with running_flows():
                outcome = nightly_flow(settings, day, kind, allow_shrink)
        except (IncompleteRunError, IncompleteServicesError) as error:
            outcome, incomplete = error.outcome, error
        except PrefectGoneError as error:
            _notify_unseen(error, settings)
            raise
        if not as_json and len(days) > 1 and outcome.own.outcome:
            typer.echo(f"{outcome.scored.day}: {counts_text(vars(outcome.scored.counts))}")
        if not as_json and outcome.test_runs and day == days[0]:
            typer.echo(_inbox_text(outcome.test_runs, asked=settings.judge.enabled))
    assert outcome, "there is a day"
    show(_outcome_dict(outcome), "\n".join(_outcome_lines(outcome, settings)), as_json=as_json)
    finish(outcome.problems, incomplete)


def _notify_unseen(error: AqbError, settings: Settings) -> None:
    """Notifies people of an error that ended a night outside of any flow, unless it is shown on a terminal."""
    if not sys.stderr.isatty():
        from flows.steps.failure_hooks import notify_without_flow

        notify_without_flow(error, settings)


def _outcome_lines(outcome: NightlyOutcome, settings: Settings) -> Iterator[str]:
    """The lines of counts, KPIs, alerts and the locations of tables and report; one service after the other."""
    if outcome.services:
        for one in outcome.services:
            yield f"\nservice {one.own.service}"
            yield from _service_lines(one, settings)
        yield f"\ndashboard: {outcome.site.path}"
        return
    yield ""
    yield from _service_lines(outcome, settings)


def _service_lines(outcome: NightlyOutcome, settings: Settings) -> Iterator[str]:
    for one in outcome.earlier:
        outcome_text = "kept as it was" if one.kept else "scored" if one.complete else "not complete"
        yield f"{one.day}: {one.why}, {outcome_text}"
    own = outcome.own
    if own.outcome:
        yield from _day_lines(own.outcome)
    else:
        yield f"{own.day}: {own.kept or own.error or own.why}"
    yield f"tables: {settings.warehouse}"
    if own.outcome:
        yield f"report: {own.outcome.report}"
        if outcome.site.path:
            yield f"dashboard: {outcome.site.path}"


def _day_lines(scored: DayOutcome) -> Iterator[str]:
    from scoring.chat.kpis import ALL_TENANTS
    from scoring.chat.rubric import KPI_RULE

    yield f"{scored.day}: {counts_text(vars(scored.counts))}"
    yield from (f"  {notice}" for notice in scored.notices)
    yield from (kpi_line(name, figure.text) for name, figure in scored.figures.items())
    facts = [fact for fact in scored.alerts if fact.tenant_id == ALL_TENANTS]
    if facts:
        yield "alerts:"
    for fact in facts:
        if fact.count is not None:
            count = f"{fact.count:,} of {fact.rows:,}"
        else:
            kpi = scored.figures[fact.rule.removeprefix(KPI_RULE)]
            count = f"{kpi.value_text} (target {kpi.target_text})"
        usual = f", usually {', '.join(map(str, fact.usual))}" if fact.usual else ""
        yield f"  {fact.level:<9} {fact.rule:<26} {count}{usual}"


def _outcome_dict(outcome: NightlyOutcome) -> dict[str, Any]:
    """The content of `_outcome_lines` as JSON values."""
    site = {"site": str(outcome.site.path) if outcome.site.path else None}
    end = {"problems": list(outcome.problems), "test_runs": outcome.test_runs and _inbox_dict(outcome.test_runs)}
    if outcome.services:
        services = {one.own.service: _outcome_dict(one) for one in outcome.services}
        return {"day": str(outcome.own.day), "services": services, **site, **end}
    scored = outcome.own.outcome
    return {
        "run_id": scored and scored.run_id,
        "day": str(outcome.own.day),
        "up_to_date": False,
        "kept": outcome.own.kept and str(outcome.own.kept),
        "counts": scored and asdict(scored.counts),
        "kpis": scored and scored.kpis,
        "figures": scored and {name: figure.as_dict() for name, figure in scored.figures.items()},
        "alerts": [asdict(fact) for fact in scored.alerts] if scored else [],
        "report": scored and str(scored.report),
        **site,
        "earlier": [
            {
                "day": str(one.day),
                "why": one.why,
                "kept": one.kept is not None,
                "counts": one.outcome and asdict(one.outcome.counts),
            }
            for one in outcome.earlier
        ],
        **end,
    }


def _inbox_text(inbox: InboxOutcome, *, asked: bool) -> str:
    """The counts of scored, failed and known files; the means and reports of the scored ones; the arriving files.

    With `asked` (the judge is enabled) a line reports questions that had no judge to answer them.
    """
    from scoring.testruns.summaries import mean_text

    failed = len(inbox.failures) + len(inbox.refused)
    lines = [f"test runs: {len(inbox.scored)} scored, {failed} failed, {inbox.known} scored before"]
    for run in inbox.scored:
        means = [
            f"{name} {shown}"
            for name, value in run.summary["set"].items()
            if isinstance(value, Mapping) and (shown := mean_text(value)) != mean_text({})
        ]
        lines.append(
            f"  {shown_name(run.name)} ({run.summary['rubric']}): {', '.join(means) or 'nothing was scored'}\n"
            f"    report: {run.folder / 'report.md'}"
        )
    unanswered = sum(run.summary["judge"]["by_status"].get("no_judge", 0) for run in inbox.scored)
    if unanswered and asked:
        lines.append(f"  {no_judge_text(unanswered, asked=asked)}")
    if inbox.arriving:
        lines.append(f"  still arriving, left for the next run: {', '.join(map(shown_name, inbox.arriving))}")
    return "\n".join(lines)


def _inbox_dict(inbox: InboxOutcome) -> dict[str, Any]:
    return {
        "scored": [{"name": run.name, "folder": str(run.folder), "summary": run.summary} for run in inbox.scored],
        "failures": [*map(str, inbox.failures), *inbox.refused],
        "refused": list(inbox.refused),
        "known": inbox.known,
        "arriving": list(inbox.arriving),
    }
