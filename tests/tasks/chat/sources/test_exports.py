"""Files that other tools wrote: the real exports of `tests/exports`, and what may be wrong with such a file."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scoring.chat.reading import Format, Reading
from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window
from scoring.errors import UsageError
from tasks.chat.sources import ChatRowFiles, open_source
from tasks.config.settings import MonitoringSettings, Settings
from tests.builders.exports import batch_of, error_of, rejects_of, written

EXPORTS = Path("tests/exports")
OTEL: Format = "otel-genai"
LANGFUSE: Format = "langfuse"
OPENAI: Format = "openai-log"
PHOENIX: Format = "phoenix"
# What the support bot was asked and answered; its last question failed at the provider.
TURNS = [
    ("c-1001", "Where is my order A-48213?", "It left our warehouse on Monday and should reach you by Thursday."),
    ("c-1001", "Can I still change its address?", "I'm sorry, but I can't help with that."),
    (
        "c-1002",
        "I want my money back for the kettle.",
        "Of course. Send it back within 30 days:\n1. print a label\n2. post it.",
    ),
    ("c-1003", "배송은 얼마나 걸리나요?", "보통 2~3일 걸립니다. "),
    ("c-1004", "Cancel my subscription, please.", None),
]
TOKENS = [(88, 21), (112, 14), (64, 22), (64, 8), (None, None)]
every_format = pytest.mark.parametrize("form", [OTEL, LANGFUSE, OPENAI, PHOENIX])
FAR_AWAY = Window(datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC))


# --- Every format ----------------------------------------------------------------------------------------------------


@every_format
def test_turns_of_an_export_are_what_people_asked_and_were_answered(form: Format) -> None:
    batch = batch_of(EXPORTS / f"{form}.jsonl", form)
    assert batch.rejects == ()
    rows = batch.rows
    assert list(zip(rows["session_id"], rows["user_input"], rows["llm_response"], strict=True)) == TURNS
    assert list(zip(rows["input_tokens"], rows["output_tokens"], strict=True)) == TOKENS


@every_format
def test_each_turn_of_an_export_has_an_id_of_its_own_and_the_time_of_its_call(form: Format) -> None:
    rows = batch_of(EXPORTS / f"{form}.jsonl", form).rows
    answered = rows.filter(pl.col("llm_response").is_not_null())
    assert answered["source_id"].is_not_null().all()
    assert rows["source_id"].n_unique() == len(TURNS)
    assert rows["timestamp"].is_sorted()
    assert rows["timestamp"][-1] - rows["timestamp"][0] < timedelta(minutes=1)


@every_format
def test_export_is_read_in_pieces_as_in_one(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text((EXPORTS / f"{form}.jsonl").read_text(encoding="utf-8") * 3, encoding="utf-8")
    source = ChatRowFiles([path], reading=Reading(format=form))
    parts = list(source.parts(None, 6_000))
    rows = [row for part in parts for batch in part.batches() for row in rows_of(batch)]
    assert len(parts) > 1
    assert rows == [row for batch in source.batches() for row in rows_of(batch)]


def rows_of(batch: RowBatch | FileFailure) -> Iterator[tuple[Any, ...]]:
    assert isinstance(batch, RowBatch)
    return batch.rows.iter_rows()


@every_format
def test_file_of_another_format_is_refused_with_the_setting(form: Format, tmp_path: Path) -> None:
    said = error_of(written(tmp_path, {"user_input": "질문", "llm_response": "답"}, []), form)
    assert f"no line holds an object of the format {form}" in said
    assert "set monitoring.format" in said


@every_format
def test_file_of_no_lines_holds_no_rows(form: Format, tmp_path: Path) -> None:
    source = ChatRowFiles([written(tmp_path)], reading=Reading(format=form))
    assert [row for batch in source.batches() for row in rows_of(batch)] == []


@every_format
def test_line_of_an_export_that_is_no_json_is_rejected_and_the_others_are_read(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    lines = (EXPORTS / f"{form}.jsonl").read_text(encoding="utf-8")
    path.write_text(f'{lines}{{"half\n[]\n{{"foo": 1}}\n', encoding="utf-8")
    batch = batch_of(path, form)
    last = lines.count("\n")
    assert rejects_of(batch) == [
        (last + 1, None, "not_json"),
        (last + 2, None, "not_an_object"),
        (last + 3, None, "other_format"),
    ]
    assert batch.rows_in == len(TURNS) + 3


@every_format
def test_name_that_no_turn_has_is_an_error_also_of_columns_that_a_format_fills(form: Format) -> None:
    path = EXPORTS / f"{form}.jsonl"
    for column in ("session_id", "timestamp", "tenant_id"):
        said = error_of(path, form, {column: "app.nobody"})
        assert f"there is no column app.nobody for {column}; none of 5 turns has it" in said
        assert f"correct monitoring.columns.{column}" in said


def test_format_is_for_files(tmp_path: Path) -> None:
    settings = Settings(monitoring=MonitoringSettings(format=OTEL))
    with pytest.raises(UsageError, match="is for files"):
        open_source("bigquery://p.d.v", settings)


# --- OpenTelemetry ---------------------------------------------------------------------------------------------------

ASKED, ANSWERED = "gen_ai.input.messages", "gen_ai.output.messages"
QUESTION = [{"role": "user", "parts": [{"type": "text", "content": "Hello?"}]}]
ANSWER = [{"role": "assistant", "parts": [{"type": "text", "content": "Hi."}], "finish_reason": "stop"}]


def any_value(value: object) -> dict[str, object]:
    """A value as OTLP writes it."""
    if isinstance(value, list):
        return {"arrayValue": {"values": list(map(any_value, value))}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(held)} for key, held in value.items()]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def span(**changed: object) -> dict[str, object]:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 7,
        ASKED: json.dumps(QUESTION),
        ANSWERED: json.dumps(ANSWER),
    } | {name: value for name, value in changed.items() if "." in name}
    return {
        "traceId": "aa",
        "spanId": "bb",
        "startTimeUnixNano": "1771000000123456789",
        "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()],
        "fieldOfTomorrow": {"deep": [1]},
    } | {name: value for name, value in changed.items() if "." not in name}


def line(*spans: object) -> dict[str, object]:
    resource = {"attributes": [{"key": "tenant.name", "value": {"stringValue": "acme"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def test_spans_give_a_row_of_the_schema(tmp_path: Path) -> None:
    (row,) = batch_of(written(tmp_path, line(span())), OTEL).rows.iter_rows()
    moment = datetime(2026, 2, 13, 16, 26, 40, 123456, tzinfo=UTC)
    assert row == ("Hello?", "Hi.", 7.0, None, moment, None, None, "aa/bb", 1)


def test_messages_of_a_span_may_be_a_list_instead_of_json(tmp_path: Path) -> None:
    structured = span(**{ASKED: QUESTION, ANSWERED: ANSWER})
    batch = batch_of(written(tmp_path, line(span(), structured)), OTEL)
    assert batch.rows.n_unique() == 1
    assert batch.rows.height == 2


def test_columns_of_spans_are_attributes_of_the_span_or_of_its_resource(tmp_path: Path) -> None:
    path = written(tmp_path, line(span(), span(**{"tenant.name": "zeta", "app.user": 12})))
    rows = batch_of(path, OTEL, {"tenant_id": "tenant.name", "session_id": "app.user"}).rows
    assert rows.select("tenant_id", "session_id").rows() == [("acme", None), ("zeta", "12")]
    said = error_of(path, OTEL, {"tenant_id": "tenant.nam"})
    assert "there is no column tenant.nam for tenant_id; none of 2 turns has it" in said
    assert "correct monitoring.columns.tenant_id" in said


@pytest.mark.parametrize(
    "other",
    [
        span(**{"gen_ai.operation.name": "execute_tool"}),
        span(**{"gen_ai.operation.name": ["chat"]}),
        span(**{ANSWERED: json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "name": "find"}]}])}),
        {"traceId": "aa", "spanId": "cc", "name": "GET /"},
    ],
    ids=["another operation", "a list of operations", "a call for tools", "a span of a web server"],
)
def test_spans_that_answer_nobody_are_no_rows(other: object, tmp_path: Path) -> None:
    batch = batch_of(written(tmp_path, line(other, span()), {"resourceLogs": []}), OTEL)
    assert (batch.rows_in, batch.rows.height) == (1, 1)


def test_span_without_messages_is_a_row_without_texts(tmp_path: Path) -> None:
    bare = {
        "traceId": "aa",
        "spanId": "bb",
        "attributes": [{"key": "gen_ai.operation.name", "value": any_value("chat")}],
    }
    (row,) = batch_of(written(tmp_path, line(bare)), OTEL).rows.iter_rows()
    assert row == (None, None, None, None, None, None, None, "aa/bb", 1)


@pytest.mark.parametrize("lacking", [{"traceId": None}, {"spanId": ""}], ids=["no trace", "an empty span"])
def test_span_without_its_ids_is_a_row_without_a_source_id(lacking: dict[str, object], tmp_path: Path) -> None:
    assert batch_of(written(tmp_path, line(span(**lacking))), OTEL).rows["source_id"].to_list() == [None]


@pytest.mark.parametrize(
    ("odd", "reject"),
    [
        (span(**{ASKED: json.dumps(QUESTION)[:-9]}), (1, "user_input", "not_json")),
        (span(**{ANSWERED: "[" * 100_000}), (1, "llm_response", "not_json")),
        (span(**{ANSWERED: '{"role": "assistant"}'}), (1, "llm_response", "not_messages")),
        (span(**{ASKED: json.dumps([{"role": "user", "content": 5}])}), (1, "user_input", "not_text")),
        (span(startTimeUnixNano="soon"), (1, "timestamp", "not_a_timestamp")),
        (span(startTimeUnixNano="9" * 30), (1, "timestamp", "not_a_timestamp")),
        (span(startTimeUnixNano=1771000000123), (1, "timestamp", "not_a_timestamp")),
        (span(startTimeUnixNano="0"), (1, "timestamp", "not_a_timestamp")),
        (span(**{"gen_ai.usage.input_tokens": "many"}), (1, "input_tokens", "not_a_number")),
        (span(attributes=[7]), (1, None, "other_format")),
        (span(attributes={"a": 1}), (1, None, "other_format")),
        ("span", (1, None, "other_format")),
    ],
    ids=[
        "cut question",
        "deep answer",
        "one message",
        "number for a text",
        "word for a time",
        "time beyond all",
        "milliseconds for nanoseconds",
        "time that was never set",
        "word for a number",
        "attribute that is none",
        "attributes that are no list",
        "text for a span",
    ],
)
def test_odd_span_is_rejected_and_its_neighbour_is_read(
    odd: object, reject: tuple[int, str | None, str], tmp_path: Path
) -> None:
    batch = batch_of(written(tmp_path, line(odd, span())), OTEL)
    assert rejects_of(batch) == [reject]
    assert batch.rows.height == 1


def test_cut_span_of_another_day_is_none_of_the_days_rejects(tmp_path: Path) -> None:
    batch = batch_of(written(tmp_path, line(span(**{ASKED: "[cut"}))), OTEL, window=FAR_AWAY)
    assert (batch.rows_in, batch.outside_window, batch.rejects) == (1, 1, ())


# --- OpenAI ----------------------------------------------------------------------------------------------------------

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1771000000,
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1771000000.0,
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
    ],
    "usage": {"input_tokens": 7, "output_tokens": 3},
}


def call(request: object = REQUEST, response: object = COMPLETION, **beside: object) -> dict[str, object]:
    return {"request": request, "response": response, **beside}


@pytest.mark.parametrize(
    ("logged", "source_id"),
    [
        (call(), "chatcmpl-1"),
        (call({"body": REQUEST}, {"status_code": 200, "body": COMPLETION}), "chatcmpl-1"),
        (call({"model": "m", "input": "Hello?"}, RESPONSE), "resp_1"),
        (call({"model": "m", "input": REQUEST["messages"]}, RESPONSE), "resp_1"),
    ],
    ids=["a completion", "wrapped in bodies", "a response to text", "a response to messages"],
)
def test_calls_of_openai_give_the_same_row_in_each_api(logged: object, source_id: str, tmp_path: Path) -> None:
    moment = datetime(2026, 2, 13, 16, 26, 40, tzinfo=UTC)
    expected = ("Hello?", "Hi.", 7.0, 3.0, moment, None, None, source_id, 1)
    assert batch_of(written(tmp_path, logged), OPENAI).rows.rows() == [expected]


@pytest.mark.parametrize("question", ["[1, 2]", '{"role": "user"}', "[urgent] help"])
def test_question_of_openai_that_looks_like_json_is_the_text_that_was_asked(question: str, tmp_path: Path) -> None:
    batch = batch_of(written(tmp_path, call({"input": question}, RESPONSE)), OPENAI)
    assert batch.rows["user_input"].to_list() == [question]


def test_refusal_of_openai_is_the_answer_that_people_saw_in_each_api(tmp_path: Path) -> None:
    refused = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    part = {"type": "refusal", "refusal": "I can't help with that."}
    chat = call(response=COMPLETION | {"choices": [{"message": refused}]})
    response = call({"input": "Hello?"}, RESPONSE | {"output": [refused | {"type": "message", "content": [part]}]})
    rows = batch_of(written(tmp_path, chat, response), OPENAI).rows
    assert rows["llm_response"].to_list() == ["I can't help with that."] * 2


def test_calls_of_openai_without_output_have_zero_tokens(tmp_path: Path) -> None:
    blocked = [COMPLETION | {"usage": {"completion_tokens": 0}}, RESPONSE | {"usage": {"output_tokens": 0}}]
    rows = batch_of(written(tmp_path, *(call(response=one) for one in blocked)), OPENAI).rows
    assert rows["output_tokens"].to_list() == [0, 0]


def test_chunks_alone_are_rejects_and_no_file_of_another_format(tmp_path: Path) -> None:
    chunk = call(response={"object": "chat.completion.chunk", "choices": []})
    batch = batch_of(written(tmp_path, chunk, chunk), OPENAI)
    assert [code for _, _, code in rejects_of(batch)] == ["streamed_chunk"] * 2


def test_calls_of_openai_for_tools_are_no_rows_in_each_api(tmp_path: Path) -> None:
    wish = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]}
    chat = call(response=COMPLETION | {"choices": [{"message": wish}]})
    response = call({"input": "Hello?"}, RESPONSE | {"output": [{"type": "function_call", "name": "find"}]})
    assert batch_of(written(tmp_path, chat, response, call()), OPENAI).rows_in == 1


@pytest.mark.parametrize(
    ("odd", "reject"),
    [
        (call(timestamp=1771000000), (1, "timestamp", "not_a_timestamp")),
        (call(response=COMPLETION | {"created": "soon"}), (1, "timestamp", "not_a_timestamp")),
        (call(response=COMPLETION | {"created": 1e300}), (1, "timestamp", "not_a_timestamp")),
        (call(response=COMPLETION | {"id": ["x"]}), (1, "source_id", "not_text")),
        (call({"messages": [{"role": "user", "content": 7}]}), (1, "user_input", "not_text")),
        (call({"prompt": "Hello?"}), (1, None, "other_format")),
        ({"request": REQUEST}, (1, None, "other_format")),
        (call(response={"object": "chat.completion.chunk", "choices": []}), (1, None, "streamed_chunk")),
    ],
    ids=[
        *("bare number", "word for a time", "time beyond all", "list for an id", "number for a text", "prompt", "half"),
        "chunk",
    ],
)
def test_odd_call_of_openai_is_rejected_and_its_neighbour_is_read(
    odd: object, reject: tuple[int, str | None, str], tmp_path: Path
) -> None:
    batch = batch_of(written(tmp_path, odd, call()), OPENAI)
    assert rejects_of(batch) == [reject]
    assert batch.rows.height == 1
