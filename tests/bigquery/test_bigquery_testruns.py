"""Test runs in a dataset: their history goes on where an earlier version wrote fewer columns."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import openpyxl
import polars as pl
import pyarrow.parquet as pq
import pytest
from google.cloud.bigquery import Client, Table, TimePartitioning
from openpyxl.comments import Comment

from scoring.catalog import TestRunChoices, plan_of
from scoring.testruns.scoring import score_testrun
from tasks.config.settings import Settings
from tasks.config.testruns import InboxSettings
from tasks.reports.site.testrun_tables import executions_of, read_testruns
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.warehouse import SCORES, SUMMARIES, write_testrun
from tasks.warehouse import open_warehouse
from tests.builders.flows import score_inbox
from tests.builders.site import SAMPLE_RUNS
from tests.builders.testruns import LONG_HEADER, long_row, write_csv

EARLIER_VERSION = Path("tests/earlier_version/warehouse")


def test_run_follows_one_that_an_earlier_version_put_into_the_dataset(
    settings: Settings, dataset: str, tmp_path: Path
) -> None:
    warehouse = open_warehouse(f"bigquery://{dataset.replace('.', '/')}", settings)
    for path in sorted(EARLIER_VERSION.glob("test_run_*/*.parquet")):
        day = date.fromisoformat(path.stem)
        warehouse.replace_day(path.parent.name, day, pq.read_schema(path), [pl.read_parquet(path)])
    (old,) = read_testruns(warehouse, 60)
    assert {row["answer"] for row in executions_of(warehouse, old)} == {None}

    book = openpyxl.load_workbook(next(path for path in SAMPLE_RUNS if path.name == old.name))
    book.active["A1"].comment = Comment("고침", "QA")  # another file with the same queries
    book.save(tmp_path / "resume_agent_20261124.xlsx")
    plan = plan_of(read_testrun_file(tmp_path / "resume_agent_20261124.xlsx"), TestRunChoices(), {})
    scored, day = score_testrun(plan, {}), old.day + timedelta(days=1)
    place = place_of(warehouse, day, scored)
    assert place.change is not None
    assert place.change["sha256"] == old.sha256
    write_testrun(warehouse, day, scored, place)

    new, before = read_testruns(warehouse, 60)
    assert (new.ran_at, new.agents, new.test_set) == ("2026-11-24", "applicant_management", before.test_set)
    assert any(row["answer"] and row["expected"] for row in executions_of(warehouse, new))


@pytest.mark.parametrize("keeps_days", [None, 60])
def test_inbox_scores_again_what_a_lost_dataset_held(
    client: Client, dataset: str, settings: Settings, tmp_path: Path, keeps_days: int | None
) -> None:
    """As of its day, or as of today where the new tables do not keep that day."""
    inbox = InboxSettings(inbox=str(tmp_path), quiet_s=0)
    settings = settings.model_copy(
        update={"warehouse": f"bigquery://{dataset.replace('.', '/')}", "test_runs": inbox, "reports": f"{tmp_path}/r"}
    )
    write_csv(tmp_path / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    today = datetime.now(UTC).date()
    long_ago = today - timedelta(days=90)

    assert len(score_inbox(settings, long_ago).scored) == 1
    assert (score_inbox(settings, today).scored, open_warehouse(settings.warehouse, settings).days(SUMMARIES)) == (
        (),
        [long_ago],
    )
    scores = client.get_table(f"{dataset}.{SCORES}")
    for table in client.list_tables(dataset):
        client.delete_table(table.reference)
    if keeps_days:
        expiring = Table(scores.reference, scores.schema)
        keeps_ms = timedelta(keeps_days) // timedelta(milliseconds=1)
        expiring.time_partitioning = TimePartitioning(field="score_date", expiration_ms=keeps_ms)
        client.create_table(expiring)
    assert len(score_inbox(settings, today).scored) == 1
    kept = open_warehouse(settings.warehouse, settings).days(SUMMARIES)
    assert kept == [today if keeps_days else long_ago]
    client.query_and_wait(f"DELETE FROM `{dataset}.{SUMMARIES}` WHERE TRUE")
    assert score_inbox(settings, today).scored == ()
