"""The question and the answer of a call of a model, in the messages that tools record of it.

A message is an object with a `role`. What it says is text, or a list of parts: `parts` in OpenTelemetry, `content` in
the APIs of OpenAI and of others. Source: SPEC 13.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

_ASKING, _ANSWERING = frozenset({"user", "human"}), frozenset({"assistant", "ai", "model"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_TOOL_PARTS = frozenset({"tool_call", "tool_use", "function_call"})


def question_in(messages: Sequence[object]) -> object:
    """What the user said last in text; None where nobody did, and what is no text where a text should be."""
    return next(_texts(reversed(messages), _ASKING), None)


def answer_in(messages: Sequence[object]) -> object:
    """What the model said in text, of several choices the first; otherwise as `question_in`."""
    return next(_texts(messages, _ANSWERING), None)


def messages_of(recorded: object, role: str) -> list[object]:
    """The messages of an input or an output as tools record it: a list, an object with `messages`, or one of them.

    What is no message was said by `role`. JSON text may stand for each of these.
    """
    found = unpacked(recorded)
    if isinstance(found, dict) and isinstance(found.get("messages"), list):
        found = found["messages"]
    if isinstance(found, list) and (not found or any(isinstance(one, dict) for one in found)):
        return found
    is_message = isinstance(found, dict) and "role" in found
    return [] if found is None else [found if is_message else {"role": role, "content": found}]


def unpacked(value: object) -> object:
    """The object or list that a JSON text holds; whatever else as it stands."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def asks_for_tools(messages: Iterable[object]) -> bool:
    """Whether the model wants to hear of tools before it answers."""
    return any(isinstance(message, dict) and _names_a_tool(message) for message in messages)


def _names_a_tool(message: dict[str, object]) -> bool:
    parts = _said(message)
    kinds = [part.get("type") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    kinds.append(message.get("type"))  # of what Responses put out, which may be such a part itself
    return bool(message.get("tool_calls")) or not _TOOL_PARTS.isdisjoint(map(str, kinds))


def _texts(messages: Iterable[object], roles: frozenset[str]) -> Iterator[object]:
    for message in messages:
        if isinstance(message, dict) and str(message.get("role")) in roles:
            text = _text_of(_said(message))
            if text is not None:
                yield text


def _said(message: dict[str, object]) -> object:
    return message.get("parts", message.get("content"))


def _text_of(said: object) -> object:
    """The text of all its parts."""
    if not isinstance(said, list):
        return said
    texts = [
        part.get("text", part.get("content")) if isinstance(part, dict) else part
        for part in said
        if not isinstance(part, dict) or str(part.get("type", "text")) in _TEXT_PARTS
    ]
    if not all(isinstance(text, str) for text in texts):
        return texts
    return "\n".join(map(str, texts)) if texts else None
