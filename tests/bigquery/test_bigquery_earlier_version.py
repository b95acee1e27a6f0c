"""A dataset with the tables of an earlier version, and today's code with another rubric."""

from datetime import date
from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow.parquet as pq
import pytest
from google.cloud.bigquery import Client, LoadJobConfig

from flows.backfill import backfill
from flows.nightly import nightly
from flows.steps.alerts import preview
from scoring import catalog
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.config.settings import MonitoringSettings, Settings
from tasks.reports.site.build import build_pages
from tasks.warehouse import Warehouse, open_warehouse
from tests.builders.state import in_context
from tests.flows.conftest import EARLIER
from tests.flows.test_earlier_version import ADDED, DROPPED_COLUMN, DROPPED_RULE, NEXT, SCORED, changed

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture(params=["local", "bigquery"])
def in_dataset(
    request: pytest.FixtureRequest,
    client: Client,
    dataset: str,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    """Settings of a dataset with the earlier tables and the chat rows behind a view; the rubric is the changed one."""
    for path in sorted((EARLIER / "chat_rows").iterdir()):
        with path.open("rb") as file:
            client.load_table_from_file(
                file, f"{dataset}.logs", job_config=LoadJobConfig(source_format="PARQUET")
            ).result()
    client.query_and_wait(f"CREATE VIEW `{dataset}.chat_rows` AS SELECT * FROM `{dataset}.logs`")
    engine: Literal["local", "bigquery"] = request.param
    found = settings.model_copy(
        update={
            "warehouse": f"bigquery://{dataset.replace('.', '/')}",
            "monitoring": MonitoringSettings(source=f"bigquery://{dataset}.chat_rows", engine=engine),
        }
    )
    warehouse = open_warehouse(found.warehouse, found)
    for path in sorted((EARLIER / "warehouse").glob("*/*.parquet")):
        warehouse.replace_day(
            path.parent.name, date.fromisoformat(path.stem), pq.read_schema(path), [pl.read_parquet(path)]
        )
    monkeypatch.setitem(catalog.rubrics(), RUBRIC.id, changed())
    return found


def usual_of(warehouse: Warehouse, rule: str) -> list[int]:
    """The usual counts of all tenants on the new day."""
    rows = warehouse.read("alerts", [NEXT])
    assert rows is not None
    (fact,) = rows.filter(pl.col("tenant_id") == "*", pl.col("rule") == rule).collect().to_dicts()
    assert fact["rubric_version"] == "2"
    return list(fact["usual"])


def test_nights_site_and_alerts_go_on_in_a_dataset_of_the_version_before(in_dataset: Settings) -> None:
    warehouse = open_warehouse(in_dataset.warehouse, in_dataset)
    reports, rubric = Path(in_dataset.reports), catalog.row_rubric(RUBRIC.id)
    build_pages(warehouse, rubric, reports, in_dataset.time_zone)  # before any night has added the columns
    in_context(preview, in_dataset, 30)

    nightly(in_dataset, NEXT)
    assert usual_of(warehouse, ADDED) == []
    backfill(SCORED[-1], SCORED[-1], settings=in_dataset)
    assert len(usual_of(warehouse, ADDED)) == 1

    kpis, scores = warehouse.read("monitoring_kpis", [NEXT]), warehouse.read("monitoring_scores", [NEXT])
    assert kpis is not None
    assert scores is not None
    assert set(kpis.collect()[f"alert_{DROPPED_RULE}"]) == {None}
    assert set(scores.collect()[DROPPED_COLUMN]) == {None}
    old = warehouse.read("monitoring_kpis", [SCORED[0]])
    assert old is not None
    assert old.collect()[f"alert_{ADDED}"].null_count() == old.collect().height

    build_pages(warehouse, rubric, reports, in_dataset.time_zone)
    pages = [*map(str, (*SCORED, NEXT)), f"week-{SCORED[0]}", f"month-{SCORED[0]:%Y-%m}"]
    built = {path.stem for path in reports.glob("monitoring/*.html")}
    assert built == {f"{name}{kind}" for name in pages for kind in ("", "-rows")}
    assert any(one.day == NEXT for one in in_context(preview, in_dataset, 30)[2])
