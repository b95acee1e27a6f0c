"""`aqb rows`, `aqb golden`: rows read again from the source, with their texts."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import FirstDay, Json, LastDay, complain, print_json
from scoring.errors import UsageError


def rows(
    row_ids: Annotated[list[str], typer.Argument(help="Row ids from a score table.", metavar="ROW_ID...")],
    source: Annotated[str | None, typer.Option(help="Where the rows are. Default: the configured source.")] = None,
    as_json: Json = False,
) -> None:
    """Show chat rows with every rule's points, read again from the source.

    Example: aqb rows 1f0c1a5a7b5c4d0e9f3b2a1c0d9e8f7a
    """
    from flows.cli.row_lookup import explained_rows
    from tasks.config.settings import load_settings
    from tasks.context import Context
    from tasks.reports.markdown.row_explanation import explanation_dict, explanation_text

    context = Context(load_settings())
    found, failures = explained_rows(row_ids, source, context)
    if as_json:
        print_json([explanation_dict(row_id, row) for row_id, row in found.items()])
    elif found:
        time_zone = context.settings.time_zone
        texts = (explanation_text(context.rubric, row_id, row, time_zone) for row_id, row in found.items())
        typer.echo("\n\n".join(texts))
    if missing := sorted(set(row_ids) - set(found)):
        typer.echo(f"not in the source: {', '.join(missing)}", err=True)
        for failure in failures:
            complain(failure.error)
        raise typer.Exit(1)


def golden(
    first: FirstDay,
    last: LastDay,
    out: Annotated[Path | None, typer.Option(help="Write the candidates to this CSV file.")] = None,
    source: Annotated[str | None, typer.Option(help="Where the rows are. Default: the configured source.")] = None,
    as_json: Json = False,
) -> None:
    """List Golden Set candidates (the best final grade) with their texts, read again from the source.

    Example: aqb golden --from 2026-02-01 --to 2026-02-19 --out golden.csv
    """
    from polars.selectors import datetime

    from flows.cli.row_lookup import golden_candidates
    from scoring.catalog import row_rubric
    from tasks.config.settings import load_settings
    from tasks.context import Context
    from tasks.files.atomic import write_text
    from tasks.files.excel_csv import excel_csv

    if last < first:
        raise UsageError(f"--from {first:%Y-%m-%d} is after --to {last:%Y-%m-%d}", fix="swap the two days")
    settings = load_settings()
    candidates, failures = golden_candidates(first.date(), last.date(), source, Context(settings))
    if out:
        local = candidates.with_columns(datetime().dt.convert_time_zone(settings.time_zone))
        write_text(out, excel_csv([local.columns, *local.iter_rows()]))
        typer.echo(f"{candidates.height} candidates: {out}")
    elif as_json:
        print_json(candidates.to_dicts())
    else:
        total = row_rubric(settings.monitoring.rubric).total
        for row in candidates.iter_rows(named=True):
            typer.echo(f"{row['row_id']}  {row[total]:5.1f}  {' '.join(row['user_input'].split())}")
        typer.echo(f"{candidates.height} candidates")
    for failure in failures:
        complain(failure.error)
    if failures:
        raise typer.Exit(1)
