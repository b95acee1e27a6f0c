"""Synthetic chat rows as files, and scored as tables, made once and kept in `.data` beside this module."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scoring.catalog import row_rubric
from tasks.chat.local_engine import LocalEngine
from tasks.chat.sources import ChatRowFiles
from tasks.chat.tables import CROSSTAB, KPIS, write_alerts
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import ALERTS, SCORES
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv
from tests.samples.chat_rows import SCHEMA, TIME_ZONE, chat_row_batches

FOLDER = Path(__file__).with_name(".data")
FIRST_DAY = date(2025, 1, 1)
"""The first day of `days_file`."""

_FIRST_DAY = date(2026, 3, 2)
DAYS = 5
"""Of the files of one size and of the warehouse."""
ROUNDS = 2
"""Of each query of `write_run_file`: the judge is asked about each answer."""
_SEED = 2
_ROWS_PER_GROUP = 20_000
_SESSION = pl.col("request_metadata").struct.field("session_id")
_LOCAL_DAY = pl.col("timestamp").dt.convert_time_zone(TIME_ZONE).dt.date()
_EXPORTED_SPANS = Path(__file__).parents[1] / "tests" / "exports" / "otel-genai.jsonl"


def parquet_file(rows: int) -> Path:
    """`rows` chat rows of five days as Parquet, about 4 kB of text a row."""
    return _made(f"{rows}.parquet", lambda path: _write_parquet(path, rows, _ROWS_PER_GROUP))


def one_group_file(rows: int) -> Path:
    """The same rows in one row group, as from a writer that buffers everything."""
    return _made(f"{rows}_one_group.parquet", lambda path: _write_parquet(path, rows, rows))


def no_order_file(rows: int) -> Path:
    """The same rows in an order unrelated to time, as in a BigQuery export."""

    def write(path: Path) -> None:
        shuffled = pl.read_parquet(parquet_file(rows)).sample(fraction=1, shuffle=True, seed=_SEED)
        pq.write_table(shuffled.to_arrow().cast(SCHEMA), path, row_group_size=_ROWS_PER_GROUP)

    return _made(f"{rows}_no_order.parquet", write)


def csv_file(rows: int) -> Path:
    """The same rows as CSV, the session in a column of its own."""
    return _made(f"{rows}.csv", lambda path: _flat(rows).write_csv(path))


def json_lines_file(rows: int) -> Path:
    """The same rows as JSON Lines, the session in a key of its own."""
    return _made(f"{rows}.jsonl", lambda path: _flat(rows).write_ndjson(path))


def days_file(days: int, rows_a_day: int) -> Path:
    """The rows of `days` days from FIRST_DAY on as one Parquet file, in the order of time."""

    def write(path: Path) -> None:
        table = pa.Table.from_batches(chat_row_batches(FIRST_DAY, days, rows_a_day, _SEED), SCHEMA)
        pq.write_table(table, path, row_group_size=_ROWS_PER_GROUP)

    return _made(f"{days}_days_of_{rows_a_day}.parquet", write)


def day_files(days: int, rows_a_day: int) -> Path:
    """The same rows in a folder of each kind, with a file a day."""

    def write(path: Path) -> None:
        rows = pl.read_parquet(days_file(days, rows_a_day)).with_columns(day=_LOCAL_DAY)
        for kind in ("Parquet", "CSV", "JSON Lines"):
            (path / kind).mkdir(parents=True)
        for (day,), of_day in rows.partition_by("day", as_dict=True, include_key=False).items():
            of_day.write_parquet(path / "Parquet" / f"{day}.parquet")
            of_day.with_columns(_SESSION).drop("request_metadata").write_csv(path / "CSV" / f"{day}.csv")
            of_day.write_ndjson(path / "JSON Lines" / f"{day}.jsonl")

    return _made(f"{days}_files_of_{rows_a_day}", write)


def write_run_file(path: Path, file: int, queries: int) -> None:
    """A tester's CSV with so many queries, each in ROUNDS rounds; the content differs between `file` numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        wide_row(f"AM-{number}", **{"질의": f"{file}번 공고 지원자 {number}번의 점수는?"} | _answers(file, number))
        for number in range(queries)
    ]
    write_csv(path, [WIDE_HEADER, *rows])


def _answers(file: int, number: int) -> dict[str, str]:
    """Different answers to the same query, each a question for the judge."""
    return {
        f"{turn}차 답변": f"{file}번 공고 {number}번 지원자는 {number % 90}점, {turn}위입니다." * 5 for turn in (1, 2)
    }


def spans_file(copies: int) -> Path:
    """Spans of a support bot as OpenTelemetry's exporter writes them, repeated, with answers of many lengths."""
    exported = _EXPORTED_SPANS.read_text(encoding="utf-8")

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            for copy in range(copies):
                longer = "Thursday. " + "Your parcel is on its way to you. " * (1 + copy % 30)
                file.write(exported.replace("Thursday.", longer))

    return _made(f"{copies}_spans.jsonl", write)


def warehouse(days: int, rows_a_day: int) -> Path:
    """The monitoring tables of `days` days: five scored ones, repeated under other dates."""
    return _made(f"site_{days}_{rows_a_day}", lambda path: _fill(FolderWarehouse(path), days, rows_a_day))


def text_bytes(parquet: str) -> int:
    """UTF-8 bytes of questions and answers."""
    sizes = pl.scan_parquet(parquet).select(pl.col("user_input", "llm_response").str.len_bytes().sum())
    return sum(sizes.collect(engine="streaming").row(0))


def _made(name: str, write: Callable[[Path], None]) -> Path:
    path = FOLDER / name
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        unfinished = path.with_name(f"unfinished_{name}")
        write(unfinished)
        unfinished.replace(path)
    return path


def _write_parquet(path: Path, rows: int, rows_per_group: int) -> None:
    table = pa.Table.from_batches(chat_row_batches(_FIRST_DAY, DAYS, -(-rows // DAYS), _SEED), SCHEMA)
    pq.write_table(table.slice(0, rows), path, row_group_size=rows_per_group)


def _flat(rows: int) -> pl.DataFrame:
    return pl.read_parquet(parquet_file(rows)).with_columns(_SESSION).drop("request_metadata")


def _fill(warehouse: FolderWarehouse, days: int, rows_a_day: int) -> None:
    rubric, source = row_rubric("ola-monitoring"), parquet_file(DAYS * rows_a_day)
    dates = [_FIRST_DAY + timedelta(days=offset) for offset in range(days)]
    for day in dates[:DAYS]:
        with warehouse.staging("benchmark") as staging:
            scored = LocalEngine(ChatRowFiles([source]), warehouse, rubric, TIME_ZONE, "flagged", staging).score(day)
            scored.write()
        write_alerts(warehouse, day, rubric, scored.outcome.counts.rejected)
    for offset, day in enumerate(dates[DAYS:]):
        for table in (SCORES, KPIS, CROSSTAB, ALERTS):
            rows = pl.read_parquet(warehouse.path(table, dates[offset % DAYS]))
            rows.with_columns(score_date=pl.lit(day)).write_parquet(warehouse.path(table, day))
