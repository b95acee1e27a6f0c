"""The command `aqb`: what people and cron call.

Exit codes: 0 done; 1 done, but something was rejected or failed, and it says what; 2 wrong usage or settings.
Heavy libraries are imported where a command needs them, so that `aqb --help` answers at once.
"""

from __future__ import annotations

import json
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from scoring.errors import AqbError, UsageError

app = typer.Typer(
    name="aqb",
    help="Scores AI agents: chatbot production rows and agent test runs, by rule and by judge.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

RUBRIC = "ola-monitoring"
_INTERRUPTED = 130
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for programs.")]
Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD")]


def main() -> None:
    """Runs the command line; an error that a person can act on is a line or two, never a traceback."""
    try:
        app()
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            typer.echo("stopped: nothing is half written, verdicts are kept; run the same command again", err=True)
        raise
    except UsageError as error:
        _complain(error)
        sys.exit(2)
    except AqbError as error:
        _complain(error)
        sys.exit(1)


@app.command()
def score(
    inputs: Annotated[
        list[str], typer.Argument(help="Files, folders or globs: chat rows, or test runs.", metavar="INPUT...")
    ],
    out: Annotated[Path, typer.Option(help="The folder for tables, summary.json and report.md.")],
    rubric: Annotated[str, typer.Option(help="The rubric's id (see `aqb rubrics`). Default: the file tells.")] = "",
    agent_type: Annotated[str, typer.Option(help="Test runs: move, plan or applicant_management.")] = "",
    option: Annotated[
        list[str] | None, typer.Option(help="Test runs: an option of the rubric.", metavar="NAME=VALUE")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Ask the judge what rules cannot tell. This costs money.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what judging would take: questions, tokens, price, time.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score files into a folder; several test runs go into a sub-folder each. Needs no server, no account and no key.

    Example: aqb score plan_agent_0224.csv --option value_lookup=direct --out out/
    """
    from flows.judging import estimate_text
    from flows.score import estimate_inputs, score_inputs
    from flows.score_text import failed, score_errors, score_text
    from tasks.run_scoring import RunChoices
    from tasks.settings import load_settings

    choices = RunChoices(rubric, agent_type, _options(option or []))
    settings = load_settings(**({"judge": {"enabled": True}} if judge else {}))
    if dry_run:
        estimates = estimate_inputs(inputs, choices, settings)
        if as_json:
            _print_json({name: vars(found) for name, found in estimates.items()})
        else:
            typer.echo("\n".join(estimate_text(name, found) for name, found in estimates.items()))
        return
    scored = score_inputs(inputs, choices, out, settings)
    if not as_json:
        typer.echo("\n".join(map(score_text, scored)))
    elif len(scored) == 1:
        _print_json(scored[0].summary)
    else:
        _print_json([{"name": one.name, "summary": one.summary, "error": one.error} for one in scored])
    for error in score_errors(scored):
        typer.echo(error, err=True)
    if failed(scored):
        raise typer.Exit(1)


@app.command()
def nightly(
    day: Annotated[
        datetime | None,
        typer.Option(
            "--date", formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="The day to score. Default: yesterday."
        ),
    ] = None,
    intraday: Annotated[
        bool, typer.Option("--intraday", help="Score today so far; the nightly run replaces it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score one day of chat rows into the warehouse, as a Prefect flow.

    Example: aqb nightly --date 2026-02-13
    """
    from flows.clock import today, yesterday
    from tasks.settings import load_settings

    if day and intraday:
        raise UsageError("--date and --intraday exclude each other", fix="--intraday always means today")
    settings = load_settings()
    if intraday:
        chosen, kind = today(settings.time_zone), "intraday"
    else:
        chosen, kind = (day.date() if day else yesterday(settings.time_zone)), "nightly"
    _run_nightly(settings, [chosen], kind, as_json=as_json)


@app.command("test-runs")
def test_runs(as_json: Json = False) -> None:
    """Score the new files of the inbox (setting `test_runs.inbox`), each once, as a Prefect flow.

    Example: aqb test-runs
    """
    from flows.clock import today
    from flows.prefect_home import prepare_prefect
    from tasks.settings import load_settings

    settings = load_settings()
    if not Path(settings.test_runs.inbox).is_dir():
        raise UsageError(
            "there is no such inbox", where=settings.test_runs.inbox, fix="make it, or set test_runs.inbox"
        )
    prepare_prefect(Path(settings.reports).parent / ".prefect")
    from flows.nightly_text import inbox_dict, inbox_text
    from flows.test_runs import IncompleteInboxError, score_inbox

    try:
        inbox = score_inbox(settings, today(settings.time_zone))
    except IncompleteInboxError as error:
        inbox = error.outcome
    if as_json:
        _print_json(inbox_dict(inbox))
    else:
        typer.echo(inbox_text(inbox))
    for problem in inbox.problems:
        typer.echo(f"warning: {problem}", err=True)
    if inbox.problems:
        raise typer.Exit(1)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder that the demo writes.")] = Path("demo"),
) -> None:
    """Run the nightly flow on the bundled synthetic samples, five days and three test runs, into a folder.

    Example: aqb demo --out demo
    """
    from scoring.days import days_between
    from tasks.samples.chat_rows import SAMPLE_DAYS, SAMPLE_FIRST_DAY, SAMPLE_PATH
    from tasks.samples.test_runs import SAMPLE_INBOX
    from tasks.settings import InboxSettings, MonitoringSettings, load_settings

    settings = load_settings(
        warehouse=str(out / "warehouse"),
        reports=str(out / "reports"),
        state_url=f"sqlite:///{out / 'state.db'}",
        monitoring=MonitoringSettings(source=str(SAMPLE_PATH)),
        test_runs=InboxSettings(inbox=str(SAMPLE_INBOX), quiet_s=0),
    )
    typer.echo("The samples are synthetic: invented companies, questions, answers and test runs.")
    last_day = SAMPLE_FIRST_DAY + timedelta(days=SAMPLE_DAYS - 1)
    _run_nightly(settings, days_between(SAMPLE_FIRST_DAY, last_day), "nightly", as_json=False)


@app.command()
def rows(
    row_ids: Annotated[list[str], typer.Argument(help="Row ids from a score table.", metavar="ROW_ID...")],
    source: Annotated[str | None, typer.Option(help="Where the rows are. Default: the configured source.")] = None,
    as_json: Json = False,
) -> None:
    """Show chat rows with every rule's points, read again from the source.

    Example: aqb rows 1f0c1a5a7b5c4d0e9f3b2a1c0d9e8f7a
    """
    from flows.rows import explained_rows
    from scoring.catalog import row_rubric
    from tasks.reports.row_explanation import explanation_dict, explanation_text
    from tasks.settings import load_settings

    found, failures = explained_rows(row_ids, source, load_settings())
    if as_json:
        _print_json([explanation_dict(row_id, row) for row_id, row in found.items()])
    elif found:
        typer.echo("\n\n".join(explanation_text(row_rubric(RUBRIC), row_id, row) for row_id, row in found.items()))
    if missing := sorted(set(row_ids) - set(found)):
        typer.echo(f"not in the source: {', '.join(missing)}", err=True)
        for failure in failures:
            _complain(failure.error)
        raise typer.Exit(1)


@app.command()
def golden(
    first: Annotated[datetime, typer.Option("--from", formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="First day.")],
    last: Annotated[datetime, typer.Option("--to", formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Last day.")],
    out: Annotated[Path | None, typer.Option(help="Write the candidates to this CSV file.")] = None,
    source: Annotated[str | None, typer.Option(help="Where the rows are. Default: the configured source.")] = None,
    as_json: Json = False,
) -> None:
    """List Golden Set candidates (final grade STAR) with their texts, read again from the source.

    Example: aqb golden --from 2026-02-01 --to 2026-02-19 --out golden.csv
    """
    from flows.rows import golden_candidates
    from tasks.settings import load_settings
    from tasks.whole_files import write_text

    if last < first:
        raise UsageError(f"--from {first:%Y-%m-%d} is after --to {last:%Y-%m-%d}", fix="swap the two days")
    candidates, failures = golden_candidates(first.date(), last.date(), source, load_settings())
    if out:
        # The byte-order mark makes Excel read the Korean texts as UTF-8.
        write_text(out, "\ufeff" + candidates.write_csv())
        typer.echo(f"{candidates.height} candidates: {out}")
    elif as_json:
        _print_json(candidates.to_dicts())
    else:
        for row in candidates.iter_rows(named=True):
            typer.echo(f"{row['row_id']}  {row['final_score']:5.1f}  {' '.join(row['user_input'].split())}")
        typer.echo(f"{candidates.height} candidates")
    for failure in failures:
        _complain(failure.error)
    if failures:
        raise typer.Exit(1)


@app.command()
def sql(
    dialect: Annotated[Literal["bigquery"], typer.Option(help="The SQL dialect.")] = "bigquery",
    source: Annotated[
        str, typer.Option(help="Table or view with the chat rows.")
    ] = "finola-global.ola_monitoring.view_ola_monitoring",
    day: Annotated[
        datetime | None,
        typer.Option("--date", formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Only this day. Default: all rows."),
    ] = None,
) -> None:
    """Print the query that scores chat rows inside BigQuery, ready to paste into its console.

    Example: aqb sql --date 2026-02-13
    """
    from flows.sql import bigquery_scoring_query
    from tasks.settings import load_settings

    typer.echo(bigquery_scoring_query(source, day.date() if day else None, load_settings()))


rubrics_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.add_typer(rubrics_app, name="rubrics")


@rubrics_app.callback()
def rubrics(context: typer.Context, as_json: Json = False) -> None:
    """List the rubrics: what each one scores, its version and its options.

    Example: aqb rubrics
    """
    from scoring.catalog import rubrics as all_rubrics
    from scoring.run_rubric import RunRubric

    if context.invoked_subcommand:
        return
    listed: list[dict[str, Any]] = [
        {
            "id": one.id,
            "version": one.version,
            "title": one.title,
            "summary": one.summary,
            "options": [vars(option) for option in one.options] if isinstance(one, RunRubric) else [],
        }
        for one in all_rubrics().values()
    ]
    if as_json:
        _print_json(listed)
        return
    for one in listed:
        typer.echo(f"{one['id']} (version {one['version']}): {one['title']}\n  {one['summary']}")
        for option in one["options"]:
            typer.echo(f"  --option {option['name']}={option['default']}: {option['reason']}")


@rubrics_app.command()
def prompt(rubric: Annotated[str, typer.Argument(help="The rubric's id.", metavar="RUBRIC")]) -> None:
    """Print a prompt for scoring a file by hand with a chat model, built from the rubric's own numbers.

    Example: aqb rubrics prompt plan-agent
    """
    from scoring.catalog import rubric_of, rubrics
    from scoring.run_rubric import RunRubric

    with_prompt = {one.id: one.prompt for one in rubrics().values() if isinstance(one, RunRubric) and one.prompt}
    if rubric_of(rubric).id not in with_prompt:
        raise UsageError(f"rubric '{rubric}' has no prompt", fix=f"use one of: {', '.join(with_prompt)}")
    typer.echo(with_prompt[rubric]())


@app.command()
def doctor(as_json: Json = False) -> None:
    """Show every setting with its origin, what can be reached, and versions. No secret is ever printed.

    Example: aqb doctor
    """
    from flows.doctor import diagnosis
    from tasks.settings import load_settings

    found = diagnosis(load_settings())
    if as_json:
        _print_json(found.as_dict())
    else:
        typer.echo(found.text())
    if not found.healthy:
        raise typer.Exit(1)


def _run_nightly(settings: Any, days: list[date], kind: str, *, as_json: bool) -> None:
    """Runs the nightly flow for each day and prints what the last one found."""
    from flows.prefect_home import prepare_prefect

    prepare_prefect(Path(settings.reports).parent / ".prefect")
    from flows.nightly import IncompleteRunError
    from flows.nightly import nightly as nightly_flow
    from flows.nightly_text import inbox_text, outcome_dict, outcome_text

    incomplete = None
    outcome = None
    for day in days:
        try:
            outcome = nightly_flow(settings, day, kind)
        except IncompleteRunError as error:
            outcome, incomplete = error.outcome, error
        if not as_json and len(days) > 1:
            typer.echo(f"{day}: {_counts_line(vars(outcome.counts))}")
        if not as_json and outcome.test_runs and day == days[0]:
            typer.echo(inbox_text(outcome.test_runs))
    if outcome is None:
        return
    if as_json:
        _print_json(outcome_dict(outcome))
    else:
        typer.echo(outcome_text(outcome, settings))
    for problem in outcome.problems:
        typer.echo(f"warning: {problem}", err=True)
    if incomplete:
        raise incomplete
    if outcome.problems:
        raise typer.Exit(1)


def _complain(error: AqbError) -> None:
    typer.echo(f"error: {error}", err=True)


def _options(given: list[str]) -> dict[str, str]:
    """`NAME=VALUE`s as a mapping."""
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, equals, _ in pairs if not equals or not name]:
        raise UsageError(
            f"'{wrong[0]}' is no NAME=VALUE", where="--option", fix="for example --option value_lookup=direct"
        )
    return {name.strip(): value.strip() for name, _, value in pairs}


def _counts_line(counts: dict[str, int]) -> str:
    return (
        f"rows in {counts['rows_in']:,} = scored {counts['scored']:,} + excluded {counts['excluded']:,}"
        f" + rejected {counts['rejected']:,}"
    )


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))
