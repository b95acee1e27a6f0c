"""Langfuse observations as objects: from scheduled exports (`observations_v2/`) or the API.

The export names its fields like `start_time`, the API like `startTime`; the export writes an empty text for a field
that is not set. The fields are those of Langfuse 4 as in its SDK 5.0.4; earlier exports have no session with an
observation.
"""

import re
from collections.abc import Iterator, Mapping

from scoring.chat.exports import Names, Turn, joined_ids, named_values
from scoring.chat.messages import answer_in, asks_for_tools, messages_of, question_in, unpacked
from scoring.chat.rows import Unreadable

FIELDS = ("id", "trace_id", "type", "start_time", "session_id", "input", "output", "usage_details")
"""Those of a scheduled export that are read."""

_DIGITS = re.compile(r"[0-9]{1,18}")
_WITHOUT_ZONE = re.compile(r"[0-9-]+[ T][0-9:.]+")
_NO_OBSERVATION = Unreadable(
    "other_format", "Langfuse의 observation이 아닙니다: type, trace_id, start_time이 있어야 합니다."
)

_Object = Mapping[str, object]


def langfuse_turns(found: dict[str, object], names: Names) -> Iterator[Turn | Unreadable]:
    """The turn of an observation that is a generation; others are no rows.

    A column of `names` is a field, with dots into objects and JSON text.
    """
    trace, time = _field(found, "trace_id", "traceId"), _field(found, "start_time", "startTime")
    if not isinstance(found.get("type"), str) or trace is None or time is None:
        yield _NO_OBSERVATION
        return
    answers = messages_of(found.get("output") or None, "assistant")
    if found["type"] != "GENERATION" or asks_for_tools(answers):
        return
    usage = unpacked(_field(found, "usage_details", "usageDetails"))
    turn = {
        "user_input": question_in(messages_of(found.get("input") or None, "user")),
        "llm_response": answer_in(answers),
        "input_tokens": _count(usage, "input"),
        "output_tokens": _count(usage, "output"),
        "timestamp": f"{time}Z" if isinstance(time, str) and _WITHOUT_ZONE.fullmatch(time) else time,
        "session_id": _field(found, "session_id", "sessionId") or None,
        "source_id": joined_ids(trace, found.get("id")),
    }
    yield turn | named_values(found, names)


def _field(found: _Object, exported: str, fetched: str) -> object:
    return found.get(exported, found.get(fetched))


def _count(usage: object, kind: str) -> object:
    """All tokens of a kind, including the separate counts of a cache (`input_cached_tokens`). ClickHouse may write
    digits.
    """
    counts = [count for name, count in usage.items() if name.startswith(kind)] if isinstance(usage, dict) else []
    counts = [int(count) if isinstance(count, str) and _DIGITS.fullmatch(count) else count for count in counts]
    odd = [count for count in counts if not isinstance(count, int)]
    return odd[0] if odd else sum(counts) if counts else None
