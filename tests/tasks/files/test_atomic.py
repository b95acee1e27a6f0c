import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from stat import S_ISDIR
from threading import Event

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import StorageError
from tasks.files import atomic
from tasks.files.atomic import (
    ROWS_PER_GROUP,
    TABLE_MODE,
    has_sole_writer,
    remove_unfinished,
    replacing_together,
    sole_writer,
    write_parquet,
    write_text,
)
from tests.builders.disks import small_disk

SCHEMA = pa.schema([pa.field("number", pa.int64(), metadata={"description": "번호"}), ("text", pa.string())])
KILLS = 4


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def rows(first: int, count: int) -> pl.DataFrame:
    numbers = pl.int_range(first, first + count, eager=True)
    return pl.DataFrame({"number": numbers, "text": numbers.cast(pl.String)})


def test_rows_come_back_in_order_with_the_types_and_descriptions_of_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "t.parquet"
    shuffled = rows(0, 3).select("text", "number").with_columns(pl.col("number").cast(pl.Int8))
    assert write_parquet(path, SCHEMA, [shuffled, rows(3, 2)]) == 5
    written = pq.read_table(path)
    assert written.column("number").to_pylist() == [0, 1, 2, 3, 4]
    assert written.schema.equals(SCHEMA)
    assert written.schema.field("number").metadata[b"description"].decode() == "번호"


def test_writers_of_one_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with ThreadPoolExecutor(8) as writers:
        counts = list(writers.map(lambda count: write_parquet(path, SCHEMA, [rows(0, count)]), range(1, 61)))
    assert counts == list(range(1, 61))
    assert pq.read_table(path).column("number").to_pylist() in [list(range(count)) for count in counts]
    assert names_in(tmp_path) == ["t.parquet"]


def test_leftovers_are_looked_for_while_writers_work(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        for _ in range(100):
            with replacing_together(folder, "last.txt") as unfinished:
                write_text(unfinished / "last.txt", "text")

    with ThreadPoolExecutor(4) as writers:
        writing = [writers.submit(write, tmp_path / str(number)) for number in range(4)]
        while not all(one.done() for one in writing):
            assert remove_unfinished(tmp_path, datetime.fromtimestamp(0, UTC), dry_run=False) == 0
    assert [one.result() for one in writing] == [None] * 4


def test_file_is_the_one_that_a_plain_arrow_table_makes(tmp_path: Path) -> None:
    schema = pa.schema([*SCHEMA, pa.field("texts", pa.list_(pa.string()), metadata={"description": "목록"})])
    frame = rows(0, 25).with_columns(texts=pl.concat_list("text", pl.lit("가나다라마바사아자차카타파하")))
    write_parquet(tmp_path / "ours.parquet", schema, [frame])
    pq.write_table(frame.to_arrow().cast(schema), tmp_path / "plain.parquet", compression="zstd")
    assert (tmp_path / "ours.parquet").read_bytes() == (tmp_path / "plain.parquet").read_bytes()


def test_no_rows_still_make_a_table_with_its_columns(tmp_path: Path) -> None:
    assert write_parquet(tmp_path / "t.parquet", SCHEMA, []) == 0
    assert pl.read_parquet(tmp_path / "t.parquet").schema == {"number": pl.Int64, "text": pl.String}


@given(cuts=st.lists(st.integers(0, 25), max_size=6).map(sorted))
def test_bytes_do_not_depend_on_how_rows_are_cut_into_frames(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    edges = [0, *cuts, 25]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic, "ROWS_PER_GROUP", 10)
        write_parquet(folder / "whole.parquet", SCHEMA, [rows(0, 25)])
        write_parquet(
            folder / "cut.parquet",
            SCHEMA,
            (rows(first, last - first) for first, last in pairwise(edges)),
        )
    assert (folder / "whole.parquet").read_bytes() == (folder / "cut.parquet").read_bytes()
    metadata = pq.read_metadata(folder / "cut.parquet")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [10, 10, 5]


def test_row_groups_are_small_enough_to_read_one_at_a_time(tmp_path: Path) -> None:
    write_parquet(tmp_path / "t.parquet", SCHEMA, [rows(0, ROWS_PER_GROUP + 1)])
    metadata = pq.read_metadata(tmp_path / "t.parquet")
    assert [metadata.row_group(group).num_rows for group in range(2)] == [ROWS_PER_GROUP, 1]


def test_source_that_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_parquet(path, SCHEMA, [rows(0, 3)])

    def failing() -> Iterator[pl.DataFrame]:
        yield rows(100, ROWS_PER_GROUP)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_parquet(path, SCHEMA, failing())
    assert pl.read_parquet(path)["number"].to_list() == [0, 1, 2]
    assert names_in(tmp_path) == ["t.parquet"]


def test_files_take_their_places_together_and_leave_nothing_beside_them(tmp_path: Path) -> None:
    def write(*names: str, text: str) -> None:
        with replacing_together(tmp_path, "last", ["first", "second"]) as unfinished:
            for name in (*names, "last"):
                (unfinished / name).write_text(text)
            assert text != "c", "the third writer fails"

    def found() -> dict[str, str]:
        return {path.name: path.read_text() for path in tmp_path.iterdir()}

    write("first", "second", text="a")
    assert found() == {"first": "a", "second": "a", "last": "a"}
    write("first", text="b")
    assert found() == {"first": "b", "last": "b"}
    with pytest.raises(AssertionError, match="third"):
        write("first", "second", text="c")
    assert found() == {"first": "b", "last": "b"}


def test_sole_writer_has_an_empty_place_within_the_folder_and_leaves_none(tmp_path: Path) -> None:
    """From another disk files could not take their places at once."""
    folder = tmp_path / "new" / "out"
    with sole_writer(folder) as staging:
        assert (staging.parent, [*staging.iterdir()]) == (folder, [])
    assert not (tmp_path / "new").exists()


def test_sole_writer_is_seen_by_others_and_not_hindered_by_who_looks(tmp_path: Path) -> None:
    looked = Event()

    def look() -> None:
        while not looked.is_set():
            has_sole_writer(tmp_path)

    with ThreadPoolExecutor(2) as looking:
        lookers = [looking.submit(look) for _ in range(2)]
        try:
            for _ in range(300):
                with sole_writer(tmp_path):
                    assert has_sole_writer(tmp_path)
        finally:
            looked.set()
    assert [one.result() for one in lookers] == [None, None]
    assert not has_sole_writer(tmp_path)
    assert not has_sole_writer(tmp_path / "gone")


def test_folder_that_another_program_has_locked_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        with pytest.raises(StorageError, match="another process"), sole_writer(tmp_path):
            pytest.fail("it may read what is written here")
    finally:
        os.close(descriptor)


def test_text_is_utf8_with_unix_line_ends_and_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.md"
    write_text(path, "옛 글\n")
    write_text(path, "새 글\n둘째 줄\n")
    assert path.read_bytes() == "새 글\n둘째 줄\n".encode()
    assert names_in(path.parent) == ["report.md"]


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda work_file, victim: work_file.symlink_to(victim), id="link"),
        pytest.param(lambda work_file, victim: work_file.symlink_to(victim.with_name("nothing")), id="link-to-nothing"),
        pytest.param(lambda work_file, victim: work_file.hardlink_to(victim), id="second-name"),
        pytest.param(
            lambda work_file, _: (work_file.write_text("x" * 999), work_file.chmod(0o666)), id="readable-by-all"
        ),
        pytest.param(lambda work_file, _: os.mkfifo(work_file), id="pipe"),
    ],
)
def test_what_lies_in_the_place_of_the_work_file_is_removed_and_never_written_to(
    tmp_path: Path, plant: Callable[[Path, Path], object]
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "t.parquet"
    victim.write_text("foreign")
    plant(tmp_path / ".t.parquet.unfinished", victim)
    write_parquet(path, SCHEMA, [rows(0, 3)])
    assert (victim.read_text(), sorted(names_in(tmp_path))) == ("foreign", ["t.parquet", "victim"])
    assert (pl.read_parquet(path).height, path.is_symlink()) == (3, False)
    assert path.stat().st_mode & 0o7777 == TABLE_MODE


def test_link_that_is_put_there_while_a_file_is_written_becomes_no_table(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "t.parquet"
    victim.write_text("foreign")

    def swapping() -> Iterator[pl.DataFrame]:
        (tmp_path / ".t.parquet.unfinished").unlink()
        (tmp_path / ".t.parquet.unfinished").symlink_to(victim)
        yield rows(0, 3)

    with pytest.raises(StorageError, match="removed meanwhile"):
        write_parquet(path, SCHEMA, swapping())
    assert (victim.read_text(), path.exists()) == ("foreign", False)
    assert write_parquet(path, SCHEMA, [rows(0, 3)]) == 3


def test_file_in_the_place_of_a_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="cannot write") as refused:
        write_text(tmp_path / "file" / "report.md", "text")
    assert refused.value.where == str(tmp_path / "file" / "report.md")
    assert refused.value.fix
    assert (tmp_path / "file").read_text() == "mine"


def test_folder_in_the_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").mkdir()
    with pytest.raises(StorageError, match="cannot write"):
        write_parquet(tmp_path / "t.parquet", SCHEMA, [rows(0, 3)])
    assert names_in(tmp_path) == ["t.parquet"]


def test_full_disk_is_a_clear_error_and_keeps_the_old_file(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "size=128k"):
        path = disk / "t.parquet"
        write_parquet(path, SCHEMA, [rows(0, 3)])
        with pytest.raises(StorageError, match="No space left") as refused:
            write_parquet(path, SCHEMA, [rows(0, 100_000)])
        assert "as it was before" in refused.value.fix
        assert refused.value.for_pages.startswith("디스크가 가득 차 저장하지 못했습니다. 운영 담당자에게")
        assert pl.read_parquet(path)["number"].to_list() == [0, 1, 2]
        assert names_in(disk) == ["t.parquet"]


def test_read_only_disk_is_a_clear_error(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "size=128k") as change:
        write_text(disk / "report.md", "old")
        change("ro")
        with pytest.raises(StorageError, match="Read-only"):
            write_text(disk / "report.md", "new")
        assert (disk / "report.md").read_text() == "old"


LIMITED = """
import resource, sys
from pathlib import Path
import polars as pl, pyarrow as pa
from scoring.errors import StorageError
from tasks.files.atomic import write_parquet

path, schema = Path(sys.argv[1]), pa.schema([("number", pa.int64())])
write_parquet(path, schema, [pl.DataFrame({"number": [1, 2, 3]})])
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    hard_to_compress = pl.Series("number", range(500_000)).hash().reinterpret(signed=True)
    write_parquet(path, schema, [hard_to_compress.to_frame()])
except StorageError as error:
    print(error)
"""


def test_file_size_limit_is_a_clear_error_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert "cannot write: File too large" in run.stdout
    assert pl.read_parquet(path)["number"].to_list() == [1, 2, 3]
    assert names_in(tmp_path) == ["t.parquet"]


REPLACING = """
import sys
from itertools import count
from pathlib import Path
import polars as pl, pyarrow as pa
from tasks.files.atomic import write_parquet

schema = pa.schema([("number", pa.int64())])
print("ready", flush=True)
for number in count(int(sys.argv[2])):
    write_parquet(Path(sys.argv[1]), schema, [pl.DataFrame({"number": [number] * 30_000})])
"""


@pytest.mark.long
def test_writer_killed_at_any_time_leaves_a_whole_file_to_readers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    schema = pa.schema([("number", pa.int64())])
    write_parquet(path, schema, [pl.DataFrame({"number": [-1] * 30_000})])
    for kill in range(1, KILLS + 1):
        first = kill * 1_000_000
        with subprocess.Popen(
            [sys.executable, "-c", REPLACING, path, str(first)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            # Reads while it writes, and kills it after another number of files each time.
            while writer.poll() is None and whole_number(path) < first + 3 * kill:
                pass
            writer.send_signal(signal.SIGKILL)
        assert writer.returncode == -signal.SIGKILL  # it did not fail by itself
        assert whole_number(path) >= first + 3 * kill
    write_parquet(path, schema, [pl.DataFrame({"number": [7] * 30_000})])
    assert whole_number(path) == 7
    assert names_in(tmp_path) == ["t.parquet"]  # what the killed ones left beside it is gone


def whole_number(path: Path) -> int:
    """The one number that all rows of a whole file hold."""
    numbers = pl.read_parquet(path)["number"]
    assert (numbers.len(), numbers.n_unique()) == (30_000, 1)
    return int(numbers[0])


def test_file_is_written_where_folders_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer_of_a_windows_share(descriptor: int) -> None:
        if S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr("os.fsync", answer_of_a_windows_share)
    write_text(tmp_path / "report.md", "채점")
    assert names_in(tmp_path) == ["report.md"]
