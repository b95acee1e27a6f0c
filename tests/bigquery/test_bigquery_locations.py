"""Rows and score tables in two locations: `aqb doctor` says so before a night fails."""

import uuid

import pytest
from google.cloud.bigquery import Client, Dataset

from scoring.errors import UsageError
from tasks.chat.bigquery_engine import refuse_two_locations
from tasks.chat.sources.bigquery import BigQueryChatRows
from tasks.config.settings import Settings
from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse
from tests.bigquery.test_bigquery_rows import production, view_of
from tests.fakes.local_bigquery import PROJECT


def test_score_tables_in_another_location_than_the_rows_are_refused_with_both(
    client: Client, dataset: str, settings: Settings
) -> None:
    source = BigQueryChatRows(view_of(client, dataset, production()), settings)
    refuse_two_locations(source, BigQueryWarehouse(f"bigquery://{dataset}", settings))
    there = Dataset(f"{PROJECT}.d{uuid.uuid4().hex}")
    there.location = "EU"
    client.create_dataset(there)
    with pytest.raises(UsageError, match="is in location EU, and the rows are in US") as refused:
        refuse_two_locations(source, BigQueryWarehouse(f"bigquery://{PROJECT}/{there.dataset_id}", settings))
    client.delete_dataset(there)
    assert 'monitoring.engine = "local"' in refused.value.fix
