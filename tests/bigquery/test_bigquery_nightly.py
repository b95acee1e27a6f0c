"""The nightly flow from a view to a dataset: the same tables as from a file to a folder, with either engine."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from google.cloud.bigquery import Client, LoadJobConfig

from flows.backfill import backfill
from flows.nightly import nightly
from scoring.days import days_between
from tasks.chat.day_plan import backfill_plan, lost_days
from tasks.config.settings import MonitoringSettings, Settings
from tasks.samples import SAMPLE_FIRST_DAY, SAMPLE_PATH
from tasks.warehouse import open_warehouse
from tests.bigquery.demo import TABLES
from tests.builders.state import in_context

pytestmark = pytest.mark.usefixtures("prefect_server")


def scored(settings: Settings, times: int = 1) -> Settings:
    """Runs the nightly flow of a day of the sample, so many times."""
    for _ in range(times):
        nightly(settings, SAMPLE_FIRST_DAY)
    return settings


def tables_of(settings: Settings) -> dict[str, list[str]]:
    """The rows of every table in one order, without the names that files and views have."""
    warehouse = open_warehouse(settings.warehouse, settings)
    found = {}
    for table in TABLES:
        rows = warehouse.read(table, [SAMPLE_FIRST_DAY])
        frame = rows.collect() if rows is not None else pl.DataFrame()
        columns = sorted(set(frame.columns) - {"file", "line"})
        found[table] = sorted(json.dumps(row, default=str) for row in frame.select(columns).to_dicts())
    return found


@pytest.mark.parametrize("engine", ["local", "bigquery"])
def test_from_view_to_dataset_gives_what_from_file_to_folder_gives(
    client: Client, dataset: str, settings: Settings, tmp_path: Path, engine: Literal["local", "bigquery"]
) -> None:
    with SAMPLE_PATH.open("rb") as file:
        client.load_table_from_file(file, f"{dataset}.logs", job_config=LoadJobConfig(source_format="PARQUET")).result()
    client.query_and_wait(f"CREATE VIEW `{dataset}.chat_rows` AS SELECT * FROM `{dataset}.logs`")
    in_files = settings.model_copy(
        update={
            "warehouse": str(tmp_path / "warehouse"),
            "reports": str(tmp_path / "reports of files"),
            "state_url": f"sqlite:///{tmp_path / 'files.db'}",
            "monitoring": MonitoringSettings(source=str(SAMPLE_PATH)),
        }
    )
    in_bigquery = settings.model_copy(
        update={
            "warehouse": f"bigquery://{dataset.replace('.', '/')}",
            "monitoring": MonitoringSettings(source=f"bigquery://{dataset}.chat_rows", engine=engine),
        }
    )
    expected, found = tables_of(scored(in_files)), tables_of(scored(in_bigquery, times=2))
    assert {table: len(rows) for table, rows in found.items()} == {table: len(rows) for table, rows in expected.items()}
    assert len(found["monitoring_scores"]) > 300
    assert found == expected
    assert [table.table_id for table in client.list_tables(dataset) if "_staging_" in table.table_id] == []


@pytest.mark.parametrize("engine", ["local", "bigquery"])
def test_day_whose_rows_are_gone_from_the_view_is_kept(
    client: Client, dataset: str, settings: Settings, engine: Literal["local", "bigquery"]
) -> None:
    with SAMPLE_PATH.open("rb") as file:
        client.load_table_from_file(file, f"{dataset}.logs", job_config=LoadJobConfig(source_format="PARQUET")).result()
    in_bigquery = settings.model_copy(
        update={
            "warehouse": f"bigquery://{dataset.replace('.', '/')}",
            "monitoring": MonitoringSettings(source=f"bigquery://{dataset}.logs", engine=engine),
        }
    )
    before = tables_of(scored(in_bigquery))
    client.query_and_wait(f"DELETE FROM `{dataset}.logs` WHERE TRUE")
    (kept,) = backfill(SAMPLE_FIRST_DAY, SAMPLE_FIRST_DAY, settings=in_bigquery).days
    assert kept.kept
    assert nightly(in_bigquery, SAMPLE_FIRST_DAY).own.kept
    assert tables_of(in_bigquery) == before
    plan = in_context(backfill_plan, in_bigquery, SAMPLE_FIRST_DAY, SAMPLE_FIRST_DAY, date(2030, 1, 1))
    assert plan.days[0].losses[0].now == 0
    assert nightly(in_bigquery, SAMPLE_FIRST_DAY, allow_shrink=True).scored.counts.rows_in == 0
    assert tables_of(in_bigquery)["monitoring_scores"] == []


def test_scores_that_a_dataset_has_dropped_are_missed_from_its_first_day_on(
    client: Client, dataset: str, settings: Settings
) -> None:
    """Partitions of scores expire where a team has said so, those of KPIs need not: old days are no loss."""
    days = days_between(SAMPLE_FIRST_DAY, SAMPLE_FIRST_DAY + timedelta(days=2))
    update = {
        "warehouse": f"bigquery://{dataset.replace('.', '/')}",
        "monitoring": MonitoringSettings(source=str(SAMPLE_PATH)),
    }
    in_bigquery = settings.model_copy(update=update)
    backfill(days[0], days[-1], settings=in_bigquery)

    def missed_without(day: date) -> tuple[list[date], list[date]]:
        client.query_and_wait(f"DELETE FROM `{dataset}.monitoring_scores` WHERE score_date = '{day}'")
        plan = in_context(backfill_plan, in_bigquery, days[0], days[-1], date(2030, 1, 1))
        return [one.day for one in plan.to_score(force=False)], in_context(lost_days, in_bigquery, days[-1])

    assert missed_without(days[0]) == ([], [])
    assert missed_without(days[2]) == ([days[2]], [days[2]])
