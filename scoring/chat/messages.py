"""Extracts the question and the answer of a model call from the messages that tools record.

A message is an object with a `role`. Its content is text, or a list of parts: `parts` in OpenTelemetry, `content` in
the APIs of OpenAI and others. Source: SPEC 13.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

_ASKING, _ANSWERING = frozenset({"user", "human"}), frozenset({"assistant", "ai", "model"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})
_TOOL_PARTS = frozenset({"tool_call", "tool_use", "function_call"})


def question_in(messages: Sequence[object]) -> object:
    """The last text of the user; None if there is none, the value itself if it is no text where text is expected."""
    return next(_texts(reversed(messages), _ASKING), None)


def answer_in(messages: Sequence[object]) -> object:
    """The text of the model, from the first of several choices; otherwise as `question_in`."""
    return next(_texts(messages, _ANSWERING), None)


def messages_of(recorded: object, role: str) -> list[object]:
    """The messages of a recorded input or output: a list, an object with `messages`, or a single message.

    A value that is no message becomes a message of `role`. Each of these may be given as JSON text.
    """
    found = unpacked(recorded)
    if isinstance(found, dict) and isinstance(found.get("messages"), list):
        found = found["messages"]
    if isinstance(found, list) and (not found or any(isinstance(one, dict) for one in found)):
        return found
    is_message = isinstance(found, dict) and "role" in found
    return [] if found is None else [found if is_message else {"role": role, "content": found}]


def unpacked(value: object) -> object:
    """The object or list in a JSON text; other values unchanged."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def asks_for_tools(messages: Iterable[object]) -> bool:
    """Whether the model requests tool calls before it answers."""
    return any(isinstance(message, dict) and _names_a_tool(message) for message in messages)


def _names_a_tool(message: dict[str, object]) -> bool:
    parts = _said(message)
    kinds = [part.get("type") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    kinds.append(message.get("type"))  # an output item of Responses may itself be such a part
    return bool(message.get("tool_calls")) or not _TOOL_PARTS.isdisjoint(map(str, kinds))


def _texts(messages: Iterable[object], roles: frozenset[str]) -> Iterator[object]:
    for message in messages:
        if isinstance(message, dict) and str(message.get("role")) in roles:
            text = _text_of(_said(message))
            if text is not None:
                yield text


def _said(message: dict[str, object]) -> object:
    """The content; without one the refusal, which people saw in its place."""
    said = message.get("parts", message.get("content"))
    return message.get("refusal") if said is None else said


def _text_of(said: object) -> object:
    """The concatenated text of all parts."""
    if not isinstance(said, list):
        return said
    texts = [
        part.get("text", part.get("content", part.get("refusal"))) if isinstance(part, dict) else part
        for part in said
        if not isinstance(part, dict) or str(part.get("type", "text")) in _TEXT_PARTS
    ]
    if not all(isinstance(text, str) for text in texts):
        return texts
    return "\n".join(map(str, texts)) if texts else None
