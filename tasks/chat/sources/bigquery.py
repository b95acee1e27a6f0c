"""Reads chat rows from a BigQuery view or table, one period at a time: one query, streamed page by page."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
from google.cloud.bigquery import QueryJob, ScalarQueryParameter

from scoring.chat.day_content import HASH_LIMIT, DayContent
from scoring.chat.reading import Reading
from scoring.chat.rows import BATCH_ROWS, CHAT_ROW_SCHEMA, RowBatch
from scoring.chat.sql_rows import UNREADABLE, chat_rows_query
from scoring.chat.sql_tables import contents_query
from scoring.days import Window
from scoring.errors import UsageError
from scoring.inputs import FileIdentity, Reject
from tasks.config.addresses import dataset_of, is_bigquery, table_of
from tasks.warehouse.bigquery.client import JobClient, QueryParameter
from tasks.warehouse.bigquery.errors import as_aqb_errors

if TYPE_CHECKING:
    from tasks.config.settings import Settings

_READ = {name: kind for name, kind in CHAT_ROW_SCHEMA.items() if name != "line"}

_TIB = 2**40


class BigQueryChatRows:
    """Monitoring rows of `bigquery://project.dataset.view`, in no order; `line` is NULL, because a view has no lines.

    Only the columns used for scoring are read. Reading the same period again reads the result of the same job. A
    failure while rows are read is raised, so a period never ends early unnoticed.

    Raises:
        InputError: no such view, or a column is missing or of a type that cannot hold its values.
        UsageError: no such address, credentials, permission or location.
        StorageError: BigQuery is busy or out of reach.
    """

    def __init__(self, url: str, settings: Settings, labels: Mapping[str, str] | None = None) -> None:
        self.view = table_of(url)
        self.files = (str(self.view),)
        self.reading = Reading(naive_zone=settings.monitoring.naive_timestamps)
        self._settings = settings
        self._job: tuple[Window | None, QueryJob] | None = None
        # Who may write score tables may run jobs in their project; of the view's project nothing is known.
        payer = dataset_of(settings.warehouse) if is_bigquery(settings.warehouse) else self.view
        self._client = JobClient(settings, payer.project, labels)
        with as_aqb_errors(str(self.view)):
            self._table = self._client.table(str(self.view))
        wanted = settings.bigquery.location
        if wanted and wanted.lower() != self.location.lower():
            raise UsageError(
                f"is in location {self.location}, not {wanted}",
                where=str(self.view),
                fix=f'set bigquery.location = "{self.location}", or leave it empty',
            )
        self.sql(None)  # refuses missing columns now, before anything runs

    @property
    def location(self) -> str:
        """The location of the view."""
        return str(self._table.location)

    def batches(self, window: Window | None = None) -> Iterator[RowBatch]:
        """The rows whose timestamp is in `window` or NULL, in bounded memory; at least one batch, perhaps empty."""
        if self._job is None or self._job[0] != window:
            self._job = window, self._run(self.sql(window), window, "extract")
        yield RowBatch(str(self.view), pl.DataFrame(schema=CHAT_ROW_SCHEMA), (), 0, 0, 0)
        for page in self._client.pages(self._job[1], str(self.view)):
            for start in range(0, page.num_rows, BATCH_ROWS):
                yield self._batch(page.slice(start, BATCH_ROWS))

    def parts(self, window: Window | None, part_bytes: int) -> Iterator[BigQueryChatRows]:
        """The whole period as one part: hourly queries of a view that is partitioned by day would scan it 24 times."""
        yield self

    def fingerprint(self, names: Collection[str] | None = None) -> tuple[FileIdentity, ...]:
        """The identity of the view: its name, and a hash that changes with its definition, or a table's rows."""
        digest = hashlib.sha256(str(self._table.etag).encode()).hexdigest()
        return (FileIdentity(str(self.view), digest, int(self._table.num_bytes or 0)),)

    def contents(self, window: Window, time_zone: str) -> dict[date, DayContent]:
        """The content of each day with rows, found without reading the texts; their size in bytes is unknown."""
        sql = contents_query(self.sql(window), time_zone)
        job = self._run(sql, window, "contents")
        by_day: dict[date, list[Mapping[str, Any]]] = defaultdict(list)
        for row in self._client.rows(job, str(self.view)):
            by_day[row["day"]].append(row)
        return {
            day: DayContent(
                sum(row["row_count"] for row in rows),
                hash_sum=reduce(xor, (row["row_hash"] % HASH_LIMIT for row in rows)),
                tenants={row["tenant_id"]: row["row_count"] for row in rows},
            )
            for day, rows in by_day.items()
        }

    def estimate(self, window: Window) -> str:
        """The bytes that reading a period would scan and their price, by a dry run, which costs nothing."""
        scanned = self._client.bytes_of(self.sql(window), bounds(window), str(self.view))
        usd = scanned / _TIB * self._settings.bigquery.usd_per_tib
        return f"{self.view} in {self.location}, {scanned:,} bytes to scan, about {usd:,.2f} USD"

    def sql(self, window: Window | None) -> str:
        """The query for a period, whose ends are the parameters of `bounds`."""
        chosen = self._settings.bigquery
        return chat_rows_query(
            str(self.view),
            self._table.schema,
            prefix=chosen.prefix,
            names={str(name): path for name, path in chosen.columns.items()},
            period=("@start", "@end") if window else None,
            naive_zone=self.reading.naive_zone,
        )

    def _run(self, sql: str, window: Window | None, step: str) -> QueryJob:
        return self._client.query(sql, bounds(window), step, str(self.view))

    def _batch(self, page: pa.RecordBatch) -> RowBatch:
        """The readable rows of a page, and a reject for each of the others."""
        file = str(self.view)
        found = pl.DataFrame(page)
        unreadable = found["unreadable"].cast(pl.String)
        readable = unreadable.is_null()
        rows = found.filter(readable).select(
            *(pl.col(name).cast(kind) for name, kind in _READ.items()), line=pl.lit(None, pl.Int64)
        )
        rejects = tuple(Reject(file, None, column, *UNREADABLE[column]) for column in unreadable.drop_nulls())
        naive = found["naive"] & readable
        return RowBatch(file, rows, rejects, int(naive.sum()), found.height, 0)


def bounds(window: Window | None) -> list[QueryParameter]:
    """The query parameters for the ends of a period."""
    if window is None:
        return []
    return [
        ScalarQueryParameter("start", "TIMESTAMP", window.start),
        ScalarQueryParameter("end", "TIMESTAMP", window.end),
    ]
