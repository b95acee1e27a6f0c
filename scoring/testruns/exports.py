"""Converts results of promptfoo and logs of Inspect to a test run in the long layout.

Version 3 of promptfoo's results is read (`promptfoo eval -o results.json`), as promptfoo 0.123 writes them, and version
2 of Inspect's logs, as inspect-ai 0.3.285 writes them. Unknown fields are ignored.

Source: SPEC 13.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from scoring.errors import InputError
from scoring.inputs import BrokenRow, TextRow
from scoring.testruns.raw_json import objects_of, part_of

_FAILED = 2  # `failureReason` of a call that gave no answer; 1 is an answer that did not pass its checks


@dataclass(frozen=True)
class Export:
    """The rows of an export; their `line` is the position in the tool's list, from 1.

    The answer is in `응답`, so `Raw JSON` is blank.
    """

    rows: Callable[[], Iterator[TextRow | BrokenRow]]

    columns = (
        *("Query ID", "방/반복", "질의", "카테고리", "실행시각", "Raw JSON", "응답", "오류", "latency_ms", "기대결과"),
    )


def promptfoo_results(found: object, where: str) -> Export:
    """One row per result of a parsed file, which is a test asked once with one prompt.

    Raises:
        InputError: it is no result of an evaluation.
    """
    evaluation = part_of(found, "results")
    results = evaluation.get("results")
    if not isinstance(results, list):
        raise InputError(
            "expected what promptfoo writes of an evaluation: an object with the list results.results",
            where=where,
            fix="export it with `promptfoo eval -o results.json` or `promptfoo export eval ID -o results.json`",
        )
    return Export(partial(_promptfoo_rows, results, _cell(evaluation.get("timestamp"))))


def inspect_log(found: object, where: str) -> Export:
    """One row per sample and epoch of a log, which is one execution; it comes from a JSON file or from an archive.

    Raises:
        InputError: the log has no samples, because it was written without them.
    """
    samples = found.get("samples") if isinstance(found, dict) else None
    if isinstance(samples, str | dict) or not isinstance(samples, Iterable):
        raise InputError(
            "a log of Inspect without its samples: they hold what was asked and answered",
            where=where,
            fix="log it with samples",
        )
    return Export(partial(_inspect_rows, samples, _cell(part_of(found, "eval").get("model"))))


def _promptfoo_rows(results: Sequence[object], evaluated_at: str) -> Iterator[TextRow | BrokenRow]:
    """The rows in the order of the tests, whatever finished first.

    Equal tests are repeats of one query. A query has the number of its test, from the second prompt on with the number
    of the prompt: `3`, `3-2`.
    """
    numbers: dict[str, int] = {}
    repeats: Counter[str] = Counter()
    for line, result in sorted(enumerate(results, start=1), key=lambda one: _place(one[1])):
        if not isinstance(result, dict) or not isinstance(result.get("vars"), dict):
            reason = f"results.results의 {line}번째가 promptfoo의 결과가 아닙니다: vars가 있는 객체여야 합니다."
            yield BrokenRow(line, "other_format", reason)
            continue
        test = json.dumps(result.get("testCase") or result["vars"], sort_keys=True)
        query_id = str(numbers.setdefault(test, len(numbers) + 1))
        if prompt := _place(result)[1]:
            query_id += f"-{prompt + 1}"
        repeats[query_id] += 1
        yield TextRow(line, [query_id, f"{repeats[query_id]}/1", *_promptfoo_cells(result, evaluated_at)])


def _promptfoo_cells(result: dict[str, object], evaluated_at: str) -> Iterator[str]:
    """The cells after the first two. The question is a test's only variable; of several the rendered prompt."""
    response, failed = part_of(result, "response"), result.get("failureReason") == _FAILED
    values = list(part_of(result, "vars").values())
    yield _cell(values[0] if len(values) == 1 else part_of(result, "prompt").get("raw"))
    provider = result.get("provider")
    yield _cell(provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider)
    yield evaluated_at
    yield ""
    yield _cell(response.get("output"))
    yield _cell(response.get("error") or (failed and (result.get("error") or "error")) or None)
    yield "" if response.get("cached") else _cell(result.get("latencyMs"))  # nobody waited for the agent
    yield "\n".join(_promptfoo_checks(part_of(result, "testCase").get("assert")))


def _promptfoo_checks(checks: object) -> Iterator[str]:
    """The assertions of a test for people, one a line."""
    for check in objects_of(checks):
        yield ": ".join(filter(None, (_cell(check.get("type")), _cell(check.get("value")))))


def _place(result: object) -> tuple[int, int]:
    """The indexes of its test and its prompt, both from 0."""
    places = [result.get(name) if isinstance(result, dict) else None for name in ("testIdx", "promptIdx")]
    test, prompt = (place if isinstance(place, int) else 0 for place in places)
    return test, prompt


def _inspect_rows(samples: Iterable[object], model: str) -> Iterator[TextRow | BrokenRow]:
    for line, sample in enumerate(samples, start=1):
        if isinstance(sample, dict) and {"id", "epoch", "input"} <= sample.keys():
            yield TextRow(line, list(_inspect_cells(sample, model)))
        else:
            reason = f"samples의 {line}번째가 Inspect의 표본이 아닙니다: id, epoch, input이 있는 객체여야 합니다."
            yield BrokenRow(line, "other_format", reason)


def _inspect_cells(sample: dict[str, object], model: str) -> Iterator[str]:
    error, target = sample.get("error"), sample.get("target")
    yield _cell(sample["id"])
    yield f"{_cell(sample['epoch'])}/1"
    yield _inspect_question(sample["input"])
    yield model
    yield _cell(sample.get("started_at"))
    yield ""
    yield _cell(part_of(sample, "output").get("completion"))
    yield _cell(error.get("message") or "error" if isinstance(error, dict) else error)
    yield _milliseconds(sample.get("working_time", sample.get("total_time")))
    yield "\n".join(map(_cell, target)) if isinstance(target, list) else _cell(target)


def _inspect_question(asked: object) -> str:
    """The text, or the last user message of a conversation."""
    said = [message.get("content") for message in objects_of(asked) if message.get("role") == "user"]
    if not said or not isinstance(said[-1], list):
        return _cell(said[-1] if said else asked)
    return "\n".join(_cell(part.get("text")) for part in objects_of(said[-1]) if part.get("type") == "text")


def _milliseconds(seconds: object) -> str:
    """A time in seconds as a cell in milliseconds; other values are left for the row reader to reject."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return _cell(seconds)
    try:
        return str(round(float(seconds) * 1000))
    except (OverflowError, ValueError):  # hundreds of digits, or no number at all
        return f"{_cell(seconds)} s"


def _cell(value: object) -> str:
    """A value as a cell; values that are no text as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
