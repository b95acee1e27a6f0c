"""`aqb compare`: compares two scored test runs."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import Json
from scoring.errors import UsageError, counted

_ENDINGS = (".md", ".html", ".json")


def compare(
    base: Annotated[Path, typer.Argument(help="The folder of the run to compare with.", metavar="BASE")],
    candidate: Annotated[Path, typer.Argument(help="The folder of the run to judge.", metavar="CANDIDATE")],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(help="End with exit code 1 where this holds; also .low and .high.", metavar="CONDITION"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the comparison to this .md, .html or .json file.")] = None,
    as_json: Json = False,
) -> None:
    """Compare two folders that `aqb score` wrote, query by query, with intervals.

    Example: aqb compare out/base out/candidate --fail-if "accuracy < -0.1" --out comparison.html
    """
    from scoring.stats.fail_conditions import conditions
    from tasks.config.settings import load_settings
    from tasks.files.atomic import write_text
    from tasks.reports.markdown.comparison import comparison_json, comparison_markdown, comparison_page
    from tasks.testruns.answers import answers_side_by_side
    from tasks.testruns.read_folder import read_scored_folder

    if out and out.suffix not in _ENDINGS:
        raise UsageError(f"'{out}' has no ending that says its format", fix=f"end it in one of: {', '.join(_ENDINGS)}")
    before, after = read_scored_folder(base), read_scored_folder(candidate)
    required = conditions(fail_if or [], [*before.titles, *(rate.name for rate in before.rubric.rates)])
    compared = before.rubric.compare(before.run_scores(), after.run_scores(), before.titles)
    failures = [failure for condition in required if (failure := condition.failure(compared))]
    if out:
        if out.suffix == ".html":
            names = load_settings().test_runs.names
            changed = (*compared.worse, *compared.better)
            text = comparison_page(compared, failures, answers_side_by_side(before, after, changed, names))
        else:
            text = {".md": comparison_markdown, ".json": comparison_json}[out.suffix](compared, failures)
        write_text(out, text)
    if as_json:
        typer.echo(comparison_json(compared, failures), nl=False)
    elif out:
        typer.echo(f"{counted(compared.paired, 'query')} compared: {out}")
    else:
        typer.echo(comparison_markdown(compared, failures), nl=False)
    for failure in failures:
        typer.echo(f"failed: {failure}", err=True)
    if failures:
        raise typer.Exit(1)
