"""The tables of scored chat rows as CSV files, and any rows as a sheet, for people who open them in Excel.

Every text stays a text, times are those of the configured zone, and a list is one cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from tasks.files.atomic import TABLE_MODE, write_text
from tasks.files.excel import excel_csv, shown_text

if TYPE_CHECKING:
    import xlsxwriter

WORKBOOK = "scores.xlsx"
TABLES = ("scores", "excluded", "kpis", "crosstab", "rejected")
CSV_TABLES = tuple(f"{name}.csv" for name in TABLES)
_ROWS_AT_ONCE = 20_000
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)  # the same rows give the same bytes


def write_csv_tables(folder: Path, time_zone: str) -> None:
    """Writes `<table>.csv` beside each `<table>.parquet` of a folder.

    Raises:
        StorageError: the folder cannot be written.
    """
    for name, as_csv in zip(TABLES, CSV_TABLES, strict=True):
        rows = _local_rows(folder / f"{name}.parquet", time_zone)
        lines = chain([rows.collect_schema().names()], _rows(rows))
        write_text(folder / as_csv, excel_csv(lines), TABLE_MODE)


def write_sheet(book: xlsxwriter.Workbook, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Adds a sheet of rows under their heading; texts stay texts, and times have no zone."""
    book.set_properties({"created": _NO_TIME})
    head = book.add_format({"bold": True})
    moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    for place, title in enumerate(header):
        sheet.write_string(0, place, title, head)
    for line, row in enumerate(rows, start=1):
        for place, value in enumerate(row):
            _write_cell(sheet, line, place, value, moment if isinstance(value, datetime) else day)


def _local_rows(path: Path, time_zone: str) -> pl.LazyFrame:
    local = cs.datetime().dt.convert_time_zone(time_zone)
    return pl.scan_parquet(path).with_columns(local, cs.list().list.join(", "))


def _rows(rows: pl.LazyFrame) -> Iterator[tuple[Any, ...]]:
    for batch in rows.collect_batches(chunk_size=_ROWS_AT_ONCE, maintain_order=True):
        yield from batch.iter_rows()


def _write_cell(sheet: Any, line: int, place: int, value: Any, date_format: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        sheet.write_string(line, place, shown_text(value))
    elif isinstance(value, bool):
        sheet.write_boolean(line, place, value)
    elif isinstance(value, int | float):
        sheet.write_number(line, place, value)
    else:
        sheet.write_datetime(line, place, value, date_format)
