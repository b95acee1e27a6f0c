"""The data that a person needs to judge an answer of a test run: one self-contained row, readable without the input."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from urllib.parse import unquote

from scoring.markdown import shortened
from scoring.testruns.cells import given
from scoring.testruns.checks import VALUE_KEYS
from scoring.testruns.executions import Execution, ParsedExecution, parse_execution
from scoring.testruns.raw_json import JsonObject, objects_of, part_of
from scoring.testruns.rubric import Metric
from scoring.testruns.tool_usage import scalars, tool_usage_of

_URL_CHARACTERS = 1_000
_OPTIONS = 12
_ANSWERS_TOGETHER = 20
# What expected results speak of, by the names that their authors use.
_NAMED_VALUES = ("multiSelectAllowYn", "actionType", "planId", "setting")


@dataclass(frozen=True)
class ReviewItem:
    """One answer to judge, or with an empty `round` all answers of a query together; `metrics` are to be judged.

    `other_answers` are those of the other rounds, at most twenty, `tools` the used filters and data keys, `screen` the
    elements shown with the answer, a line each, `urls` the targets of its links.
    """

    query_id: str
    round: str
    question: str
    expected: str
    answer: str
    other_answers: str
    tools: str
    screen: str
    urls: str
    metrics: tuple[str, ...]


def review_items(executions: Sequence[Execution], metrics: Iterable[Metric]) -> Iterator[ReviewItem]:
    """One item per execution of a query, by round, and one of the whole query if its answers can be compared."""
    executions = sorted(executions, key=attrgetter("round"))
    first = executions[0]
    metrics = tuple(metrics)
    per_execution = tuple(metric.name for metric in metrics if metric.per_execution)
    per_query = tuple(metric.name for metric in metrics if not metric.per_execution)
    expected = "\n".join(filter(None, map(str.strip, _expectations(first))))
    readings = [parse_execution(execution) for execution in executions]
    answers = [(str(reading.execution.round), _answer(reading)) for reading in readings]
    for place, reading in enumerate(readings):
        yield ReviewItem(
            query_id=first.query_id,
            round=answers[place][0],
            question=first.query_text,
            expected=expected,
            answer=answers[place][1],
            other_answers=_together((one for other, one in enumerate(answers) if other != place), len(answers) - 1),
            tools=_tools(reading),
            screen="\n".join(f"{n}) {_entry_text(entry)}" for n, entry in enumerate(reading.response.ui_entries, 1)),
            urls=_urls(reading),
            metrics=per_execution,
        )
    if per_query and len(answers) > 1:
        question = (first.query_id, "", first.query_text, expected)
        yield ReviewItem(*question, _together(answers, len(answers)), "", "", "", "", per_query)


def _expectations(execution: Execution) -> Iterator[str]:
    yield given(execution.expected_text) or ""
    for title, text in (
        ("기대 조건", execution.expected_filters),
        ("기대 datakey", execution.expected_datakeys),
        ("정답 수치", execution.ground_truth),
    ):
        if given(text):
            yield f"{title}: {text}"


def answer_text(execution: Execution) -> str:
    """The message as the user read it, or why there is none (Korean)."""
    return _answer(parse_execution(execution))


def _answer(reading: ParsedExecution) -> str:
    return reading.response.assistant_message if reading.answered else f"({reading.not_answered})"


def _together(answers: Iterable[tuple[str, str]], count: int) -> str:
    """The first of `count` answers, and the number of the others: each item of a query shows those of the others."""
    shown = [f"[{round_}]\n{answer}" for round_, answer in islice(answers, _ANSWERS_TOGETHER)]
    more = [f"(그 밖의 답변 {count - len(shown):,}개 생략)"] if count > len(shown) else []
    return "\n\n".join([*shown, *more])


def _tools(reading: ParsedExecution) -> str:
    used, names = tool_usage_of(reading), reading.execution.filter_names
    lines = (
        ("필터", sorted(map(names.title, used.filters))),
        ("datakey", sorted(used.datakeys)),
    )
    return "\n".join(f"{title}: {', '.join(found)}" for title, found in lines if found)


def _entry_text(entry: JsonObject) -> str:
    """An entry of `dataUIList` on one line: its kind, its text, its options, and the names in it."""
    value = part_of(entry, "uiValue")
    said = (given(text) for text in (entry.get("uiDescription"), value.get("message"), value.get("buttonName")))
    named = ((key, _value_text(value.get(key))) for key in _NAMED_VALUES)
    anywhere = ((key, ", ".join(sorted({text for _, text in scalars(value, key)}))) for key in VALUE_KEYS)
    parts = [
        given(value.get("formType")) or "",
        *dict.fromkeys(text for text in said if text),
        _options(value.get("selectOptionList")),
        *(f"{key}: {text}" for key, text in (*named, *anywhere) if text),
    ]
    return " · ".join(" ".join(part.split()) for part in parts if part)


def _value_text(value: object) -> str | None:
    """A value as in JSON: a value that is false is included."""
    return str(value).lower() if isinstance(value, bool) else given(value)


def _options(listed: object) -> str:
    names = [given(option.get("optionName")) or "(이름 없음)" for option in objects_of(listed)]
    if not names:
        return ""
    more = f" 외 {len(names) - _OPTIONS}개" if len(names) > _OPTIONS else ""
    return f"선택지: {', '.join(names[:_OPTIONS])}{more}"


def _urls(reading: ParsedExecution) -> str:
    found = [text for value in reading.response.ui_values for _, text in scalars(value, "buttonUrl")]
    written = given(reading.execution.button_url)
    urls = dict.fromkeys(unquote(url) for url in (*found, *([written] if written else [])))
    return "\n".join(shortened(url, _URL_CHARACTERS) for url in urls)
