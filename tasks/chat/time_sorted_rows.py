"""Rows that arrive in batches of any order and leave in the order of time, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import polars as pl

BUCKET_BYTES = 4_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _File(NamedTuple):
    path: Path
    first_minute: int
    last_minute: int


class TimeSortedRows:
    """Batches go to files of a folder; buckets of neighbouring minutes come back out.

    In memory stay a count per minute, the span of each file, and what is not yet worth a file. Rows of one minute are
    never split over two buckets, so whatever depends on rows with equal timestamps can be settled within a bucket.
    `timestamp` must not be NULL.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._rows_per_minute: Counter[int] = Counter()
        self._bytes = 0
        self._files: list[_File] = []
        self._waiting: list[pl.DataFrame] = []
        self._waiting_bytes = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Takes a batch with a `timestamp` column."""
        self._waiting.append(rows)
        self._waiting_bytes += int(rows.estimated_size())
        if self._waiting_bytes >= BUCKET_BYTES:
            self.spill()

    def spill(self) -> None:
        """Writes what waits to a file of its own: until then it is in memory alone."""
        rows = pl.concat(self._waiting) if self._waiting else pl.DataFrame()
        if not rows.is_empty():
            minutes = rows["timestamp"].dt.epoch("us") // 60_000_000
            self._rows_per_minute.update(dict(minutes.value_counts().iter_rows()))
            path = self._folder / f"{len(self._files):06}.arrow"
            rows.write_ipc(path)
            self._files.append(_File(path, *minutes.sort().gather([0, -1]).to_list()))
        self._bytes += self._waiting_bytes
        self._waiting, self._waiting_bytes = [], 0

    def extend(self, other: TimeSortedRows) -> None:
        """Takes over the rows of another folder, whose files stay where they are."""
        other.spill()
        self._rows_per_minute.update(other._rows_per_minute)
        self._bytes += other._bytes
        self._files += other._files

    def buckets(self) -> Iterator[pl.DataFrame]:
        """All rows in buckets of time, earlier buckets first; the rows of a bucket have no order."""
        self.spill()
        for first, last in self._bucket_minutes():
            start = _EPOCH + timedelta(minutes=first)
            end = _EPOCH + timedelta(minutes=last, microseconds=59_999_999)
            in_bucket = pl.col("timestamp").is_between(start, end)
            files = [file for file in self._files if file.first_minute <= last and file.last_minute >= first]
            yield pl.scan_ipc([file.path for file in files]).filter(in_bucket).collect()

    def _bucket_minutes(self) -> Iterator[tuple[int, int]]:
        """First and last minute of each bucket of about `BUCKET_BYTES`."""
        rows_per_bucket = max(1, BUCKET_BYTES * self._rows_per_minute.total() // max(1, self._bytes))
        minutes = sorted(self._rows_per_minute)
        if not minutes:
            return
        first, rows = minutes[0], 0
        for minute, following in zip(minutes, [*minutes[1:], None], strict=True):
            rows += self._rows_per_minute[minute]
            if rows >= rows_per_bucket or following is None:
                yield first, minute
                first, rows = minute if following is None else following, 0
