"""Observations of Langfuse: what their fields say. What the real exporter wrote is read in `test_exports`."""

import json
from datetime import UTC, datetime
from pathlib import Path

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
