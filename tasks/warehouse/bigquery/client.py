"""BigQuery clients and jobs: labels, limits, job ids, retries, readable errors."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from typing import IO, TYPE_CHECKING, Any

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import (
    BadRequest,
    Conflict,
    Forbidden,
    GoogleAPICallError,
    NotFound,
    RetryError,
    ServerError,
    TooManyRequests,
)
from google.api_core.retry import Retry
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import TransportError
from google.cloud.bigquery import (
    ArrayQueryParameter,
    Client,
    LoadJob,
    LoadJobConfig,
    ParquetOptions,
    QueryJob,
    QueryJobConfig,
    ScalarQueryParameter,
    Table,
)
from google.cloud.bigquery_storage_v1 import BigQueryReadClient
from google.cloud.bigquery_storage_v1.services.big_query_read.transports import BigQueryReadGrpcTransport
from grpc import insecure_channel  # type: ignore[import-untyped]
from pyarrow import RecordBatch
from requests.exceptions import ChunkedEncodingError, Timeout
from requests.exceptions import ConnectionError as BrokenConnection

from tasks.config.addresses import TableName
from tasks.warehouse.bigquery.errors import as_aqb_errors, reasons_of

if TYPE_CHECKING:
    from tasks.config.settings import Settings

QueryParameter = ScalarQueryParameter | ArrayQueryParameter

APP_LABEL = {"app": "aqb"}
REQUEST_TIMEOUT_S = 60.0
_BUSY_REASONS = {"rateLimitExceeded", "jobRateLimitExceeded", "backendError", "internalError", "jobBackendError"}
_OTHER_WRITERS = re.compile("Could not serialize access|Too many DML statements outstanding")
_LOST_CONNECTIONS = (BrokenConnection, ChunkedEncodingError, Timeout, TransportError, ConnectionError)
_LABEL_LENGTH = 63
_JOB_PATIENCE = 4
_UPLOAD_RETRIES = 6
# Four streams keep one machine busy; more of them, or longer queues, only hold more texts in memory.
_STREAMS = _WAITING_PAGES = 4
_PAGE_ROWS = 10_000


class JobClient:
    """Runs the jobs of one run, paid by `bigquery.billing_project`, or by `project` where that is empty.

    `labels` (`rubric`, `run_id`) mark its jobs. `where` is what errors name. Transient failures are retried with
    exponential backoff, for `bigquery.retry_s`.

    Raises (all methods):
        InputError: the view or a column of it is not there.
        UsageError: no credentials or permission, the wrong location, more bytes than allowed.
        StorageError: BigQuery was busy or out of reach for longer than that.
    """

    def __init__(self, settings: Settings, project: str, labels: Mapping[str, str] | None) -> None:
        self._settings = chosen = settings.bigquery
        self._labels = dict(labels or {})
        self._location: str | None = None
        self.retry = Retry(predicate=_will_pass, initial=0.25, maximum=32.0, multiplier=2.0, timeout=chosen.retry_s)
        with as_aqb_errors(project):
            self.api = Client(
                project=chosen.billing_project or project,
                credentials=AnonymousCredentials() if chosen.anonymous else None,  # type: ignore[no-untyped-call]
                location=chosen.location or None,
                client_options=ClientOptions(api_endpoint=chosen.endpoint) if chosen.endpoint else None,
            )

    def table(self, name: str) -> Table:
        """The metadata of a table or view, in whose location later jobs run.

        Raises `NotFound`, which the caller interprets, if it is missing.
        """
        table = self.api.get_table(name, retry=self.retry, timeout=REQUEST_TIMEOUT_S)
        self._location = table.location
        return table

    def query(self, sql: str, parameters: Sequence[QueryParameter], step: str, where: str) -> QueryJob:
        """Runs one statement to its end.

        A transient failure is retried as a new job. A call whose response was lost is retried with the same job id, so
        that no statement runs twice at once; outside US and EU the job is found only with its location.
        """
        with as_aqb_errors(where):
            job = self.api.query(
                sql,
                job_config=self._config(parameters, self.labels(step)),
                job_id_prefix=self.job_id_prefix(step),
                location=self._location,
                retry=self.retry,
                # Longer than a call, so that a job that failed is started anew after its polls were repeated in vain.
                job_retry=self.retry.with_timeout(_JOB_PATIENCE * self._settings.retry_s),
                timeout=REQUEST_TIMEOUT_S,
            )
            # The answer itself is not wanted yet, only that there is one.
            job.result(max_results=0, retry=self.retry)
        return job

    def load(self, file: IO[bytes], table: TableName) -> LoadJob:
        """Loads a Parquet file into an empty table, to the end.

        An upload whose last response was lost is unknown when it is retried; its job exists under its id. Errors name
        the job; the client does that for queries only.
        """
        parquet = ParquetOptions()  # type: ignore[no-untyped-call]
        parquet.enable_list_inference = True
        config = LoadJobConfig(
            source_format="PARQUET",
            parquet_options=parquet,
            write_disposition="WRITE_EMPTY",
            labels=self.labels("load"),
        )
        job_id = f"{self.job_id_prefix('load')}{uuid.uuid4()}"
        try:
            job: Any = self.api.load_table_from_file(
                file, str(table), rewind=True, num_retries=_UPLOAD_RETRIES, job_id=job_id, job_config=config
            )
        except (NotFound, Conflict) as error:
            try:
                job = self.api.get_job(job_id, location=self._location, retry=self.retry, timeout=REQUEST_TIMEOUT_S)
            except NotFound:
                raise error from None
        try:
            return job.result(retry=self.retry)  # type: ignore[no-any-return]
        except GoogleAPICallError as error:
            error.query_job = job  # type: ignore[attr-defined]
            raise

    def bytes_of(self, sql: str, parameters: Sequence[QueryParameter], where: str) -> int:
        """The bytes that a query would scan, by a dry run: it costs nothing."""
        config = self._config(parameters, APP_LABEL)
        config.dry_run = True
        config.use_query_cache = False
        with as_aqb_errors(where):
            job = self.api.query(sql, job_config=config, location=self._location, retry=self.retry)
        return int(job.total_bytes_processed or 0)

    def pages(self, job: QueryJob, where: str) -> Iterator[RecordBatch]:
        """The result of a query, page by page: through the Storage API, or over REST where that is not allowed."""
        with as_aqb_errors(where):
            reader = self._storage_reader()
            if reader is not None:
                with closing(reader.transport):
                    try:
                        first, pages = self.retry(_begun)(job, reader, self.retry)
                    except Forbidden:
                        reader = None  # no permission to make read sessions
                    else:
                        yield from () if first is None else (first,)
                        yield from pages
            if reader is None:
                yield from job.result(page_size=_PAGE_ROWS, retry=self.retry).to_arrow_iterable()

    def rows(self, job: QueryJob, where: str) -> list[dict[str, Any]]:
        """The rows of a small result."""
        return [row for page in self.pages(job, where) for row in page.to_pylist()]

    def labels(self, step: str) -> dict[str, str]:
        """Labels of a job in the characters that BigQuery allows (small letters, digits, `_` and `-`), and `app`."""
        return APP_LABEL | {
            name: re.sub(r"[^a-z0-9_-]", "_", value.lower())[:_LABEL_LENGTH]
            for name, value in {**self._labels, "step": step}.items()
            if value
        }

    def job_id_prefix(self, step: str) -> str:
        """The prefix of job ids, by which those of a run are found in the console; the rest is random."""
        return "-".join(["aqb", *filter(None, [self._labels.get("run_id")]), step, ""])

    def _config(self, parameters: Sequence[QueryParameter], labels: Mapping[str, str]) -> QueryJobConfig:
        config = QueryJobConfig(query_parameters=list(parameters), labels=dict(labels))
        if self._settings.maximum_bytes_billed:
            config.maximum_bytes_billed = self._settings.maximum_bytes_billed
        return config

    def _storage_reader(self) -> BigQueryReadClient | None:
        """A client of the Storage API; None where rows are to be read over REST."""
        chosen = self._settings
        if not chosen.use_storage_api or (chosen.endpoint and not chosen.storage_endpoint):
            return None
        given: dict[str, Any] = {}
        if chosen.anonymous:
            given["transport"] = BigQueryReadGrpcTransport(channel=insecure_channel(chosen.storage_endpoint))
        elif chosen.storage_endpoint:
            given["client_options"] = ClientOptions(api_endpoint=chosen.storage_endpoint)
        return BigQueryReadClient(**given)  # type: ignore[no-untyped-call]


def _begun(job: QueryJob, reader: BigQueryReadClient, retry: Retry) -> tuple[RecordBatch | None, Iterator[RecordBatch]]:
    """The first page of a result through the Storage API, whose client does not retry it, and the others."""
    pages = job.result(retry=retry).to_arrow_iterable(
        bqstorage_client=reader, max_queue_size=_WAITING_PAGES, max_stream_count=_STREAMS
    )
    return next(pages, None), pages


def _will_pass(error: BaseException) -> bool:
    """Whether a failure is transient. Conflicts of writers of one table are, too: some of them have to retry."""
    if isinstance(error, RetryError):
        return error.cause is not None and _will_pass(error.cause)
    if isinstance(error, BadRequest) and _OTHER_WRITERS.search(error.message):
        return True
    if isinstance(error, GoogleAPICallError) and not _BUSY_REASONS.isdisjoint(reasons_of(error)):
        return True
    return isinstance(error, (TooManyRequests, ServerError, *_LOST_CONNECTIONS))


def of_day(day: date) -> list[QueryParameter]:
    """The parameter @day."""
    return [ScalarQueryParameter("day", "DATE", day)]


def of_days(days: Sequence[date]) -> list[QueryParameter]:
    """The parameter @days."""
    return [ArrayQueryParameter("days", "DATE", list(days))]
