from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.chat import time_sorted_rows
from tasks.chat.time_sorted_rows import TimeSortedRows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = datetime(2026, 2, 13, tzinfo=UTC)
MINUTE_US = 60_000_000


def rows_at(microseconds: Sequence[int], first_number: int = 0) -> pl.DataFrame:
    """Numbered rows at these microseconds after 1970."""
    return pl.DataFrame(
        {
            "timestamp": pl.Series(microseconds, dtype=pl.Int64).cast(pl.Datetime("us", "UTC")),
            "number": pl.Series(range(first_number, first_number + len(microseconds)), dtype=pl.Int64),
        }
    )


def buckets_of(batches: Sequence[Sequence[int]], bucket_bytes: int) -> list[pl.DataFrame]:
    """What comes out when these batches of times went in."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_sorted_rows, "BUCKET_BYTES", bucket_bytes)
        rows = TimeSortedRows(Path(folder) / "rows")
        number = 0
        for batch in batches:
            rows.add(rows_at(batch, number))
            number += len(batch)
        return list(rows.buckets())


START_US = (START - EPOCH) // timedelta(microseconds=1)
# Few minutes, and their first and last microseconds, so that edges are met often.
times = st.builds(
    lambda minute, within: START_US + minute * MINUTE_US + within,
    st.integers(-4, 6),
    st.sampled_from([0, 1, 30_000_000, MINUTE_US - 1]),
)


@given(batches=st.lists(st.lists(times, max_size=8), max_size=6), bucket_bytes=st.sampled_from([1, 40, 100, 10_000]))
def test_every_row_leaves_once_in_buckets_of_time_that_share_no_minute(
    batches: list[list[int]], bucket_bytes: int
) -> None:
    buckets = buckets_of(batches, bucket_bytes)
    everything = [time for batch in batches for time in batch]
    numbers = [number for bucket in buckets for number in bucket["number"]]
    minutes = [set(bucket["timestamp"].dt.epoch("us") // MINUTE_US) for bucket in buckets]

    assert sorted(numbers) == list(range(len(everything)))
    assert all(earlier.isdisjoint(later) for earlier, later in pairwise(minutes))
    assert all(max(earlier) < min(later) for earlier, later in pairwise(minutes))
    assert [time for bucket in buckets for time in sorted(bucket["timestamp"].dt.epoch("us"))] == sorted(everything)


def test_many_rows_are_cut_into_more_than_one_bucket() -> None:
    minutes = [START_US + minute * MINUTE_US for minute in range(10)]
    assert len(buckets_of([minutes], bucket_bytes=48)) > 3
    assert len(buckets_of([minutes], bucket_bytes=10_000)) == 1


def test_rows_around_the_first_minute_of_1970_leave_once() -> None:
    buckets = buckets_of([[-MINUTE_US, 0, MINUTE_US]], bucket_bytes=1)
    assert [bucket["number"].to_list() for bucket in buckets] == [[0], [1], [2]]


def test_nothing_in_gives_no_bucket(tmp_path: Path) -> None:
    rows = TimeSortedRows(tmp_path / "rows")
    rows.add(rows_at([]))
    assert list(rows.buckets()) == []


def test_columns_and_nulls_come_back_as_they_went_in(tmp_path: Path) -> None:
    given_rows = rows_at([START_US, START_US + 5]).with_columns(
        text=pl.Series(["하나\n둘", None]), rules=pl.Series([["a", "b"], []], dtype=pl.List(pl.String))
    )
    rows = TimeSortedRows(tmp_path / "rows")
    rows.add(given_rows)
    (bucket,) = rows.buckets()
    assert bucket.sort("number").equals(given_rows)


def test_buckets_can_be_read_again(tmp_path: Path) -> None:
    rows = TimeSortedRows(tmp_path / "rows")
    rows.add(rows_at([START_US]))
    first, second = list(rows.buckets()), list(rows.buckets())
    assert first[0].equals(second[0])


def test_rows_in_no_order_end_up_in_files_of_short_spans_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_sorted_rows, "BUCKET_BYTES", 240)  # 15 rows: 400 buckets, which are parted twice
    times = Random(1).sample(range(START_US, START_US + 10_000 * MINUTE_US), 6_000)
    rows = TimeSortedRows(tmp_path / "rows")
    for first in range(0, len(times), 50):
        rows.add(rows_at(times[first : first + 50], first))

    buckets = list(rows.buckets())

    in_files = [
        pl.read_ipc(path)["timestamp"].dt.epoch("us").sort().to_list() for path in (tmp_path / "rows").rglob("*.arrow")
    ]
    assert max((file[-1] - file[0]) / MINUTE_US for file in in_files) < 10_000 / 16 / 4
    assert sum(map(len, in_files)) == len(times)  # the files of before are gone
    assert pl.concat(bucket["timestamp"].dt.epoch("us").sort() for bucket in buckets).to_list() == sorted(times)
    assert sorted(number for bucket in buckets for number in bucket["number"]) == list(range(len(times)))
    assert all(bucket.equals(again) for bucket, again in zip(buckets, rows.buckets(), strict=True))


def test_rows_of_one_minute_stay_together_however_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_sorted_rows, "BUCKET_BYTES", 16)
    rows = TimeSortedRows(tmp_path / "rows")
    for number in range(100):
        rows.add(rows_at([START_US + number % 2 * MINUTE_US], number))
    assert [bucket.height for bucket in rows.buckets()] == [50, 50]
