"""`aqb rubrics`, `aqb sql`: what is scored, and the rules as a query."""

from datetime import datetime
from typing import Annotated, Any, Literal

import typer

from flows.cli.terminal import Json, day_option, print_json
from scoring.errors import UsageError

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
    if as_json:
        print_json(listed)
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
    from scoring.testruns.rubric import TestRunRubric

    with_prompt = {one.id: one.prompt for one in rubrics().values() if isinstance(one, TestRunRubric) and one.prompt}
    if rubric_of(rubric).id not in with_prompt:
        raise UsageError(f"rubric '{rubric}' has no prompt", fix=f"use one of: {', '.join(with_prompt)}")
    typer.echo(with_prompt[rubric]())


def sql(
    dialect: Annotated[Literal["bigquery"], typer.Option(help="The SQL dialect.")] = "bigquery",
    source: Annotated[
        str, typer.Option(help="Table or view with the chat rows.")
    ] = "finola-global.ola_monitoring.view_ola_monitoring",
    day: Annotated[datetime | None, day_option("--date", "Only this day. Default: all rows.")] = None,
) -> None:
    """Print the query that scores chat rows inside BigQuery, ready to paste into its console.

    Example: aqb sql --date 2026-02-13
    """
    from flows.cli.sql_text import bigquery_scoring_query
    from tasks.config.settings import load_settings

    typer.echo(bigquery_scoring_query(source, day.date() if day else None, load_settings()))
