"""`aqb thresholds`: reports whether scored rows still support the thresholds of the rubric."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import FirstDay, Json, LastDay, day_range, nothing_scored, open_context, show
from scoring.days import days_between
from scoring.errors import UsageError, counted


def thresholds(
    first: FirstDay,
    last: LastDay,
    out: Annotated[Path | None, typer.Option(help="Write the report to this markdown file.")] = None,
    as_json: Json = False,
) -> None:
    """Rebuild the evidence behind the thresholds from scored chat rows. It never changes a threshold.

    Example: aqb thresholds --from 2026-02-01 --to 2026-02-19
    """
    from tasks.files.atomic import write_text
    from tasks.warehouse import table_rows
    from tasks.warehouse.tables import SCORES

    days = days_between(*day_range(first, last))
    context = open_context()
    warehouse, rubric = context.warehouse, context.rubric
    if rubric.evidence is None:
        raise UsageError(
            f"rubric '{rubric.id}' does not say what its thresholds were drawn from",
            fix="choose a rubric that does with monitoring.rubric, such as ola-monitoring",
        )
    rows = table_rows(warehouse, SCORES, rubric.evidence.schema, days)
    evidence = rubric.evidence.report(rows, f"{days[0]} ~ {days[-1]}")
    if not evidence.rows:
        raise nothing_scored(warehouse.url, days)
    if out:
        write_text(out, evidence.markdown)
        typer.echo(f"{counted(evidence.rows, 'row')}: {out}", err=as_json)
    if as_json or not out:
        show(evidence.values, evidence.markdown.removesuffix("\n"), as_json=as_json)
