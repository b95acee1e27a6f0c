"""`aqb score`: files into a folder."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import Json, print_json
from scoring.errors import UsageError


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
    from flows.cli.score_files import estimate_inputs, score_inputs
    from flows.cli.score_text import estimate_text, failed, score_errors, score_text
    from scoring.testrun_plan import TestRunChoices
    from tasks.config.settings import load_settings

    choices = TestRunChoices(rubric, agent_type, _options(option or []))
    settings = load_settings(**({"judge": {"enabled": True}} if judge else {}))
    if dry_run:
        estimates = estimate_inputs(inputs, choices, out, settings)
        if as_json:
            print_json({name: vars(found) for name, found in estimates.items()})
        else:
            typer.echo("\n".join(estimate_text(name, found) for name, found in estimates.items()))
        return
    scored = score_inputs(inputs, choices, out, settings)
    if not as_json:
        typer.echo("\n".join(score_text(one, asked=settings.judge.enabled) for one in scored))
    elif len(scored) == 1:
        print_json(scored[0].summary)
    else:
        print_json([{"name": one.name, "summary": one.summary, "error": one.error} for one in scored])
    for error in score_errors(scored):
        typer.echo(error, err=True)
    if failed(scored):
        raise typer.Exit(1)


def _options(given: list[str]) -> dict[str, str]:
    """`NAME=VALUE`s as a mapping."""
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, equals, _ in pairs if not equals or not name]:
        raise UsageError(
            f"'{wrong[0]}' is no NAME=VALUE", where="--option", fix="for example --option value_lookup=direct"
        )
    return {name.strip(): value.strip() for name, _, value in pairs}
