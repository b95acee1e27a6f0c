"""What BigQuery refuses: what is tried again, and the line that a person gets. The local one knows neither quotas nor
permissions nor bytes, so a proxy before it says what BigQuery would.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from google.auth.exceptions import DefaultCredentialsError, RefreshError
from google.cloud.bigquery import Client

from scoring.days import day_window
from scoring.errors import AqbError, InputError, StorageError, UsageError
from tasks.chat.sources.bigquery import BigQueryChatRows
from tasks.config.bigquery import BigQuerySettings
from tasks.config.settings import Settings
from tasks.warehouse.bigquery.errors import as_aqb_errors
from tests.bigquery.conftest import Emulator
from tests.fakes.bigquery_proxy import Proxy, Refusal, proxy_to

WINDOW = day_window(date(2026, 2, 13), "Asia/Seoul")
SECRET = "주민번호 900101-1234567"
BUSY = Refusal(403, "rateLimitExceeded", "Exceeded rate limits: too many api requests per user per method")
DENIED_JOB = (
    "Access Denied: Project team-project: User does not have bigquery.jobs.create permission in project team-project."
)
DENIED_TABLE = (
    "Access Denied: Table team-project:chat.rows: User does not have permission to query table "
    "team-project:chat.rows, or perhaps it does not exist."
)


@pytest.fixture
def proxy(emulator: Emulator) -> Iterator[Proxy]:
    """What stands before the local BigQuery."""
    with proxy_to(emulator.rest) as proxy:
        yield proxy


@pytest.fixture
def address(client: Client, dataset: str) -> str:
    """A view with one row, whose question is nobody's business."""
    client.query_and_wait(
        f"CREATE VIEW `{dataset}.chat_rows` AS SELECT '{SECRET}' AS user_input, '답변' AS llm_response, "
        "1 AS input_tokens, 2 AS output_tokens, TIMESTAMP '2026-02-13 03:00:00+00' AS timestamp"
    )
    return f"bigquery://{dataset}.chat_rows"


def through(proxy: Proxy, settings: Settings, **bigquery: Any) -> Settings:
    """The settings with the proxy for BigQuery."""
    changed = BigQuerySettings(**settings.bigquery.model_dump() | {"endpoint": proxy.url} | bigquery)
    return settings.model_copy(update={"bigquery": changed})


def questions(address: str, settings: Settings) -> list[str]:
    """The questions of the day."""
    source = BigQueryChatRows(address, settings)
    return [text for batch in source.batches(WINDOW) for text in batch.rows["user_input"].to_list()]


@pytest.mark.parametrize(
    ("request_part", "refusal"),
    [
        ("GET /bigquery", BUSY),
        ("/queries/", BUSY),
        ("POST /bigquery", BUSY),
        ("POST /bigquery", Refusal(429, "rateLimitExceeded", "Too many requests")),
        ("POST /bigquery", Refusal(500, "internalError", "An internal error occurred")),
        ("POST /bigquery", Refusal(502, "backendError", "Bad gateway")),
        ("POST /bigquery", Refusal(503, "somethingNew", "Service unavailable")),
    ],
)
def test_what_passes_is_tried_again(
    proxy: Proxy, address: str, settings: Settings, request_part: str, refusal: Refusal
) -> None:
    proxy.refuse(request_part, refusal)
    assert questions(address, through(proxy, settings)) == [SECRET]


def test_a_job_whose_answer_was_lost_is_not_run_twice(
    proxy: Proxy, client: Client, address: str, settings: Settings
) -> None:
    proxy.lost = "POST /bigquery"
    source = BigQueryChatRows(address, through(proxy, settings), {"run_id": "lost"})
    assert sum(batch.rows.height for batch in source.batches(WINDOW)) == 1
    assert len([request for request in proxy.seen if request.startswith("POST")]) == 2
    assert len([job for job in client.list_jobs() if job.job_id.startswith("aqb-lost-")]) == 1


def test_what_does_not_pass_in_time_is_worth_a_later_run(proxy: Proxy, address: str, settings: Settings) -> None:
    proxy.refuse("GET /bigquery", BUSY, times=1000)
    with pytest.raises(StorageError, match=r"busy or over its quota \(rateLimitExceeded\)"):
        questions(address, through(proxy, settings, retry_s=0))


@pytest.mark.parametrize(
    ("refusal", "kind", "where", "what", "fix"),
    [
        (
            Refusal(403, "accessDenied", DENIED_JOB),
            UsageError,
            "project team-project",
            "no permission bigquery.jobs.create, or it does not exist",
            "docs/bigquery.md",
        ),
        (
            Refusal(403, "accessDenied", DENIED_TABLE),
            UsageError,
            "table team-project.chat.rows",
            "no permission, or it does not exist",
            "docs/bigquery.md",
        ),
        (
            Refusal(404, "notFound", "Not found: Dataset team-project:chat was not found in location US"),
            InputError,
            "team-project.chat",
            "there is no such dataset in location US",
            "bigquery.location",
        ),
        (
            Refusal(
                400,
                "bytesBilledLimitExceeded",
                "Query exceeded limit for bytes billed: 1000. 10485760 or higher required.",
            ),
            UsageError,
            "",
            "the query would bill 10,485,760 bytes, more than allowed",
            "bigquery.maximum_bytes_billed",
        ),
        (
            Refusal(400, "invalidQuery", "Unrecognized name: llm_response at [3:5]"),
            InputError,
            "",
            "there is no column llm_response",
            "bigquery.columns",
        ),
        (
            Refusal(403, "responseTooLarge", "Response too large to return."),
            UsageError,
            "",
            "the rows are too many to be read out of BigQuery",
            'monitoring.engine = "bigquery"',
        ),
        (
            Refusal(403, "usageQuotaExceeded", "Custom quota exceeded: QueryUsagePerDay, set by your administrator."),
            StorageError,
            "",
            "over its quota (usageQuotaExceeded)",
            "quotas stand in the console",
        ),
        (Refusal(400, "invalidQuery", f"Bad double value: {SECRET}"), AqbError, "", "refused the request", "console"),
    ],
)
def test_a_refusal_says_which_and_what_to_do(
    proxy: Proxy,
    address: str,
    settings: Settings,
    refusal: Refusal,
    kind: type[AqbError],
    where: str,
    what: str,
    fix: str,
) -> None:
    proxy.refuse("POST /bigquery", refusal)
    with pytest.raises(kind) as refused:
        questions(address, through(proxy, settings))
    assert refused.value.where == (where or address.removeprefix("bigquery://"))
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert "\n" not in refused.value.what
    assert SECRET not in str(refused.value)


class NotAllowed(grpc.GenericRpcHandler):  # type: ignore[misc]
    """A Storage API that this user may not use."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def service(self, details: Any) -> Any:
        self.asked.append(details.method)
        return grpc.unary_unary_rpc_method_handler(
            lambda _, context: context.abort(grpc.StatusCode.PERMISSION_DENIED, "bigquery.readsessions.create denied")
        )


def test_without_permission_for_the_storage_api_rows_come_over_rest(
    client: Client, dataset: str, settings: Settings
) -> None:
    client.query_and_wait(
        f"CREATE VIEW `{dataset}.many` AS SELECT 'q' AS user_input, 'a' AS llm_response, n AS input_tokens, "
        "1 AS output_tokens, TIMESTAMP '2026-02-13 03:00:00+00' AS timestamp FROM UNNEST(GENERATE_ARRAY(1, 25000)) n"
    )
    not_allowed = NotAllowed()
    server = grpc.server(ThreadPoolExecutor(1), handlers=[not_allowed])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        proxy = Proxy(url=settings.bigquery.endpoint)
        found = questions(f"bigquery://{dataset}.many", through(proxy, settings, storage_endpoint=f"127.0.0.1:{port}"))
    finally:
        server.stop(None).wait()
    assert len(found) == 25_000
    assert [method.rpartition("/")[2] for method in not_allowed.asked] == ["CreateReadSession"]


def test_the_dry_run_shows_what_bigquery_would_scan(proxy: Proxy, address: str, settings: Settings) -> None:
    proxy.rewrite = (b'"totalBytesProcessed":"0"', b'"totalBytesProcessed":"123456789"')
    estimate = BigQueryChatRows(address, through(proxy, settings)).estimate(WINDOW)
    assert estimate == f"{address.removeprefix('bigquery://')} in US, 123,456,789 bytes to scan, about 0.00 USD"
    assert b'"dryRun":true' in proxy.bodies[-1].replace(b" ", b"")


def test_no_limit_sends_no_limit(proxy: Proxy, address: str, settings: Settings) -> None:
    questions(address, through(proxy, settings))
    assert any(b'"maximumBytesBilled"' in body for body in proxy.bodies)
    proxy.bodies.clear()
    questions(address, through(proxy, settings, maximum_bytes_billed=0))
    assert not any(b'"maximumBytesBilled"' in body for body in proxy.bodies)


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (
            DefaultCredentialsError("key.json was not found"),  # type: ignore[no-untyped-call]
            "no Google credentials on this machine",
        ),
        (
            RefreshError("invalid_grant: token ya29.secret"),  # type: ignore[no-untyped-call]
            "the Google credentials are refused (RefreshError)",
        ),
    ],
)
def test_credentials_are_never_quoted(error: Exception, what: str) -> None:
    with pytest.raises(UsageError) as refused, as_aqb_errors("team-project"):
        raise error
    assert (refused.value.what, refused.value.where) == (what, "team-project")
    assert "secret" not in str(refused.value)
    assert "key.json" not in str(refused.value)


def test_an_address_where_nobody_listens_is_worth_a_later_run(settings: Settings) -> None:
    nowhere = through(Proxy(url="http://127.0.0.1:9"), settings, retry_s=0)
    with pytest.raises(StorageError, match="BigQuery cannot be reached"):
        BigQueryChatRows("bigquery://team-project.chat.rows", nowhere)


def test_no_log_holds_what_people_wrote(
    proxy: Proxy, address: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    proxy.refuse("POST /bigquery", BUSY)
    assert questions(address, through(proxy, settings)) == [SECRET]
    proxy.refuse("POST /bigquery", Refusal(400, "invalidQuery", f"Bad double value: {SECRET}"))
    with pytest.raises(AqbError):
        questions(address, through(proxy, settings))
    assert SECRET not in caplog.text
