"""What a later build makes again: only the pages that a change is seen on, and those as a first build would."""

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from scoring.alerting.snoozes import Snooze
from scoring.chat.rubric import RowRubric
from scoring.errors import StorageError
from tasks.files.report_paths import ReportPaths
from tasks.reports.site.build import build_pages
from tasks.testruns.warehouse import QUERIES
from tasks.warehouse.day_queries import DayQueries
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, refused
from tests.builders.site import SAMPLE_RUNS, build, page, sources, write_day, write_run

NEXT_DAY = DAY + timedelta(days=1)
_BUILD = (
    "import sys; from pathlib import Path; from tests.builders.site import build; "
    "from tasks.warehouse.folder import FolderWarehouse; build(FolderWarehouse(Path(sys.argv[1])), Path(sys.argv[2]))"
)


class AskedWarehouse(FolderWarehouse):
    """A folder that remembers of which days the rows were asked for, and whether those of test runs were."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: set[date] = set()
        self.asked_for_runs: list[date] = []
        self.damaged: date | None = None

    def day_queries(self, day: date, rubric: RowRubric) -> DayQueries:
        if day == self.damaged:
            raise StorageError("this table file is damaged", where=str(day))
        self.asked.add(day)
        return super().day_queries(day, rubric)

    def read(
        self, table: str, days: Sequence[date] | None = None, schema: pa.Schema | None = None
    ) -> pl.LazyFrame | None:
        if table == QUERIES:
            self.asked_for_runs += days or ()
        return super().read(table, days, schema)


@pytest.fixture
def warehouse(tmp_path: Path) -> AskedWarehouse:
    """An empty one."""
    return AskedWarehouse(tmp_path / "warehouse")


def first_build(warehouse: FolderWarehouse, site: Path, snoozes: Sequence[Snooze] = ()) -> dict[str, str]:
    """The pages as a build makes them that finds none."""
    folder = site.with_name("elsewhere")
    build(warehouse, folder, snoozes=snoozes)
    return sources(folder)


@pytest.mark.long
def test_build_is_the_same_in_another_process(tmp_path: Path) -> None:
    write_day(FolderWarehouse(tmp_path / "warehouse"), DAY, [best(), *(refused(output_tokens=0.0) for _ in range(5))])
    states = []
    for seed in ("1", "4"):  # of the order in which Python goes through a set
        command = [sys.executable, "-c", _BUILD, str(tmp_path / "warehouse"), str(tmp_path / "site")]
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, check=True)
        states.append(ReportPaths(tmp_path / "site").site_state.read_bytes())
    assert states[0] == states[1]


def test_build_after_no_change_reads_no_rows_and_writes_nothing(warehouse: AskedWarehouse, site: Path) -> None:
    for offset in range(2):
        write_day(warehouse, DAY + timedelta(days=offset), [best(), refused(), plain(tenant_id=None)])
        write_run(warehouse, SAMPLE_RUNS[offset], DAY)
    first, before = build(warehouse, site), sources(site)
    warehouse.asked.clear()
    warehouse.asked_for_runs.clear()
    again = build(warehouse, site)
    assert (warehouse.asked, warehouse.asked_for_runs) == (set(), [])
    assert (first.written, again.written, again.pages) == (first.pages, 0, first.pages)
    assert sources(site) == before == first_build(warehouse, site)


def test_build_after_a_change_of_a_day_makes_its_pages_and_those_over_days(
    warehouse: AskedWarehouse, site: Path
) -> None:
    write_day(warehouse, DAY, [best()])
    write_day(warehouse, NEXT_DAY, [best()])
    build(warehouse, site)
    write_day(warehouse, NEXT_DAY, [best(), refused()])
    assert build(warehouse, site).written == 8  # day, week and month with their rows, the alerts, the first page
    assert sources(site) == first_build(warehouse, site)


def test_build_after_a_new_day_reads_no_other_day_again(warehouse: AskedWarehouse, site: Path) -> None:
    days = [DAY + timedelta(days=offset) for offset in range(5)]
    for day in days[:-1]:
        write_day(warehouse, day, [best(), refused()])
    write_run(warehouse, SAMPLE_RUNS[0], DAY)
    build(warehouse, site)
    write_day(warehouse, days[-1], [refused()])
    warehouse.asked.clear()
    warehouse.asked_for_runs.clear()
    build(warehouse, site)
    assert warehouse.asked == {days[-1]}
    assert warehouse.asked_for_runs == []
    assert sources(site) == first_build(warehouse, site)


@pytest.mark.long
def test_build_after_a_new_day_makes_a_page_again_that_has_lost_its_links(
    warehouse: AskedWarehouse, site: Path
) -> None:
    write_day(warehouse, DAY, [best(), refused()])
    build(warehouse, site)
    ReportPaths(site).page(DAY).write_text("cut off", encoding="utf-8")
    write_day(warehouse, NEXT_DAY, [refused()])
    build(warehouse, site)
    assert sources(site) == first_build(warehouse, site)


def test_build_after_a_new_test_run_reads_only_the_runs_of_its_day_again(warehouse: AskedWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best(), refused()])
    write_run(warehouse, SAMPLE_RUNS[0], DAY)
    build(warehouse, site)
    write_run(warehouse, SAMPLE_RUNS[1], NEXT_DAY)
    warehouse.asked_for_runs.clear()
    built = build(warehouse, site)
    assert warehouse.asked_for_runs == [NEXT_DAY]
    # Its own page, that of its test set, the list of runs, the first page.
    assert built.written == 4
    assert sources(site) == first_build(warehouse, site)


def test_build_after_a_snooze_shows_it(warehouse: AskedWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best(), refused()])
    build(warehouse, site)
    snooze = Snooze("answer_failed", "*", DAY, "고치는 중", "QA", datetime.combine(DAY, time(), UTC))
    build(warehouse, site, snoozes=[snooze])
    assert "고치는 중" in page(site, "alerts.html").text
    assert sources(site) == first_build(warehouse, site, [snooze])


def test_build_for_a_site_without_test_runs_is_not_taken_for_one_with_them(
    warehouse: AskedWarehouse, site: Path
) -> None:
    """The settings may name a service for a while."""
    write_day(warehouse, DAY, [best(), refused()])
    build_pages(warehouse, RUBRIC, site, "Asia/Seoul", over_all="../../")
    assert "모든 서비스의 페이지" in page(site, "index.html").text
    build(warehouse, site)
    assert sources(site) == first_build(warehouse, site)


def test_build_that_died_leaves_no_page_that_is_taken_for_another(warehouse: AskedWarehouse, site: Path) -> None:
    before = {DAY: [best()], NEXT_DAY: [best(), plain()]}
    for day, rows in before.items():
        write_day(warehouse, day, rows)
    build(warehouse, site)
    for day in before:
        write_day(warehouse, day, [refused()])
    warehouse.damaged = NEXT_DAY
    with pytest.raises(StorageError):
        build(warehouse, site)
    warehouse.damaged = None
    for day, rows in before.items():
        write_day(warehouse, day, rows)
    build(warehouse, site)
    assert sources(site) == first_build(warehouse, site)


@pytest.mark.long
def test_page_that_was_removed_is_made_again(warehouse: AskedWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best(), refused()])
    write_run(warehouse, SAMPLE_RUNS[0], DAY)
    build(warehouse, site)
    before = sources(site)
    for name in before:
        (site / name).unlink()
        assert (build(warehouse, site).written, sources(site)) == (1, before)


@pytest.mark.parametrize(
    "damage",
    [
        "",
        pytest.param("[]", marks=pytest.mark.long),
        pytest.param('{"monitoring/2026-02-13.html": 7}', marks=pytest.mark.long),
        pytest.param('{"index.html": {"inputs": 1}}', marks=pytest.mark.long),
    ],
)
def test_what_the_site_remembers_may_be_lost(warehouse: AskedWarehouse, site: Path, damage: str) -> None:
    write_day(warehouse, DAY, [best(), refused()])
    write_run(warehouse, SAMPLE_RUNS[0], DAY)
    build(warehouse, site)
    ReportPaths(site).site_state.write_text(damage)
    assert build(warehouse, site).written == 0
