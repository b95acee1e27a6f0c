"""The one place that makes BigQuery clients and runs jobs: labels, limits, job ids, retries, errors for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import (
    BadRequest,
    Forbidden,
    GoogleAPICallError,
    RetryError,
    ServerError,
    TooManyRequests,
)
from google.api_core.retry import Retry
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import TransportError
from google.cloud.bigquery import ArrayQueryParameter, Client, QueryJob, QueryJobConfig, ScalarQueryParameter
from google.cloud.bigquery_storage_v1 import BigQueryReadClient
from google.cloud.bigquery_storage_v1.services.big_query_read.transports import BigQueryReadGrpcTransport
from grpc import insecure_channel  # type: ignore[import-untyped]
from pyarrow import RecordBatch
from requests.exceptions import ChunkedEncodingError, Timeout
from requests.exceptions import ConnectionError as BrokenConnection

from tasks.warehouse.bigquery.errors import as_aqb_errors

if TYPE_CHECKING:
    from tasks.config.settings import Settings

QueryParameter = ScalarQueryParameter | ArrayQueryParameter

APP_LABEL = {"app": "aqb"}
REQUEST_TIMEOUT_S = 60.0
_BUSY_REASONS = {"rateLimitExceeded", "jobRateLimitExceeded", "backendError", "internalError", "jobBackendError"}
_LOST_CONNECTIONS = (BrokenConnection, ChunkedEncodingError, Timeout, TransportError, ConnectionError)
_LABEL_LENGTH = 63
_JOB_PATIENCE = 4
# Four streams keep one machine busy; more of them, or longer queues, only hold more texts in memory.
_STREAMS = _WAITING_PAGES = 4
_PAGE_ROWS = 10_000


def open_client(settings: Settings, project: str) -> Client:
    """A client whose jobs are paid by `bigquery.billing_project`, or by `project` where that is empty. Close it.

    Raises:
        UsageError: this machine has no Google credentials.
    """
    chosen = settings.bigquery
    with as_aqb_errors(project):
        return Client(
            project=chosen.billing_project or project,
            credentials=AnonymousCredentials() if chosen.anonymous else None,  # type: ignore[no-untyped-call]
            location=chosen.location or None,
            client_options=ClientOptions(api_endpoint=chosen.endpoint) if chosen.endpoint else None,
        )


def run_query(
    client: Client,
    sql: str,
    *,
    parameters: Sequence[QueryParameter],
    labels: Mapping[str, str],
    job_id_prefix: str,
    settings: Settings,
    location: str | None = None,
    where: str = "",
) -> QueryJob:
    """Runs one statement to its end. What fails for a passing reason is repeated, as a new job where it was one.

    A call whose answer got lost is repeated with the same job id, so that no statement runs twice at once. `where` is
    the thing that errors name.

    Raises:
        InputError: the view or a column of it is not there.
        UsageError: no permission, the wrong location, more bytes than allowed.
        StorageError: BigQuery was busy or out of reach for longer than `bigquery.retry_s`.
    """
    retry = retry_of(settings)
    with as_aqb_errors(where):
        job = client.query(
            sql,
            job_config=_query_config(parameters, labels, settings),
            job_id_prefix=job_id_prefix,
            location=location,
            retry=retry,
            # Longer than a call, so that a job that failed is started anew after its polls were repeated in vain.
            job_retry=retry.with_timeout(_JOB_PATIENCE * settings.bigquery.retry_s),
            timeout=REQUEST_TIMEOUT_S,
        )
        # The answer itself is not wanted yet, only that there is one.
        job.result(max_results=0, retry=retry)
    return job


def bytes_of_query(
    client: Client,
    sql: str,
    *,
    parameters: Sequence[QueryParameter],
    settings: Settings,
    location: str | None = None,
    where: str = "",
) -> int:
    """The bytes that a query would scan, by a dry run: it costs nothing.

    Raises:
        InputError, UsageError, StorageError: as for `run_query`.
    """
    config = _query_config(parameters, {}, settings)
    config.dry_run = True
    config.use_query_cache = False
    with as_aqb_errors(where):
        job = client.query(sql, job_config=config, location=location, retry=retry_of(settings))
    return int(job.total_bytes_processed or 0)


def result_pages(job: QueryJob, settings: Settings, where: str) -> Iterator[RecordBatch]:
    """The result of a query, page by page: through the Storage API, or over REST where that is not allowed.

    Raises:
        UsageError, StorageError: as for `run_query`.
    """
    retry = retry_of(settings)
    with as_aqb_errors(where):
        reader = _storage_reader(settings)
        if reader is not None:
            with closing(reader.transport):
                pages = job.result(retry=retry).to_arrow_iterable(
                    bqstorage_client=reader, max_queue_size=_WAITING_PAGES, max_stream_count=_STREAMS
                )
                try:
                    first = next(pages, None)
                except Forbidden:
                    reader = None  # no permission to make read sessions
                else:
                    yield from () if first is None else (first,)
                    yield from pages
        if reader is None:
            yield from job.result(page_size=_PAGE_ROWS, retry=retry).to_arrow_iterable()


def retry_of(settings: Settings) -> Retry:
    """Repeats a call with growing pauses while BigQuery is busy or cannot be reached."""
    return Retry(predicate=_will_pass, initial=0.25, maximum=32.0, multiplier=2.0, timeout=settings.bigquery.retry_s)


def job_id_prefix(labels: Mapping[str, str], step: str) -> str:
    """What the ids of a run's jobs begin with, so that they are found in the console; the rest of an id is random."""
    return f"aqb-{labels.get('run_id', 'by-hand')}-{step}-"


def labels_of(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels as BigQuery takes them, and `app`: small letters, digits, `_` and `-`."""
    return APP_LABEL | {
        name: re.sub(r"[^a-z0-9_-]", "_", value.lower())[:_LABEL_LENGTH] for name, value in labels.items() if value
    }


def _storage_reader(settings: Settings) -> BigQueryReadClient | None:
    """A client of the Storage API; None where rows are to be read over REST."""
    chosen = settings.bigquery
    if not chosen.use_storage_api or (chosen.endpoint and not chosen.storage_endpoint):
        return None
    given: dict[str, Any] = {}
    if chosen.anonymous:
        given["transport"] = BigQueryReadGrpcTransport(channel=insecure_channel(chosen.storage_endpoint))
    elif chosen.storage_endpoint:
        given["client_options"] = ClientOptions(api_endpoint=chosen.storage_endpoint)
    return BigQueryReadClient(**given)  # type: ignore[no-untyped-call]


def _query_config(
    parameters: Sequence[QueryParameter], labels: Mapping[str, str], settings: Settings
) -> QueryJobConfig:
    config = QueryJobConfig(query_parameters=list(parameters), labels=labels_of(labels))
    if settings.bigquery.maximum_bytes_billed:
        config.maximum_bytes_billed = settings.bigquery.maximum_bytes_billed
    return config


def _will_pass(error: BaseException) -> bool:
    """Whether the same call may succeed later. Two writers of one table may also meet: one of them has to come back."""
    if isinstance(error, RetryError):
        return error.cause is not None and _will_pass(error.cause)
    if isinstance(error, BadRequest) and "Could not serialize access" in error.message:
        return True
    if isinstance(error, GoogleAPICallError) and any(detail.get("reason") in _BUSY_REASONS for detail in error.errors):
        return True
    return isinstance(error, (TooManyRequests, ServerError, *_LOST_CONNECTIONS))
