"""Observations of Langfuse: what their fields say. What the real exporter wrote is read in `test_exports`."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.chat.reading import Format, Reading
from scoring.chat.rows import RowBatch
from tasks.chat.sources import ChatRowFiles
from tests.builders.exports import batch_of, error_of, rejects_of, written

LANGFUSE: Format = "langfuse"


def observation(**changed: object) -> dict[str, object]:
    """As the scheduled export writes it."""
    return {
        "id": "o1",
        "trace_id": "t1",
        "type": "GENERATION",
        "start_time": "2026-02-13 16:26:40.123456",
        "session_id": "s1",
        "input": json.dumps([{"role": "user", "content": "Hello?"}]),
        "output": "Hi.",
        "usage_details": {"input": 5, "input_cached_tokens": 2, "output": 3, "total": 10},
        "field_of_tomorrow": {"deep": [1]},
    } | changed


def test_observations_of_the_scheduled_export_give_a_row_of_the_schema(tmp_path: Path) -> None:
    path = written(tmp_path, observation())
    (batch,) = ChatRowFiles([path], reading=Reading({}, "Asia/Seoul", LANGFUSE)).batches()
    assert isinstance(batch, RowBatch)
    moment = datetime(2026, 2, 13, 16, 26, 40, 123456, tzinfo=UTC)  # the export is in UTC, whatever logs of rows are in
    assert batch.rows.rows() == [("Hello?", "Hi.", 7.0, 3.0, moment, None, "s1", "t1/o1", 1)]
    assert batch.naive_timestamps == 0


@pytest.mark.parametrize(
    "recorded",
    [
        "Hello?",
        {"role": "user", "content": "Hello?"},
        {"messages": [{"role": "user", "content": "Hello?"}], "tools": []},
    ],
    ids=["text", "a message", "a request"],
)
def test_observations_keep_their_input_in_any_shape(recorded: object, tmp_path: Path) -> None:
    both = [observation(input=recorded), observation(input=json.dumps(recorded) if recorded != "Hello?" else recorded)]
    assert batch_of(written(tmp_path, *both), LANGFUSE).rows["user_input"].to_list() == ["Hello?", "Hello?"]


def test_columns_of_observations_lead_into_objects_and_json_text(tmp_path: Path) -> None:
    path = written(tmp_path, observation(metadata={"tenant": "acme"}, input='{"question": "Hello?"}'))
    (row,) = batch_of(path, LANGFUSE, {"tenant_id": "metadata.tenant", "user_input": "input.question"}).rows.to_dicts()
    assert (row["tenant_id"], row["user_input"]) == ("acme", "Hello?")
    assert "correct monitoring.columns.tenant_id" in error_of(path, LANGFUSE, {"tenant_id": "metadata.nobody"})


def test_column_of_observations_may_be_null_in_all_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, observation(user_id=None))
    assert batch_of(path, LANGFUSE, {"session_id": "user_id"}).rows["session_id"].to_list() == [None]


def test_tokens_of_observations_that_are_written_as_digits_are_added_up_too(tmp_path: Path) -> None:
    rows = batch_of(written(tmp_path, observation(usage_details={"input": "5", "input_cached_tokens": "2"})), LANGFUSE)
    assert rows.rows["input_tokens"].to_list() == [7]


@pytest.mark.parametrize(
    ("odd", "reject"),
    [
        (observation(input={"question": "Hello?"}), (1, "user_input", "not_text")),
        (observation(input="[1, 2]"), (1, "user_input", "not_text")),
        (observation(usage_details={"input": "many"}), (1, "input_tokens", "not_a_number")),
        (observation(start_time=1771000000), (1, "timestamp", "not_a_timestamp")),
        (observation(session_id=["s"]), (1, "session_id", "not_text")),
        ({"id": "t1", "timestamp": "2026-02-13 16:26:40", "name": "a trace"}, (1, None, "other_format")),
    ],
    ids=[
        "object for a question",
        "list of no messages",
        "word for a number",
        "number for a time",
        "list for a session",
        "a trace",
    ],
)
def test_odd_observation_is_rejected_and_its_neighbour_is_read(
    odd: object, reject: tuple[int, str | None, str], tmp_path: Path
) -> None:
    batch = batch_of(written(tmp_path, odd, observation()), LANGFUSE)
    assert rejects_of(batch) == [reject]
    assert batch.rows.height == 1


RECORDED = Path("tests/exports/langfuse.parquet")


def test_parquet_of_the_scheduled_export_is_read_as_its_json_lines() -> None:
    of_parquet, of_lines = (batch_of(path, LANGFUSE) for path in (RECORDED, RECORDED.with_suffix(".jsonl")))
    assert of_parquet.rows.rows() == of_lines.rows.rows()
    assert (of_parquet.rows_in, of_parquet.naive_timestamps) == (5, 0)


def test_fields_that_are_not_set_are_missing_though_the_export_writes_them_as_empty_texts(tmp_path: Path) -> None:
    rows = batch_of(written(tmp_path, observation(input="", output="", session_id="")), LANGFUSE).rows
    assert rows.select("user_input", "llm_response", "session_id").rows() == [(None, None, None)]


def in_parquet(folder: Path, **changed: pa.Array) -> Path:
    """Two observations of the scheduled export, in Parquet."""
    columns = {name: pa.array([value] * 2) for name, value in observation(metadata={"tenant": "acme"}).items()}
    columns["start_time"] = pa.array([datetime(2026, 2, 13, 16, 26, 40, tzinfo=UTC)] * 2)
    pq.write_table(pa.table(columns | changed), folder / "observations.parquet")
    return folder / "observations.parquet"


def test_columns_of_parquet_lead_into_maps_and_json_text(tmp_path: Path) -> None:
    asked = pa.array(['{"question": "Hello?"}'] * 2)
    tenants = pa.array([[("tenant", "acme")]] * 2, pa.map_(pa.string(), pa.string()))
    path = in_parquet(tmp_path, input=asked, metadata=tenants)
    rows = batch_of(path, LANGFUSE, {"tenant_id": "metadata.tenant", "user_input": "input.question"}).rows
    assert rows.select("tenant_id", "user_input", "line").rows() == [("acme", "Hello?", 1), ("acme", "Hello?", 2)]
    assert "correct monitoring.columns.tenant_id" in error_of(path, LANGFUSE, {"tenant_id": "metadata.nobody"})


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Seoul"])
def test_times_of_parquet_are_instants_in_every_unit_and_in_utc_without_a_zone(
    unit: str, zone: str | None, tmp_path: Path
) -> None:
    moment = datetime(2026, 2, 13, 16, 26, 40, 123000, tzinfo=UTC)
    stored = pa.array([moment] * 2, pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, zone))
    assert batch_of(in_parquet(tmp_path, start_time=stored), LANGFUSE).rows["timestamp"].to_list() == [moment] * 2


def test_text_of_parquet_that_is_no_utf8_is_rejected_and_the_others_are_read(tmp_path: Path) -> None:
    batch = batch_of(in_parquet(tmp_path, output=pa.array([b"\xffHi.", b"Hi."]).view(pa.string())), LANGFUSE)
    assert [line for line, _, _ in rejects_of(batch)] == [1]
    assert batch.rows["line"].to_list() == [2]


def test_parquet_of_chat_rows_is_refused_with_the_setting(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user_input": ["질문"], "llm_response": ["답"]}), tmp_path / "rows.parquet")
    said = error_of(tmp_path / "rows.parquet", LANGFUSE)
    assert "no line holds an object of the format langfuse" in said
    assert "set monitoring.format" in said


def test_parquet_is_read_of_langfuse_alone(tmp_path: Path) -> None:
    assert "expected a name of the format phoenix ending in .jsonl" in error_of(in_parquet(tmp_path), "phoenix")


def test_parquet_whose_texts_are_far_larger_than_itself_is_refused(tmp_path: Path) -> None:
    bomb = pa.array(["x" * 1_000_000]).take(pa.array([0] * 2_000))
    columns = {name: pa.array([value] * 2_000) for name, value in observation(start_time="2026-02-13").items()}
    pq.write_table(pa.table(columns | {"output": bomb}), tmp_path / "bomb.parquet")
    assert "refused: " in error_of(tmp_path / "bomb.parquet", LANGFUSE)
