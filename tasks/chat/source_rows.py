"""Reads rows from the source again and scores them with their texts, which score tables keep for some rows only."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from scoring.chat.erasure import not_erased
from scoring.chat.explained_rows import explained_rows
from scoring.chat.rows import FileFailure
from scoring.days import Window, days_window
from scoring.errors import UsageError
from scoring.rules.explain import Explanation
from tasks.chat.local_engine import ScoringJob
from tasks.chat.sources import open_source
from tasks.config.addresses import is_bigquery
from tasks.context import Context
from tasks.files.atomic import writable
from tasks.state.erased_sessions import erased_sessions
from tasks.warehouse import rows_with_ids


@contextmanager
def scored_source(
    source: str | None, window: Window | None, context: Context
) -> Iterator[tuple[Iterator[pl.DataFrame], list[FileFailure]]]:
    """The rows of the window scored with their texts, available within the block, and the unreadable files.

    None is the configured source. Rows of erased sessions are left out, even if it still has them.

    Raises:
        StorageError: the state database cannot be used, or the folder of temporary files cannot be written.
    """
    settings, erased = context.settings, erased_sessions(context.state)
    with TemporaryDirectory(prefix="aqb-") as folder:
        with writable(Path(folder).parent, "free space there, or set TMPDIR to a folder on a larger disk"):
            opened = open_source(source or settings.monitoring.source, settings)
            rows = ScoringJob(
                opened, context.rubric, settings.time_zone, window, "all", Path(folder) / "staging"
            ).scored()
        yield (not_erased(frame, erased) for frame in rows.score_frames()), rows.failures


def rows_of_source(
    row_ids: Sequence[str], source: str | None, window: Window | None, context: Context
) -> tuple[dict[str, Explanation], list[FileFailure]]:
    """The rows of the source with these ids, in their order, explained; and the unreadable files."""
    with scored_source(source, window, context) as (scored, failures):
        return explained_rows(context.rubric, scored, row_ids), failures


def window_of(row_ids: Sequence[str], source: str | None, context: Context) -> Window | None:
    """The days of the source that are read for these rows: those on which the warehouse has them.

    If it lacks any of them, all days of files are read (None). A view in BigQuery, which bills what it reads, may hold
    years: of it those days alone are read.

    Raises:
        UsageError: the rows are in such a view, and the warehouse has none of them.
    """
    known = rows_with_ids(context.warehouse, context.rubric, row_ids, ["row_id", "score_date"])
    is_view = is_bigquery(address := source or context.settings.monitoring.source)
    if not (is_view or set(row_ids) <= set(known["row_id"])):
        return None
    if known.is_empty():
        raise UsageError(
            "no scored day has these rows, and a view is not read as a whole",
            where=address,
            fix="check the ids, or score their day first: aqb backfill --from DAY --to DAY",
        )
    days = known["score_date"]
    return days_window(days[0], days[-1], context.settings.time_zone)
