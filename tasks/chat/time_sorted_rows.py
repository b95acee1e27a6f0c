"""Sorts batches of rows by time in bounded memory.

    batches --> files of some thousand rows --> buckets of neighbouring minutes

Rows that arrive nearly sorted make files of few minutes each, so a bucket is read from few files. Unsorted rows, such
as a BigQuery export, make files that all overlap every bucket. Such files are first split by time, repeatedly if
needed, so the work grows with the rows, not with their square.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import polars as pl

BUCKET_BYTES = 4_000_000
_MANY_READS = 10
"""Files per bucket: reading more of them takes longer than writing all rows again."""

_FILES_AT_ONCE = 4  # each file that is split: 50 MB with its parts
_PARTS = 16
_TIME = pl.Datetime("us", "UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Span(NamedTuple):
    """A range of minutes since 1970, both ends included."""

    first: int
    last: int

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows within these minutes, from rows sorted by time."""
        borders = pl.Series([_EPOCH + timedelta(minutes=minute) for minute in (self.first, self.last + 1)], dtype=_TIME)
        start, end = rows["timestamp"].search_sorted(borders)
        return rows[start:end]

    def overlaps(self, other: _Span) -> bool:
        """Whether the ranges share a minute."""
        return self.first <= other.last and other.first <= self.last


class _File(NamedTuple):
    path: Path
    span: _Span


class TimeSortedRows:
    """Writes batches to files of a folder; returns them in buckets of neighbouring minutes.

    In memory are a count per minute, the span of each file, and rows too few for a file; for unsorted rows also a few
    files at a time. The folder holds all rows twice while they are split. Rows of one minute are always in one bucket,
    so whatever depends on rows with equal timestamps can be computed within a bucket. `timestamp` must not be NULL.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._rows_per_minute: Counter[int] = Counter()
        self._bytes = 0
        self._files: list[_File] = []
        self._waiting: list[pl.DataFrame] = []
        self._waiting_bytes = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Adds a batch with a `timestamp` column."""
        self._waiting.append(rows)
        self._waiting_bytes += int(rows.estimated_size())
        if self._waiting_bytes >= BUCKET_BYTES:
            self.spill()

    def spill(self) -> None:
        """Writes the buffered rows, which are only in memory, to a file."""
        rows = pl.concat(self._waiting) if self._waiting else pl.DataFrame()
        if not rows.is_empty():
            minutes = rows["timestamp"].dt.epoch("us") // 60_000_000
            self._rows_per_minute.update(dict(minutes.value_counts().iter_rows()))
            path = self._folder / f"{len(self._files):06}.arrow"
            (rows if rows["timestamp"].is_sorted() else rows.sort("timestamp")).write_ipc(path)
            self._files.append(_File(path, _Span(*minutes.sort().gather([0, -1]).to_list())))
        self._bytes += self._waiting_bytes
        self._waiting, self._waiting_bytes = [], 0

    def extend(self, other: TimeSortedRows) -> None:
        """Adds the rows of another folder, whose files stay where they are."""
        other.spill()
        self._rows_per_minute.update(other._rows_per_minute)
        self._bytes += other._bytes
        self._files += other._files

    def buckets(self) -> Iterator[pl.DataFrame]:
        """All rows in buckets of time, earlier buckets first; a bucket is unsorted."""
        self.spill()
        self._part_by_time()
        read = lru_cache(maxsize=2)(_read)  # for sorted rows a file overlaps the next bucket, too
        for bucket in self._buckets():
            files = (file.path for file in self._files if file.span.overlaps(bucket))
            yield pl.concat(bucket.of(read(path)) for path in files)

    def _buckets(self) -> list[_Span]:
        """The minutes of each bucket of about `BUCKET_BYTES`."""
        rows_per_bucket = max(1, BUCKET_BYTES * self._rows_per_minute.total() // max(1, self._bytes))
        buckets: list[_Span] = []
        minutes, rows = [], 0
        for minute in sorted(self._rows_per_minute):
            minutes.append(minute)
            rows += self._rows_per_minute[minute]
            if rows >= rows_per_bucket:
                buckets.append(_Span(minutes[0], minutes[-1]))
                minutes, rows = [], 0
        if minutes:
            buckets.append(_Span(minutes[0], minutes[-1]))
        return buckets

    def _part_by_time(self) -> None:
        """Splits the files by time if a bucket would be read from many."""
        buckets = self._buckets()
        if len(buckets) < 2 or self._reads(buckets) <= _MANY_READS * len(buckets):
            return
        starts = [bucket.first for bucket in buckets[:: -(-len(buckets) // _PARTS)]]
        parts = [TimeSortedRows(self._folder / f"from-minute-{start}") for start in starts]
        borders = pl.Series([_EPOCH + timedelta(minutes=start) for start in starts[1:]], dtype=_TIME)
        for first in range(0, len(self._files), _FILES_AT_ONCE):
            files = self._files[first : first + _FILES_AT_ONCE]
            rows = pl.concat(_read(file.path) for file in files).sort("timestamp")
            cuts = [0, *rows["timestamp"].search_sorted(borders).to_list(), rows.height]
            for part, (start, end) in zip(parts, pairwise(cuts), strict=True):
                part.add(rows[start:end])
                part.spill()  # buffered rows would keep the memory of the rows they were cut from
        former, self._files = self._files, []
        for part in parts:
            part._part_by_time()
            self._files += part._files
        for file in former:
            file.path.unlink()

    def _reads(self, buckets: Sequence[_Span]) -> int:
        """The number of times that files are read for buckets."""
        firsts, lasts = [bucket.first for bucket in buckets], [bucket.last for bucket in buckets]
        return sum(bisect_right(firsts, span.last) - bisect_left(lasts, span.first) for _, span in self._files)


def _read(path: Path) -> pl.DataFrame:
    return pl.scan_ipc(path, glob=False).collect()  # `read_ipc` would take a folder such as `[team]` for a pattern
