"""OpenTelemetry spans of generative AI, as OTLP in JSON: one `ExportTraceServiceRequest` a line.

The file exporters of the collector and of the SDKs write this format. The semantic conventions 1.37 are read (messages
as attributes of the span), and equal names of the conventions since 1.27: without recorded messages a turn has no
texts.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from scoring.chat.cells import Instant
from scoring.chat.exports import Names, Turn, joined_ids
from scoring.chat.messages import answer_in, asks_for_tools, question_in
from scoring.chat.rows import Unreadable
from scoring.inputs import UnreadableCell

_SIGNALS = frozenset({"resourceSpans", "resourceLogs", "resourceMetrics"})
_CALLS = frozenset({"chat", "generate_content", "text_completion"})
_ASKED, _ANSWERED = "gen_ai.input.messages", "gen_ai.output.messages"
_PLAIN = (
    ("input_tokens", "gen_ai.usage.input_tokens"),
    ("output_tokens", "gen_ai.usage.output_tokens"),
    ("session_id", "session.id"),
    ("session_id", "gen_ai.conversation.id"),  # takes precedence over the one before
)
_NANOSECONDS_DIGITS = 19  # the years 2001 to 2286; fewer digits are another unit, or no time
_NO_OTLP = Unreadable("other_format", "OTLP의 한 줄이 아닙니다: resourceSpans가 있는 객체여야 합니다.")
_NO_SPAN = Unreadable("other_format", "OTLP의 스팬이 아닙니다: 목록이나 객체여야 할 곳에 다른 것이 있습니다.")

_Object = dict[str, object]


def otel_turns(found: _Object, names: Names) -> Iterator[Turn | Unreadable]:
    """The calls of a model among the spans of a line; other spans, logs and metrics are no rows.

    A column of `names` is the attribute of that name, of the span or else of its resource.
    """
    if _SIGNALS.isdisjoint(found):
        yield _NO_OTLP
    for resource in _objects(found, "resourceSpans"):
        for scope in _objects(resource, "scopeSpans"):
            for span in _objects(scope, "spans"):
                turn = span and resource and _turn(span, resource, names)
                if turn is None:
                    yield _NO_SPAN
                elif turn:
                    yield turn


def _turn(span: _Object, resource: _Object, names: Names) -> Turn | None:
    """The turn of a span, empty if it is of another kind; None if it is no span."""
    attributes = _attributes(span)
    if attributes is None:
        return None
    if str(_value(attributes.get("gen_ai.operation.name"))) not in _CALLS:
        return {}
    answers = _messages(attributes, _ANSWERED, "llm_response")
    if not isinstance(answers, UnreadableCell) and asks_for_tools(answers):
        return {}
    questions = _messages(attributes, _ASKED, "user_input")
    turn = {name: _value(attributes[key]) for name, key in _PLAIN if key in attributes}
    turn["timestamp"] = _instant(span.get("startTimeUnixNano"))
    turn["source_id"] = joined_ids(span.get("traceId"), span.get("spanId"))
    turn["user_input"] = questions if isinstance(questions, UnreadableCell) else question_in(questions)
    turn["llm_response"] = answers if isinstance(answers, UnreadableCell) else answer_in(answers)
    for name, called in names.items():
        if called in attributes:
            turn[name] = _value(attributes[called])
        elif called in (shared := _attributes(_object(resource.get("resource"))) or {}):
            turn[name] = _value(shared[called])
    return turn


def _messages(attributes: Mapping[str, object], key: str, column: str) -> Sequence[object] | UnreadableCell:
    """The messages of an attribute: JSON text, as in span attributes, or a list."""
    value = _value(attributes.get(key))
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            reason = f"{key} 값이 온전한 JSON이 아닙니다: 속성 길이 제한으로 잘렸을 수 있습니다."
            return UnreadableCell(column, "not_json", reason)
    if value is None or isinstance(value, list):
        return value or []
    return UnreadableCell(column, "not_messages", f"{key} 값이 메시지의 목록이 아닙니다.")


def _instant(value: object) -> object:
    """Nanoseconds since 1970, an integer or its digits; any other value is passed on, for the cell parser to refuse."""
    digits = str(value) if isinstance(value, (int, str)) else ""
    if digits.isascii() and digits.isdigit() and len(digits) == _NANOSECONDS_DIGITS:
        return Instant(int(digits) // 1000, naive=False)
    return value


def _objects(holder: _Object | None, key: str) -> Iterator[_Object | None]:
    """The objects of a list in an object; None for elements that are no objects."""
    held = [None] if holder is None else holder.get(key) or []
    yield from (_object(one) for one in held) if isinstance(held, list) else [None]


def _object(value: object) -> _Object | None:
    return value if isinstance(value, dict) else None


def _attributes(holder: _Object | None) -> _Object | None:
    """The attributes of a span or a resource by key; None if they are invalid."""
    found: _Object = {}
    for one in _objects(holder, "attributes"):
        if one is None:
            return None
        found[str(one.get("key"))] = one.get("value")
    return found


def _value(found: object) -> object:
    """The value of an attribute (`AnyValue`): text, a number (64-bit integers as digits), a list or an object."""
    if not isinstance(found, dict):
        return found
    kind, value = next(iter(found.items()), ("", None))
    if kind == "arrayValue":
        return list(map(_value, _items(value)))
    if kind == "kvlistValue":
        return {str(one.get("key")): _value(one.get("value")) for one in _items(value) if isinstance(one, dict)}
    return value


def _items(value: object) -> list[object]:
    found = value.get("values") if isinstance(value, dict) else None
    return found if isinstance(found, list) else []
