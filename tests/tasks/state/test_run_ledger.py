import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from stat import S_IMODE
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sa

from scoring.errors import StorageError, UsageError
from tasks.files.atomic import write_parquet
from tasks.state.database import StateDatabase
from tasks.state.run_ledger import RUNS_SCHEMA, Run, RunLedger, RunStep
from tests.builders.disks import small_disk
from tests.builders.nights import at, night
from tests.builders.state import opened

DAY = date(2026, 2, 13)
SEOUL = timezone(timedelta(hours=9))
RUN = Run(
    run_id="b",
    kind="nightly",
    score_date=DAY,
    rubric="ola-monitoring",
    rubric_version="1",
    code_version="0.1.0",
    started_at=datetime(2026, 2, 14, 3, 0, 0, 5, SEOUL),
)
FINISHED = replace(
    RUN,
    finished_at=datetime(2026, 2, 14, 3, 1, tzinfo=SEOUL),
    outcome="completed",
    inputs=[{"name": "질문.csv", "sha256": "0" * 64, "bytes": 12}],
    rows_in=10,
    scored=7,
    excluded=2,
    rejected=1,
    message="1 rows rejected",
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[RunLedger]:
    with opened(RunLedger, f"sqlite:///{tmp_path / 'state.db'}") as ledger:
        yield ledger


def test_run_survives_the_process_that_wrote_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new folder' / 'state.db'}"
    with opened(RunLedger, url) as first:
        first.save(FINISHED)
    with opened(RunLedger, url) as second:
        assert second.of_day(DAY) == [FINISHED]
        assert second.of_day(DAY + timedelta(days=1)) == []


def test_times_come_back_in_utc_to_the_microsecond(ledger: RunLedger) -> None:
    ledger.save(RUN)
    (run,) = ledger.of_day(DAY)
    assert run.started_at.isoformat() == "2026-02-13T18:00:00.000005+00:00"
    assert run.finished_at is None


def test_saving_a_run_again_replaces_what_is_known_of_it(ledger: RunLedger) -> None:
    ledger.save(RUN)
    ledger.save(FINISHED)
    assert ledger.of_day(DAY) == [FINISHED]


def test_runs_of_a_day_come_earliest_first_and_make_a_table(ledger: RunLedger, tmp_path: Path) -> None:
    later = replace(RUN, run_id="a", kind="intraday", started_at=datetime(2026, 2, 14, 0, 0, tzinfo=UTC))
    other_day = replace(RUN, run_id="c", score_date=date(2026, 2, 12))
    for run in (later, FINISHED, other_day):
        ledger.save(run)
    frame = ledger.frame_of_day(DAY)
    write_parquet(tmp_path / "runs.parquet", RUNS_SCHEMA, [frame])
    table = pl.read_parquet(tmp_path / "runs.parquet")
    assert table["run_id"].to_list() == ["b", "a"]
    assert table["started_at"][0] == datetime(2026, 2, 13, 18, 0, 0, 5, UTC)
    assert table["inputs"].to_list() == [f'[{{"name": "질문.csv", "sha256": "{"0" * 64}", "bytes": 12}}]', "[]"]
    assert table["rows_in"].to_list() == [10, None]


def test_day_without_runs_is_an_empty_table_with_its_columns(ledger: RunLedger) -> None:
    assert ledger.frame_of_day(DAY).columns == RUNS_SCHEMA.names


def test_latest_run_of_each_day_counts_and_test_runs_do_not(ledger: RunLedger) -> None:
    yesterday = DAY - timedelta(days=1)
    changes_of: dict[str, dict[str, Any]] = {
        "old": {},
        "new": {"started_at": RUN.started_at + timedelta(hours=1), "outcome": "failed"},
        "inbox": {"started_at": RUN.started_at + timedelta(hours=2), "kind": "test_run"},
        "before": {"score_date": yesterday, "outcome": "completed"},
    }
    for run_id, changes in changes_of.items():
        ledger.save(replace(RUN, run_id=run_id, **changes))
    latest = ledger.latest_of_days(yesterday, DAY)
    assert {day: run.run_id for day, run in latest.items()} == {yesterday: "before", DAY: "new"}
    assert ledger.last_completed_day(DAY) == yesterday
    assert ledger.last_completed_day(yesterday) is None


def test_last_runs_come_in_the_order_of_their_start(ledger: RunLedger) -> None:
    for number in range(5):
        ledger.save(replace(RUN, run_id=f"run {number}", started_at=RUN.started_at + timedelta(hours=number % 3)))
    assert [run.run_id for run in ledger.last(3)] == ["run 1", "run 4", "run 2"]
    assert [run.run_id for run in ledger.starting_with("run")] == ["run 0", "run 3", "run 1", "run 4", "run 2"]
    assert ledger.starting_with("run_") == []


def test_last_run_of_a_service_is_one_of_its_chat_rows(ledger: RunLedger) -> None:
    ledger.save(RUN)
    ledger.save(replace(RUN, run_id="file", kind="test_run", started_at=RUN.started_at + timedelta(hours=1)))
    assert [run.run_id for run in ledger.last_of_service(1)] == ["b"]
    assert [run.run_id for run in ledger.last(1)] == ["file"]


def test_steps_are_kept_in_their_order_and_replaced_when_they_end(ledger: RunLedger) -> None:
    going = RunStep("b", 1, "score", datetime(2026, 2, 14, 3, tzinfo=UTC))
    ended = replace(going, finished_at=going.started_at, outcome="completed", counts={"rows_in": 3})
    other = replace(going, position=2, step="write")
    for step in (other, going, ended):
        ledger.save_step(step)
    assert ledger.steps("b") == [ended, other]
    assert ledger.steps("a") == []


FIRST_VERSION = """
CREATE TABLE runs (
    run_id VARCHAR NOT NULL PRIMARY KEY, kind VARCHAR NOT NULL, score_date DATE NOT NULL, rubric VARCHAR NOT NULL,
    rubric_version VARCHAR NOT NULL, code_version VARCHAR NOT NULL, started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP, outcome VARCHAR NOT NULL, inputs JSON NOT NULL, rows_in INTEGER, scored INTEGER,
    excluded INTEGER, rejected INTEGER, message VARCHAR
)
"""
ITS_ROW = """
INSERT INTO runs VALUES ('a', 'nightly', '2026-02-13', 'ola-monitoring', '1', '0.1.0', '2026-02-13 18:00:00.000000',
                         '2026-02-13 18:01:00.000000', 'completed', '[]', 3, 2, 1, 0, NULL)
"""


def test_ledger_of_the_first_version_keeps_its_runs_and_takes_new_ones(state_url: str) -> None:
    engine = sa.create_engine(state_url)
    with engine.begin() as connection:
        connection.execute(sa.text(FIRST_VERSION))
        connection.execute(sa.text(ITS_ROW))
    engine.dispose()
    for _ in range(2):  # the second time nothing is missing any more
        with opened(RunLedger, state_url) as ledger:
            old = ledger.of_day(DAY)[0]
            assert (old.run_id, old.rows_in, old.content, old.parameters, old.cost_usd) == ("a", 3, None, None, None)
            new = replace(FINISHED, content="10-00ff", parameters={"keep_text": "all"}, model="m", cost_usd=0.5)
            ledger.save(new)
            assert ledger.of_day(DAY) == [old, new]
            assert ledger.frame_of_day(DAY)["parameters"].to_list() == [None, '{"keep_text": "all"}']


@pytest.mark.parametrize(
    "url",
    ["no url", "postgresql://u:hunter2@host:port/db", "nosuch://u:hunter2@host/db", "postgresql://u:h@nter2:x@host/db"],
)
def test_url_that_is_none_is_wrong_usage_and_shows_no_password(url: str) -> None:
    with pytest.raises(UsageError, match="state_url") as refused:
        StateDatabase(url)
    assert "sqlite:///data/state.db" in refused.value.fix
    assert "nter2" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///file::memory:?uri=true",
        "sqlite:///file:a?mode=memory&uri=true",
    ],
)
def test_database_that_nothing_would_remain_of_is_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError, match=r"state_url .* names no file") as refused:
        StateDatabase(name)
    assert "sqlite:///data/state.db" in refused.value.fix


@pytest.mark.parametrize("path", ["a?b/state.db", "a?state.db", "a?b=c/state.db"])
def test_path_with_a_question_mark_names_no_other_file(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a \? of a path is written %3F"):
        StateDatabase(f"sqlite:///{tmp_path}/{path}")


@pytest.mark.parametrize("name", ["a%3Fb.db", "a%23b.db", "a%2525b.db", "a b.db?timeout=9"])
def test_reader_opens_the_file_that_was_written_whatever_its_name(name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/{name}"
    with opened(RunLedger, url) as ledger:
        ledger.save(night(DAY))
    with StateDatabase(url, read_only=True) as state:
        assert len(RunLedger(state).of_day(DAY)) == 1


def test_database_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="state database") as refused:
        RunLedger(StateDatabase(f"sqlite:///{tmp_path / 'file' / 'state.db'}"))
    assert "state.db" in refused.value.where
    assert refused.value.fix


@pytest.mark.parametrize(("kept", "said"), [(0, "not a database"), (100, "malformed")])
def test_file_that_is_damaged_is_a_clear_error(tmp_path: Path, kept: int, said: str) -> None:
    path = tmp_path / "state.db"
    with opened(RunLedger, f"sqlite:///{path}") as ledger:
        ledger.save(RUN)
    path.write_bytes(path.read_bytes()[:kept].ljust(path.stat().st_size, b"?"))
    with pytest.raises(StorageError, match=said) as damaged:
        RunLedger(StateDatabase(f"sqlite:///{path}"))
    assert "put its backup in its place" in damaged.value.fix


def test_database_that_became_read_only_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with opened(RunLedger, f"sqlite:///{path}"):
        pass
    with (
        opened(RunLedger, f"sqlite:///file:{path}?mode=ro&uri=true") as read_only,
        pytest.raises(StorageError, match="readonly"),
    ):
        read_only.save(RUN)


def test_database_gets_the_tables_of_a_store_together_or_none(state_url: str) -> None:
    metadata = sa.MetaData()
    sa.Table("first", metadata, sa.Column("a", sa.String, primary_key=True))
    sa.Table("second", metadata, sa.Column("a", sa.String), sa.Index("refused", sa.text("no_such_function(a)")))
    with StateDatabase(state_url) as database:
        with pytest.raises(StorageError, match="cannot be used"):
            database.create_tables(*metadata.sorted_tables)
        with database.transaction() as connection:
            assert not sa.inspect(connection).has_table("first")


@pytest.mark.parametrize("replaced", [False, True])
def test_database_whose_file_is_removed_in_use_is_a_clear_error(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "state.db"
    with opened(RunLedger, f"sqlite:///{path}") as ledger:
        ledger.save(RUN)
        for name in tmp_path.glob("state.db*"):
            name.unlink()
        if replaced:
            path.touch()
        with pytest.raises(StorageError, match="its file was removed or replaced while it was in use"):
            ledger.save(RUN)


def test_database_on_a_read_only_disk_is_a_clear_error_and_goes_on_afterwards(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    url = f"sqlite:///{disk}/state.db"
    with small_disk(disk, "size=4m") as change:
        with opened(RunLedger, url) as ledger:
            ledger.save(RUN)
        change("ro")
        with pytest.raises(StorageError, match="the state database cannot be used") as refused, opened(RunLedger, url):
            pass
        assert "that the database or its folder can be written" in refused.value.fix
        change("rw")
        with opened(RunLedger, url) as ledger:
            assert [run.run_id for run in ledger.of_day(DAY)] == [RUN.run_id]


def test_full_disk_leaves_a_database_that_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "size=400k") as change:
        url = f"sqlite:///{disk}/state.db"
        with pytest.raises(StorageError, match="disk is full"), opened(RunLedger, url) as ledger:
            for number in range(1000):
                ledger.save(replace(RUN, run_id=f"run {number}", message="m" * 500))
        change("size=4m")
        with opened(RunLedger, url) as ledger:
            saved = len(ledger.of_day(DAY))
            assert saved
            assert all(run.message == "m" * 500 for run in ledger.of_day(DAY))
            ledger.save(replace(RUN, run_id="one more"))
            assert len(ledger.of_day(DAY)) == saved + 1


def test_run_of_a_clock_ahead_counts_as_begun_before_the_end_of_its_day(ledger: RunLedger) -> None:
    ledger.save(night(DAY))
    ledger.put_back_starts(at(DAY, "23:59"), SEOUL)
    ledger.save(night(DAY, start="07:30"))
    ledger.put_back_starts(at(DAY + timedelta(days=1), "00:00"), SEOUL)  # by a clock that is a little behind
    assert [run.began_after_its_day(SEOUL) for run in ledger.of_day(DAY)] == [False, True]


def test_database_that_lost_its_table_is_a_clear_error(ledger: RunLedger, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "state.db") as other:
        other.execute("DROP TABLE runs")
    other.close()
    with pytest.raises(StorageError, match="no such table"):
        ledger.of_day(DAY)


def test_tables_that_a_missing_database_lacks_are_named_once(tmp_path: Path) -> None:
    with StateDatabase(f"sqlite:///{tmp_path / 'nowhere.db'}", read_only=True) as state:
        for _ in range(3):
            RunLedger(state)
        assert state.lacking == ["runs", "run_steps"]
    assert not (tmp_path / "nowhere.db").exists()


def test_folder_in_the_place_of_the_database_keeps_its_permissions(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    with pytest.raises(StorageError, match="it is no file"), opened(RunLedger, f"sqlite:///{folder}"):
        pass
    assert S_IMODE(folder.stat().st_mode) == 0o755
