"""Where score tables live: a folder of Parquet files or a BigQuery dataset, chosen by URL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import Protocol

import polars as pl
import pyarrow as pa

from scoring.errors import UsageError
from tasks.warehouse.folder import FolderWarehouse


class Warehouse(Protocol):
    """Tables in days. Writing a day replaces that day: a reader sees the old day or the new one."""

    url: str

    def replace_day(
        self,
        table: str,
        day: date,
        schema: pa.Schema,
        frames: Iterable[pl.DataFrame],
        only: Mapping[str, str] | None = None,
    ) -> int:
        """Replaces one day of a table; returns the number of rows that the day then has. Other days are not touched.

        With `only`, rows of the day that have other values in these columns stay; the new rows all have these values.
        """
        ...

    def read(self, table: str, days: Sequence[date] | None = None) -> pl.LazyFrame | None:
        """The rows of these days (all days when None); None when there are none."""
        ...

    def days(self, table: str) -> list[date]:
        """The days that a table holds, earliest first."""
        ...

    def staging(self, name: str) -> AbstractContextManager[Path]:
        """An empty folder for one run at a time, removed at the end; locked against a second run of that name."""
        ...


def open_warehouse(url: str) -> Warehouse:
    """The warehouse at `url`: a folder.

    Raises:
        UsageError: a kind of URL that is not supported.
    """
    if "://" in url:
        raise UsageError(
            f"this version cannot use the warehouse '{url}'",
            fix='give a folder, for example warehouse = "data/warehouse"',
        )
    return FolderWarehouse(Path(url))
