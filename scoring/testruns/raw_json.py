"""The Raw JSON cell of an execution: parsed once into typed fields, without trusting its structure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias
from unicodedata import normalize

from scoring.testruns.cells import encodable, given, reported_error, seconds

JsonObject: TypeAlias = Mapping[str, object]

_STEP_LISTS = ("executionProcesses", "worker")
_STEP_NAMES = ("workerType", "type", "messageSummary")
_LONGEST_ERROR = 200
_HANGUL_LETTERS = re.compile(r"[가-힣]?[\u1100-\u11ff]+")  # no mark that joins the `n` of an escaped `\n`


@dataclass(frozen=True, slots=True)
class StepError:
    """A failed step of an answer: its worker and its message."""

    step: str
    text: str


@dataclass(frozen=True, slots=True)
class RawResponse:
    """The response of an agent. A field that is missing, null or of another type is empty here.

    `document` is the whole object (for literal paths). `ui_entries` are the objects of `dataUIList`, `ui_values` the
    `uiValue` objects among them, in order. `response_time_s` is in seconds, None unless it is a finite number from 0.
    `error` is '' if none is reported. `step_count` is that of `executionProcesses` or `worker`, whichever has more;
    `step_errors` come from both, each step once.
    """

    document: JsonObject
    assistant_message: str
    ui_entries: tuple[JsonObject, ...]
    ui_values: tuple[JsonObject, ...]
    response_time_s: float | None
    error: str
    step_count: int
    step_errors: tuple[StepError, ...]


def parse_raw_json(cell: str) -> RawResponse | str:
    """Parses the cell, or returns the reason (Korean) why it is no JSON object. Every content is allowed: truncated
    JSON, NaN, lone surrogates (become `?`), any depth, any size.

    Source: seed 003, 1 and 2-2; seed 004, 안정성.
    """
    try:
        document: object = json.loads(cell.strip().removeprefix("\ufeff"))
        if "\\ud" in cell.lower() or not encodable(cell):
            document = without_lone_surrogates(document)
        if "\\u11" in cell:  # Hangul letters of macOS, escaped: the reader of rows composes only those that are not
            plain = json.dumps(document, ensure_ascii=False)
            document = json.loads(_HANGUL_LETTERS.sub(lambda letters: normalize("NFC", letters[0]), plain))
        if not isinstance(document, dict):
            return f"Raw JSON이 객체가 아님 ({_kind(document)})"
        return response_of(document)
    except RecursionError:
        return "Raw JSON이 읽을 수 없을 만큼 깊게 중첩됨"
    except json.JSONDecodeError as error:
        return f"Raw JSON을 해석할 수 없음: 형식이 잘못되었거나 내보낼 때 잘림({error.pos + 1:,}번째 글자)"
    except ValueError:
        return "Raw JSON을 해석할 수 없음: 숫자가 지나치게 김"


def response_of(document: JsonObject) -> RawResponse:
    """The fields of a parsed response object."""
    message = document.get("assistantMessage")
    entries = objects_of(document.get("dataUIList"))
    steps = [objects_of(document.get(name)) for name in _STEP_LISTS]
    values = (entry.get("uiValue") for entry in entries)
    return RawResponse(
        document=document,
        assistant_message="" if isinstance(message, dict | list) or message is None else str(message),
        ui_entries=entries,
        ui_values=tuple(value for value in values if isinstance(value, dict)),
        response_time_s=seconds(document.get("responseTimeSec")),
        error=_error_text(document),
        step_count=max(map(len, steps)),
        step_errors=tuple(dict.fromkeys(_step_errors(chain.from_iterable(steps)))),
    )


def without_lone_surrogates(document: object) -> object:
    """`document` with `?` for lone surrogates, which no table can store; emoji remain intact.

    Raises:
        RecursionError: nested too deeply.
    """
    copied: object = json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    return copied


def _kind(document: object) -> str:
    if document is None:
        return "null"
    return {list: "목록", str: "문자열", bool: "참/거짓"}.get(type(document), "숫자")


def objects_of(value: object) -> tuple[JsonObject, ...]:
    """The objects of a list; none if the value is no list."""
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def part_of(found: object, name: str) -> JsonObject:
    """The object with this key in an object; an empty one if there is none."""
    part = found.get(name) if isinstance(found, dict) else None
    return part if isinstance(part, dict) else {}


def _error_text(document: JsonObject) -> str:
    return reported_error(document.get("error"))[:_LONGEST_ERROR]


def _step_errors(steps: Iterable[JsonObject]) -> Iterator[StepError]:
    for step in steps:
        output = step.get("output")
        places = (step, output) if isinstance(output, dict) else (step,)
        text = next(filter(None, (_error_text(place) for place in places)), "")
        if text:
            names = (given(step.get(name)) for name in _STEP_NAMES)
            yield StepError(next(filter(None, names), "단계 이름 없음"), text)
