"""Where score tables live: a folder of Parquet files or a BigQuery dataset, chosen by URL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl
import pyarrow as pa

from scoring.chat.row_filter import RowFilter
from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError
from scoring.rules.arrow_types import empty_frame
from tasks.config.addresses import is_bigquery
from tasks.warehouse.day_queries import CountsOfDays, DayQueries, FrameQueries, fired_rows, value_counts
from tasks.warehouse.rewriting import clear_by_rewriting
from tasks.warehouse.row_search import FrameSearch, RowOrder, RowSearch
from tasks.warehouse.tables import SCORES

if TYPE_CHECKING:
    from tasks.config.settings import Settings


SINKS = "aqb.warehouses"


class Warehouse(Protocol):
    """Tables partitioned by day. Writing a day replaces it: a reader sees the old day or the new one.

    Each of several services has a warehouse of its own over the same tables: it writes their column `service`, and
    reads, replaces and locks only rows of this service. A class that inherits from this one answers by `read` and
    `replace_day` what it does not answer itself.
    """

    url: str

    def replace_day(
        self,
        table: str,
        day: date,
        schema: pa.Schema,
        frames: Iterable[pl.DataFrame],
        only: Mapping[str, str] | None = None,
        most: Mapping[str | None, int] | None = None,
    ) -> None:
        """Replaces one day of a table. Other days are not touched.

        With `only`, rows of the day with other values in these columns stay; the new rows all have these values. `most`
        is the largest number of rows by `tenant_id` (`*`: all) that the day may have when it is replaced; a tenant that
        is not in it may have a few (`scoring.chat.shrinkage`).

        Raises:
            StorageError: the day has more rows than `most`; it stays as it is.
        """
        ...

    def replace_days(self, table: str, days: Sequence[date], schema: pa.Schema, rows: pl.DataFrame) -> None:
        """Replaces some days of a table, each as `replace_day` does."""
        for day in days:
            self.replace_day(table, day, schema, [rows.filter(score_date=day)])

    def clear(
        self, table: str, day: date, schema: pa.Schema, columns: Collection[str], session_id: str | None = None
    ) -> None:
        """Sets some columns of a day's rows to NULL, for one session or for all; all other values stay.

        `schema` describes the current columns; those that only the day has stay, too.
        """
        clear_by_rewriting(self, table, day, schema, columns, session_id)

    def read(
        self, table: str, days: Sequence[date] | None = None, schema: pa.Schema | None = None
    ) -> pl.LazyFrame | None:
        """The rows of these days (all days when None), in no order across warehouses; None when no table has them.

        With `schema` they have exactly its columns: NULL if a day was written before the column existed. Without it
        they have the union of the columns of these days, in BigQuery all columns of the table. The frame may be empty:
        for a day without rows, and in BigQuery for days that are missing.
        """
        ...

    def days(self, table: str) -> list[date]:
        """The days that a table holds, earliest first. BigQuery does not keep a day without rows."""
        ...

    def day_versions(self, table: str, days: Sequence[date]) -> Mapping[date, str] | None:
        """A version of each of these days, a short text that changes with its rows; '' if it has none. None if the
        warehouse would have to read the rows.
        """
        ...

    def day_queries(self, day: date, rubric: RowRubric) -> DayQueries:
        """The queries over a day of the score table."""
        return FrameQueries(rubric, self.read(SCORES, [day], rubric.scores_schema))

    def row_search(self, rubric: RowRubric) -> RowSearch:
        """The search over the rows of the score table."""
        return FrameSearch(rubric, lambda days: self.read(SCORES, days, rubric.scores_schema))

    def fired_rows(self, days: Sequence[date], rubric: RowRubric) -> list[dict[str, Any]]:
        """The rows of some days with an alert: day, id, tenant, rules, question (if stored), total, and the rubric's
        kinds. NULL in columns that a day lacks because an earlier version wrote it.
        """
        return fired_rows(rubric, self.read(SCORES, days, rubric.scores_schema))

    def value_counts(self, days: Sequence[date], columns: Sequence[str], rubric: RowRubric) -> CountsOfDays:
        """The number of scored rows by day, text column and value; days without scores are left out."""
        return value_counts(self.read(SCORES, days, rubric.scores_schema), columns)

    def staging(self, name: str, wait_s: float = 0.0) -> AbstractContextManager[Path]:
        """An empty local folder for one run of that name at a time, removed at the end.

        Only one run of that name works at a time, on all machines that share the warehouse. Waits for another one for
        about `wait_s`, or as long as it takes to detect that it is dead.

        Raises:
            TakenError: another run of that name is still working.
            StorageError: the folder cannot be written or was removed.
        """
        ...

    def lock(self, name: str, wait_s: float | None = None) -> AbstractContextManager[None]:
        """Holds a name for a short time; others on any machine wait for it, for at most about `wait_s` if given.

        The lock of a process that dies is released.

        Raises:
            StorageError: its holder does not come to an end, or it cannot be written.
        """
        ...

    def remove_leftovers(self, before: datetime, *, dry_run: bool) -> int:
        """Removes what runs that died before a moment have left behind and nothing else removes; returns the number of
        files and folders. With `dry_run` they are only counted.
        """
        ...


def table_rows(warehouse: Warehouse, table: str, schema: pa.Schema, days: Sequence[date] | None = None) -> pl.LazyFrame:
    """The rows of these days (all days when None) in the columns of `schema`; none where no table has them."""
    found = warehouse.read(table, days, schema)
    return empty_frame(schema).lazy() if found is None else found


def rows_with_ids(
    warehouse: Warehouse, rubric: RowRubric, row_ids: Collection[str], columns: Sequence[str]
) -> pl.DataFrame:
    """These columns, `score_date` among them, of the scored rows with these ids, earliest day first; the warehouse
    itself looks for them, on all of its days.
    """
    if not row_ids or not (days := warehouse.days(SCORES)):
        return empty_frame(rubric.scores_schema).select(columns)
    wanted, most = RowFilter(days[0], days[-1], row_ids=tuple(row_ids)), len(row_ids) * len(days)
    found = warehouse.row_search(rubric).rows(wanted, columns, RowOrder(), 0, most)
    return found.sort("score_date", maintain_order=True)


def open_warehouse(url: str, settings: Settings | None = None, labels: Mapping[str, str] | None = None) -> Warehouse:
    """The warehouse at `url`: a folder, a dataset of BigQuery, or one that an installed package offers.

    A package offers a warehouse for a scheme of URLs by an entry point of that name in the group `aqb.warehouses`: a
    class that is called with these three arguments. `settings` say how BigQuery is reached and of which service the
    rows are (`tasks.config.services`), a folder needs none; `labels` (`rubric`, `run_id`) mark its jobs.

    Raises:
        UsageError: a kind of URL that no package offers, or one whose package cannot be loaded.
    """
    if is_bigquery(url):
        if settings is None:
            raise TypeError("a warehouse in BigQuery needs the settings")
        from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse  # a second of imports that only BigQuery needs

        return BigQueryWarehouse(url, settings, labels)
    scheme, separator, _ = url.partition("://")
    for sink in entry_points(group=SINKS, name=scheme) if separator else ():
        try:
            offered = sink.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"{sink.value}, which a package offers for {scheme}://, cannot be loaded: {error}",
                fix="correct the entry point of the package, or install what it needs",
            ) from error
        opened: Warehouse = offered(url, settings, labels)
        return opened
    if separator:
        raise UsageError(
            f"no installed package offers the warehouse '{url}'",
            fix='install one, or give a folder (warehouse = "data/warehouse") or a dataset ("bigquery://project/dataset")',
        )
    from tasks.warehouse.folder import FolderWarehouse  # which inherits from the interface above

    return FolderWarehouse(Path(url), settings.stored_service if settings else None)
