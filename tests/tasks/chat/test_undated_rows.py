"""A row whose time nobody knows is told by the days of its file, not by every night that looks at the file."""

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from scoring.days import day_window, days_between
from tasks.chat.local_engine import ScoredRows, ScoringJob
from tasks.chat.multi_day_cache import read_at_once
from tasks.chat.parts import score_part
from tasks.chat.sources import ChatRowFiles
from tests.builders.cases import portion
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, write_rows

ZONE = "Asia/Seoul"
DAYS = days_between(DAY - timedelta(days=1), DAY + timedelta(days=1))
NEXT_DAY = 24 * 60  # minutes after DAY begins
UNDATED: list[dict[str, Any]] = [plain(1, timestamp=None), plain(2, timestamp="soon"), plain(3, timestamp="soon")]


def scored(source: ChatRowFiles, day: date | None, staging: Path, part_bytes: int = 10**9) -> ScoredRows:
    window = None if day is None else day_window(day, ZONE)
    job = ScoringJob(source, RUBRIC, ZONE, window, "all", staging)
    return job.gathered(map(score_part, job.parts(part_bytes)))


def rejects(outcome: ScoredRows) -> list[tuple[str, int]]:
    """File and line of each, which every place that speaks of rejected rows agrees on."""
    frames = [*outcome.rejected_frames()]
    found = [(Path(file).name, line) for frame in frames for file, line in frame.select("file", "line").iter_rows()]
    assert len(found) == outcome.counts.rejected == outcome.rejected_by_code.total()
    assert [(Path(row["file"]).name, row["line"]) for row in outcome.first_rejected] == found[:20]
    codes = Counter(code for frame in frames for code in frame["code"])
    assert outcome.rejected_by_code == codes
    assert outcome.rows_by_file.total() == outcome.counts.rows_in
    return found


def test_undated_row_is_rejected_by_the_days_of_its_file_alone(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows" / "a.jsonl", [best(0), *UNDATED, best(1)])
    write_rows(
        tmp_path / "rows" / "b.jsonl",
        [best(NEXT_DAY), plain(NEXT_DAY, timestamp=None), plain(NEXT_DAY, output_tokens=-1)],
    )
    files = ChatRowFiles([tmp_path / "rows"])
    found = [rejects(scored(files, day, tmp_path / str(day))) for day in DAYS]
    assert found == [[], [("a.jsonl", 2), ("a.jsonl", 3), ("a.jsonl", 4)], [("b.jsonl", 2), ("b.jsonl", 3)]]


def test_file_of_undated_rows_alone_is_told_every_night(tmp_path: Path) -> None:
    files = ChatRowFiles([write_rows(tmp_path / "a.jsonl", UNDATED), write_rows(tmp_path / "b.jsonl", [best(0)])])
    for day in DAYS:
        assert rejects(scored(files, day, tmp_path / str(day))) == [("a.jsonl", 1), ("a.jsonl", 2), ("a.jsonl", 3)]


def test_file_that_breaks_off_keeps_its_undated_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [*([best(NEXT_DAY)] * 5), *([plain(timestamp=None)] * 5), *([best(0)] * 5)]
    times = pl.col("timestamp").str.to_datetime(time_unit="us", time_zone="UTC")
    frame = pl.DataFrame(rows).with_columns(times, user_input=pl.int_range(pl.len()).cast(pl.String))
    frame.write_parquet(path, row_group_size=5, compression="uncompressed", use_pyarrow=True)
    texts = pq.read_metadata(path).row_group(2).column(frame.columns.index("user_input"))
    content = bytearray(path.read_bytes())
    content[texts.data_page_offset : texts.data_page_offset + 20] = b"\xff" * 20
    path.write_bytes(content)
    outcome = scored(ChatRowFiles([path]), DAY, tmp_path / "staging")
    assert [failure.file for failure in outcome.failures] == [str(path)]
    assert rejects(outcome) == [("a.parquet", line) for line in range(6, 11)]


def test_without_a_window_every_undated_row_is_rejected(tmp_path: Path) -> None:
    files = ChatRowFiles([write_rows(tmp_path / "a.jsonl", [best(0), *UNDATED])])
    assert len(rejects(scored(files, None, tmp_path / "staging"))) == len(UNDATED)


@pytest.mark.long
@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
@pytest.mark.parametrize("day", portion(sorted(DAYS, key=DAY.__ne__)))
def test_where_a_file_is_cut_does_not_change_whose_its_undated_rows_are(tmp_path: Path, ending: str, day: date) -> None:
    rows = [row for minute in range(40) for row in (best(minute), plain(minute, timestamp=None))]
    path = (tmp_path / "rows").with_suffix(ending)
    columns = ["user_input", "llm_response", "input_tokens", "output_tokens", "timestamp"]
    frame = pl.DataFrame(rows).select(columns)
    if ending == ".parquet":
        times = pl.col("timestamp").str.to_datetime(time_unit="us", time_zone="UTC")
        frame.with_columns(times).write_parquet(path, row_group_size=10)
    else:
        frame.write_ndjson(path)
    whole = scored(ChatRowFiles([path]), day, tmp_path / "whole")
    apart = scored(ChatRowFiles([path]), day, tmp_path / "apart", part_bytes=500)
    assert len({*(tmp_path / "apart").glob("part-*")}) > 3
    assert whole.counts.rejected == (40 if day == DAY else 0)
    assert rejects(apart) == rejects(whole)
    assert apart.counts == whole.counts


def test_backfill_tells_undated_rows_as_each_night_does(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows" / "a.jsonl", [best(0), *UNDATED])
    write_rows(tmp_path / "rows" / "b.jsonl", [best(NEXT_DAY)])
    files = ChatRowFiles([tmp_path / "rows"])
    read_before = read_at_once(files, DAYS, ZONE, tmp_path / "kept")
    for day in DAYS:
        source = read_before[day]
        assert isinstance(source, ChatRowFiles)
        at_once = rejects(scored(source, day, tmp_path / f"{day} at once"))
        assert at_once == rejects(scored(files, day, tmp_path / str(day)))
