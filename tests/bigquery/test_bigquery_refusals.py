"""What BigQuery refuses: what is tried again, and the line that a person gets. The local one knows neither quotas nor
permissions nor bytes, so a proxy before it says what BigQuery would.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
from tasks.testruns.warehouse import SCORES_SCHEMA
from tasks.warehouse import open_warehouse
from tasks.warehouse.bigquery.errors import as_aqb_errors
from tests.bigquery.conftest import Emulator
from tests.fakes.bigquery_proxy import Proxy, Refusal, proxy_to

DAY = date(2026, 2, 13)
WINDOW = day_window(DAY, "Asia/Seoul")
SECRET = "주민번호 900101-1234567"
BUSY = Refusal(403, "rateLimitExceeded", "Exceeded rate limits: too many api requests per user per method")
DENIED_JOB = (
    "Access Denied: Project team-project: User does not have bigquery.jobs.create permission in project team-project."
)
SWITCHED_OFF = (
    "BigQuery API has not been used in project 123456 before or it is disabled. Enable it by visiting "
    "https://console.developers.google.com/apis/api/bigquery.googleapis.com/overview?project=123456 then retry."
)
PERIMETER = (
    "VPC Service Controls: Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: a1."
)
DENIED_TABLE = (
    "Access Denied: Table team-project:chat.rows: User does not have permission to query table "
    "team-project:chat.rows, or perhaps it does not exist."
)
TAGGED = (
    "Access Denied: BigQuery BigQuery: User has neither fine-grained reader nor masked get permission to get data "
    'protected by policy tag "Texts : people" on column team-project.chat.rows.user_input.'
)
QUEUE_FULL = (
    "Resources exceeded during query execution: Too many DML statements outstanding against table "
    "team-project:aqb.monitoring_scores, limit is 20"
)
UNFILTERED = (
    "Cannot query over table 'team-project.chat.rows' without a filter over column(s) 'timestamp' that can be used for "
    "partition elimination"
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
        ("POST /bigquery", Refusal(400, "resourcesExceeded", QUEUE_FULL)),
    ],
)
def test_what_passes_is_tried_again(
    proxy: Proxy, address: str, settings: Settings, request_part: str, refusal: Refusal
) -> None:
    proxy.refuse(request_part, refusal)
    assert questions(address, through(proxy, settings)) == [SECRET]


def test_job_whose_answer_was_lost_is_not_run_twice(
    proxy: Proxy, client: Client, address: str, settings: Settings
) -> None:
    proxy.lost = "POST /bigquery"
    source = BigQueryChatRows(address, through(proxy, settings), {"run_id": "lost"})
    assert sum(batch.rows.height for batch in source.batches(WINDOW)) == 1
    assert len([request for request in proxy.seen if request.startswith("POST")]) == 2
    assert len([job for job in client.list_jobs() if job.job_id.startswith("aqb-lost-")]) == 1


def test_statement_whose_answer_was_lost_is_looked_up_where_the_dataset_is(
    proxy: Proxy, dataset: str, settings: Settings
) -> None:
    """Outside US and EU, BigQuery finds a job only with its location."""
    warehouse = open_warehouse(f"bigquery://{dataset.replace('.', '/')}", through(proxy, settings))
    warehouse.replace_day("scores", DAY, SCORES_SCHEMA, [])
    proxy.lost = "POST /bigquery/v2/projects/team-project/jobs"
    assert warehouse.days("scores") == []
    looked_up = [one for one in proxy.seen if one.startswith("GET /bigquery/v2/projects/team-project/jobs/aqb-")]
    assert looked_up and all("location=US" in one for one in looked_up)


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
            Refusal(403, "accessDenied", TAGGED),
            UsageError,
            "",
            "no permission to read column team-project.chat.rows.user_input, which has a policy tag",
            "roles/datacatalog.categoryFineGrainedReader",
        ),
        (
            Refusal(403, "accessNotConfigured", SWITCHED_OFF),
            UsageError,
            "project 123456",
            "the BigQuery API is not enabled",
            "gcloud services enable bigquery.googleapis.com --project=123456",
        ),
        (Refusal(403, "accessDenied", PERIMETER), UsageError, "", "VPC Service Controls forbid", "service perimeter"),
        (
            Refusal(404, "notFound", "Not found: Dataset team-project:chat was not found in location US"),
            InputError,
            "team-project.chat",
            "there is no such dataset in location US",
            'set bigquery.location; if source and score tables are in two: monitoring.engine = "local"',
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
            Refusal(400, "invalidQuery", UNFILTERED),
            UsageError,
            "team-project.chat.rows",
            "not read without a filter over timestamp (require_partition_filter)",
            "`aqb rows`",
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
            "over its quota (usageQuotaExceeded, job aqb-extract-",
            "quotas stand in the console",
        ),
        (Refusal(400, "invalidQuery", f"Bad double value: {SECRET}"), AqbError, "", "refused the request", "console"),
    ],
)
def test_refusal_says_which_and_what_to_do(
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


class StorageApi(grpc.GenericRpcHandler):  # type: ignore[misc]
    """A way to the Storage API that first refuses so many calls with a code."""

    def __init__(self, code: grpc.StatusCode, refused: int, target: str) -> None:
        self.asked: list[str] = []
        self._code, self._refused = code, refused
        self._api = grpc.insecure_channel(target)

    def service(self, details: Any) -> Any:
        self.asked.append(details.method.rpartition("/")[2])
        if len(self.asked) <= self._refused:
            return grpc.unary_unary_rpc_method_handler(lambda _, context: context.abort(self._code, SECRET))
        if self.asked[-1] == "ReadRows":
            return grpc.unary_stream_rpc_method_handler(lambda asked, _: self._api.unary_stream(details.method)(asked))
        return grpc.unary_unary_rpc_method_handler(lambda asked, _: self._api.unary_unary(details.method)(asked))


@contextmanager
def storage_api(settings: Settings, emulator: Emulator, code: grpc.StatusCode, refused: int) -> Iterator[Any]:
    """Settings that reach the Storage API by that way, and the names of the calls so far."""
    way = StorageApi(code, refused, emulator.storage)
    server = grpc.server(ThreadPoolExecutor(4), handlers=[way])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        proxy = Proxy(url=settings.bigquery.endpoint)
        yield through(proxy, settings, storage_endpoint=f"127.0.0.1:{port}"), way.asked
    finally:
        server.stop(None).wait()


def test_without_permission_for_the_storage_api_rows_come_over_rest(
    client: Client, dataset: str, settings: Settings, emulator: Emulator
) -> None:
    client.query_and_wait(
        f"CREATE VIEW `{dataset}.many` AS SELECT 'q' AS user_input, 'a' AS llm_response, n AS input_tokens, "
        "1 AS output_tokens, TIMESTAMP '2026-02-13 03:00:00+00' AS timestamp FROM UNNEST(GENERATE_ARRAY(1, 25000)) n"
    )
    with storage_api(settings, emulator, grpc.StatusCode.PERMISSION_DENIED, refused=1) as (reaching, asked):
        found = questions(f"bigquery://{dataset}.many", reaching)
    assert len(found) == 25_000
    assert asked == ["CreateReadSession"]


@pytest.mark.filterwarnings("ignore:Retrieving Arrow record batches:PendingDeprecationWarning")  # between two Googles
@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED])
def test_storage_api_that_is_busy_for_a_moment_is_asked_again(
    settings: Settings, emulator: Emulator, address: str, code: grpc.StatusCode
) -> None:
    with storage_api(settings, emulator, code, refused=2) as (reaching, asked):
        assert questions(address, reaching) == [SECRET]
    assert asked == ["CreateReadSession"] * 3 + ["ReadRows"]


@pytest.mark.parametrize(
    ("code", "kind", "what"),
    [
        (grpc.StatusCode.UNAVAILABLE, StorageError, r"the BigQuery Storage API is busy or out of reach \(503\)"),
        (grpc.StatusCode.UNAUTHENTICATED, UsageError, r"the Google credentials are refused \(401\)"),
        (grpc.StatusCode.INVALID_ARGUMENT, AqbError, r"BigQuery refused the request \(400\)"),
    ],
)
def test_what_the_storage_api_refuses_is_one_line(
    settings: Settings, emulator: Emulator, address: str, code: grpc.StatusCode, kind: type[AqbError], what: str
) -> None:
    with (
        storage_api(settings, emulator, code, refused=1000) as (reaching, _),
        pytest.raises(kind, match=what) as refused,
    ):
        questions(address, through(Proxy(url=reaching.bigquery.endpoint), reaching, retry_s=0))
    assert refused.value.where == address.removeprefix("bigquery://")
    assert SECRET not in str(refused.value)


def test_dry_run_shows_what_bigquery_would_scan(proxy: Proxy, address: str, settings: Settings) -> None:
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
    ("message", "what", "where"),
    [
        ("Not found: Dataset team-project:aqb", "there is no such dataset", "team-project.aqb"),
        ("Not found: Project team-projct", "there is no such project", "team-projct"),
    ],
)
def test_tables_of_a_dataset_that_is_not_there_are_not_taken_for_empty_ones(
    proxy: Proxy, settings: Settings, message: str, what: str, where: str
) -> None:
    """The local BigQuery says of each table alone that it is not there."""
    proxy.refuse("GET /bigquery", Refusal(404, "notFound", message), times=9)
    with pytest.raises(InputError, match=what) as refused:
        open_warehouse("bigquery://team-project/aqb", through(proxy, settings)).days("monitoring_kpis")
    assert refused.value.where == where


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


def test_address_where_nobody_listens_is_worth_a_later_run(settings: Settings) -> None:
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
