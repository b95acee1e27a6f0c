"""What the child processes of the benchmarks do: `python -m benchmarks.jobs JOB ARGUMENT...`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl


def inputs(seed_rows: str, rows: str) -> dict[str, Any]:
    """Makes the input files that are not there yet; their paths, and how much text the largest holds."""
    from benchmarks.inputs import csv_file, parquet_file, text_bytes

    files = {
        "seed": parquet_file(int(seed_rows)),
        "seed_csv": csv_file(int(seed_rows)),
        "few": parquet_file(int(rows) // 5),
        "many": parquet_file(int(rows)),
        "one_group": parquet_file(int(rows), one_group=True),
    }
    return {name: str(path) for name, path in files.items()} | {"text_gb": text_bytes(files["many"]) / 1e9}


def check_same_table(ours: str, theirs: str) -> None:
    """Raises AssertionError for the first column in which two score tables differ in any row."""
    for name, kind in pl.read_parquet_schema(ours).items():
        mine, other = (pl.read_parquet(path, columns=[name])[name] for path in (ours, theirs))
        if not mine.equals(other.cast(kind)):
            raise AssertionError(f"the score tables differ in {name}")


def read_only(source: str) -> None:
    """Reads and checks every row, and drops it."""
    for _ in _batches(source):
        pass


def read_and_score(source: str) -> None:
    """Reads and scores every row, and drops it."""
    from scoring.row_scoring import score_batch
    from scoring.rubrics.ola_monitoring import RUBRIC

    for batch in _batches(source):
        score_batch(RUBRIC, batch, "Asia/Seoul")


def duckdb(source: str, out: str) -> None:
    """The rules as SQL: each row's scores and bare key, in the order of the file."""
    from benchmarks.duckdb_scores import write_scores

    write_scores(source, out)


def duckdb_same_table(source: str, out: str) -> None:
    """The rules as SQL, to the same table as ours: numbered row ids, in the order of time."""
    from benchmarks.duckdb_scores import write_same_table

    write_same_table(source, out)


def rule_engine(source: str, rounds: str) -> dict[str, Any]:
    """CPU seconds of scoring alone, in turns, after checking that the scores are equal."""
    from benchmarks.apply_scores import COLUMNS, apply_scores, loop_scores
    from scoring.row_scoring import score_batch
    from scoring.rubrics.ola_monitoring import RUBRIC

    rows = pl.concat(_batches(source)).drop_nulls(["user_input", "llm_response"])
    frame = rows.drop("line").to_pandas()
    records = frame.to_dict("records")
    contestants: dict[str, Callable[[], object]] = {
        "ours": lambda: score_batch(RUBRIC, rows, "Asia/Seoul"),
        "apply": lambda: apply_scores(frame),
        "loop": lambda: loop_scores(records),
    }
    ours, theirs = score_batch(RUBRIC, rows, "Asia/Seoul").scored, pl.DataFrame(loop_scores(records))
    for column in COLUMNS:
        if not ours[column].equals(theirs[column].cast(ours[column].dtype)):
            raise AssertionError(f"the two engines disagree on {column}")
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(int(rounds)):
        for name, score in contestants.items():
            start = time.process_time()
            score()
            best[name] = min(best[name], time.process_time() - start)
    return {"rows": rows.height, **best}


def _batches(source: str) -> Iterator[pl.DataFrame]:
    from tasks.chat_rows import ChatRowFiles, FileFailure

    for batch in ChatRowFiles([source]).batches():
        if isinstance(batch, FileFailure):
            raise batch.error
        yield pl.DataFrame(batch.rows)


_JOBS: dict[str, Callable[..., dict[str, Any] | None]] = {
    job.__name__: job
    for job in (
        *(inputs, rule_engine, read_only, read_and_score),
        *(duckdb, duckdb_same_table, check_same_table),
    )
}

if __name__ == "__main__":
    printed = _JOBS[sys.argv[1]](*sys.argv[2:])
    if printed:
        sys.stdout.write(json.dumps(printed))
