"""Logs of calls of OpenAI's API and compatible ones: one object with `request` and `response` a line.

Chat Completions and Responses are read, as OpenAI's SDK 3.54 sends and receives them; each side may be wrapped in
`body`.
"""

from collections.abc import Iterator

from scoring.chat.cells import SECOND_AFTER_LAST, Instant
from scoring.chat.exports import Names, Turn, named_values
from scoring.chat.messages import answer_in, asks_for_tools, messages_of, question_in
from scoring.chat.reading import value_in
from scoring.chat.rows import Unreadable

_NO_CALL = Unreadable(
    "other_format", "OpenAI 호출 기록이 아닙니다: messages나 input이 있는 request와 response가 있어야 합니다."
)

_CHUNK = Unreadable(
    "streamed_chunk", "스트리밍 응답의 조각입니다: 조각을 모아 응답 하나(chat.completion)로 기록하세요."
)

_Object = dict[str, object]


def openai_turns(found: _Object, names: Names) -> Iterator[Turn | Unreadable]:
    """The turn of a call; calls of embeddings and the like are no rows.

    The line itself may have `timestamp`, `session_id` and `tenant_id`. A column of `names` is a field of it, with dots
    into objects and JSON text.
    """
    request, response = _side(found, "request"), _side(found, "response")
    asked = request.get("messages", request.get("input"))
    if asked is None or "response" not in found:
        yield _NO_CALL
        return
    answers = _answers(response)
    if response.get("object") == "chat.completion.chunk":
        yield _CHUNK
        return
    if response.get("object") not in (None, "chat.completion", "response") or asks_for_tools(answers):
        return
    usage = _side(response, "usage")
    turn = {
        "user_input": asked if isinstance(asked, str) else question_in(messages_of(asked, "user")),
        "llm_response": answer_in(answers),
        "input_tokens": usage.get("input_tokens", usage.get("prompt_tokens")),
        "output_tokens": usage.get("output_tokens", usage.get("completion_tokens")),
        "timestamp": found.get("timestamp", _instant(response.get("created", response.get("created_at")))),
        "session_id": found.get("session_id", value_in(response, ["conversation", "id"])),
        "tenant_id": found.get("tenant_id"),
        "source_id": response.get("id"),
    }
    yield turn | named_values(found, names)


def _side(found: _Object, name: str) -> _Object:
    side = found.get(name)
    if isinstance(side, dict) and isinstance(side.get("body"), dict):
        side = side["body"]
    return side if isinstance(side, dict) else {}


def _answers(response: _Object) -> list[object]:
    """The outputs of the model: choices of Chat Completions, or output items of Responses."""
    choices = response.get("choices")
    if isinstance(choices, list):
        return [choice.get("message") for choice in choices if isinstance(choice, dict)]
    return messages_of(response.get("output"), "assistant")


def _instant(value: object) -> object:
    """Seconds since 1970; any other value is passed on, for the cell parser to refuse."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < SECOND_AFTER_LAST:
        return Instant(int(value * 1_000_000), naive=False)
    return value
