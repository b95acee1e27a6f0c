import errno
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import date, timedelta
from pathlib import Path
from shutil import copyfile

import polars as pl
import pyarrow as pa
import pytest

from scoring.errors import StorageError, UsageError
from tasks.warehouse import open_warehouse
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.permissions import locked

SCHEMA = pa.schema([("score_date", pa.date32()), ("number", pa.int64())])
FRIDAY, SATURDAY, SUNDAY = date(2026, 2, 13), date(2026, 2, 14), date(2026, 2, 15)


def day_rows(day: date, *numbers: int) -> list[pl.DataFrame]:
    return [pl.DataFrame({"score_date": [day] * len(numbers), "number": list(numbers)})]


@pytest.fixture
def warehouse(tmp_path: Path) -> FolderWarehouse:
    """Two days of the table `scores`."""
    made = FolderWarehouse(tmp_path / "warehouse")
    made.replace_day("scores", SATURDAY, SCHEMA, day_rows(SATURDAY, 3, 4))
    made.replace_day("scores", FRIDAY, SCHEMA, day_rows(FRIDAY, 1, 2))
    return made


def numbers_in(warehouse: FolderWarehouse, days: list[date] | None = None) -> list[int]:
    found = warehouse.read("scores", days)
    return [] if found is None else found.collect()["number"].to_list()


def test_replacing_a_day_touches_that_day_of_that_table_only(warehouse: FolderWarehouse) -> None:
    warehouse.replace_day("kpis", FRIDAY, SCHEMA, day_rows(FRIDAY, 9))
    saturday, kpis = warehouse.path("scores", SATURDAY), warehouse.path("kpis", FRIDAY)
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in (saturday, kpis)]
    warehouse.replace_day("scores", FRIDAY, SCHEMA, day_rows(FRIDAY, 7))
    assert numbers_in(warehouse) == [7, 3, 4]
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in (saturday, kpis)] == before


def test_replacing_days_gives_each_its_own_rows_and_one_without_any_none(warehouse: FolderWarehouse) -> None:
    rows = pl.concat([*day_rows(FRIDAY, 7, 8), *day_rows(SUNDAY, 9)])
    warehouse.replace_days("scores", [FRIDAY, SATURDAY, SUNDAY], SCHEMA, rows)
    assert [numbers_in(warehouse, [day]) for day in (FRIDAY, SATURDAY, SUNDAY)] == [[7, 8], [], [9]]


def test_day_that_is_replaced_again_and_again_reads_as_it_is_now(warehouse: FolderWarehouse) -> None:
    for number in range(100):
        warehouse.replace_day("scores", FRIDAY, SCHEMA, day_rows(FRIDAY, number))
        assert numbers_in(warehouse, [FRIDAY]) == [number]


def test_day_that_is_replaced_again_and_again_is_kept_in_memory_once(warehouse: FolderWarehouse) -> None:
    schema = pa.schema([("score_date", pa.date32()), ("kept_once", pa.int64())])
    for number in range(20):
        rows = [pl.DataFrame({"score_date": FRIDAY, "kept_once": [number]})]
        warehouse.replace_day("scores", FRIDAY, schema, rows)
        assert warehouse.read("scores", [FRIDAY]) is not None
        del rows
    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, pl.DataFrame) and one.columns == schema.names]
    assert [one["kept_once"].to_list() for one in held] == [[19]]


def test_days_are_read_earliest_first_whatever_order_was_asked(warehouse: FolderWarehouse) -> None:
    assert warehouse.days("scores") == [FRIDAY, SATURDAY]
    assert numbers_in(warehouse) == [1, 2, 3, 4]
    assert numbers_in(warehouse, [SATURDAY, FRIDAY]) == [1, 2, 3, 4]
    assert numbers_in(warehouse, [SATURDAY, SUNDAY]) == [3, 4]


def test_days_of_years_are_read_without_a_warning_of_too_many_threads(
    warehouse: FolderWarehouse, recwarn: pytest.WarningsRecorder
) -> None:
    first = date(2023, 1, 1)
    days = [first + timedelta(days=number) for number in range(1500)]
    warehouse.replace_day("kpis", first, SCHEMA, day_rows(first, 1))
    written = warehouse.path("kpis", first)
    for day in days[1:]:
        copyfile(written, warehouse.path("kpis", day))
    found = warehouse.read("kpis", days)
    assert found is not None
    assert found.collect().height == len(days)
    assert [str(one.message) for one in recwarn] == []


def test_day_or_table_that_is_not_there_reads_as_none(warehouse: FolderWarehouse) -> None:
    assert warehouse.read("scores", [SUNDAY]) is None
    assert warehouse.read("nothing") is None
    assert warehouse.days("nothing") == []


def test_day_is_read_without_a_look_at_the_others(warehouse: FolderWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """`aqb erase` reads day after day: it listed all days of years for each of them."""
    monkeypatch.setattr("os.scandir", lambda folder: pytest.fail(f"{folder} is listed"))
    assert numbers_in(warehouse, [SUNDAY, SATURDAY]) == [3, 4]
    assert numbers_in(warehouse, [SUNDAY]) == []


def test_day_without_rows_is_a_day(warehouse: FolderWarehouse) -> None:
    warehouse.replace_day("scores", SUNDAY, SCHEMA, [])
    assert warehouse.days("scores") == [FRIDAY, SATURDAY, SUNDAY]
    assert numbers_in(warehouse, [SUNDAY]) == []
    assert numbers_in(warehouse) == [1, 2, 3, 4]


def test_files_that_are_no_days_are_left_alone(warehouse: FolderWarehouse) -> None:
    folder = warehouse.folder / "scores"
    odd = (
        "2026-02-30.parquet",
        ".2026-02-15.parquet.unfinished",
        "2026.parquet",
        "20260215.parquet",
        "2026-W07.parquet",
    )
    for name in ("notes.txt", "backup.parquet", "20260213.parquet", *odd):
        (folder / name).write_text("not ours")
    assert warehouse.days("scores") == [FRIDAY, SATURDAY]
    assert numbers_in(warehouse) == [1, 2, 3, 4]


def test_damaged_file_is_named_with_the_command_that_makes_it_anew(warehouse: FolderWarehouse) -> None:
    path = warehouse.path("scores", SATURDAY)
    path.write_bytes(path.read_bytes()[:-9])

    def read_all() -> None:
        warehouse.read("scores")

    def replace_some() -> None:
        warehouse.replace_day("scores", SATURDAY, SCHEMA, day_rows(SATURDAY, 7), only={"number": "7"})

    for use in (read_all, replace_some):
        with pytest.raises(StorageError) as damaged:
            use()
        assert damaged.value.where == str(path)
        assert f"aqb backfill --from {SATURDAY} --to {SATURDAY} --force" in damaged.value.fix
    assert numbers_in(warehouse, [FRIDAY]) == [1, 2]


def test_file_that_this_user_may_not_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    warehouse = FolderWarehouse(Path("warehouse"))
    warehouse.replace_day("scores", FRIDAY, SCHEMA, day_rows(FRIDAY, 1))
    path = warehouse.path("scores", FRIDAY)
    with locked(path), pytest.raises(StorageError) as refused:
        warehouse.read("scores")
    assert (refused.value.where, refused.value.what) == (
        str(path),
        "this table file may not be read: Permission denied",
    )
    assert "remove" not in refused.value.fix


def test_lock_in_a_folder_that_may_not_be_entered_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    Path("shared").mkdir()
    lock = FolderWarehouse(Path("shared/warehouse")).lock("day")
    with locked(Path("shared")), pytest.raises(StorageError, match="cannot write: Permission denied") as refused, lock:
        pass
    assert refused.value.where == "shared/warehouse"


def test_warehouse_on_a_file_system_without_locks_says_so(
    warehouse: FolderWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    for use in (warehouse.lock("scores"), warehouse.staging("run")):
        with pytest.raises(StorageError, match="cannot be locked: No locks available") as refused, use:
            pytest.fail("nothing is written without its lock")
        assert refused.value.where.startswith(str(warehouse.folder))


def test_file_in_place_of_the_warehouse_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "warehouse").write_text("a file")
    with pytest.raises(StorageError, match="cannot be read"):
        FolderWarehouse(tmp_path / "warehouse").days("scores")
    with pytest.raises(StorageError, match="cannot be read"):
        FolderWarehouse(tmp_path / "warehouse").read("scores", [SUNDAY])


def test_staging_is_an_empty_place_that_is_gone_afterwards(warehouse: FolderWarehouse) -> None:
    with warehouse.staging("run") as staging:
        assert not staging.exists()
        staging.mkdir()
        (staging / "rows.arrow").write_text("rows")
    assert not staging.exists()


def test_staging_is_gone_after_a_failure_too(warehouse: FolderWarehouse) -> None:
    with pytest.raises(ZeroDivisionError), warehouse.staging("run") as staging:
        staging.mkdir()
        raise ZeroDivisionError
    assert not staging.exists()
    with warehouse.staging("run"):
        pass


def test_link_in_place_of_the_staging_folder_is_refused_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("somebody's")
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    warehouse.folder.mkdir()
    (warehouse.folder / ".staging").symlink_to(elsewhere)
    with pytest.raises(StorageError, match="is a link") as refused, warehouse.staging("kept"):
        pass
    assert "remove the link" in str(refused.value)
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]


def test_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    victim, warehouse = tmp_path / "victim", FolderWarehouse(tmp_path / "warehouse")
    victim.write_text("foreign")
    with warehouse.staging("kept"):
        pass
    lock = tmp_path / "warehouse" / ".staging" / "kept.lock"
    lock.unlink()
    lock.symlink_to(victim)
    with pytest.raises(StorageError, match="symbolic links"), warehouse.staging("kept"):
        pass
    assert victim.read_text() == "foreign"


def test_second_run_of_the_same_name_is_refused_while_the_first_works(warehouse: FolderWarehouse) -> None:
    with warehouse.staging("monitoring-2026-02-13") as staging:
        staging.mkdir()
        with (
            pytest.raises(StorageError, match="another run is working on 'monitoring-2026-02-13'") as refused,
            FolderWarehouse(warehouse.folder).staging("monitoring-2026-02-13"),
        ):
            pass
        assert staging.exists()  # the refused one did not clear away what the first works on
        with warehouse.staging("monitoring-2026-02-14"):
            pass
    assert "wait for it to end" in refused.value.fix
    assert refused.value.where == str(warehouse.folder)


HOLDING = """
import sys, time
from pathlib import Path
from tasks.warehouse.folder import FolderWarehouse

with FolderWarehouse(Path(sys.argv[1])).staging("run") as staging:
    staging.mkdir()
    (staging / "rows.arrow").write_text("half")
    print("holding", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_refused_and_a_killed_one_leaves_neither_lock_nor_rows(warehouse: FolderWarehouse) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, warehouse.folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"holding\n"
        with pytest.raises(StorageError, match="another run"), warehouse.staging("run"):
            pass
        other.send_signal(signal.SIGKILL)
    with warehouse.staging("run") as staging:
        assert not staging.exists()


def test_run_waits_for_another_one_of_its_name_as_long_as_asked(warehouse: FolderWarehouse) -> None:
    with ExitStack() as first, ThreadPoolExecutor(1) as thread:
        first.enter_context(warehouse.staging("run"))

        def second() -> bool:
            with FolderWarehouse(warehouse.folder).staging("run", 60.0) as staging:
                return not staging.exists()

        waiting = thread.submit(second)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.05)
        first.close()
        assert waiting.result(timeout=60)


def test_lock_is_waited_for_no_longer_than_asked_and_then_taken_when_it_is_free(warehouse: FolderWarehouse) -> None:
    with warehouse.lock("site"):
        for wait_s in (0.0, 0.02):
            with pytest.raises(StorageError, match="another run is working on 'site'"), warehouse.lock("site", wait_s):
                pass
    with warehouse.lock("site", 0.0):
        pass


def test_what_runs_leave_behind_is_no_table(warehouse: FolderWarehouse) -> None:
    with warehouse.staging("run"):
        pass
    assert [path.name for path in warehouse.folder.iterdir() if not path.name.startswith(".")] == ["scores"]


def test_warehouse_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    warehouse = open_warehouse(str(tmp_path / "file"))
    with pytest.raises(StorageError, match="cannot write") as refused, warehouse.staging("run"):
        pass
    assert refused.value.where == str(tmp_path / "file")
    with pytest.raises(StorageError, match="cannot write"):
        warehouse.replace_day("scores", FRIDAY, SCHEMA, day_rows(FRIDAY, 1))


def test_warehouse_of_an_unknown_kind_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="s3://bucket/scores") as refused:
        open_warehouse("s3://bucket/scores")
    assert "folder" in refused.value.fix


def test_part_of_a_day_is_replaced_and_the_order_of_writers_leaves_no_trace(tmp_path: Path) -> None:
    schema = pa.schema([("run", pa.string()), ("number", pa.int64())])
    files = []
    for name, order in (("one", "abcb"), ("other", "cba")):
        warehouse = FolderWarehouse(tmp_path / name)
        for run in order:
            rows = pl.DataFrame({"run": [run] * 2, "number": [2, 1]})
            warehouse.replace_day("runs", FRIDAY, schema, [rows], only={"run": run})
        files.append(warehouse.path("runs", FRIDAY))
    assert pl.read_parquet(files[0]).rows() == [(run, number) for run in "abc" for number in (2, 1)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_days_of_other_versions_read_in_the_columns_that_are_asked_for(warehouse: FolderWarehouse) -> None:
    wider = pa.schema([("score_date", pa.date32()), ("number", pa.float64()), ("rules", pa.list_(pa.string()))])
    today = pl.DataFrame({"score_date": [SUNDAY], "number": [0.5], "rules": [["a"]]})
    warehouse.replace_day("scores", SUNDAY, wider, [today])
    asked = pa.schema([("rules", pa.list_(pa.string())), ("number", pa.float64()), ("added", pa.int64())])
    found = warehouse.read("scores", schema=asked)
    assert found is not None
    assert found.collect().rows() == [(None, n, None) for n in (1.0, 2.0, 3.0, 4.0)] + [(["a"], 0.5, None)]
    assert found.select("added").collect().rows() == [(None,)] * 5
    old = warehouse.read("scores", [FRIDAY], asked)
    assert old is not None
    assert old.collect().schema == found.collect_schema()
    everything = warehouse.read("scores")
    assert everything is not None
    assert everything.collect()["number"].to_list() == [1.0, 2.0, 3.0, 4.0, 0.5]


def test_part_of_a_day_that_another_version_wrote_is_replaced_too(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path)
    before = pa.schema([("run", pa.string()), ("dropped", pa.int64())])
    after = pa.schema([("run", pa.string()), ("added", pa.int64())])
    warehouse.replace_day("runs", FRIDAY, before, [pl.DataFrame({"run": ["a"], "dropped": [1]})], only={"run": "a"})
    warehouse.replace_day("runs", FRIDAY, after, [pl.DataFrame({"run": ["b"], "added": [2]})], only={"run": "b"})
    assert pl.read_parquet(warehouse.path("runs", FRIDAY)).rows() == [("a", None), ("b", 2)]


def test_warehouse_that_is_removed_while_a_run_works_fails_the_run(warehouse: FolderWarehouse) -> None:
    with (
        pytest.raises(StorageError, match="the warehouse was removed while a run wrote to it"),
        warehouse.staging("night"),
    ):
        warehouse.folder.rename(warehouse.folder.with_name("away"))
        warehouse.replace_day("scores", SUNDAY, SCHEMA, day_rows(SUNDAY, 5))


def test_day_whose_staged_rows_are_removed_says_so_and_keeps_the_old_one(warehouse: FolderWarehouse) -> None:
    def staged(folder: Path) -> Iterator[pl.DataFrame]:
        folder.rename(folder.with_name("away"))
        yield pl.scan_ipc(folder / "rows.arrow").collect()

    with warehouse.staging("night") as folder:
        folder.mkdir()
        pl.DataFrame({"number": [5]}).write_ipc(folder / "rows.arrow")
        with pytest.raises(StorageError, match="files that belong to it were removed meanwhile"):
            warehouse.replace_day("scores", FRIDAY, SCHEMA, staged(folder))
    assert numbers_in(warehouse, [FRIDAY]) == [1, 2]
