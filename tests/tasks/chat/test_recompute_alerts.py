"""The alert facts of a warehouse do not depend on the order in which its days were scored."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.chat.rubric import RowRubric
from scoring.days import days_between
from tasks.chat.tables import write_alerts
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import ALERTS
from tests.builders.chat_rows import DAY, RUBRIC, plain, refused, write_rows
from tests.builders.scored_days import write_scored_day

A_DAY = 24 * 60
DAYS = days_between(DAY, DAY + timedelta(days=11))
EMPTY_DAY = 4


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Twelve days, on each of which one turn more was refused than on the day before, and one without rows."""
    days = [number for number in range(len(DAYS)) if number != EMPTY_DAY]
    rows = [refused(number * A_DAY + turn) for number in days for turn in range(number + 1)]
    rejected = [plain(number * A_DAY, output_tokens=-1.0) for number in days]
    return write_rows(tmp_path / "rows.jsonl", [*rows, *rejected])


def score(warehouse: FolderWarehouse, source: Path, day: date, rubric: RowRubric = RUBRIC) -> None:
    outcome, _ = write_scored_day(warehouse, day, source, rubric, "none")
    write_alerts(warehouse, day, rubric, outcome.counts.rejected)


def alerts(warehouse: FolderWarehouse) -> dict[date, bytes]:
    return {day: warehouse.path(ALERTS, day).read_bytes() for day in DAYS}


@pytest.mark.long
def test_days_scored_in_any_order_have_the_alerts_of_days_scored_in_theirs(source: Path, tmp_path: Path) -> None:
    in_order, any_order = FolderWarehouse(tmp_path / "a"), FolderWarehouse(tmp_path / "b")
    for day in DAYS:
        score(in_order, source, day)
    for number in (5, 11, 3, 0, 10, 4, 8, 1, 9, 2, 7, 6, 3):
        score(any_order, source, DAYS[number])
    assert alerts(any_order) == alerts(in_order)


@pytest.mark.slow
def test_days_of_another_version_keep_the_facts_that_it_found(source: Path, tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for day in DAYS[1:3]:
        score(warehouse, source, day)
    before = warehouse.path(ALERTS, DAYS[1]).read_bytes()
    score(warehouse, source, DAYS[0], replace(RUBRIC, version="2"))
    assert warehouse.path(ALERTS, DAYS[1]).read_bytes() == before
    score(warehouse, source, DAYS[0])
    assert warehouse.path(ALERTS, DAYS[1]).read_bytes() != before
