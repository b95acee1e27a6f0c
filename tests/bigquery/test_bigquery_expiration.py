"""Datasets that drop their tables by themselves: `aqb doctor` says so before scores are gone."""

from datetime import timedelta

import pytest
from google.cloud.bigquery import Client

from scoring.errors import UsageError
from tasks.config.settings import Settings
from tasks.warehouse import open_warehouse
from tasks.warehouse.bigquery.dataset_checks import refuse_expiring
from tests.bigquery.test_bigquery_warehouse import DAY, SCHEMA, rows

SIXTY_DAYS_MS = timedelta(days=60) // timedelta(milliseconds=1)


def keep_tables(client: Client, dataset: str, for_ms: int | None) -> None:
    """Sets how long tables that are made in the dataset from now on last."""
    found = client.get_dataset(dataset)
    found.default_table_expiration_ms = for_ms
    client.update_dataset(found, ["default_table_expiration_ms"])


def test_dataset_whose_tables_expire_is_told_before_and_after_they_are_made(
    client: Client, dataset: str, settings: Settings
) -> None:
    settings = settings.model_copy(update={"warehouse": f"bigquery://{dataset.replace('.', '/')}"})
    warehouse = open_warehouse(settings.warehouse, settings)
    refuse_expiring(settings)
    keep_tables(client, dataset, SIXTY_DAYS_MS)
    with pytest.raises(UsageError, match="drops each table 60 days after it was made") as refused:
        refuse_expiring(settings)
    assert "default_table_expiration_days = NULL" in refused.value.fix

    for table in ("kpis", "scores"):
        warehouse.replace_day(table, DAY, SCHEMA, [rows(DAY, [1])])
    keep_tables(client, dataset, None)
    last_day = client.get_table(f"{dataset}.kpis").expires
    with pytest.raises(UsageError, match=f"drops kpis and 1 other table with all days, from {last_day:%Y-%m-%d}"):
        refuse_expiring(settings)

    for made in map(client.get_table, (f"{dataset}.kpis", f"{dataset}.scores")):
        made.expires = None
        client.update_table(made, ["expires"])
    refuse_expiring(settings)
