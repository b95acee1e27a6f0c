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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for programs.")]
Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD")]


def main() -> None:
    """Runs the command line; an error that a person can act on is a line or two, never a traceback."""
    try:
        app()
    except UsageError as error:
        _complain(error)
        sys.exit(2)
    except AqbError as error:
        _complain(error)
        sys.exit(1)


@app.command()
def score(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders or globs with chat rows.", metavar="INPUT...")],
    out: Annotated[Path, typer.Option(help="The folder for tables, summary.json and report.md.")],
    rubric: Annotated[str, typer.Option(help="The rubric's id (see `aqb rubrics`).")] = RUBRIC,
    as_json: Json = False,
) -> None:
    """Score files into a folder. Needs no server, no account and no key.

    Example: aqb score chats.csv --rubric ola-monitoring --out out/
    """
    from flows.score import score_to_folder
    from tasks.settings import load_settings

    summary = score_to_folder(inputs, rubric, out, load_settings())
    counts, quality = summary["counts"], summary["data_quality"]
    if as_json:
        _print_json(summary)
    else:
        typer.echo(_counts_line(counts))
        for name, kpi in summary["kpis"].items():
            typer.echo(f"  {name}: {_number(kpi['value'])} (target {kpi['target']}, met: {_yes_no(kpi['met'])})")
        typer.echo(f"report: {out / 'report.md'}\ntables: {out}/*.parquet")
    for failed in quality["failed_files"]:
        typer.echo(f"error: {failed['error']}", err=True)
    if counts["rejected"]:
        typer.echo(f"{counts['rejected']} rows rejected: {out / 'rejected.parquet'} says which and why", err=True)
    if quality["failed_files"] or counts["rejected"]:
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


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder that the demo writes.")] = Path("demo"),
) -> None:
    """Run the nightly flow on the bundled synthetic sample, five days, into a folder.

    Example: aqb demo --out demo
    """
    from scoring.days import days_between
    from tasks.samples.chat_rows import SAMPLE_DAYS, SAMPLE_FIRST_DAY, SAMPLE_PATH
    from tasks.settings import MonitoringSettings, load_settings

    settings = load_settings(
        warehouse=str(out / "warehouse"),
        reports=str(out / "reports"),
        state_url=f"sqlite:///{out / 'state.db'}",
        monitoring=MonitoringSettings(source=str(SAMPLE_PATH)),
    )
    typer.echo("The sample is synthetic: invented companies, questions and answers.")
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

    found = explained_rows(row_ids, source, load_settings())
    if as_json:
        _print_json([explanation_dict(row_id, row) for row_id, row in found.items()])
    elif found:
        typer.echo("\n\n".join(explanation_text(row_rubric(RUBRIC), row_id, row) for row_id, row in found.items()))
    if missing := sorted(set(row_ids) - set(found)):
        typer.echo(f"not in the source: {', '.join(missing)}", err=True)
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
    candidates = golden_candidates(first.date(), last.date(), source, load_settings())
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


@app.command()
def rubrics(as_json: Json = False) -> None:
    """List the rubrics: what each one scores, and its version.

    Example: aqb rubrics
    """
    from scoring.catalog import rubrics as all_rubrics

    listed = [
        {"id": one.id, "version": one.version, "title": one.title, "summary": one.summary}
        for one in all_rubrics().values()
    ]
    if as_json:
        _print_json(listed)
        return
    for one in listed:
        typer.echo(f"{one['id']} (version {one['version']}): {one['title']}\n  {one['summary']}")


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
    from flows.nightly_text import outcome_dict, outcome_text

    incomplete = None
    outcome = None
    for day in days:
        try:
            outcome = nightly_flow(settings, day, kind)
        except IncompleteRunError as error:
            outcome, incomplete = error.outcome, error
        if not as_json and len(days) > 1:
            typer.echo(f"{day}: {_counts_line(vars(outcome.counts))}")
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


def _counts_line(counts: dict[str, int]) -> str:
    return (
        f"rows in {counts['rows_in']:,} = scored {counts['scored']:,} + excluded {counts['excluded']:,}"
        f" + rejected {counts['rejected']:,}"
    )


def _number(value: float | None) -> str:
    return "no rows" if value is None else f"{value:.4g}"


def _yes_no(met: bool | None) -> str:
    return {True: "yes", False: "no", None: "-"}[met]


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))
