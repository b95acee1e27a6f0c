"""A day scored inside a local BigQuery: the same tables as the local engine fills, however often and whatever dies."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.cloud.bigquery import Client, LoadJobConfig

from scoring.days import day_window
from scoring.errors import InputError, StorageError
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.bigquery.pushdown import score_inside
from tasks.bigquery.rows import BigQueryChatRows
from tasks.bigquery.settings import BigQuerySettings
from tasks.chat_scoring import ScoredRows, score_chat_rows
from tasks.erased_sessions import session_hash
from tasks.monitoring_tables import write_alerts, write_day_report, write_scored_day
from tasks.settings import MonitoringSettings, Settings
from tasks.warehouse.bigquery import BigQueryWarehouse
from tests.bigquery.conftest import Emulator
from tests.cases.ola_monitoring.adversarial import FIXED, invented
from tests.cases.ola_monitoring.all_golden import GOLDEN_ROWS
from tests.fakes.bigquery_proxy import proxy_to
from tests.fakes.googlesql import CHAT_ROWS
from tests.tasks.made_rows import DAY, best, plain, refused

TABLES = ("monitoring_scores", "monitoring_excluded", "monitoring_kpis", "monitoring_crosstab", "rejected", "alerts")
Tables = dict[str, Counter[str]]


def load(client: Client, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Puts rows into a table with the columns of the production view, in place of what it had."""
    nested = [{**row, "request_metadata": {"session_id": row["session_id"]}} for row in rows]
    file = io.BytesIO()
    frame = pl.DataFrame(nested).with_columns(pl.col("timestamp").cast(pl.String).str.to_datetime("%+", time_zone="UTC"))
    pq.write_table(frame.to_arrow(), file)
    file.seek(0)
    config = LoadJobConfig(source_format="PARQUET", write_disposition="WRITE_TRUNCATE")
    client.load_table_from_file(file, table, job_config=config).result()


@pytest.fixture
def source(client: Client, dataset: str, settings: Settings) -> str:
    """The address of a view over the table `logs`, which a test fills."""
    client.query_and_wait(
        f"CREATE TABLE `{dataset}.logs` (user_input STRING, llm_response STRING, input_tokens FLOAT64,"
        " output_tokens FLOAT64, timestamp TIMESTAMP, tenant_id STRING,"
        " request_metadata STRUCT<session_id STRING, x_enc_data STRING>)"
    )
    client.query_and_wait(f"CREATE VIEW `{dataset}.chat_rows` AS SELECT * FROM `{dataset}.logs`")
    return f"bigquery://{dataset}.chat_rows"
