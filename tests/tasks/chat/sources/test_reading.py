"""Files that call their columns otherwise, and times without a zone: the same rows from every kind of file."""

import csv
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.chat.reading import Reading
from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window
from tasks.chat.sources import ChatRowFiles

CANONICAL = {
    "user_input": "질문",
    "llm_response": "답",
    "input_tokens": 10,
    "output_tokens": 5.5,
    "timestamp": "2026-02-13T01:00:00Z",
    "tenant_id": "t1",
    "session_id": "s1",
    "source_id": "7f3a/02bc",
}
RENAMED = {
    "user_input": "질문 내용",
    "llm_response": "답변",
    "timestamp": "when",
    "tenant_id": "회사",
    "source_id": "span",
}
NESTED = {
    "user_input": "log.request.text",
    "llm_response": "log.reply",
    "input_tokens": "log.usage.in",
    "output_tokens": "log.usage.out",
    "timestamp": "at",
    "request_metadata": "log.meta",
    "source_id": "log.trace",
}
LOG = {
    "request": {"text": "질문"},
    "reply": "답",
    "trace": "7f3a/02bc",
    "usage": {"in": 10, "out": 5.5},
    "meta": {"session_id": "s1", "x_enc_data": "zz"},
}


def write_csv(path: Path, row: Mapping[str, Any]) -> Path:
    path = path.with_suffix(".csv")
    cells = [json.dumps(cell) if isinstance(cell, dict) else cell for cell in row.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(row), cells])
    return path


def write_json(path: Path, row: Mapping[str, Any]) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def write_structs(path: Path, row: Mapping[str, Any]) -> Path:
    path = path.with_suffix(".parquet")
    pq.write_table(pa.Table.from_pylist([dict(row)]), path)
    return path


def write_json_text(path: Path, row: Mapping[str, Any]) -> Path:
    """Parquet whose objects are JSON text."""
    return write_structs(path, {n: json.dumps(cell) if isinstance(cell, dict) else cell for n, cell in row.items()})


Write = Callable[[Path, Mapping[str, Any]], Path]
every_kind = pytest.mark.parametrize("write", [write_csv, write_json, write_structs, write_json_text])


def batch_of(path: Path, reading: Reading, window: Window | None = None) -> RowBatch:
    (batch,) = ChatRowFiles([path], reading=reading).batches(window)
    assert isinstance(batch, RowBatch), batch
    return batch


def row_of(path: Path, reading: Reading) -> dict[str, Any]:
    batch = batch_of(path, reading)
    assert batch.rejects == ()
    (row,) = batch.rows.drop("line").to_dicts()
    return row


def error_of(path: Path, names: Mapping[str, str]) -> str:
    (found,) = ChatRowFiles([path], reading=Reading(names)).batches()
    assert isinstance(found, FileFailure)
    return str(found.error)


# --- Names -----------------------------------------------------------------------------------------------------------


@every_kind
def test_columns_of_other_names_give_the_same_row(write: Write, tmp_path: Path) -> None:
    other = {RENAMED.get(name, name): value for name, value in CANONICAL.items()}
    expected = row_of(write(tmp_path / "a", CANONICAL), Reading())
    assert row_of(write(tmp_path / "b", other), Reading(RENAMED)) == expected


@every_kind
def test_columns_are_found_inside_structs_and_json_text(write: Write, tmp_path: Path) -> None:
    nested = {"log": LOG, "at": CANONICAL["timestamp"], "tenant_id": "t1", "user_input": "not this one"}
    expected = row_of(write(tmp_path / "a", CANONICAL), Reading())
    assert row_of(write(tmp_path / "b", nested), Reading(NESTED)) == expected


@every_kind
def test_column_whose_own_name_has_a_dot_is_found(write: Write, tmp_path: Path) -> None:
    other = {("jsonPayload." + name if name == "user_input" else name): value for name, value in CANONICAL.items()}
    found = row_of(write(tmp_path / "b", other), Reading({"user_input": "jsonPayload.user_input"}))
    assert found["user_input"] == "질문"


@every_kind
def test_missing_column_is_named_with_the_way_out(write: Write, tmp_path: Path) -> None:
    lacking = {name: value for name, value in CANONICAL.items() if name != "llm_response"}
    said = error_of(write(tmp_path / "a", lacking), {})
    assert "required columns are missing: llm_response; found " in said
    assert "[monitoring.columns]" in said
    assert "monitoring.format" in said


@every_kind
@pytest.mark.parametrize("name", ["user_input", "tenant_id"])
def test_name_that_the_file_does_not_have_is_named(write: Write, tmp_path: Path, name: str) -> None:
    said = error_of(write(tmp_path / "a", {**CANONICAL, "mine": "m"}), {name: "theirs"})
    assert f"there is no column theirs for {name}; found {', '.join((*CANONICAL, 'mine'))}\n" in said
    assert f"correct monitoring.columns.{name}" in said


def test_key_that_a_struct_does_not_have_is_named(tmp_path: Path) -> None:
    path = write_structs(tmp_path / "a", {**CANONICAL, "log": LOG})
    assert "there is no column log.nothing for user_input" in error_of(path, {"user_input": "log.nothing"})


def test_key_that_no_object_has_is_named_and_one_that_is_null_is_there(tmp_path: Path) -> None:
    rows = [{**CANONICAL, "log": {"text": None, "meta": '{"tenant": "t1"}'}}, {**CANONICAL, "log": None}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    wrong = {"tenant_id": "log.meta.tennant", "user_input": "log.text"}
    assert "there is no column log.meta.tennant for tenant_id; no object has it" in error_of(path, wrong)
    right = batch_of(path, Reading({"tenant_id": "log.meta.tenant", "user_input": "log.text"}))
    assert right.rows["tenant_id"].to_list() == ["t1", None]


@pytest.mark.parametrize("write", [write_csv, write_json, write_json_text])
def test_key_that_no_json_text_has_is_named(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path / "a", {**CANONICAL, "log": LOG})
    wrong = {"input_tokens": "log.usage.in", "output_tokens": "log.usage.completion"}
    assert "there is no column log.usage.completion for output_tokens; no object has it" in error_of(path, wrong)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_key_that_json_text_has_first_in_a_late_row_is_there(kind: str, tmp_path: Path) -> None:
    metas = [*[None, "", "{broken", '{"other": 1}'] * 100, '{"tenant": "t9"}']
    table = pl.DataFrame([{**CANONICAL, "meta": meta} for meta in metas], infer_schema_length=None)
    path = tmp_path / f"a.{kind}"
    table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    found = batch_of(path, Reading({"tenant_id": "meta.tenant"})).rows["tenant_id"]
    assert found.to_list() == [None] * 400 + ["t9"]


def test_json_text_that_cannot_be_read_is_null(tmp_path: Path) -> None:
    names = {"user_input": "log.text"}
    for write in (write_csv, write_structs):
        assert row_of(write(tmp_path / "a", {**CANONICAL, "log": "{broken"}), Reading(names))["user_input"] is None


# --- Times without a zone --------------------------------------------------------------------------------------------


def moment_of(path: Path, zone: str) -> tuple[datetime | None, int]:
    batch = batch_of(path, Reading(naive_zone=zone))
    return batch.rows["timestamp"].item(), batch.naive_timestamps


@every_kind
def test_times_without_a_zone_are_read_in_the_one_that_is_set(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path / "a", {**CANONICAL, "timestamp": "2026-02-13 09:00:00.5"})
    nine = datetime(2026, 2, 13, 9, 0, 0, 500_000, tzinfo=UTC)
    assert moment_of(path, "UTC") == (nine, 1)
    assert moment_of(path, "Asia/Seoul") == (nine - timedelta(hours=9), 1)
    zoned = write(tmp_path / "b", CANONICAL)
    assert moment_of(zoned, "Asia/Seoul") == (datetime(2026, 2, 13, 1, tzinfo=UTC), 0)


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        (datetime(2026, 7, 1, 12), datetime(2026, 7, 1, 10, tzinfo=UTC)),
        (datetime(2026, 10, 25, 2, 30), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),  # twice that night: the earlier
        (datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),  # skipped that night
    ],
    ids=["usual", "repeated", "skipped"],
)
def test_times_around_a_change_of_clocks_are_the_same_from_text_and_timestamps(
    tmp_path: Path, local: datetime, utc: datetime
) -> None:
    text = write_csv(tmp_path / "a", {**CANONICAL, "timestamp": f"{local:%Y-%m-%d %H:%M}"})
    typed = write_structs(tmp_path / "b", {**CANONICAL, "timestamp": local})
    assert moment_of(text, "Europe/Berlin") == moment_of(typed, "Europe/Berlin") == (utc, 1)


@pytest.mark.parametrize("write", [write_csv, write_structs])
def test_time_that_a_zone_moves_out_of_the_calendar_is_rejected(write: Write, tmp_path: Path) -> None:
    moment: Any = "0001-01-01 00:00:00" if write is write_csv else datetime(1, 1, 1)
    batch = batch_of(write(tmp_path / "a", {**CANONICAL, "timestamp": moment}), Reading(naive_zone="Asia/Seoul"))
    assert [reject.code for reject in batch.rejects] == ["timestamp_out_of_range"]


@pytest.mark.parametrize("write", [write_csv, write_structs])
def test_window_holds_times_of_the_zone_that_is_set(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "a"
    typed: Any = datetime(2026, 2, 14, 3) if write is write_structs else "2026-02-14 03:00:00"
    window = Window(datetime(2026, 2, 13, tzinfo=UTC), datetime(2026, 2, 14, tzinfo=UTC))
    written = write(path, {**CANONICAL, "timestamp": typed})
    assert batch_of(written, Reading(naive_zone="Asia/Seoul"), window).rows.height == 1
    assert batch_of(written, Reading(), window).outside_window == 1


@pytest.mark.parametrize("write", [write_csv, write_structs])
@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)])
def test_moment_that_has_no_date_in_some_zone_is_rejected_and_the_other_rows_are_read(
    write: Write, moment: datetime, tmp_path: Path
) -> None:
    at: Any = moment if write is write_structs else moment.isoformat()
    batch = batch_of(write(tmp_path / "a", {**CANONICAL, "timestamp": at}), Reading())
    assert [reject.code for reject in batch.rejects] == ["timestamp_out_of_range"]
