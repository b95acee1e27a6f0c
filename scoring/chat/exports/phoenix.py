"""Spans of Phoenix, an object a line, as its API `GET /v1/projects/{project}/spans` and its Python client give them.

Attributes are those of OpenInference, flat: `llm.input_messages.0.message.content`. Read as client 3.5.0 fetches what
`openinference-instrumentation-openai` 0.1.66 recorded.
"""

import re
from collections.abc import Iterator, Mapping

from scoring.chat.exports import Names, Turn, joined_ids, named_values
from scoring.chat.messages import answer_in, asks_for_tools, question_in
from scoring.chat.rows import Unreadable

_NO_SPAN = Unreadable(
    "other_format", "Phoenix의 span이 아닙니다: context, span_kind, start_time, attributes가 있어야 합니다."
)
_NUMBER = re.compile("[0-9]{1,9}")


def phoenix_turns(found: dict[str, object], names: Names) -> Iterator[Turn | Unreadable]:
    """The turn of a span of kind LLM; other spans are no rows.

    A column of `names` is an attribute of the span, or a field of it, with dots into objects.
    """
    context, attributes = found.get("context"), found.get("attributes", {})
    has_kind = isinstance(found.get("span_kind"), str) and "start_time" in found
    if not has_kind or not isinstance(context, dict) or not isinstance(attributes, dict):
        yield _NO_SPAN
        return
    answers = _messages(attributes, "llm.output_messages")
    if found["span_kind"] != "LLM" or asks_for_tools(answers):
        return
    turn = {
        "user_input": question_in(_messages(attributes, "llm.input_messages")),
        "llm_response": answer_in(answers),
        "input_tokens": attributes.get("llm.token_count.prompt"),
        "output_tokens": attributes.get("llm.token_count.completion"),
        "timestamp": found["start_time"],
        "session_id": attributes.get("session.id"),
        "source_id": joined_ids(context.get("trace_id"), context.get("span_id")),
    }
    yield turn | named_values(found | attributes, names)


def _messages(attributes: Mapping[str, object], key: str) -> list[object]:
    """The messages in flat attributes, in order: `<key>.0.message.content`."""
    found: dict[int, dict[str, object]] = {}
    texts: dict[int, list[object]] = {}
    for name, value in attributes.items():
        number, of_message, part = name.removeprefix(f"{key}.").partition(".message.")
        if not of_message or not _NUMBER.fullmatch(number):
            continue
        message = found.setdefault(int(number), {})
        if part in ("role", "content"):
            message[part] = value
        elif part.startswith("tool_calls."):
            message["tool_calls"] = True
        elif part.endswith(".message_content.text"):
            texts.setdefault(int(number), []).append(value)
            message["parts"] = texts[int(number)]
    return [message for _, message in sorted(found.items())]
