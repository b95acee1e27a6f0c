"""Several services in the same tables of a dataset: each replaces and reads its own rows, in either engine."""

from datetime import date
from typing import Literal

import polars as pl
import pytest
from google.cloud.bigquery import Client

from tasks.config.chat_rows import ServiceSettings
from tasks.config.settings import MonitoringSettings, Settings, settings_of_service
from tasks.warehouse import Warehouse, open_warehouse
from tests.bigquery.test_bigquery_warehouse import DAY, SCHEMA, points_of, rows
from tests.bigquery.test_pushdown import load
from tests.builders.chat_rows import DAY as CHAT_DAY
from tests.builders.chat_rows import plain, refused
from tests.builders.flows import nightly

FORMER, HIRING, SUPPORT = "former", "hiring", "support"


def with_services(
    settings: Settings, dataset: str, source: str, engine: Literal["local", "bigquery"] = "local"
) -> Settings:
    """Services over one view; the first has the days that were scored before there were services."""
    services = tuple(
        ServiceSettings(name=name, source=source, has_unnamed_days=name == FORMER) for name in (FORMER, HIRING, SUPPORT)
    )
    return settings.model_copy(
        update={
            "warehouse": f"bigquery://{dataset.replace('.', '/')}",
            "monitoring": MonitoringSettings(service=services, engine=engine),
        }
    )


def of_service(settings: Settings, name: str) -> Warehouse:
    return open_warehouse(settings.warehouse, settings_of_service(settings, name))


def test_day_of_a_service_is_replaced_without_the_rows_of_others(
    client: Client, dataset: str, settings: Settings
) -> None:
    several = with_services(settings, dataset, "nowhere")
    former, hiring, support = (of_service(several, name) for name in (FORMER, HIRING, SUPPORT))
    former.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1, 2])])
    assert (hiring.days("scores"), points_of(hiring, DAY)) == ([], [])  # the table has no column of services yet
    for _ in range(2):
        hiring.replace_day("scores", DAY, SCHEMA, [rows(DAY, [3])], most={"*": 1})
        support.replace_day("scores", DAY, SCHEMA, [rows(DAY, [4, 5])])
        former.replace_day("scores", DAY, SCHEMA, [rows(DAY, [6])])

    assert [points_of(one, DAY) for one in (former, hiring, support)] == [[6], [3], [4, 5]]
    assert [one.days("scores") for one in (former, hiring, support)] == [[DAY]] * 3
    found = client.query_and_wait(f"SELECT points, service FROM `{dataset}.scores` ORDER BY points")
    assert [tuple(row.values()) for row in found] == [(3, HIRING), (4, SUPPORT), (5, SUPPORT), (6, None)]


@pytest.mark.parametrize("engine", ["local", "bigquery"])
def test_night_of_several_services_gives_each_its_tables(
    client: Client, dataset: str, settings: Settings, engine: Literal["local", "bigquery"]
) -> None:
    source = f"bigquery://{dataset}.logs"
    load(client, source, [refused(0), plain(1)])
    several = with_services(settings, dataset, source, engine)
    for _ in range(2):
        nightly(several, CHAT_DAY)

    kpis = [_kpis(of_service(several, name), CHAT_DAY) for name in (FORMER, HIRING, SUPPORT)]
    assert kpis[0].height == kpis[0]["rows"].max() == 2
    assert kpis[0].equals(kpis[1]) and kpis[1].equals(kpis[2])
    counted = client.query_and_wait(
        f"SELECT service, COUNT(*) AS row_count FROM `{dataset}.monitoring_scores` GROUP BY service ORDER BY service"
    )
    assert [tuple(row.values()) for row in counted] == [(None, 2), (HIRING, 2), (SUPPORT, 2)]


def _kpis(warehouse: Warehouse, day: date) -> pl.DataFrame:
    found = warehouse.read("monitoring_kpis", [day])
    assert found is not None
    return found.collect().sort("tenant_id")
