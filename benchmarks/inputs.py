"""Synthetic chat rows as files, made once and kept in `.data` beside this module."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.samples.chat_rows import SCHEMA, chat_row_batches

FOLDER = Path(__file__).with_name(".data")

_FIRST_DAY = date(2026, 3, 2)
_DAYS = 5
_SEED = 2
_ROWS_PER_GROUP = 20_000


def parquet_file(rows: int, *, one_group: bool = False) -> Path:
    """`rows` chat rows as Parquet, about 4 kB of text a row; `one_group` for a writer that buffered everything."""
    if one_group:
        return _made(f"{rows}_one_group.parquet", lambda path: _write_parquet(path, rows, rows))
    return _made(f"{rows}.parquet", lambda path: _write_parquet(path, rows, _ROWS_PER_GROUP))


def csv_file(rows: int) -> Path:
    """The same rows as CSV, the session in a column of its own."""
    return _made(f"{rows}.csv", lambda path: _write_csv(parquet_file(rows), path))


def text_bytes(parquet: Path) -> int:
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
    table = pa.Table.from_batches(chat_row_batches(_FIRST_DAY, _DAYS, -(-rows // _DAYS), _SEED), SCHEMA)
    pq.write_table(table.slice(0, rows), path, row_group_size=rows_per_group)


def _write_csv(parquet: Path, path: Path) -> None:
    rows = pl.read_parquet(parquet)
    session = pl.col("request_metadata").struct.field("session_id")
    rows.with_columns(session).drop("request_metadata").write_csv(path)
