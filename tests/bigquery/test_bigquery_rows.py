"""Chat rows of a view in a local BigQuery: types, names, windows, rejects, and what is refused."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from google.cloud.bigquery import Client

from scoring.chat.rows import BATCH_ROWS, CHAT_ROW_SCHEMA, RowBatch
from scoring.days import day_window
from scoring.errors import InputError, UsageError
from scoring.inputs import Reject
from tasks.chat.sources import open_source
from tasks.chat.sources.bigquery import BigQueryChatRows
from tasks.config.bigquery import BigQuerySettings
from tasks.config.settings import MonitoringSettings, Settings
from tests.bigquery.conftest import Emulator
from tests.fakes.bigquery_proxy import proxy_to

DAY = date(2026, 2, 13)
WINDOW = day_window(DAY, "Asia/Seoul")
NOON = "TIMESTAMP '2026-02-13 03:00:00+00'"
PRODUCTION = {
    "user_input": "'질문'",
    "llm_response": "'답변'",
    "input_tokens": "3000.0",
    "output_tokens": "420.0",
    "total_tokens": "3420.0",
    "success": "TRUE",
    "message_length": "2.0",
    "timestamp": NOON,
    "request_metadata": "STRUCT('s1' AS session_id, 'x' AS x_enc_data)",
    "tenant_id": "'t1'",
}


def view_of(client: Client, dataset: str, *rows: dict[str, str]) -> str:
    """The address of a view with these rows, given as SQL by column."""
    selects = [f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in row.items())}" for row in rows]
    client.query_and_wait(f"CREATE TABLE `{dataset}.logs` AS {' UNION ALL '.join(selects)}")
    client.query_and_wait(f"CREATE VIEW `{dataset}.chat_rows` AS SELECT * FROM `{dataset}.logs`")
    return f"bigquery://{dataset}.chat_rows"


def production(**columns: str) -> dict[str, str]:
    """A row as the production view has it, with some columns given as SQL."""
    return PRODUCTION | columns


def reaching(settings: Settings, **bigquery: Any) -> Settings:
    """The settings with some of `[bigquery]` changed."""
    changed = BigQuerySettings(**settings.bigquery.model_dump() | bigquery)
    return settings.model_copy(update={"bigquery": changed})


def read(source: BigQueryChatRows) -> list[dict[str, Any]]:
    """The rows of the day."""
    return [row for batch in source.batches(WINDOW) for row in batch.rows.to_dicts()]


def rejects(source: BigQueryChatRows) -> list[Reject]:
    """The rows of the day that cannot be read."""
    return [reject for batch in source.batches(WINDOW) for reject in batch.rejects]


def test_row_of_the_production_view_is_read_as_it_is(client: Client, dataset: str, settings: Settings) -> None:
    source = open_source(view_of(client, dataset, production()), settings)
    batches = list(source.batches(WINDOW))
    assert all(isinstance(batch, RowBatch) and batch.rows.schema == CHAT_ROW_SCHEMA for batch in batches)
    assert [row for batch in batches if isinstance(batch, RowBatch) for row in batch.rows.to_dicts()] == [
        {
            "user_input": "질문",
            "llm_response": "답변",
            "input_tokens": 3000.0,
            "output_tokens": 420.0,
            "timestamp": datetime(2026, 2, 13, 3, tzinfo=UTC),
            "tenant_id": "t1",
            "session_id": "s1",
            "source_id": None,
            "line": None,
        }
    ]


def test_day_holds_its_first_instant_and_not_its_last_and_rows_without_a_time(
    client: Client, dataset: str, settings: Settings
) -> None:
    times = [
        "TIMESTAMP '2026-02-12 14:59:59.999999+00'",
        "TIMESTAMP '2026-02-12 15:00:00+00'",
        "TIMESTAMP '2026-02-13 14:59:59.999999+00'",
        "TIMESTAMP '2026-02-13 15:00:00+00'",
        "CAST(NULL AS TIMESTAMP)",
    ]
    source = BigQueryChatRows(view_of(client, dataset, *(production(timestamp=time) for time in times)), settings)
    found = sorted(str(row["timestamp"]) for row in read(source))
    assert found == ["2026-02-12 15:00:00+00:00", "2026-02-13 14:59:59.999999+00:00", "None"]
    assert len([row for batch in source.batches() for row in batch.rows.to_dicts()]) == 5


@pytest.mark.parametrize(
    ("kind", "zone", "times", "count"),
    [
        ("DATETIME", "Asia/Seoul", ["2026-02-12 23:59:59.999999", "2026-02-13 00:00:00", "2026-02-13 23:59:59"], 2),
        ("DATETIME", "UTC", ["2026-02-12 14:59:59.999999", "2026-02-12 15:00:00", "2026-02-13 15:00:00"], 1),
        ("DATETIME", "America/New_York", ["2026-02-12 10:00:00", "2026-02-13 09:59:59", "2026-02-13 10:00:00"], 2),
        ("DATE", "Asia/Seoul", ["2026-02-12", "2026-02-13", "2026-02-14"], 1),
        ("DATE", "UTC", ["2026-02-12", "2026-02-13", "2026-02-14"], 1),
    ],
)
def test_day_of_local_times_is_that_of_their_instants_and_scans_its_partitions_alone(
    client: Client, dataset: str, settings: Settings, kind: str, zone: str, times: list[str], count: int
) -> None:
    rows = [production(timestamp=f"{kind} '{time}'") for time in times]
    rows.append(production(timestamp=f"CAST(NULL AS {kind})"))
    address = view_of(client, dataset, *rows)
    local = settings.model_copy(update={"monitoring": MonitoringSettings(naive_timestamps=zone)})
    source = BigQueryChatRows(address, local)
    assert len(read(source)) == count + 1
    # BigQuery compares partitions with the bare column only.
    assert f"(source.`timestamp` BETWEEN {kind}(" in source.sql(WINDOW)


@pytest.mark.parametrize(
    ("column", "sql", "found"),
    [
        ("input_tokens", "CAST(3000 AS INT64)", 3000.0),
        ("input_tokens", "NUMERIC '3000.5'", 3000.5),
        ("input_tokens", "' 3000 '", 3000.0),
        ("input_tokens", "' '", None),
        ("input_tokens", "'nan'", None),
        ("input_tokens", "CAST('nan' AS FLOAT64)", None),
        ("input_tokens", "CAST('-inf' AS FLOAT64)", float("-inf")),
        ("tenant_id", "CAST(17 AS INT64)", "17"),
        ("timestamp", "'2026-02-13 03:00:00.5 UTC'", datetime(2026, 2, 13, 3, 0, 0, 500_000, tzinfo=UTC)),
        ("timestamp", "'2026-02-13T12:00:00+09:00'", datetime(2026, 2, 13, 3, tzinfo=UTC)),
        ("timestamp", "DATETIME '2026-02-13 03:00:00'", datetime(2026, 2, 13, 3, tzinfo=UTC)),
        ("timestamp", "DATE '2026-02-13'", datetime(2026, 2, 13, tzinfo=UTC)),
    ],
)
def test_columns_of_exported_tables_are_read_by_their_type(
    client: Client, dataset: str, settings: Settings, column: str, sql: str, found: object
) -> None:
    source = BigQueryChatRows(view_of(client, dataset, production(**{column: sql})), settings)
    assert [row[column] for row in read(source)] == [found]
    assert rejects(source) == []


def test_text_that_is_no_number_and_no_time_rejects_its_row_and_never_shows_it(
    client: Client, dataset: str, settings: Settings
) -> None:
    texts = {"input_tokens": "'12'", "timestamp": "'2026-02-13 03:00:00'"}
    rows = [texts, texts | {"input_tokens": "'열둘'"}, texts | {"timestamp": "'어제'"}]
    source = BigQueryChatRows(view_of(client, dataset, *(production(**row) for row in rows)), settings)
    assert [row["input_tokens"] for row in read(source)] == [12.0]
    found = {(reject.file, reject.line, reject.column, reject.code, reject.reason) for reject in rejects(source)}
    file = f"{dataset}.chat_rows"
    assert found == {
        (file, None, "input_tokens", "not_a_number", "숫자로 읽을 수 없습니다."),
        (file, None, "timestamp", "not_a_timestamp", "시각으로 읽을 수 없습니다."),
    }


def test_timestamp_without_a_zone_is_counted(client: Client, dataset: str, settings: Settings) -> None:
    times = ["'2026-02-13 03:00:00'", "'2026-02-13'", "'2026-02-13 03:00:00+00'", "'2026-02-13T03:00:00Z'"]
    source = BigQueryChatRows(view_of(client, dataset, *(production(timestamp=time) for time in times)), settings)
    assert sum(batch.naive_timestamps for batch in source.batches(WINDOW)) == 2


def test_exported_log_is_read_by_prefix_and_names(client: Client, dataset: str, settings: Settings) -> None:
    texts = "'질문' AS question, '답변' AS llm_response"
    payload = f"STRUCT({texts}, '7' AS input_tokens, 8 AS output_tokens, 's9' AS sid, 'r1' AS id)"
    address = view_of(client, dataset, {"timestamp": NOON, "jsonPayload": payload})
    names = {"user_input": "question", "session_id": "sid", "source_id": "id"}
    (row,) = read(BigQueryChatRows(address, reaching(settings, prefix="jsonPayload.", columns=names)))
    assert (row["user_input"], row["input_tokens"], row["output_tokens"]) == ("질문", 7.0, 8.0)
    assert (row["session_id"], row["source_id"], row["tenant_id"]) == ("s9", "r1", None)


def test_payload_of_type_json_is_read_like_a_struct(client: Client, dataset: str, settings: Settings) -> None:
    payload = """JSON '{"user_input": "질문", "llm_response": "답변", "input_tokens": 7, "output_tokens": null,
        "request_metadata": {"session_id": 9}}'"""
    address = view_of(client, dataset, {"timestamp": NOON, "jsonPayload": payload})
    (row,) = read(BigQueryChatRows(address, reaching(settings, prefix="jsonPayload.")))
    assert (row["user_input"], row["input_tokens"], row["output_tokens"]) == ("질문", 7.0, None)
    assert row["session_id"] == "9"


@pytest.mark.parametrize(
    ("metadata", "session"),
    [("""'{"session_id": "s2"}'""", "s2"), ("'no json'", None), ("STRUCT('x' AS x_enc_data)", None)],
)
def test_session_stands_in_whatever_request_metadata_is(
    client: Client, dataset: str, settings: Settings, metadata: str, session: str | None
) -> None:
    source = BigQueryChatRows(view_of(client, dataset, production(request_metadata=metadata)), settings)
    assert [row["session_id"] for row in read(source)] == [session]


@pytest.mark.filterwarnings("ignore:Retrieving Arrow record batches:PendingDeprecationWarning")  # between two Googles
def test_many_rows_are_the_same_over_rest_and_over_the_storage_api(
    client: Client, dataset: str, settings: Settings, emulator: Emulator
) -> None:
    client.query_and_wait(
        f"CREATE VIEW `{dataset}.many` AS SELECT CONCAT('질문 ', CAST(n AS STRING)) AS user_input, '' AS llm_response, "
        f"n AS input_tokens, 1 AS output_tokens, {NOON} AS timestamp FROM UNNEST(GENERATE_ARRAY(1, 25000)) AS n"
    )
    address = f"bigquery://{dataset.replace('.', '/')}/many"
    over_rest = list(BigQueryChatRows(address, settings).batches(WINDOW))
    fast = reaching(settings, storage_endpoint=emulator.storage)
    over_storage = list(BigQueryChatRows(address, fast).batches(WINDOW))
    assert max(batch.rows.height for batch in (*over_rest, *over_storage)) <= BATCH_ROWS
    numbers = [sorted(_questions(batches)) for batches in (over_rest, over_storage)]
    assert len(numbers[0]) == 25_000
    assert numbers[0] == numbers[1]


def _questions(batches: list[RowBatch]) -> Iterator[str]:
    for batch in batches:
        yield from batch.rows["user_input"].to_list()


def test_reading_a_day_again_runs_no_second_query(client: Client, dataset: str, settings: Settings) -> None:
    source = BigQueryChatRows(view_of(client, dataset, production()), settings, {"run_id": "r7", "rubric": "aqb-1.2"})
    assert read(source) == read(source)
    jobs = [job for job in client.list_jobs() if job.job_id.startswith("aqb-r7-extract-")]
    assert [job.labels for job in jobs] == [{"app": "aqb", "run_id": "r7", "rubric": "aqb-1_2", "step": "extract"}]
    assert [job.maximum_bytes_billed for job in jobs] == [settings.bigquery.maximum_bytes_billed]


def test_identity_of_a_view_changes_with_it(client: Client, dataset: str, settings: Settings) -> None:
    address = view_of(client, dataset, production())
    (before,) = BigQueryChatRows(address, settings).fingerprint()
    assert before == BigQueryChatRows(address, settings).fingerprint()[0]
    client.query_and_wait(f"CREATE OR REPLACE VIEW `{dataset}.chat_rows` AS SELECT *, 1 AS more FROM `{dataset}.logs`")
    (after,) = BigQueryChatRows(address, settings).fingerprint()
    assert (before.name, before.sha256 != after.sha256) == (f"{dataset}.chat_rows", True)


def test_missing_column_is_named_before_anything_runs(client: Client, dataset: str, settings: Settings) -> None:
    row = production()
    del row["llm_response"]
    address = view_of(client, dataset, row)
    with pytest.raises(InputError, match=r"no column llm_response; found user_input, input_tokens"):
        BigQueryChatRows(address, settings)
    with pytest.raises(InputError, match=r"no column answer for llm_response; found user_input"):
        BigQueryChatRows(address, reaching(settings, columns={"llm_response": "answer"}))


def test_column_that_cannot_hold_it_is_refused_by_type(client: Client, dataset: str, settings: Settings) -> None:
    address = view_of(client, dataset, production(timestamp="1770951600", input_tokens="[1, 2]"))
    with pytest.raises(InputError, match=r"input_tokens is ARRAY, .*; timestamp is INTEGER, expected TIMESTAMP or"):
        BigQueryChatRows(address, settings)


def test_view_that_is_not_there_is_one_line(dataset: str, settings: Settings) -> None:
    with pytest.raises(InputError, match="there is no such table") as missing:
        BigQueryChatRows(f"bigquery://{dataset}.nothing", settings)
    assert missing.value.where == f"{dataset}.nothing"


def test_another_location_is_refused_with_the_right_one(client: Client, dataset: str, settings: Settings) -> None:
    address = view_of(client, dataset, production())
    with pytest.raises(UsageError, match="is in location US, not asia-northeast3") as wrong:
        BigQueryChatRows(address, reaching(settings, location="asia-northeast3"))
    assert 'set bigquery.location = "US"' in wrong.value.fix


def test_project_of_the_score_tables_pays_for_reading_a_view_of_another(
    client: Client, dataset: str, settings: Settings, emulator: Emulator
) -> None:
    """An account need not be allowed to run jobs in the project of the view."""
    address = view_of(client, dataset, production())
    with proxy_to(emulator.rest) as proxy:
        there = reaching(settings, endpoint=proxy.url).model_copy(update={"warehouse": "bigquery://scores-project/aqb"})
        assert len(read(BigQueryChatRows(address, there))) == 1
        jobs = [one for one in proxy.seen if one.startswith("POST") and "/jobs" in one]
    assert jobs and all("/projects/scores-project/jobs" in one for one in jobs)


def test_dry_run_tells_the_bytes_and_reads_nothing(client: Client, dataset: str, settings: Settings) -> None:
    source = BigQueryChatRows(view_of(client, dataset, production()), settings, {"run_id": "dry"})
    assert re.fullmatch(rf"{dataset}\.chat_rows in US, [0-9,]+ bytes to scan, about 0.00 USD", source.estimate(WINDOW))
    assert [job for job in client.list_jobs() if job.job_id.startswith("aqb-dry-")] == []
