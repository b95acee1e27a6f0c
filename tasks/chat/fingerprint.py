"""What a source holds of each day, whatever files it stands in: rows, bytes, and a fingerprint of the rows.

The fingerprint does not depend on the order of the rows nor on their files. Equal fingerprints mean equal rows; it may
change with the version of Polars, which costs a needless rescan and nothing else. Rows whose time cannot be read
belong to no day and are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import polars as pl

from scoring.chat.row_ids import TEXTS
from scoring.days import Window
from tasks.chat.sources import ChatRowSource, FileFailure
from tasks.chat.sources.content import DayContent

_SEED = 7
_CONTENT = (*TEXTS, "input_tokens", "output_tokens", "timestamp", "tenant_id", "session_id")


@dataclass(frozen=True)
class SourceContents:
    """The content of every day that has rows, and the files that could not be read."""

    days: dict[date, DayContent]
    failures: list[FileFailure]

    def of(self, day: date) -> DayContent:
        """The content of a day; a day without rows has none, which is a content too."""
        return self.days.get(day, DayContent())


def content_of(rows: pl.DataFrame) -> DayContent:
    """The content of rows in the columns of the chat-row schema, whatever their days."""
    return sum((content for _, content in _contents(rows.with_columns(day=pl.lit(None, pl.Date)))), DayContent())


def source_contents(source: ChatRowSource, window: Window, time_zone: str) -> SourceContents:
    """The contents of a source within a window; where it cannot tell them, by one pass over its rows."""
    known = source.contents(window, time_zone)
    if known is not None:
        return SourceContents(known, [])
    found = SourceContents({}, [])
    local_day = pl.col("timestamp").dt.convert_time_zone(time_zone).dt.date().alias("day")
    for batch in source.batches(window):
        if isinstance(batch, FileFailure):
            found.failures.append(batch)
            continue
        for day, content in _contents(batch.rows.with_columns(local_day)):
            found.days[day] = found.of(day) + content
    return found


def _contents(rows: pl.DataFrame) -> Iterator[tuple[date, DayContent]]:
    """The content by the column `day`."""
    texts = pl.col(TEXTS).str.len_bytes().fill_null(0).cast(pl.Int64)
    sums = (
        rows.drop_nulls("timestamp")
        .select("day", "tenant_id", bytes=pl.sum_horizontal(texts), hash_sum=pl.struct(_CONTENT).hash(_SEED))
        .group_by("day", "tenant_id")
        .agg(pl.len().alias("rows"), pl.col("bytes", "hash_sum").sum())
    )
    for row in sums.iter_rows(named=True):
        day, tenant = row.pop("day"), row.pop("tenant_id")
        yield day, DayContent(**row, tenants={tenant: row["rows"]})
