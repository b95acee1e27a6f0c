"""`aqb rows`, `aqb golden`: read rows from the source and score them again, with their texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from flows.cli.terminal import FirstDay, Json, LastDay, complain, day_range, open_context, refuse_other_than_csv, show
from scoring.days import days_window
from scoring.markdown import one_line

if TYPE_CHECKING:
    import polars as pl

    from scoring.chat.rubric import CodedColumn


Source = Annotated[str | None, typer.Option(help="Where the rows are. Default: the configured source.")]


def rows(
    row_ids: Annotated[list[str], typer.Argument(help="Row ids from a score table.", metavar="ROW_ID...")],
    source: Source = None,
    as_json: Json = False,
) -> None:
    """Show chat rows with every rule's points, read again from the source: of BigQuery only the scored days that have
    one of them.

    Example: aqb rows 1f0c1a5a7b5c4d0e9f3b2a1c0d9e8f7a
    """
    from tasks.chat.source_rows import rows_of_source, window_of
    from tasks.config.services import refuse_several
    from tasks.reports.markdown.row_explanation import explanation_dict, explanation_text

    with open_context() as context:
        refuse_several(context.settings)
        found, failures = rows_of_source(row_ids, source, window_of(row_ids, source, context), context)
    if found or as_json:
        zone = context.settings.time_zone
        texts = [explanation_text(context.rubric, row_id, row, zone) for row_id, row in found.items()]
        show([explanation_dict(*row) for row in found.items()], "\n\n".join(texts), as_json=as_json)
    if missing := sorted(set(row_ids) - set(found)):
        typer.echo(f"not in the source, or of an erased session: {', '.join(missing)}", err=True)
        for failure in failures:
            complain(failure.error)
        raise typer.Exit(1)


def golden(
    first: FirstDay,
    last: LastDay,
    out: Annotated[Path | None, typer.Option(help="Write the candidates to this CSV file.")] = None,
    limit: Annotated[int, typer.Option(help="The most candidates to list.", min=1)] = 100,
    by: Annotated[
        Literal["category", "tenant", "none"],
        typer.Option(help="Kinds of rows that give their best in turn where there are more than the limit."),
    ] = "category",
    source: Source = None,
    as_json: Json = False,
) -> None:
    """List Golden Set candidates (the best final grade) with their texts, one per question template, read again from
    the source.

    Example: aqb golden --from 2026-02-01 --to 2026-02-19 --limit 50 --out golden.csv
    """
    from scoring.chat.golden import SAME_TEMPLATE, best_rows, golden_candidates
    from tasks.chat.source_rows import scored_source
    from tasks.config.services import refuse_several

    days = day_range(first, last)
    if out:
        refuse_other_than_csv(out)
    with open_context() as context:
        refuse_several(context.settings)
        window = days_window(*days, context.settings.time_zone)
        with scored_source(source, window, context) as (scored, failures):
            rows = best_rows(context.rubric, scored)
    category = context.rubric.category
    stratum = {"category": category.column if category else None, "tenant": "tenant_id", "none": None}[by]
    candidates = golden_candidates(context.rubric, rows, limit, stratum)
    counted = f"{candidates.height} candidates"
    if candidates.height < rows.height:
        counted += f" of {rows.height} rows: one per question template, at most {limit}"
    if out:
        _write_csv(out, candidates, category, context.settings.time_zone)
        typer.echo(f"{counted}: {out}")
    else:
        lines = [
            f"{row['row_id']}  {row[context.rubric.total]:5.1f}  x{row[SAME_TEMPLATE]}  {one_line(row['user_input'])}"
            for row in candidates.iter_rows(named=True)
        ]
        show(candidates.to_dicts(), "\n".join([*lines, counted]), as_json=as_json)
    for failure in failures:
        complain(failure.error)
    if failures:
        raise typer.Exit(1)


def _write_csv(path: Path, candidates: pl.DataFrame, category: CodedColumn | None, time_zone: str) -> None:
    """Writes candidates as CSV for Excel, with local times and the titles of question categories."""
    import polars as pl
    from polars.selectors import datetime

    from tasks.files.atomic import TABLE_MODE, write_text
    from tasks.files.excel import excel_csv

    local = candidates.with_columns(datetime().dt.convert_time_zone(time_zone))
    if category:
        local = local.with_columns(pl.col(category.column).replace(category.titles))
    write_text(path, excel_csv([local.columns, *local.iter_rows()]), TABLE_MODE)
