"""What a source holds of each day, and days that are read once for all of them."""

import pickle
import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scoring.chat.day_content import DayContent, day_contents
from scoring.chat.rows import RowBatch
from scoring.days import day_window, days_between
from scoring.errors import StorageError
from tasks.chat.day_plan import SourceContents, source_contents
from tasks.chat.local_engine import ScoredRows, ScoringJob
from tasks.chat.multi_day_cache import read_at_once
from tasks.chat.sources import ChatRowFiles, ChatRowSource
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, refused, write_rows

ZONE = "Asia/Seoul"
DAYS = days_between(DAY, DAY + timedelta(days=2))
A_DAY = 24 * 60


def contents(*inputs: Path) -> SourceContents:
    return source_contents(ChatRowFiles(inputs), DAYS[0], DAYS[-1], ZONE)


def rows_of_three_days() -> list[dict[str, Any]]:
    return [
        best(0),
        refused(1),
        plain(2, llm_response=None),
        plain(A_DAY),
        plain(A_DAY),
        best(2 * A_DAY, tenant_id=None),
    ]


def test_each_day_has_its_rows_and_the_bytes_of_their_texts(tmp_path: Path) -> None:
    rows = [plain(0, user_input="가", llm_response="ab"), plain(A_DAY, user_input="", llm_response=None)]
    found = contents(write_rows(tmp_path / "a.jsonl", rows))
    assert [(found.of(day).rows, found.of(day).bytes) for day in DAYS] == [(1, 5), (1, 0), (0, 0)]
    assert found.of(DAYS[2]) == DayContent()


def test_order_and_files_of_the_rows_do_not_change_the_fingerprint(tmp_path: Path) -> None:
    rows = rows_of_three_days()
    whole = contents(write_rows(tmp_path / "a.jsonl", rows))
    random.Random(1).shuffle(rows)
    parts = [write_rows(tmp_path / "b" / f"{number}.jsonl", rows[number::2]) for number in range(2)]
    assert contents(*parts).days == whole.days


@pytest.mark.parametrize(
    "change",
    [
        {"user_input": "?"},
        {"llm_response": None},
        {"llm_response": ""},
        {"input_tokens": None},
        {"output_tokens": 421.0},
        {"tenant_id": "t2"},
        {"session_id": None},
    ],
    ids=str,
)
def test_whatever_scores_changes_the_fingerprint_of_its_day_alone(tmp_path: Path, change: dict[str, Any]) -> None:
    before = contents(write_rows(tmp_path / "a.jsonl", [plain(0), plain(A_DAY)]))
    after = contents(write_rows(tmp_path / "a.jsonl", [plain(0, **change), plain(A_DAY)]))
    assert after.of(DAYS[0]).fingerprint != before.of(DAYS[0]).fingerprint
    assert after.of(DAYS[1]) == before.of(DAYS[1])


def test_each_day_has_one_content_however_many_tenants(tmp_path: Path) -> None:
    rows = [plain(A_DAY * (number % 2), tenant_id=f"t{number % 5}") for number in range(40)]
    (batch,) = ChatRowFiles([write_rows(tmp_path / "a.jsonl", rows)]).batches()
    assert isinstance(batch, RowBatch)
    found = list(day_contents(batch.rows, pl.col("timestamp").dt.convert_time_zone(ZONE).dt.date()))
    assert sorted(day for day, _ in found) == DAYS[:2]
    assert all(content.tenants == dict.fromkeys((f"t{number}" for number in range(5)), 4) for _, content in found)


def test_rows_that_come_twice_count_twice(tmp_path: Path) -> None:
    fingerprints = {
        contents(write_rows(tmp_path / "a.jsonl", [plain(0)] * count)).of(DAY).fingerprint for count in (1, 2, 3)
    }
    assert len(fingerprints) == 3


def test_day_scored_alone_finds_the_content_that_the_plan_finds(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [*rows_of_three_days(), plain(3, output_tokens=-1.0)])
    for day in DAYS:
        assert scored_alone(ChatRowFiles([path]), day, tmp_path / str(day)).content == contents(path).of(day)


def test_file_that_cannot_be_read_is_named_beside_the_others(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", [plain(0)])
    (tmp_path / "b.parquet").write_bytes(b"")
    found = contents(tmp_path)
    assert found.of(DAY).rows == 1
    assert [failure.file for failure in found.failures] == [str(tmp_path / "b.parquet")]


# --- Days that are read at once --------------------------------------------------------------------------------------


def scored_alone(source: ChatRowSource, day: date, staging: Path) -> ScoredRows:
    return ScoringJob(source, RUBRIC, ZONE, day_window(day, ZONE), "all", staging).scored()


def what_came_of(outcome: ScoredRows) -> list[object]:
    frames: list[Iterator[pl.DataFrame]] = [
        outcome.score_frames(),
        outcome.excluded_frames(),
        outcome.rejected_frames(),
    ]
    tables = [[row for frame in some for row in frame.iter_rows()] for some in frames]
    facts = (outcome.counts, outcome.naive_timestamps, outcome.content, [one.file for one in outcome.failures])
    return [*tables, *facts, outcome.kpis(days=DAYS).rows(), outcome.crosstab().rows()]


NAIVE = {"timestamp": "2026-02-13 12:00:00"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "odd",
    [
        pytest.param([], id="clean", marks=pytest.mark.long),
        pytest.param([plain(4, timestamp=None)], id="undated"),
        pytest.param([plain(4, timestamp="yesterday")], id="misdated", marks=pytest.mark.long),
        pytest.param([plain(4, output_tokens="many")], id="unreadable", marks=pytest.mark.long),
        pytest.param([plain(4, output_tokens=-1)], id="refused", marks=pytest.mark.long),
        pytest.param([plain(4) | NAIVE], id="naive", marks=pytest.mark.long),
    ],
)
def test_days_read_at_once_are_the_days_read_alone(tmp_path: Path, odd: list[dict[str, Any]]) -> None:
    source = tmp_path / "source"
    write_rows(source / "a.jsonl", [*rows_of_three_days(), *odd])
    write_rows(source / "b.jsonl", [plain(5) | NAIVE, plain(5) | NAIVE])
    pl.DataFrame([plain(6), best(A_DAY)]).write_parquet(source / "c.parquet")
    (source / "d.parquet").write_bytes(b"")
    files = ChatRowFiles([source])
    read_before = read_at_once(files, DAYS, ZONE, tmp_path / "spool")
    assert read_before[DAY].fingerprint() == files.fingerprint()
    for day in DAYS:
        at_once = scored_alone(read_before[day], day, tmp_path / f"{day} at once")
        assert what_came_of(at_once) == what_came_of(scored_alone(files, day, tmp_path / f"{day} alone"))


@pytest.mark.parametrize(
    ("odd", "rejected"),
    [
        pytest.param([], 0, id="clean"),
        pytest.param([plain(4, timestamp=None)], 3, id="undated"),  # each day of its file rejects it
        pytest.param([plain(4, timestamp="yesterday")], 3, id="misdated"),
        pytest.param([plain(4, output_tokens="many")], 1, id="unreadable"),
    ],
)
def test_files_are_read_once_whatever_happens_to_them_then(
    tmp_path: Path, odd: list[dict[str, Any]], rejected: int
) -> None:
    path = write_rows(tmp_path / "a.jsonl", [*rows_of_three_days(), *odd])
    alone = [scored_alone(ChatRowFiles([path]), day, tmp_path / f"{day} alone") for day in DAYS]
    expected = [(one.content, one.counts) for one in alone]
    read_before = read_at_once(ChatRowFiles([path]), DAYS, ZONE, tmp_path / "spool")
    path.unlink()
    at_once = [scored_alone(read_before[day], day, tmp_path / str(day)) for day in DAYS]
    assert [(one.content, one.counts) for one in at_once] == expected
    assert sum(one.counts.rejected for one in at_once) == rejected


def test_day_of_rows_in_no_order_is_one_batch_where_it_is_small(tmp_path: Path) -> None:
    rows = [plain(A_DAY * (number % 3), user_input=f"{number}") for number in range(60)]
    rows += [plain(A_DAY, output_tokens="many"), plain(0, timestamp=None)]
    pl.DataFrame(rows * 20, strict=False).write_csv(tmp_path / "a.csv")
    files = ChatRowFiles([tmp_path])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scoring.chat.rows.BATCH_ROWS", 10)
        assert len([*files.batches()]) > 100
        read_before = read_at_once(files, DAYS, ZONE, tmp_path / "spool")
    for day in DAYS:
        (batch,) = read_before[day].batches()
        (alone,) = files.batches(day_window(day, ZONE))
        assert isinstance(batch, RowBatch) and isinstance(alone, RowBatch)
        assert batch.rows.sort("line").equals(alone.rows)
        assert {reject.line for reject in batch.rejects} == {reject.line for reject in alone.rejects}
        assert len(batch.rejects) == len(alone.rejects)
        assert (batch.rows_in, batch.outside_window) == (alone.rows_in, alone.outside_window)


def test_what_a_worker_is_sent_of_a_day_does_not_grow_with_the_days(tmp_path: Path) -> None:
    files = ChatRowFiles([write_rows(tmp_path / "a.jsonl", rows_of_three_days())])
    year = days_between(DAYS[0], DAYS[0] + timedelta(days=364))
    of_three, of_year = (read_at_once(files, days, ZONE, tmp_path / str(len(days))) for days in (DAYS, year))
    sent = [len(pickle.dumps(read[DAY])) for read in (of_three, of_year)]
    assert sent[1] < sent[0] + 100


def test_days_whose_rows_cannot_be_kept_say_that_fewer_need_less(tmp_path: Path) -> None:
    files = ChatRowFiles([write_rows(tmp_path / "a.jsonl", rows_of_three_days())])
    (tmp_path / "spool").touch()
    with pytest.raises(StorageError, match="cannot write") as refused:
        read_at_once(files, DAYS, ZONE, tmp_path / "spool")
    assert "backfill fewer days at a time" in refused.value.fix
