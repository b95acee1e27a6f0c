"""The tables of scored chat rows as CSV files, for people who open them in Excel.

Every text stays a text, times are those of the configured zone, and a list is one cell.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from tasks.files.atomic import TABLE_MODE, write_text
from tasks.files.excel import excel_csv
from tasks.files.report_paths import SCORE_TABLES

_ROWS_AT_ONCE = 20_000


def write_csv_tables(folder: Path, time_zone: str) -> None:
    """Writes `<table>.csv` beside each `<table>.parquet` of a folder.

    Raises:
        StorageError: the folder cannot be written.
    """
    for name in SCORE_TABLES:
        rows = _local_rows(folder / f"{name}.parquet", time_zone)
        lines = chain([rows.collect_schema().names()], _rows(rows))
        write_text(folder / f"{name}.csv", excel_csv(lines), TABLE_MODE)


def _local_rows(path: Path, time_zone: str) -> pl.LazyFrame:
    local = cs.datetime().dt.convert_time_zone(time_zone)
    return pl.scan_parquet(path, glob=False).with_columns(local, cs.list().list.join(", "))


def _rows(rows: pl.LazyFrame) -> Iterator[tuple[Any, ...]]:
    for batch in rows.collect_batches(chunk_size=_ROWS_AT_ONCE, maintain_order=True):
        yield from batch.iter_rows()
