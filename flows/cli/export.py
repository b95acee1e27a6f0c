"""`aqb export`: writes scores for the tools that recorded the turns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.terminal import FirstDay, LastDay, day_range, nothing_scored, open_context
from scoring.days import days_between
from scoring.errors import InputError

if TYPE_CHECKING:
    from datetime import date

    from scoring.chat.rubric import RowRubric
    from tasks.context import Context

_EVENTS_OF_A_LINE = 1_000


ScoreFormat = Literal["otel-events", "langfuse"]
"""The format of the scores: that of the tool that imports them."""


def export(
    first: FirstDay,
    last: LastDay,
    form: Annotated[ScoreFormat, typer.Option("--as", help="What takes the scores.")],
    out: Annotated[Path, typer.Option(dir_okay=False, help="The file to write, JSON Lines.")],
) -> None:
    """Write the scores of some days for the tool that recorded the turns, by the id that it gave each of them.

    otel-events: `gen_ai.evaluation.result` events as OTLP, for a collector. langfuse: bodies for its API of scores.

    Example: aqb export --from 2026-02-13 --to 2026-02-13 --as langfuse --out scores.jsonl
    """
    from tasks.files.atomic import TABLE_MODE, write_text

    days = days_between(*day_range(first, last))
    context = open_context()
    counts: Counter[str] = Counter()
    unscored: list[date] = []
    lines = _lines(form, context.rubric, _named_rows(context, days, counts, unscored))
    write_text(out, (f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), TABLE_MODE)
    typer.echo(f"{counts['named']:,} of {counts['scored']:,} scored rows have an id of their source: {out}")
    if unscored:
        typer.echo(f"of {len(days):,} days {len(unscored):,} have no scores, the first is {unscored[0]}")


def _named_rows(
    context: Context, days: list[date], counts: Counter[str], unscored: list[date]
) -> Iterator[dict[str, Any]]:
    """Yields the scored rows of the days that have an id of their source, in the order of time.

    Adds all scored rows (`scored`) and those with an id (`named`) to `counts`, and days without scores to `unscored`.

    Raises:
        InputError: no day has been scored, or no scored row has an id.
    """
    from scoring.chat.results import results_schema
    from scoring.chat.row_ids import SOURCE_ID
    from tasks.config.addresses import is_bigquery
    from tasks.warehouse import table_rows
    from tasks.warehouse.tables import SCORES

    for day in days:
        scored = table_rows(context.warehouse, SCORES, results_schema(context.rubric), [day]).collect()
        if scored.is_empty():
            unscored.append(day)
            continue
        named = scored.drop_nulls(SOURCE_ID.name).sort("timestamp", "row_id")
        counts.update(scored=scored.height, named=named.height)
        yield from named.iter_rows(named=True)
    if not counts["scored"]:
        raise nothing_scored(context.warehouse.url, days)
    if not counts["named"]:
        section = "bigquery" if is_bigquery(context.settings.monitoring.source) else "monitoring"
        raise InputError(
            f"nothing to send: of {counts['scored']:,} scored rows of these days none has an id of its source",
            fix=f"score these days with a source_id: formats of tools have it, {section}.columns.source_id names it",
        )


def _lines(form: ScoreFormat, rubric: RowRubric, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, object]]:
    from scoring.chat.results import langfuse_scores, otel_events, otel_line

    if form == "langfuse":
        yield from chain.from_iterable(langfuse_scores(rubric, row) for row in rows)
        return
    events = chain.from_iterable(otel_events(rubric, row) for row in rows)
    while together := list(islice(events, _EVENTS_OF_A_LINE)):
        yield otel_line(together)
