"""The outcome of scored rows does not depend on where they were cut, nor on the processes that scored the parts."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.chat.rows import RowBatch
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import ScoredBatch, score_together
from scoring.days import day_window
from tasks.chat.engine import Counts
from tasks.chat.local_engine import ScoredRows, ScoringJob
from tasks.chat.parts import score_part
from tasks.chat.sources import ChatRowFiles
from tasks.chat.worker_processes import in_workers
from tasks.reports.chat_folder import write_score_folder
from tests.builders.chat_rows import DAY, RUBRIC, plain, refused, write_rows
from tests.builders.deadly_rows import DeadlyRows
from tests.samples.chat_rows import SCHEMA, chat_row_batches

ZONE = "Asia/Seoul"
ROWS = 240


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of every kind: the same rows of two days in each, shuffled, some of them odd."""
    folder = tmp_path_factory.mktemp("sources")
    table = pa.Table.from_batches(chat_row_batches(DAY, 2, ROWS // 2, seed=1), SCHEMA)
    frame = pl.DataFrame(table).sample(fraction=1, shuffle=True, seed=1)
    session = pl.col("request_metadata").struct.field("session_id")
    flat = frame.with_columns(session, timestamp=pl.col("timestamp").dt.strftime("%FT%T%.6fZ")).drop("request_metadata")
    odd = pl.int_range(pl.len()) % 24
    flat = flat.with_columns(
        output_tokens=pl.when(odd == 3).then(-1.0).otherwise("output_tokens"),
        timestamp=pl.when(odd == 7).then(pl.lit("soon")).otherwise("timestamp"),
    )
    pq.write_table(frame.to_arrow().cast(SCHEMA), folder / "rows.parquet", row_group_size=30)
    flat.write_csv(folder / "rows.csv")
    flat.write_ndjson(folder / "rows.jsonl")
    (folder / "small").mkdir()
    for number, rows in enumerate(flat.iter_slices(50)):
        rows.write_ndjson(folder / "small" / f"{number}.jsonl")
    return folder


def tables_of(outcome: ScoredRows, folder: Path) -> dict[str, bytes]:
    """Every file of the score folder of an outcome, by name."""
    folder.mkdir()
    write_score_folder(folder, outcome, outcome.source.fingerprint)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.long
def test_parts_give_the_same_bytes_for_any_workers_and_any_size(sources: Path, tmp_path: Path) -> None:
    def score(workers: int, part_bytes: int) -> dict[str, bytes]:
        job = ScoringJob(ChatRowFiles([sources]), RUBRIC, ZONE, None, "flagged", tmp_path / f"staging{workers}")
        outcome = job.scored(workers, part_bytes=part_bytes)
        assert outcome.counts.rows_in == 4 * ROWS and outcome.counts.rejected == 3 * 2 * ROWS // 24
        return tables_of(outcome, tmp_path / f"out{workers}")

    alone = score(1, 10**9)
    assert score(2, 150_000) == alone
    assert score(4, 400_000) == alone


def scored_backwards(job: ScoringJob, part_bytes: int) -> ScoredRows:
    """What comes of parts that are sent away, done in the wrong order, and sent back."""
    parts = [*job.parts(part_bytes)]
    assert len(parts) > 3
    done = {part.folder: pickle.dumps(score_part(pickle.loads(pickle.dumps(part)))) for part in reversed(parts)}
    return job.gathered(pickle.loads(done[part.folder]) for part in parts)


@pytest.mark.parametrize(
    "name",
    [
        "rows.jsonl",
        pytest.param("rows.parquet", marks=pytest.mark.long),
        pytest.param("small", marks=pytest.mark.long),
    ],
)
def test_parts_may_be_done_anywhere_and_in_any_order(sources: Path, tmp_path: Path, name: str) -> None:
    def job(staging: str) -> ScoringJob:
        source = ChatRowFiles([sources / name])
        return ScoringJob(source, RUBRIC, ZONE, day_window(DAY, ZONE), "all", tmp_path / staging)

    whole = job("whole")
    alone = whole.gathered([score_part(whole.whole())])
    apart = scored_backwards(job("apart"), 120_000)
    assert (apart.content, apart.counts, apart.first_rejected) == (alone.content, alone.counts, alone.first_rejected)
    assert tables_of(apart, tmp_path / "out1") == tables_of(alone, tmp_path / "out2")


def test_part_that_is_done_again_replaces_what_was_there(sources: Path, tmp_path: Path) -> None:
    job = ScoringJob(ChatRowFiles([sources / "rows.jsonl"]), RUBRIC, ZONE, None, "all", tmp_path / "staging")
    first, *others = job.parts(100_000)
    score_part(first)
    outcome = job.gathered(map(score_part, [first, *others]))
    assert sum(frame.height for frame in outcome.score_frames()) == outcome.counts.scored


@pytest.mark.long
def test_part_whose_worker_is_killed_is_done_again_with_the_same_outcome(sources: Path, tmp_path: Path) -> None:
    def job(staging: str) -> ScoringJob:
        source = ChatRowFiles([sources / "rows.jsonl"])
        return ScoringJob(source, RUBRIC, ZONE, None, "flagged", tmp_path / staging)

    deadly = [replace(part, rows=DeadlyRows(part.rows, tmp_path / "killed")) for part in job("deadly").parts(300_000)]
    outcome = job("deadly").gathered(in_workers(score_part, deadly, 2))
    assert (tmp_path / "killed").exists()
    alone = job("alone").gathered([score_part(job("alone").whole())])
    assert tables_of(outcome, tmp_path / "out1") == tables_of(alone, tmp_path / "out2")


def parts_of_damaged(path: Path, staging: Path) -> Iterator[ScoredRows]:
    """What comes of a file that breaks off: in one part, and in small ones."""
    for part_bytes in (10**9, 1):
        job = ScoringJob(ChatRowFiles([path]), RUBRIC, ZONE, None, "none", staging / str(part_bytes))
        yield job.gathered(map(score_part, job.parts(part_bytes)))


def test_parts_after_a_damage_are_left_out_as_the_rest_of_the_file_is(sources: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    content = bytearray((sources / "rows.parquet").read_bytes())
    chunk = pq.read_metadata(sources / "rows.parquet").row_group(4).column(1)
    content[chunk.data_page_offset : chunk.data_page_offset + 200] = b"\xff" * 200
    path.write_bytes(content)
    whole, cut = parts_of_damaged(path, tmp_path)
    assert whole.counts == cut.counts and 0 < whole.counts.rows_in <= 5 * 30
    assert [str(failure.error) for failure in cut.failures] == [str(failure.error) for failure in whole.failures]
    assert len(whole.failures) == 1


def test_parts_of_a_file_that_was_replaced_are_not_mixed_with_it(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", map(plain, range(100)))
    job = ScoringJob(ChatRowFiles([path]), RUBRIC, ZONE, None, "none", tmp_path / "staging")
    parts = [*job.parts(10_000)]
    write_rows(tmp_path / "new.jsonl", map(refused, range(100))).replace(path)
    outcome = job.gathered(map(score_part, parts))
    assert outcome.counts.rows_in == 0
    assert "was replaced while it was read" in str(outcome.failures[0].error)


def test_parts_of_a_parquet_file_that_was_written_anew_in_place_are_not_mixed_with_it(tmp_path: Path) -> None:
    path, many = tmp_path / "a.parquet", pa.Table.from_pylist([plain(number) for number in range(100)])
    pq.write_table(many, path, row_group_size=10)
    job = ScoringJob(ChatRowFiles([path]), RUBRIC, ZONE, None, "none", tmp_path / "staging")
    parts = [*job.parts(5_000)]
    assert len(parts) > 1
    pq.write_table(pa.concat_tables([many, many]), path, row_group_size=200)  # it has fewer row groups now
    outcome = job.gathered(map(score_part, parts))
    assert outcome.counts.rows_in == 0
    assert "was replaced while it was read" in str(outcome.failures[0].error)


def test_parts_of_a_parquet_file_number_its_rows_as_the_whole_file_does(tmp_path: Path) -> None:
    rows = [plain(number, output_tokens=-1.0 if number % 10 == 3 else 420.0) for number in range(50)]
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet", row_group_size=10)
    job = ScoringJob(ChatRowFiles([tmp_path / "a.parquet"]), RUBRIC, ZONE, None, "none", tmp_path / "staging")
    parts = [*job.parts(1)]
    assert len(parts) > 3
    rejected = pl.concat(job.gathered(map(score_part, parts)).rejected_frames())
    assert rejected["line"].to_list() == [4, 14, 24, 34, 44]


def test_many_small_files_are_scored_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        rows = [plain(number), plain(number, output_tokens=-1 if number == 7 else 420.0)]
        write_rows(tmp_path / "rows" / f"{number:02}.jsonl", rows)
    with (tmp_path / "rows" / "20.jsonl").open("a") as file:
        file.write("no row\n")  # rejected rows stay in the order of the files
    together = []

    def scored(rubric: RowRubric, batches: Sequence[RowBatch], time_zone: str) -> ScoredBatch:
        together.append(len(batches))
        return score_together(rubric, batches, time_zone)

    monkeypatch.setattr("tasks.chat.parts.score_together", scored)
    job = ScoringJob(ChatRowFiles([tmp_path / "rows"]), RUBRIC, ZONE, None, "all", tmp_path / "staging")
    outcome = job.gathered([score_part(job.whole())])

    assert together == [20, 1, 19]
    assert outcome.counts == Counts(rows_in=81, scored=79, rejected=2)
    rejected = pl.concat(outcome.rejected_frames())
    assert [(Path(file).name, line) for file, line in rejected.select("file", "line").iter_rows()] == [
        ("07.jsonl", 2),
        ("20.jsonl", 3),
    ]
