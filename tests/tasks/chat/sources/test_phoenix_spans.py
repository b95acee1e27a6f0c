"""Spans of Phoenix: what their flat attributes say. What the real client fetched is read in `test_exports`."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scoring.chat.reading import Reading
from scoring.chat.rows import RowBatch
from tasks.chat.sources import ChatRowFiles

ANSWER = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Hi."}
QUESTION = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hello?"}
TOKENS = {"llm.token_count.prompt": 7, "llm.token_count.completion": 0, "tenant": "acme"}


def span(**changed: object) -> dict[str, object]:
    return {
        "context": {"trace_id": "aa", "span_id": "bb"},
        "span_kind": "LLM",
        "start_time": "2026-02-13T16:26:40.123456+00:00",
        "attributes": {**QUESTION, **ANSWER, **TOKENS},
        "field_of_tomorrow": [1],
    } | changed


def batch_of(tmp_path: Path, *spans: object) -> RowBatch:
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in spans), encoding="utf-8")
    (batch,) = ChatRowFiles([path], reading=Reading({"tenant_id": "tenant"}, format="phoenix")).batches()
    assert isinstance(batch, RowBatch), batch
    return batch


def test_spans_of_phoenix_give_a_row_of_the_schema(tmp_path: Path) -> None:
    moment = datetime(2026, 2, 13, 16, 26, 40, 123456, tzinfo=UTC)
    assert batch_of(tmp_path, span()).rows.rows() == [("Hello?", "Hi.", 7.0, 0.0, moment, "acme", None, "aa/bb", 1)]


def test_messages_of_phoenix_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    asked = {f"llm.input_messages.{n}.message.role": "user" for n in (10, 2, 9)}
    texts = {f"llm.input_messages.{n}.message.content": f"question {n}" for n in (10, 2, 9)}
    attributes = {**asked, **texts, **ANSWER, "tenant": "acme"}
    assert batch_of(tmp_path, span(attributes=attributes)).rows["user_input"].to_list() == ["question 10"]


def test_messages_of_phoenix_may_have_several_texts(tmp_path: Path) -> None:
    part = "llm.output_messages.0.message.contents.{}.message_content.{}"
    parts = {part.format(0, "text"): "One.", part.format(0, "type"): "text", part.format(1, "text"): "Two."}
    attributes = {**QUESTION, "llm.output_messages.0.message.role": "assistant", **parts, "tenant": "acme"}
    assert batch_of(tmp_path, span(attributes=attributes)).rows["llm_response"].to_list() == ["One.\nTwo."]


@pytest.mark.parametrize(
    "other",
    [
        span(span_kind="TOOL"),
        span(attributes={**QUESTION, "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find"}),
    ],
    ids=["a tool", "a call for tools"],
)
def test_spans_of_phoenix_that_answer_nobody_are_no_rows(other: object, tmp_path: Path) -> None:
    assert batch_of(tmp_path, other, span()).rows_in == 1


@pytest.mark.parametrize(
    ("odd", "reject"),
    [
        (span(start_time=1771000000), ("timestamp", "not_a_timestamp")),
        (span(attributes={**QUESTION, **TOKENS, "llm.token_count.prompt": "many"}), ("input_tokens", "not_a_number")),
        (span(attributes=[1]), (None, "other_format")),
        (span(context="aa"), (None, "other_format")),
        ({"name": "no span"}, (None, "other_format")),
        ({"context": {}, "span_kind": "LLM", "attributes": {}}, (None, "other_format")),
        ({"context": {}, "start_time": "2026-02-13T16:26:40+00:00", "attributes": {}}, (None, "other_format")),
    ],
    ids=[
        *("number for a time", "word for a number", "list for attributes", "text for a context", "another object"),
        *("no time", "no kind"),
    ],
)
def test_odd_span_of_phoenix_is_rejected_and_its_neighbour_is_read(
    odd: object, reject: tuple[str | None, str], tmp_path: Path
) -> None:
    batch = batch_of(tmp_path, odd, span())
    assert [(one.line, one.column, one.code) for one in batch.rejects] == [(1, *reject)]
    assert batch.rows.height == 1
