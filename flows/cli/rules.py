"""`aqb rubrics`, `aqb sql`: list and check rubrics, print files to start one with, and print the scoring query."""

from __future__ import annotations

import json
import re
from datetime import date
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.terminal import Json, day_option, show
from scoring.days import day_window
from scoring.errors import UsageError
from scoring.rubrics import DEFAULT_ROW_RUBRIC

if TYPE_CHECKING:
    from tasks.config.settings import Settings

# project.dataset.table or dataset.table. A project may have a domain; a table name has letters of any script, ` `, `-`.
_TABLE_NAME = re.compile(r"(?:(?:[A-Za-z0-9.-]+:)?[A-Za-z0-9_-]+\.)?[A-Za-z0-9_-]+\.[\w -]+")
_PRODUCTION_VIEW = "finola-global.ola_monitoring.view_ola_monitoring"
Kind = Annotated[Literal["chat", "testrun"], typer.Option(help="What the rubric scores: chat rows or test runs.")]
rubrics_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@rubrics_app.callback()
def rubrics(context: typer.Context, as_json: Json = False) -> None:
    """List the rubrics: what each one scores, its version and its options.

    Example: aqb rubrics
    """
    from scoring.catalog import rubrics as all_rubrics
    from scoring.testruns.rubric import TestRunRubric

    if context.invoked_subcommand:
        return
    listed: list[dict[str, Any]] = [
        {
            "id": one.id,
            "version": one.version,
            "title": one.title,
            "summary": one.summary,
            "options": [vars(option) for option in one.options] if isinstance(one, TestRunRubric) else [],
        }
        for one in all_rubrics().values()
    ]
    lines = []
    for one in listed:
        lines.append(f"{one['id']} (version {one['version']}): {one['title']}\n  {one['summary']}")
        lines += [f"  --option {option['name']}={option['default']}: {option['reason']}" for option in one["options"]]
    show(listed, "\n".join(lines), as_json=as_json)


@rubrics_app.command()
def prompt(rubric: Annotated[str, typer.Argument(help="The rubric's id.", metavar="RUBRIC")]) -> None:
    """Print a prompt for scoring a file by hand with a chat model, built from the rubric's own numbers.

    Example: aqb rubrics prompt plan-agent
    """
    from scoring.catalog import rubric_of, testrun_rubrics

    with_prompt = {name: one.prompt for name, one in testrun_rubrics().items() if one.prompt}
    if rubric_of(rubric).id not in with_prompt:
        raise UsageError(f"rubric '{rubric}' has no prompt", fix=f"use one of: {', '.join(with_prompt)}")
    typer.echo(with_prompt[rubric]())


@rubrics_app.command()
def check(file: Annotated[str, typer.Argument(help="The rubric's TOML file.", metavar="FILE")]) -> None:
    """Say whether a rubric file can score; if not, name line, column and what to write instead.

    Example: aqb rubrics check support-bot.toml
    """
    from scoring.testruns.rubric import TestRunRubric
    from tasks.files.rubric_file import rubric_of_file

    rubric = rubric_of_file(file)
    if isinstance(rubric, TestRunRubric):
        typer.echo(
            f"{rubric.id} (version {rubric.version}): {len(rubric.metrics)} metrics: "
            f"{', '.join(metric.name for metric in rubric.metrics)}\n"
            f"  score test runs: aqb score FILE --rubric {file}"
        )
        return
    targets = sum(kpi.target is not None for kpi in rubric.quotients)
    typer.echo(
        f"{rubric.id} (version {rubric.version}): {len(rubric.definitions)} columns, "
        f"{len(rubric.alert_rules)} alert rule(s), {targets} KPI(s) with a target\n"
        f"  score rows: aqb score ROWS --rubric {file}"
    )


@rubrics_app.command()
def new(kind: Kind = "chat") -> None:
    """Print a small rubric file for the chat rows, or the test runs, of a support bot: a beginning for your own.

    Example: aqb rubrics new --kind testrun > support-tests.toml
    """
    name = "starter_rubric.toml" if kind == "chat" else "starter_testrun_rubric.toml"
    typer.echo(files("flows.cli").joinpath(name).read_text(encoding="utf-8"), nl=False)


@rubrics_app.command()
def schema(kind: Kind = "chat") -> None:
    """Print the JSON schema of rubric files: with it an editor completes keys and underlines what is wrong.

    Example: aqb rubrics schema > rubric.schema.json
    """
    from scoring.rubric_files.shape import rubric_schema
    from scoring.rubric_files.testruns.shape import testrun_rubric_schema

    made = rubric_schema() if kind == "chat" else testrun_rubric_schema()
    typer.echo(json.dumps(made, indent=2, ensure_ascii=False))


def sql(
    dialect: Annotated[Literal["bigquery"], typer.Option(help="The SQL dialect.")] = "bigquery",
    source: Annotated[
        str | None, typer.Option(help="Table or view with the chat rows. Default: that of monitoring.source.")
    ] = None,
    day: Annotated[date | None, day_option("--date", "Only this day. Default: all rows.")] = None,
) -> None:
    """Print the query that scores chat rows inside BigQuery, ready to paste into its console.

    BigQuery is not asked: the columns are taken to be those of the production view, of its types, under the names of
    bigquery.columns. A night looks at the view, and reads other types and a view without tenants or sessions too.

    Example: aqb sql --date 2026-02-13
    """
    from tasks.config.settings import load_settings

    settings = load_settings()
    if source is None:
        source = _view_of(settings)
    typer.echo(bigquery_scoring_query(source, day, settings))


def _view_of(settings: Settings) -> str:
    """The view of `monitoring.source`; if that is files, the production view, or a placeholder for another rubric."""
    from tasks.config.addresses import is_bigquery, table_of

    monitoring = settings.monitoring
    if is_bigquery(monitoring.source):
        return str(table_of(monitoring.source))
    return _PRODUCTION_VIEW if monitoring.rubric == DEFAULT_ROW_RUBRIC else "project.dataset.view"


def bigquery_scoring_query(source: str, day: date | None, settings: Settings) -> str:
    """The scoring query over `source` for one day of the configured time zone, or for all rows.

    The columns of `source` are those of the production view, under the names of `[bigquery]` `prefix` and `columns`.

    Raises:
        UsageError: `source` is no table name, or the settings are of several services.
    """
    from scoring.chat.sql_rows import chat_rows_query, rejecting_unreadable
    from scoring.chat.sql_scores import scoring_query
    from scoring.rules.googlesql_backend import literal
    from tasks.config.services import refuse_several
    from tasks.files.rubric_file import chosen_row_rubric

    if not _TABLE_NAME.fullmatch(source):
        raise UsageError(f"'{source}' is no table name", fix="write project.dataset.table or dataset.table")
    period = None
    if day:
        window = day_window(day, settings.time_zone)
        start, end = (literal(f"{instant:%Y-%m-%d %H:%M:%S}+00") for instant in (window.start, window.end))
        period = f"TIMESTAMP {start}", f"TIMESTAMP {end}"
    refuse_several(settings)
    names = {str(name): path for name, path in settings.bigquery.columns.items()}
    return scoring_query(
        rejecting_unreadable(chosen_row_rubric(settings.monitoring.rubric)),
        chat_rows=chat_rows_query(
            source,
            prefix=settings.bigquery.prefix,
            names=names,
            period=period,
            naive_zone=settings.monitoring.naive_timestamps,
        ),
        time_zone=settings.time_zone,
        keep_text=settings.monitoring.keep_text,
    )
