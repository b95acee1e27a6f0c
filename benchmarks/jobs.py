"""The work of the benchmarks' child processes: `python -m benchmarks.jobs JOB ARGUMENT...`."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

_COLUMNS = ["user_input", "llm_response", "input_tokens", "output_tokens", "timestamp", "tenant_id"]


def made(kind: str, *sizes: str) -> dict[str, str]:
    """Makes an input file, unless it is there; its path."""
    from benchmarks import inputs

    return {"path": str(getattr(inputs, kind)(*map(int, sizes)))}


def text_gb(source: str) -> dict[str, float]:
    """The size of the texts in a Parquet file, in GB of 1,000,000,000 bytes."""
    from benchmarks.inputs import text_bytes

    return {"text_gb": text_bytes(source) / 1e9}


def days_later(source: str, out: str, days: str) -> None:
    """The same rows some days later, a row group at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file, later = pq.ParquetFile(source), pa.scalar(timedelta(days=int(days)), pa.duration("us"))
    place = file.schema_arrow.get_field_index("timestamp")
    with pq.ParquetWriter(out, file.schema_arrow) as writer:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group)
            writer.write_table(rows.set_column(place, rows.field(place), pc.add(rows["timestamp"], later)))


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
    from scoring.chat.scorer import score_batch
    from scoring.rubrics.ola_monitoring import RUBRIC

    for batch in _batches(source):
        score_batch(RUBRIC, batch, "Asia/Seoul")


def score_day(source: str, day: str) -> dict[str, float]:
    """The rows of a day in files, scored into a staging folder; timed without imports."""
    from scoring.catalog import row_rubric
    from scoring.days import day_window
    from tasks.chat.local_engine import ScoringJob
    from tasks.chat.sources import ChatRowFiles
    from tests.samples.chat_rows import TIME_ZONE

    window = day_window(date.fromisoformat(day), TIME_ZONE)

    def score() -> None:
        rubric, staging = row_rubric("ola-monitoring"), Path(folder) / "staging"
        ScoringJob(ChatRowFiles([source]), rubric, TIME_ZONE, window, "flagged", staging).scored()

    with TemporaryDirectory() as folder:
        return _timed(score)


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
    from scoring.chat.scorer import score_batch
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


def read_ours(source: str) -> dict[str, Any]:
    """Rows and rejects of our reader, and the CPU seconds that it takes."""
    from scoring.chat.rows import FileFailure
    from tasks.chat.sources import ChatRowFiles

    def read() -> dict[str, int]:
        rows = rejected = 0
        for batch in ChatRowFiles([source]).batches():
            assert not isinstance(batch, FileFailure), batch.error
            rows += batch.rows_in
            rejected += len(batch.rejects)
        return {"rows": rows, "rejected": rejected}

    return _timed(read)


def read_pandas(source: str) -> dict[str, Any]:
    """The same columns by pandas."""
    import pandas as pd
    import pyarrow.parquet  # noqa: F401 - pandas would import it while the clock runs

    def read() -> dict[str, int]:
        if source.endswith(".parquet"):
            return {"rows": len(pd.read_parquet(source, columns=[*_COLUMNS, "request_metadata"]))}
        if source.endswith(".csv"):
            return {"rows": len(pd.read_csv(source, usecols=[*_COLUMNS, "session_id"], parse_dates=["timestamp"]))}
        return {"rows": len(pd.read_json(source, lines=True)[[*_COLUMNS, "session_id"]])}

    return _timed(read)


def read_duckdb(source: str) -> dict[str, Any]:
    """The same columns by DuckDB, in batches that are dropped."""
    import duckdb

    session = "request_metadata.session_id" if source.endswith(".parquet") else "session_id"
    query = f"SELECT {', '.join(_COLUMNS)}, {session} FROM '{source}'"  # noqa: S608 - our own

    def read() -> dict[str, int]:
        relation = duckdb.sql(query)
        assert relation
        return {"rows": sum(batch.num_rows for batch in relation.to_arrow_reader(8192))}

    return _timed(read)


def read_spans(source: str) -> dict[str, Any]:
    """The chat rows of OpenTelemetry's spans by our reader: their number, and the characters of their texts."""
    from scoring.chat.reading import Reading
    from scoring.chat.rows import FileFailure
    from tasks.chat.sources import ChatRowFiles

    def batches() -> Iterator[pl.DataFrame]:
        for batch in ChatRowFiles([source], reading=Reading(format="otel-genai")).batches():
            assert not isinstance(batch, FileFailure), batch.error
            assert not batch.rejects
            yield batch.rows

    return _timed(lambda: _rows_and_characters(batches()))


def read_spans_duckdb(source: str) -> dict[str, Any]:
    """The same by DuckDB on one thread."""
    import duckdb

    query = Path(__file__).with_name("duckdb_spans.sql").read_text(encoding="utf-8").replace("{source}", source)
    relation = duckdb.connect(config={"threads": 1}).sql(query)
    assert relation

    def batches() -> Iterator[pl.DataFrame]:
        for batch in relation.to_arrow_reader(8192):
            yield pl.DataFrame(pl.from_arrow(batch))

    return _timed(lambda: _rows_and_characters(batches()))


def _rows_and_characters(batches: Iterable[pl.DataFrame]) -> dict[str, int]:
    texts = pl.col("user_input", "llm_response").str.len_chars().sum()
    sums = [(batch.height, *batch.select(texts).row(0)) for batch in batches]
    return dict(zip(("rows", "asked", "answered"), map(sum, zip(*sums, strict=True)), strict=True))


def build_site(warehouse: str, folder: str) -> dict[str, Any]:
    """The pages of the report site; timed without the imports that a night has already done when it builds them."""
    from scoring.catalog import row_rubric
    from tasks.reports.site.build import build_pages
    from tasks.warehouse.folder import FolderWarehouse
    from tests.samples.chat_rows import TIME_ZONE

    def build() -> None:
        build_pages(FolderWarehouse(Path(warehouse)), row_rubric("ola-monitoring"), Path(folder), TIME_ZONE)

    return _timed(build)


def ask_pages(warehouse: str, *addresses: str) -> dict[str, Any]:
    """The CPU and clock seconds of each page of `aqb web`, the first one of a new process first."""
    from tests.builders.settings import settings_in
    from tests.builders.web import browser

    seconds = {}
    with TemporaryDirectory() as folder, browser(settings_in(Path(folder), warehouse=warehouse)) as client:
        for address in addresses:
            began, began_cpu = time.perf_counter(), time.process_time()
            client.get(address).raise_for_status()
            seconds[address] = (time.process_time() - began_cpu, time.perf_counter() - began)
    return seconds


def ask_at_once(warehouse: str, people: str, *addresses: str) -> dict[str, Any]:
    """The seconds until each of so many people gets the page that all of them open at the same moment."""
    import httpx

    from tests.builders.settings import settings_in
    from tests.builders.web import served

    with (
        TemporaryDirectory() as folder,
        served(settings_in(Path(folder), warehouse=warehouse)) as server,
        ThreadPoolExecutor(int(people)) as pool,
    ):
        began = time.perf_counter()

        def answered_after(person: int) -> float:
            httpx.get(server + addresses[person % len(addresses)], timeout=120).raise_for_status()
            return time.perf_counter() - began

        return {"seconds": sorted(pool.map(answered_after, range(int(people))))}


def _timed(do: Callable[[], dict[str, int] | None]) -> dict[str, Any]:
    began = time.process_time()
    found = do() or {}
    return {**found, "cpu_s": time.process_time() - began}


def _batches(source: str) -> Iterator[pl.DataFrame]:
    from scoring.chat.rows import FileFailure
    from tasks.chat.sources import ChatRowFiles

    for batch in ChatRowFiles([source]).batches():
        if isinstance(batch, FileFailure):
            raise batch.error
        yield pl.DataFrame(batch.rows)


_JOBS: dict[str, Callable[..., dict[str, Any] | None]] = {
    job.__name__: job
    for job in (
        *(made, text_gb, days_later, check_same_table),
        *(rule_engine, read_only, read_and_score, score_day, build_site, ask_pages, ask_at_once),
        *(duckdb, duckdb_same_table),
        *(read_ours, read_pandas, read_duckdb),
        *(read_spans, read_spans_duckdb),
    )
}

if __name__ == "__main__":
    printed = _JOBS[sys.argv[1]](*sys.argv[2:])
    if printed:
        sys.stdout.write(json.dumps(printed))
