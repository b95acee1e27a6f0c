"""A warehouse in a BigQuery dataset: one table of each kind, partitioned by day."""
# ruff: noqa: S608  (the SQL is made of names that were checked; values travel as parameters)

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
from google.api_core.exceptions import NotFound, PreconditionFailed
from google.cloud.bigquery import QueryJob, ScalarQueryParameter, Table
from polars.io.plugins import register_io_source

from scoring.chat.rubric import RowRubric
from scoring.chat.sql_tables import fired_columns, fired_rows_query, value_counts_query
from scoring.errors import AqbError, StorageError
from scoring.rules.googlesql_backend import column_list
from tasks.config.addresses import TableName, dataset_of
from tasks.files.atomic import parquet_into, writable
from tasks.state.database import StateDatabase
from tasks.state.leases import Leases
from tasks.warehouse.bigquery.client import REQUEST_TIMEOUT_S, JobClient, QueryParameter, of_day, of_days
from tasks.warehouse.bigquery.errors import as_aqb_errors
from tasks.warehouse.bigquery.score_queries import BigQueryDayQueries, BigQueryRowSearch, ScoreTable, filled
from tasks.warehouse.bigquery.tables import (
    DAY_COLUMN,
    STAGING,
    clearing_query,
    extended_schema,
    fields_of,
    new_table,
    of_service,
    of_session,
    polars_schema,
    refuse_expired,
    replacing_query,
    small_enough,
)
from tasks.warehouse.day_queries import CountsOfDays, counts_by_day
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES, SERVICE, rows_of_service, schema_of_service, shaped

if TYPE_CHECKING:
    from tasks.config.settings import Settings

_EXPIRES_AFTER = timedelta(days=1)


class BigQueryWarehouse:
    """Score tables in `bigquery://project/dataset`, which must exist; tables are created on the first write.

    A day is loaded into a temporary table and replaces the old day in one MERGE: readers see the old day or the new
    one, even if the process is killed. What a killed run leaves expires within a day. Lists that are NULL become empty.
    All services share the tables: every statement filters by the column `service`.

    Raises (all methods):
        InputError: the dataset does not exist.
        UsageError: no permission or credentials, or a table with incompatible columns.
        StorageError: BigQuery is busy or unreachable, or a load is incomplete; the old day is still there.
    """

    def __init__(self, url: str, settings: Settings, labels: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.dataset = dataset_of(url)
        self._settings = settings
        self._service = settings.stored_service
        self._labels = dict(labels or {})
        self._scratch = Path(settings.bigquery.scratch)

    @property
    def location(self) -> str:
        """The location of the dataset."""
        with as_aqb_errors(str(self.dataset)):
            found = self._client.api.get_dataset(str(self.dataset), self._client.retry, REQUEST_TIMEOUT_S)
        return str(found.location)

    def replace_day(
        self,
        table: str,
        day: date,
        schema: pa.Schema,
        frames: Iterable[pl.DataFrame],
        only: Mapping[str, str] | None = None,
        most: Mapping[str | None, int] | None = None,
    ) -> None:
        """Replaces one day of a table.

        Writers of the same day need no lock: each MERGE replaces the result of the one before, and itself compares its
        rows with `most`.
        """
        self._replace_by_load(table, [day], schema, frames, only, most)

    def replace_days(self, table: str, days: Sequence[date], schema: pa.Schema, rows: pl.DataFrame) -> None:
        """Replaces some days of a table in one MERGE."""
        self._replace_by_load(table, days, schema, [rows])

    def clear(
        self, table: str, day: date, schema: pa.Schema, columns: Collection[str], session_id: str | None = None
    ) -> None:
        """Updates the rows in place in one statement; its job, kept in BigQuery's history, contains no session."""
        if found := self._found(self.table(table)):
            bound = [*of_day(day), *of_session(session_id)]
            query = clearing_query(found, self._service, columns, session_id)
            self._client.query(query, bound, "clear", str(found.reference))

    def _replace_by_load(
        self,
        table: str,
        days: Sequence[date],
        schema: pa.Schema,
        frames: Iterable[pl.DataFrame],
        only: Mapping[str, str] | None = None,
        most: Mapping[str | None, int] | None = None,
    ) -> None:
        name, schema = self.table(table), schema_of_service(schema, self._service)
        with self._scratch_file() as file:
            rows = parquet_into(file, schema, rows_of_service(frames, self._service))
            with as_aqb_errors(str(name)):
                target = self._prepared(name, schema)
                with self._loaded(file, rows, target, schema) as staged:
                    self._merge(target, staged, days, schema.names, only, most)

    def replace_day_by(
        self,
        table: str,
        day: date,
        schema: pa.Schema,
        query: str,
        parameters: Sequence[QueryParameter],
        only: Mapping[str, str] | None,
        most: Mapping[str | None, int] | None,
    ) -> int:
        """Replaces a day by the rows of a query over this dataset, which may use @day; returns their number."""
        name, schema = self.table(table), schema_of_service(schema, self._service)
        rows = query if self._service is None else f"SELECT *, '{self._service}' AS {SERVICE} FROM (\n{query}\n)"
        bound = [*of_day(day), *parameters]
        with as_aqb_errors(str(name)):
            target = self._prepared(name, schema)
            merged = self._merge(target, f"(\n{rows}\n)", [day], schema.names, only, most, bound)
        # A statement that changed nothing may come without counts.
        return merged.dml_stats.inserted_row_count if merged.dml_stats else 0

    def keep(self, table: str, query: str, parameters: Sequence[QueryParameter]) -> TableName:
        """Stores the rows of a query in a temporary table. `remove` it, or it expires within a day."""
        self._found(self.table(table))  # for the location of the job
        kept, hours = self._staging_name(table), _EXPIRES_AFTER // timedelta(hours=1)
        expiring = f"OPTIONS (expiration_timestamp = TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL {hours} HOUR))"
        query = f"CREATE OR REPLACE TABLE {kept.quoted} {expiring} AS\n{query}"
        self._client.query(query, parameters, "stage", str(self.dataset))
        return kept

    def remove(self, kept: TableName) -> None:
        """Drops a temporary table; if that fails, it expires."""
        with suppress(AqbError), as_aqb_errors():
            self._client.api.delete_table(str(kept), not_found_ok=True, retry=self._client.retry)

    def ask(self, query: str, day: date) -> list[dict[str, Any]]:
        """The rows of a query with a small result over this dataset, which may use @day."""
        return self._rows(query, of_day(day), "ask")

    def read(
        self, table: str, days: Sequence[date] | None = None, schema: pa.Schema | None = None
    ) -> pl.LazyFrame | None:
        """The rows of these days in no order; None if the table does not exist. Only used columns are queried.

        With `schema` in its columns, NULL if the table lacks one, else in all columns of the table.
        """
        source = self.table(table)
        found = self._found(source)
        if found is None:
            return None
        present = polars_schema(field for field in found.schema if field.name != SERVICE)
        rows_of_table = of_service(found, self._service)

        def frames(
            columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _size: int | None
        ) -> Iterator[pl.DataFrame]:
            chosen = columns or list(present)
            where = f" WHERE {DAY_COLUMN} IN UNNEST(@days)" if days is not None else ""
            bound = of_days(days) if days is not None else []
            end = f" LIMIT {limit}" if limit is not None else ""
            query = f"SELECT {column_list(chosen)} FROM {rows_of_table}{where}{end}"
            job = self._client.query(query, bound, "read", str(source))
            types = pl.Schema({name: present[name] for name in chosen})
            for page in self._client.pages(job, str(source)):
                frame = pl.DataFrame(page).cast(types)
                yield frame if predicate is None else frame.filter(predicate)

        rows = register_io_source(frames, schema=present)
        return rows if schema is None else shaped(rows, schema)

    def day_versions(self, table: str, days: Sequence[date]) -> dict[date, str]:
        """The number of rows of each day and a hash over all of them, in one statement."""
        versions = dict.fromkeys(days, "")
        if days and (found := self._found(self.table(table))):
            sql = (
                f"SELECT {DAY_COLUMN}, COUNT(*) AS row_count,\n"
                "  BIT_XOR(FARM_FINGERPRINT(TO_JSON_STRING(found))) AS row_hash\n"
                f"FROM {of_service(found, self._service)} AS found\n"
                f"WHERE {DAY_COLUMN} IN UNNEST(@days) GROUP BY {DAY_COLUMN}"
            )
            for row in self._rows(sql, of_days(days), "versions"):
                versions[row[DAY_COLUMN]] = f"{row['row_count']} {row['row_hash']}"
        return versions

    def day_queries(self, day: date, rubric: RowRubric) -> BigQueryDayQueries:
        """The queries of the day's partition."""
        return BigQueryDayQueries(rubric, self._scores(), lambda query: self.ask(query, day))

    def row_search(self, rubric: RowRubric) -> BigQueryRowSearch:
        """The search in the table."""
        return BigQueryRowSearch(rubric, self._scores(), partial(self._rows, step="search"))

    def fired_rows(self, days: Sequence[date], rubric: RowRubric) -> list[dict[str, Any]]:
        """Queries the days' partitions for those of the columns that the table has."""
        scores, columns = self._scores(), fired_columns(rubric)
        if not scores.columns or not days:
            return []
        query = fired_rows_query(scores.rows, scores.stored(columns))
        return filled(self._rows(query, of_days(days), "ask"), columns)

    def value_counts(self, days: Sequence[date], columns: Sequence[str], rubric: RowRubric) -> CountsOfDays:
        """Counts in one statement, for those of the columns that the table has."""
        scores = self._scores()
        asked = sorted({*scores.stored(columns)}) if days else []
        sql = value_counts_query(asked, scores.rows)
        return counts_by_day(self._rows(sql, of_days(days), "ask") if asked else (), columns)

    def _scores(self) -> ScoreTable:
        found = self._found(self.table(SCORES))
        if found is None:
            return ScoreTable(self.table(SCORES).quoted, ())
        return ScoreTable(of_service(found, self._service), [field.name for field in found.schema])

    def days(self, table: str) -> list[date]:
        """The days with rows of a table, earliest first."""
        source = self.table(table)
        if (found := self._found(source)) is None:
            return []
        rows = of_service(found, self._service)
        sql = f"SELECT DISTINCT {DAY_COLUMN} FROM {rows} WHERE {DAY_COLUMN} IS NOT NULL ORDER BY 1"
        job = self._client.query(sql, [], "days", str(source))
        return [row[DAY_COLUMN] for row in self._client.rows(job, str(source))]

    @contextmanager
    def staging(self, name: str, wait_s: float = 0.0) -> Iterator[Path]:
        """A local folder (`bigquery.scratch`), with a lease in the state database."""
        with self.lock(name, wait_s or None), FolderWarehouse(self._scratch, self._service).staging(name) as folder:
            yield folder

    @contextmanager
    def lock(self, name: str, wait_s: float | None = None) -> Iterator[None]:
        """Holds a lease in the state database; waits by default until the lease of a dead holder has expired."""
        name = name if self._service is None else f"{self._service}.{name}"
        with StateDatabase(self._settings.state_url) as state, Leases(state).held(name, wait_s):
            yield

    def remove_leftovers(self, before: datetime, *, dry_run: bool) -> int:
        """Removes nothing: tables of killed runs expire, and the next run of that name empties the staging folder."""
        return 0

    def table(self, name: str) -> TableName:
        """The full name of a score table."""
        return TableName(self.dataset.project, self.dataset.dataset, name)

    def rows_of(self, table: str) -> str:
        """The FROM item for the rows of this service in a score table."""
        found = self._found(self.table(table))
        return self.table(table).quoted if found is None else of_service(found, self._service)

    def _staging_name(self, table: str) -> TableName:
        return self.table(f"{table}{STAGING}{uuid.uuid4().hex}")

    @cached_property
    def _client(self) -> JobClient:
        return JobClient(self._settings, self.dataset.project, self._labels)

    @contextmanager
    def _scratch_file(self) -> Iterator[IO[bytes]]:
        """An unnamed file: no other process can open it, and it is removed when the process ends."""
        with writable(self._scratch):
            self._scratch.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self._scratch) as file:
                yield file

    def _found(self, name: TableName) -> Table | None:
        with as_aqb_errors(str(name)):
            try:
                return self._client.table(str(name))
            except NotFound as error:
                if "Not found: Table" in error.message:
                    return None
                raise

    def _prepared(self, name: TableName, schema: pa.Schema) -> Table:
        """The table with these columns: creates it, or adds missing columns. Another writer may do the same at once."""
        api = self._client.api
        repeated: dict[str, Any] = {"retry": self._client.retry, "timeout": REQUEST_TIMEOUT_S}
        table = self._found(name)
        if table is None:
            api.create_table(new_table(name, schema), exists_ok=True, **repeated)
            table = self._client.table(str(name))  # for the location of later jobs
        while (extended := extended_schema(table, schema)) is not None:
            table.schema = extended
            with suppress(PreconditionFailed):  # another process has changed it meanwhile: read it again
                api.update_table(table, ["schema"], **repeated)
            table = self._client.table(str(name))
        return table

    @contextmanager
    def _loaded(self, file: IO[bytes], rows: int, target: Table, schema: pa.Schema) -> Iterator[str]:
        """A temporary table with the rows of a file for `target`, dropped at the end; if that fails, it expires.

        It has nothing that people gave to columns of `target`: whoever may write rows may not assign policy tags.
        """
        if not rows:
            yield f"(SELECT * FROM `{target.reference}` WHERE FALSE)"
            return
        staged = self._staging_name(target.table_id)
        table = Table(str(staged), schema=fields_of(schema))
        table.expires = datetime.now(UTC) + _EXPIRES_AFTER
        self._client.api.create_table(table, exists_ok=True, retry=self._client.retry, timeout=REQUEST_TIMEOUT_S)
        try:
            loaded = self._client.load(file, staged).output_rows
            if loaded != rows:
                raise StorageError(
                    f"of {rows} rows {loaded} were loaded; the day is as it was", where=str(staged), fix="run again"
                )
            yield staged.quoted
        finally:
            self.remove(staged)

    def _merge(
        self,
        target: Table,
        rows: str,
        days: Sequence[date],
        columns: Sequence[str],
        only: Mapping[str, str] | None,
        most: Mapping[str | None, int] | None,
        parameters: Sequence[QueryParameter] = (),
    ) -> QueryJob:
        """Replaces the days by `rows` (a table, or a query in brackets with its parameters).

        `most` is for a single day.
        """
        refuse_expired(target, days, datetime.now(UTC))
        same, name = only or {}, self.table(target.table_id)
        allowed, limits = ("", []) if most is None else small_enough(of_service(target, self._service), most)
        merged = self._client.query(
            replacing_query(target, self._service, rows, columns, same, allowed),
            [
                *of_days(days),
                *(ScalarQueryParameter(f"only_{place}", "STRING", value) for place, value in enumerate(same.values())),
                *parameters,
                *limits,
            ],
            "merge",
            str(name),
        )
        if most is not None:
            self._refuse_grown(merged, name, days[0])
        return merged

    def _refuse_grown(self, merged: QueryJob, target: TableName, day: date) -> None:
        """Raises if nothing was deleted or inserted although there are rows: the day has more rows than `most`."""
        touched = merged.dml_stats and (merged.dml_stats.deleted_row_count + merged.dml_stats.inserted_row_count)
        sql = f"SELECT COUNT(*) AS row_count FROM {self.rows_of(target.table)} WHERE {DAY_COLUMN} = @day"
        if not touched and self._rows(sql, of_day(day), "count")[0]["row_count"]:
            raise StorageError(
                f"{day} has got more rows while it was scored; it stays as it is",
                where=str(target),
                fix="run the day again",
            )

    def _rows(self, sql: str, parameters: Sequence[QueryParameter], step: str) -> list[dict[str, Any]]:
        return self._client.rows(self._client.query(sql, parameters, step, str(self.dataset)), self.url)
