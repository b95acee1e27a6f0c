"""`aqb rows` and `aqb golden`: rows read again from the source and scored again, with their texts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from scoring.chat.row_ids import KEY_HEX_DIGITS, TEXTS
from scoring.chat.rows import FileFailure
from scoring.days import Window, day_window
from scoring.rules.explain import Explanation, explain
from tasks.chat.local_engine import ScoredRows, score_chat_rows
from tasks.chat.sources import open_source
from tasks.chat.tables import SCORES
from tasks.context import Context


def explained_rows(
    row_ids: Sequence[str], source: str | None, context: Context
) -> tuple[dict[str, Explanation], list[FileFailure]]:
    """The rows of these ids that the source holds, in the order asked, explained; and files not read."""
    rubric = context.rubric
    computed = {definition.name for definition in rubric.definitions}
    inputs = [name for name in rubric.scores_schema.names if name not in computed]
    found = {}
    with _scored(source, _window_of(row_ids, context), context) as outcome:
        for frame in outcome.score_frames():
            for row in frame.filter(pl.col("row_id").is_in(list(row_ids))).select(inputs).iter_rows(named=True):
                found[row["row_id"]] = explain(rubric.definitions, row)
        return {row_id: found[row_id] for row_id in row_ids if row_id in found}, outcome.failures


def golden_candidates(
    first: date, last: date, source: str | None, context: Context
) -> tuple[pl.DataFrame, list[FileFailure]]:
    """Rows of the best grade from `first` to `last`, best first: id, time, score, question, answer; and files not read.

    Source: seed 002, 7.2.
    """
    time_zone = context.settings.time_zone
    window = Window(day_window(first, time_zone).start, day_window(last, time_zone).end)
    rubric = context.rubric
    best = pl.col(rubric.final_scale.column) == rubric.final_scale.codes[0]
    columns = ["row_id", "timestamp", "tenant_id", *filter(None, [rubric.category]), rubric.total, *TEXTS]
    with _scored(source, window, context) as outcome:
        found = [frame.filter(best).select(columns) for frame in outcome.score_frames()]
        if not found:
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.String)), outcome.failures
        best_first = pl.concat(found).sort([rubric.total, "timestamp", "row_id"], descending=[True, False, False])
        return best_first, outcome.failures


@contextmanager
def _scored(source: str | None, window: Window | None, context: Context) -> Iterator[ScoredRows]:
    """The rows of the window scored with their texts, as long as the block lasts."""
    settings = context.settings
    with TemporaryDirectory(prefix="aqb-") as folder:
        yield score_chat_rows(
            open_source(source or settings.monitoring.source, settings),
            context.rubric,
            time_zone=settings.time_zone,
            window=window,
            staging=Path(folder) / "staging",
            keep_text="all",
        )


def _window_of(row_ids: Sequence[str], context: Context) -> Window | None:
    """The days on which the warehouse has these rows; None (look everywhere) when it does not have them all."""
    keys = [row_id[:KEY_HEX_DIGITS] for row_id in row_ids]
    scores = context.warehouse.read(SCORES)
    if scores is None:
        return None
    known = (
        scores.filter(pl.col("row_id").str.head(KEY_HEX_DIGITS).is_in(keys)).select("row_id", "score_date").collect()
    )
    if not set(row_ids) <= set(known["row_id"]):
        return None
    days = known["score_date"].unique().sort().to_list()
    time_zone = context.settings.time_zone
    return Window(day_window(days[0], time_zone).start, day_window(days[-1], time_zone).end)
