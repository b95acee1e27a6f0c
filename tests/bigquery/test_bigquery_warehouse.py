"""Score tables in a local BigQuery: made, extended, replaced by day, whoever writes at the same time or dies."""

import multiprocessing
import os
import signal
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from google.cloud.bigquery import Client, SchemaField, Table, TimePartitioning

from scoring.errors import AqbError, StorageError, UsageError
from scoring.rules.arrow_types import field
from tasks.config.bigquery import BigQuerySettings
from tasks.config.settings import Settings
from tasks.testruns.warehouse import SCORES_SCHEMA
from tasks.warehouse import Warehouse, open_warehouse
from tests.bigquery.conftest import Emulator
from tests.fakes.bigquery_proxy import Proxy, Refusal, proxy_to

DAY, DAY_BEFORE, DAY_AFTER = date(2026, 2, 13), date(2026, 2, 12), date(2026, 2, 14)
SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "날"),
        field("tenant_id", pa.string(), "테넌트"),
        field("points", pa.int64(), "점수"),
        field("mean", pa.float64(), "평균"),
        field("good", pa.bool_(), "좋은가"),
        field("rules", pa.list_(pa.string()), "규칙"),
        field("timestamp", pa.timestamp("us", "UTC"), "시각"),
    ]
)


def rows(day: date, points: Iterable[int], tenant: str = "t1") -> pl.DataFrame:
    """A row per number."""
    numbers = list(points)
    columns = {
        "score_date": [day] * len(numbers),
        "tenant_id": [tenant] * len(numbers),
        "points": numbers,
        "mean": [number / 2 for number in numbers],
        "good": [None] * len(numbers),
        "rules": [["a", "b"]] * len(numbers),
        "timestamp": [None] * len(numbers),
    }
    return pl.DataFrame(columns, schema=pl.DataFrame(pa.Table.from_batches([], SCHEMA)).schema)


def points_of(warehouse: Warehouse, day: date) -> list[int]:
    """The numbers of a day, smallest first."""
    found = warehouse.read("scores", [day])
    assert found is not None
    return sorted(found.select("points").collect()["points"])


def staging_tables(client: Client, dataset: str) -> list[str]:
    """The tables that are nobody's result."""
    return [table.table_id for table in client.list_tables(dataset) if "_staging_" in table.table_id]


@pytest.fixture
def warehouse(dataset: str, settings: Settings) -> Warehouse:
    """A warehouse without tables."""
    return open_warehouse(f"bigquery://{dataset.replace('.', '/')}", settings)


def test_table_is_made_in_days_with_every_column_described(client: Client, dataset: str, warehouse: Warehouse) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1, 2])])
    table = client.get_table(f"{dataset}.scores")
    assert [(column.name, column.field_type, column.mode, column.description) for column in table.schema] == [
        ("score_date", "DATE", "NULLABLE", "날"),
        ("tenant_id", "STRING", "NULLABLE", "테넌트"),
        ("points", "INTEGER", "NULLABLE", "점수"),
        ("mean", "FLOAT", "NULLABLE", "평균"),
        ("good", "BOOLEAN", "NULLABLE", "좋은가"),
        ("rules", "STRING", "REPEATED", "규칙"),
        ("timestamp", "TIMESTAMP", "NULLABLE", "시각"),
    ]
    assert (table.time_partitioning.field, table.clustering_fields) == ("score_date", ["tenant_id"])
    assert table.labels == {"app": "aqb"}
    assert staging_tables(client, dataset) == []


def test_rows_come_back_as_they_were_written(warehouse: Warehouse) -> None:
    written = rows(DAY, [1, 2])
    warehouse.replace_day("scores", DAY, SCHEMA, [written])
    found = warehouse.read("scores")
    assert found is not None
    assert found.collect().sort("points").equals(written)
    assert found.filter(pl.col("points") > 1).select("mean").collect()["mean"].to_list() == [1.0]
    assert found.head(1).collect().height == 1


def test_lists_of_structs_are_kept(warehouse: Warehouse) -> None:
    score = {"metric": "speed", "score": None, "missing": "no_time", "reason": "시간 없음"}
    table = pa.Table.from_pylist([{"score_date": DAY, "query_id": "q1", "scores": [score]}], SCORES_SCHEMA)
    written = pl.DataFrame(table)
    warehouse.replace_day("test_run_scores", DAY, SCORES_SCHEMA, [written])
    found = warehouse.read("test_run_scores", [DAY])
    assert found is not None
    assert found.collect().equals(written)


def test_day_is_replaced_and_the_others_stay(warehouse: Warehouse) -> None:
    for day in (DAY_BEFORE, DAY, DAY_AFTER):
        warehouse.replace_day("scores", day, SCHEMA, [rows(day, [1, 2])])
    for _ in range(2):
        warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [7]), rows(DAY, [8, 9])])
    assert [points_of(warehouse, day) for day in (DAY_BEFORE, DAY, DAY_AFTER)] == [[1, 2], [7, 8, 9], [1, 2]]
    assert warehouse.days("scores") == [DAY_BEFORE, DAY, DAY_AFTER]


def test_some_days_are_replaced_at_once_and_the_others_stay(warehouse: Warehouse) -> None:
    for day in (DAY_BEFORE, DAY, DAY_AFTER):
        warehouse.replace_day("scores", day, SCHEMA, [rows(day, [1, 2])])
    warehouse.replace_days("scores", [DAY_BEFORE, DAY_AFTER], SCHEMA, rows(DAY_AFTER, [7]))
    assert [points_of(warehouse, day) for day in (DAY_BEFORE, DAY, DAY_AFTER)] == [[], [1, 2], [7]]


def test_version_of_a_day_is_another_one_when_its_rows_are(warehouse: Warehouse) -> None:
    days = [DAY_BEFORE, DAY, DAY_AFTER]
    assert warehouse.day_versions("scores", days) == dict.fromkeys(days, "")
    for day in (DAY_BEFORE, DAY):
        warehouse.replace_day("scores", day, SCHEMA, [rows(day, [1, 2])])
    before = warehouse.day_versions("scores", days)
    assert before is not None and before[DAY] and not before[DAY_AFTER]
    warehouse.replace_day("scores", DAY_BEFORE, SCHEMA, [rows(DAY_BEFORE, [2, 1])])
    assert warehouse.day_versions("scores", days) == before
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1, 2]).with_columns(mean=pl.lit(None, pl.Float64))])
    after = warehouse.day_versions("scores", days)
    assert after is not None and {day for day in days if after[day] != before[day]} == {DAY}


def test_day_can_be_emptied(warehouse: Warehouse) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])
    warehouse.replace_day("scores", DAY, SCHEMA, [])
    assert (points_of(warehouse, DAY), warehouse.days("scores")) == ([], [])


@pytest.mark.parametrize(
    ("most", "replaced"),
    [
        ({"*": 40, "t1": 30, "t2": 10}, True),
        ({"*": 39, "t1": 30, "t2": 10}, False),
        ({"*": 40, "t1": 29, "t2": 10}, False),
        ({"*": 40, "t1": 30}, True),  # ten rows of a tenant are too few to be looked at
        ({"*": 40}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("after", [[7], []], ids=["fewer", "none"])
def test_day_with_more_rows_than_were_counted_is_not_replaced(
    warehouse: Warehouse, most: dict[str | None, int], replaced: bool, after: list[int]
) -> None:
    before = [rows(DAY, list(range(30)), "t1"), rows(DAY, list(range(10)), "t2")]
    warehouse.replace_day("scores", DAY, SCHEMA, before)
    new = [rows(DAY, after, "t1")] if after else []
    if replaced:
        warehouse.replace_day("scores", DAY, SCHEMA, new, most=most)
        assert points_of(warehouse, DAY) == after
    else:
        with pytest.raises(StorageError, match="has got more rows while it was scored"):
            warehouse.replace_day("scores", DAY, SCHEMA, new, most=most)
        assert len(points_of(warehouse, DAY)) == 40


def test_day_that_is_not_there_is_written_whatever_was_counted(warehouse: Warehouse) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])], most={})
    assert points_of(warehouse, DAY) == [1]


def test_rows_with_other_values_of_the_named_columns_stay(warehouse: Warehouse) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1, 2], "t1"), rows(DAY, [3], "t2")])
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [5], "t1")], only={"tenant_id": "t1"})
    assert points_of(warehouse, DAY) == [3, 5]


def test_table_that_is_not_there_has_no_days_and_no_rows(warehouse: Warehouse) -> None:
    assert (warehouse.days("nothing"), warehouse.read("nothing")) == ([], None)


def test_new_columns_and_descriptions_are_added(client: Client, dataset: str, warehouse: Warehouse) -> None:
    warehouse.replace_day("scores", DAY_BEFORE, SCHEMA, [rows(DAY_BEFORE, [1])])
    wider = SCHEMA.append(field("remark", pa.string(), "비고")).set(2, field("points", pa.int64(), "새 점수"))
    warehouse.replace_day("scores", DAY, wider, [rows(DAY, [2]).with_columns(remark=pl.lit("새"))])
    table = client.get_table(f"{dataset}.scores")
    described = {column.name: column.description for column in table.schema}
    assert (described["remark"], described["points"]) == ("비고", "새 점수")
    found = warehouse.read("scores")
    assert found is not None
    assert found.select("remark").collect()["remark"].sort().to_list() == [None, "새"]
    warehouse.replace_day("scores", DAY_AFTER, SCHEMA, [rows(DAY_AFTER, [3])])  # an older version, later
    assert points_of(warehouse, DAY_AFTER) == [3]


def test_what_people_gave_to_a_column_stays(client: Client, dataset: str, warehouse: Warehouse) -> None:
    warehouse.replace_day("scores", DAY_BEFORE, SCHEMA, [rows(DAY_BEFORE, [1])])
    table = client.get_table(f"{dataset}.scores")
    protected = {"policyTags": {"names": ["projects/p/locations/us/taxonomies/1/policyTags/2"]}}
    table.schema = [
        SchemaField.from_api_repr(column.to_api_repr() | (protected if column.name == "tenant_id" else {}))
        for column in table.schema
    ]
    client.update_table(table, ["schema"])
    wider = SCHEMA.append(field("remark", pa.string(), "비고")).set(1, field("tenant_id", pa.string(), "새 테넌트"))
    for schema, new in ((SCHEMA, rows(DAY, [2])), (wider, rows(DAY, [3]).with_columns(remark=pl.lit("새")))):
        warehouse.replace_day("scores", DAY, schema, [new])
        column = client.get_table(f"{dataset}.scores").schema[1]
        assert column.policy_tags is not None
        assert list(column.policy_tags.names) == protected["policyTags"]["names"]
    assert client.get_table(f"{dataset}.scores").schema[1].description == "새 테넌트"
    assert points_of(warehouse, DAY) == [3]


def test_column_of_another_type_is_refused_and_nothing_changes(
    client: Client, dataset: str, warehouse: Warehouse
) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])
    changed = SCHEMA.set(2, field("points", pa.string(), "점수"))
    with pytest.raises(UsageError, match="points is INTEGER, to be written as STRING") as refused:
        warehouse.replace_day("scores", DAY, changed, [rows(DAY, [2]).with_columns(pl.col("points").cast(pl.String))])
    assert (refused.value.where, "RENAME COLUMN" in refused.value.fix) == (f"{dataset}.scores", True)
    assert points_of(warehouse, DAY) == [1]
    assert staging_tables(client, dataset) == []


def test_table_without_days_is_refused(client: Client, dataset: str, warehouse: Warehouse) -> None:
    client.create_table(Table(f"{dataset}.scores", schema=[SchemaField("score_date", "DATE")]))
    with pytest.raises(UsageError, match="not partitioned by score_date"):
        warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])


def test_day_whose_partition_has_expired_is_refused(client: Client, dataset: str, warehouse: Warehouse) -> None:
    today = datetime.now(UTC).date()
    warehouse.replace_day("scores", today, SCHEMA, [rows(today, [1])])
    table = client.get_table(f"{dataset}.scores")
    table.time_partitioning = TimePartitioning(field="score_date", expiration_ms=60 * 24 * 3600 * 1000)
    client.update_table(table, ["time_partitioning"])
    last_kept, gone = (today - timedelta(days=days) for days in (58, 61))
    warehouse.replace_day("scores", last_kept, SCHEMA, [rows(last_kept, [2])])
    with pytest.raises(UsageError, match=f"expire after 60 days, and rows of {gone} would be gone at once"):
        warehouse.replace_day("scores", gone, SCHEMA, [rows(gone, [3])])
    assert warehouse.days("scores") == [last_kept, today]


def test_dataset_that_is_not_there_is_one_line(settings: Settings) -> None:
    warehouse = open_warehouse("bigquery://team-project/nowhere", settings)
    with pytest.raises(AqbError, match="there is no such dataset") as missing:
        warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])
    assert (missing.value.where, "bq mk" in missing.value.fix) == ("team-project.nowhere", True)


@pytest.mark.parametrize("url", ["bigquery://", "bigquery://project", "bigquery://project/dataset/table"])
def test_url_that_names_no_dataset_is_refused(settings: Settings, url: str) -> None:
    with pytest.raises(UsageError):
        open_warehouse(url, settings)


def behind(proxy: Proxy, settings: Settings) -> Settings:
    """The settings with the proxy for BigQuery."""
    reached = BigQuerySettings(**settings.bigquery.model_dump() | {"endpoint": proxy.url})
    return settings.model_copy(update={"bigquery": reached})


def test_merge_that_fails_leaves_the_old_day_and_no_staging_table(
    client: Client, dataset: str, warehouse: Warehouse, settings: Settings, emulator: Emulator
) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])
    with proxy_to(emulator.rest) as proxy:
        failing = open_warehouse(warehouse.url, behind(proxy, settings))
        # The table is found, the staging table made and loaded; then the second query is the MERGE.
        proxy.answered = lambda _: _refuse_merge(proxy)
        with pytest.raises(AqbError, match=r"BigQuery refused the request \(invalidQuery") as refused:
            failing.replace_day("scores", DAY, SCHEMA, [rows(DAY, [2])])
    assert "황금알" not in str(refused.value)
    assert points_of(warehouse, DAY) == [1]
    assert staging_tables(client, dataset) == []


def _refuse_merge(proxy: Proxy) -> None:
    if any(request.startswith("PUT /upload") or "/upload/" in request for request in proxy.seen):
        proxy.refuse("POST /bigquery/v2/projects/team-project/jobs", Refusal(400, "invalidQuery", "Bad value: 황금알"))


def write_day(url: str, settings: Settings, points: list[int], started: Path | None = None) -> None:
    """What a process of its own does: one day of `points`."""
    if started:
        started.write_text(str(os.getpid()), encoding="utf-8")
    open_warehouse(url, settings).replace_day("scores", DAY, SCHEMA, [rows(DAY, points)])


@pytest.fixture(scope="session")
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that start at once, with what they need already imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tasks.warehouse.bigquery.warehouse", __name__])
    return context


def test_five_writers_at_once_leave_the_day_of_one_of_them(
    client: Client,
    dataset: str,
    warehouse: Warehouse,
    settings: Settings,
    processes: multiprocessing.context.ForkServerContext,
) -> None:
    warehouse.replace_day("scores", DAY_BEFORE, SCHEMA, [rows(DAY_BEFORE, [1])])
    days = [[number, number + 1] for number in range(10, 60, 10)]
    writers = [processes.Process(target=write_day, args=(warehouse.url, settings, points)) for points in days]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(300)
    assert [writer.exitcode for writer in writers] == [0] * 5
    assert points_of(warehouse, DAY) in days
    assert points_of(warehouse, DAY_BEFORE) == [1]
    assert staging_tables(client, dataset) == []


def test_killed_at_any_request_a_day_is_the_old_one_or_the_new_one(
    client: Client,
    dataset: str,
    warehouse: Warehouse,
    settings: Settings,
    emulator: Emulator,
    processes: multiprocessing.context.ForkServerContext,
    tmp_path: Path,
) -> None:
    started = tmp_path / "pid"
    warehouse.replace_day("scores", DAY_AFTER, SCHEMA, [rows(DAY_AFTER, [1, 2])])
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [0])])
    before, deadly, exit_code = [0], 0, None
    while exit_code != 0:
        deadly += 1
        new = [deadly, deadly + 100]
        with proxy_to(emulator.rest) as proxy:

            def kill(number: int, deadly: int = deadly) -> None:
                if number == deadly:
                    os.kill(int(started.read_text(encoding="utf-8")), signal.SIGKILL)

            proxy.answered = kill
            writer = processes.Process(target=write_day, args=(warehouse.url, behind(proxy, settings), new, started))
            writer.start()
            writer.join(300)
            exit_code = writer.exitcode
        table = warehouse.read("scores")
        assert table is not None
        days = table.select("score_date", "points").sort("points").collect().partition_by("score_date", as_dict=True)
        found = days[(DAY,)]["points"].to_list()
        assert exit_code in (0, -signal.SIGKILL)
        assert found == new if exit_code == 0 else found in (before, new), f"killed at {deadly} of {proxy.seen}"
        assert days[(DAY_AFTER,)]["points"].to_list() == [1, 2]
        before = found
    assert deadly > 7  # a day takes seven requests
    left = [client.get_table(f"{dataset}.{name}") for name in staging_tables(client, dataset)]
    assert left
    assert all(table.expires is not None for table in left)


def test_load_whose_answer_was_lost_is_not_run_twice(
    client: Client, dataset: str, warehouse: Warehouse, settings: Settings, emulator: Emulator
) -> None:
    with proxy_to(emulator.rest) as proxy:
        proxy.lost = "PUT /upload"
        open_warehouse(warehouse.url, behind(proxy, settings)).replace_day("scores", DAY, SCHEMA, [rows(DAY, [1, 2])])
        assert not proxy.lost
    assert points_of(warehouse, DAY) == [1, 2]
    loads = [job for job in client.list_jobs() if job.job_type == "load"]
    assert [job.output_rows for job in loads if job.destination.dataset_id == dataset.split(".")[1]] == [2]


def test_load_that_fails_names_its_job(warehouse: Warehouse, settings: Settings, emulator: Emulator) -> None:
    over_quota = b'"errorResult":{"reason":"quotaExceeded","message":"Your table exceeded quota for imports"}'
    with proxy_to(emulator.rest) as proxy:
        proxy.rewrite = (b'"state":"DONE"', b'"state":"DONE",' + over_quota)
        with pytest.raises(StorageError, match=r"over its quota \(quotaExceeded, job aqb-load-[0-9a-f-]{36}\)"):
            open_warehouse(warehouse.url, behind(proxy, settings)).replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])


def test_load_that_came_short_is_an_error_and_changes_nothing(
    client: Client, dataset: str, warehouse: Warehouse, settings: Settings, emulator: Emulator
) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])
    with proxy_to(emulator.rest) as proxy:
        proxy.rewrite = (b'"outputRows":"2"', b'"outputRows":"1"')
        with pytest.raises(StorageError, match="of 2 rows 1 were loaded; the day is as it was"):
            open_warehouse(warehouse.url, behind(proxy, settings)).replace_day(
                "scores", DAY, SCHEMA, [rows(DAY, [2, 3])]
            )
    assert points_of(warehouse, DAY) == [1]
    assert staging_tables(client, dataset) == []
