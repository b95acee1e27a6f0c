import csv
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.rows import CHAT_ROW_SCHEMA, FileFailure, RowBatch
from scoring.days import day_window
from scoring.errors import InputError
from tasks.chat.sources import ChatRowFiles
from tests.builders.cases import portion

CONTENT = "user_input,llm_response,input_tokens,output_tokens,timestamp\nq,a,1,2,2026-02-13T00:00:00Z\n"


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONTENT)


def names(folder: Path, *inputs: str | Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in ChatRowFiles([folder / given for given in inputs]).files]


def test_folder_gives_its_tables_sorted_and_at_any_depth(tmp_path: Path) -> None:
    put(tmp_path, "b.csv", "a.tsv", "day=2026-02-13/part-1.jsonl", "day=2026-02-13/part-0.ndjson", "C.PARQUET")
    assert names(tmp_path, "") == [
        *("C.PARQUET", "a.tsv", "b.csv", "day=2026-02-13/part-0.ndjson", "day=2026-02-13/part-1.jsonl")
    ]


def test_hidden_and_underscored_names_and_other_endings_are_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", ".b.csv", "_SUCCESS", "_c.csv", "_tmp/d.csv", ".cache/e.csv", "notes.txt", "f.csv.crc")
    assert names(tmp_path, "") == ["a.csv"]


def test_hidden_folder_that_is_named_outright_is_read(tmp_path: Path) -> None:
    put(tmp_path, ".hidden/a.csv")
    assert names(tmp_path, ".hidden", ".hidden/*.csv") == [".hidden/a.csv"]


def test_globs_find_files_and_folders(tmp_path: Path) -> None:
    put(tmp_path, "x1/a.csv", "x2/deep/b.csv", "y/c.csv", "x.csv", "x.txt", "_x.csv")
    assert names(tmp_path, "x*") == ["x.csv", "x1/a.csv", "x2/deep/b.csv"]
    assert names(tmp_path, "**/*.csv") == ["x.csv", "x1/a.csv", "x2/deep/b.csv", "y/c.csv"]


def test_relative_inputs_keep_their_short_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "data/a.csv", "data/b.csv")
    monkeypatch.chdir(tmp_path)
    assert ChatRowFiles(["data/b.csv", "data/*.csv"]).files == (Path("data/b.csv"), Path("data/a.csv"))


def test_file_that_two_inputs_name_is_read_once(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "b.csv")
    assert names(tmp_path, "b.csv", "", "*.csv", "./b.csv") == ["b.csv", "a.csv"]


def test_name_with_brackets_is_a_file_before_it_is_a_glob(tmp_path: Path) -> None:
    put(tmp_path, "rows[1].csv")
    assert names(tmp_path, "rows[1].csv") == ["rows[1].csv"]


@pytest.mark.parametrize("given_name", ["absent.csv", "empty", "*.jsonl", "a**b.csv"])
def test_input_that_matches_nothing_is_an_error_that_says_what_was_looked_for(tmp_path: Path, given_name: str) -> None:
    put(tmp_path, "a.csv", "empty/notes.txt")
    with pytest.raises(InputError, match="looked for a file, a folder or a glob") as found:
        ChatRowFiles([tmp_path / "a.csv", tmp_path / given_name])
    assert found.value.where == str(tmp_path / given_name)


def test_failed_file_does_not_stop_the_others(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "z.csv")
    (tmp_path / "b.csv").write_text("something,else\n")
    (tmp_path / "c.jsonl").write_text("no json\n")
    (tmp_path / "d.parquet").write_bytes(b"")
    (tmp_path / "e.csv").write_bytes(b"")
    outcome = list(ChatRowFiles([tmp_path]).batches())
    failed = [Path(one.file).name for one in outcome if isinstance(one, FileFailure)]
    read = [Path(one.file).name for one in outcome if isinstance(one, RowBatch)]
    assert (failed, read) == (["b.csv", "c.jsonl", "d.parquet", "e.csv"], ["a.csv", "z.csv"])


def test_file_of_another_kind_fails_by_its_ending(tmp_path: Path) -> None:
    put(tmp_path, "rows.xlsx")
    (failed,) = ChatRowFiles([tmp_path / "rows.xlsx"]).batches()
    assert isinstance(failed, FileFailure)
    assert "expected a name ending in .parquet, .csv, .tsv, .jsonl, .ndjson, found .xlsx" in str(failed.error)
    assert failed.error.fix == "save it as CSV UTF-8"  # a workbook with another name is still none


def test_error_of_a_failed_file_keeps_none_of_its_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("something,else\n")
    (failed,) = ChatRowFiles([tmp_path]).batches()
    assert isinstance(failed, FileFailure)
    assert (failed.error.__traceback__, failed.error.__context__, failed.error.__cause__) == (None, None, None)


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_file_that_went_away_fails_alone(tmp_path: Path, name: str) -> None:
    put(tmp_path, name, "z.csv")
    files = ChatRowFiles([tmp_path])
    (tmp_path / name).unlink()
    failed, read = files.batches()
    assert isinstance(failed, FileFailure) and isinstance(read, RowBatch)
    assert [identity.name for identity in files.fingerprint()] == [str(tmp_path / "z.csv")]


def test_fingerprint_is_name_sha256_and_size(tmp_path: Path) -> None:
    put(tmp_path, "a.csv")
    (identity,) = ChatRowFiles([tmp_path]).fingerprint()
    assert identity.name == str(tmp_path / "a.csv")
    assert identity.sha256 == hashlib.sha256(CONTENT.encode()).hexdigest()
    assert identity.bytes == len(CONTENT)


def test_batch_that_loses_a_row_cannot_be_built() -> None:
    no_rows = pl.DataFrame(schema=CHAT_ROW_SCHEMA)
    with pytest.raises(AssertionError, match="lost or counted twice"):
        RowBatch("a.csv", no_rows, (), naive_timestamps=0, rows_in=1, outside_window=0)


Turn = dict[str, Any]
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
LABEL = st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
TOKENS = st.none() | st.floats(allow_nan=False)
TURN = st.fixed_dictionaries(
    {
        "user_input": TEXT,
        "llm_response": TEXT,
        "input_tokens": TOKENS,
        "output_tokens": TOKENS,
        "timestamp": st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
        "tenant_id": LABEL,
        "session_id": LABEL,
        "source_id": LABEL,
    }
)


def holds_something(turn: Turn) -> bool:
    """Whether any cell of it is more than blanks: in a delimited file a row of none is a blank line, and no turn."""
    return any(str(value).strip() for value in turn.values() if value is not None)


TURNS = st.lists(TURN.filter(holds_something), min_size=1, max_size=6)


def in_session_form(turn: Turn, form: str) -> Turn:
    """The same turn with its session flat, in a struct, or in a JSON text."""
    session = turn["session_id"]
    others = {name: value for name, value in turn.items() if name != "session_id"}
    if form == "flat":
        return {**others, "session_id": session}
    metadata = {"session_id": session, "x_enc_data": "personal"}
    return {**others, "request_metadata": metadata if form == "struct" else json.dumps(metadata, ensure_ascii=False)}


def write(path: Path, turns: Sequence[Turn]) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(turns)), path)
        return
    written = [{**turn, "timestamp": turn["timestamp"] and turn["timestamp"].isoformat()} for turn in turns]
    if path.suffix == ".jsonl":
        path.write_bytes(b"".join(json.dumps(turn, ensure_ascii=False).encode() + b"\n" for turn in written))
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(written[0]))
        writer.writeheader()
        writer.writerows(written)


@pytest.mark.parametrize(
    ("ending", "form"),
    [
        *((".parquet", "flat"), (".parquet", "struct"), (".parquet", "json")),
        *((".jsonl", "flat"), (".jsonl", "struct"), (".jsonl", "json"), (".csv", "flat"), (".csv", "json")),
    ],
)
@given(turns=TURNS)
def test_every_kind_of_file_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, ending: str, form: str, turns: list[Turn]
) -> None:
    path = tmp_path_factory.mktemp("rows") / f"rows{ending}"
    write(path, [in_session_form(turn, form) for turn in turns])
    (batch,) = ChatRowFiles([path]).batches()
    assert isinstance(batch, RowBatch)
    assert batch.rejects == ()
    assert batch.rows.drop("line").to_dicts() == turns


PEAK_OF_A_READ = """
import sys
import flows  # says how Polars is to use threads and memory
from tasks.chat.sources import ChatRowFiles
from scoring.chat.rows import RowBatch
from tests.builders.peak_memory import peak_mib

rows = 0
for batch in ChatRowFiles(sys.argv[1:]).batches():
    assert isinstance(batch, RowBatch)
    rows += batch.rows.height
    del batch  # as whoever scores them does
print(rows, peak_mib())
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory of a process is read from /proc")
@pytest.mark.parametrize(
    ("ending", "rows", "rows_in_group"),
    portion([(".csv", 20_000, 0), (".jsonl", 20_000, 0), (".parquet", 60_000, 60_000), (".parquet", 60_000, 10_000)]),
)
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path, ending: str, rows: int, rows_in_group: int) -> None:
    path, answer = tmp_path / f"rows{ending}", "가나다라마바사 abc " * 200
    turn = {"user_input": "q", "llm_response": answer, "input_tokens": 1.0, "output_tokens": 2.0}
    if ending == ".parquet":
        columns = {name: pa.repeat(value, rows) for name, value in turn.items()}
        moments = pa.repeat(pa.scalar(datetime(2026, 2, 13, tzinfo=UTC), pa.timestamp("us", "UTC")), rows)
        pq.write_table(
            pa.table({**columns, "timestamp": moments}), path, row_group_size=rows_in_group, use_dictionary=False
        )
    elif ending == ".csv":
        an_open_quote = '"q,a,1,2,2026-02-13Z\n'
        path.write_text(CONTENT + an_open_quote + f"q,{answer},1,2,2026-02-13Z\n" * (rows - 1))
    else:
        path.write_text((json.dumps({**turn, "timestamp": "2026-02-13Z"}, ensure_ascii=False) + "\n") * rows)
    done = subprocess.run([sys.executable, "-c", PEAK_OF_A_READ, str(path)], capture_output=True, text=True, check=True)
    found, peak = map(int, done.stdout.split())
    assert found == rows
    assert peak < 225  # the larger files hold 312 MB of text; with the libraries a whole run may take 400


@pytest.mark.long
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_reading_a_day_does_not_import_pandas(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows{ending}"
    moment = datetime(2026, 2, 13, 12, tzinfo=UTC)
    turn = {"user_input": "q", "llm_response": "a", "input_tokens": 1.0, "output_tokens": None, "timestamp": moment}
    write(path, [turn])
    script = f"""
import sys
from datetime import date
from scoring.days import day_window
from tasks.chat.sources import ChatRowFiles
(batch,) = ChatRowFiles([{str(path)!r}]).batches(day_window(date(2026, 2, 13), "Asia/Seoul"))
assert batch.rows.height == 1
assert "pandas" not in sys.modules, "its import costs more than reading 50 MB"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# --- Files that change while they are read ---------------------------------------------------------------------------


def many_lines(path: Path, question: str, count: int = 20_000) -> Path:
    row = {"user_input": question, "llm_response": "a", "timestamp": "2026-02-13T00:00:00Z"}
    line = json.dumps(row | {"input_tokens": 1, "output_tokens": 2}, ensure_ascii=False)
    path.write_text(f"{line}\n" * count, "utf-8")
    return path


def test_json_lines_that_are_replaced_while_they_are_read_are_read_to_their_end(tmp_path: Path) -> None:
    path = many_lines(tmp_path / "a.jsonl", "질문")
    batches = ChatRowFiles([path]).batches()
    found = [next(batches)]
    many_lines(tmp_path / "new", "새 질문", count=3).replace(path)
    found += batches
    questions = [text for batch in found if isinstance(batch, RowBatch) for text in batch.rows["user_input"]]
    assert (len(questions), set(questions)) == (20_000, {"질문"})


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_file_that_is_cut_short_while_it_is_read_is_a_failure(tmp_path: Path, ending: str) -> None:
    path = many_lines(tmp_path / "a.jsonl", "질문")
    if ending == "csv":
        path = tmp_path / "a.csv"
        path.write_text(CONTENT + CONTENT.splitlines(keepends=True)[1] * 40_000, "utf-8")
    batches = ChatRowFiles([path]).batches()
    found = [next(batches)]
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size // 2)
    found += batches
    assert isinstance(found[-1], FileFailure)
    assert "became shorter while it was read" in str(found[-1].error)


def test_file_that_grows_while_it_is_read_is_none(tmp_path: Path) -> None:
    path = many_lines(tmp_path / "a.jsonl", "질문")
    batches = ChatRowFiles([path]).batches()
    found = [next(batches)]
    with path.open("a", encoding="utf-8") as file:
        file.write(path.read_text("utf-8").partition("\n")[0] + "\n")
    found += batches
    assert sum(batch.rows.height for batch in found if isinstance(batch, RowBatch)) >= 20_000
    assert not any(isinstance(batch, FileFailure) for batch in found)


def test_estimate_counts_files_and_names_one_that_cannot_be_opened(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "b.csv")
    source, window = ChatRowFiles([tmp_path]), day_window(date(2026, 2, 13), "Asia/Seoul")
    assert source.estimate(window) == f"2 files, {2 * len(CONTENT)} bytes"
    (source.files[0].parent / "rotated.jsonl.gz").touch()
    assert source.estimate(window).endswith("bytes; 1 packed file not read (unpack what has rows)")
    (tmp_path / "b.csv").unlink()
    with pytest.raises(InputError, match=r"b\.csv: cannot be read: No such file or directory"):
        source.estimate(window)


def test_estimate_refuses_columns_that_the_newest_file_does_not_have(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "b.csv")
    os.utime(tmp_path / "a.csv", (0, 0))
    (tmp_path / "b.csv").write_text(CONTENT.replace("user_input", "question"))
    source, window = ChatRowFiles([tmp_path]), day_window(date(2026, 2, 13), "Asia/Seoul")
    with pytest.raises(InputError, match=r"b\.csv: required columns are missing: user_input; found question, "):
        source.estimate(window)
    os.utime(tmp_path / "b.csv", (-1, -1))
    assert source.estimate(window).startswith("2 files, ")


@pytest.mark.parametrize("piece_bytes", [2_000, 20_000])
def test_file_that_cannot_be_cut_to_its_end_has_each_row_in_one_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    """As after a copy that broke off in zero bytes."""
    monkeypatch.setattr("tasks.files.csv_reader.LONGEST_LINE", 5_000)
    monkeypatch.setattr("tasks.chat.sources.delimited.BLOCK_BYTES", 3_000)
    path = tmp_path / "a.csv"
    path.write_bytes((CONTENT + CONTENT.splitlines(keepends=True)[1] * 300).encode() + bytes(6_000))
    source = ChatRowFiles([path])
    whole, apart = (
        [batch for rows in parts for batch in rows.batches(None)]
        for parts in ([source], source.parts(None, piece_bytes))
    )
    assert isinstance(whole[-1], FileFailure) and isinstance(apart[-1], FileFailure)
    assert str(whole[-1].error) == str(apart[-1].error)
    rows = [sum(batch.rows.height for batch in found if isinstance(batch, RowBatch)) for found in (whole, apart)]
    assert rows[0] == rows[1] > 200
