"""What is taken away from a dataset goes for good, and nothing else goes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.cloud.bigquery import Client

from scoring.chat.erasure import PERSONAL_COLUMNS
from scoring.chat.row_ids import TEXTS
from tasks.config.settings import MonitoringSettings, Settings
from tasks.retention import erase, prune
from tests.bigquery.conftest import Emulator
from tests.bigquery.test_pushdown import behind, load
from tests.builders.chat_rows import DAY, best, plain, refused
from tests.builders.flows import nightly
from tests.builders.state import in_context
from tests.fakes.bigquery_proxy import proxy_to

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SESSION = "session-of-one-person"
TABLES = ("monitoring_scores", "monitoring_excluded")
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def scored(client: Client, dataset: str, settings: Settings) -> Settings:
    """A day scored inside BigQuery, in tables to which somebody has added a column of a type that AQB does not use."""
    source = f"bigquery://{dataset}.logs"
    mine = {"session_id": SESSION}
    load(client, source, [best(0), refused(1), refused(2, **mine), plain(3, llm_response=None, **mine), plain(4)])
    settings = settings.model_copy(
        update={
            "warehouse": f"bigquery://{dataset.replace('.', '/')}",
            "monitoring": MonitoringSettings(source=source, keep_text="all"),
        }
    )
    nightly(settings, DAY)
    for table in TABLES:
        client.query_and_wait(f"ALTER TABLE `{dataset}.{table}` ADD COLUMN weight NUMERIC")
        client.query_and_wait(f"UPDATE `{dataset}.{table}` SET weight = 1.5 WHERE score_date = '{DAY}'")
    return settings


def rows(client: Client, settings: Settings) -> Rows:
    """All rows of both tables, in one order."""
    dataset = settings.warehouse.removeprefix("bigquery://").replace("/", ".")
    return {
        table: [dict(row) for row in client.query_and_wait(f"SELECT * FROM `{dataset}.{table}` ORDER BY timestamp")]
        for table in TABLES
    }


def emptied(before: Rows, columns: tuple[str, ...], session: str | None = None) -> Rows:
    """The rows with NULL in these columns of one session, or of all in the table of scores."""
    return {
        table: [
            row | {name: None for name in columns if name in row and session in (None, row["session_id"])}
            for row in found
        ]
        for table, found in before.items()
    }


def test_erasing_a_session_changes_no_other_value_and_tells_bigquery_no_name(
    client: Client, scored: Settings, emulator: Emulator
) -> None:
    before = rows(client, scored)
    assert [row["session_id"] for found in before.values() for row in found].count(SESSION) == 2
    with proxy_to(emulator.rest) as proxy:
        found = in_context(erase, behind(proxy, scored), SESSION, NOW, dry_run=False)
        assert SESSION not in b"".join(proxy.bodies).decode()
    assert (found["monitoring_scores: rows"], found["monitoring_excluded: rows"]) == (1, 1)
    assert rows(client, scored) == emptied(before, PERSONAL_COLUMNS, SESSION)


def test_pruning_takes_the_texts_of_old_scores_alone(client: Client, scored: Settings) -> None:
    before = rows(client, scored)
    in_context(prune, scored, DAY, NOW, dry_run=False)
    assert rows(client, scored) == before
    in_context(prune, scored, DAY + timedelta(days=1), NOW, dry_run=False)
    assert rows(client, scored) == before | {"monitoring_scores": emptied(before, TEXTS)["monitoring_scores"]}
