"""Converts the results of a promptfoo evaluation (`promptfoo eval -o results.json`) to a test run in the long layout.

Version 3 of its results is read, as promptfoo 0.123 writes them. Unknown fields are ignored.

Source: SPEC 13.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scoring.errors import InputError
from scoring.inputs import BrokenRow, TextRow
from scoring.testruns.export_cells import EXPORT_COLUMNS, export_cell
from scoring.testruns.raw_json import objects_of, part_of

_FAILED = 2  # `failureReason` of a call that gave no answer; 1 is an answer that did not pass its checks


@dataclass(frozen=True)
class PromptfooResults:
    """One row per result, which is a test asked once with one prompt; its `line` is its position in the list, from 1.

    Equal tests are repeats of one query. A query has the number of its test, from the second prompt on with the number
    of the prompt: `3`, `3-2`.
    """

    results: Sequence[object]
    evaluated_at: str

    columns = EXPORT_COLUMNS

    def rows(self) -> Iterator[TextRow | BrokenRow]:
        """The rows in the order of the tests, whatever finished first."""
        numbers: dict[str, int] = {}
        repeats: Counter[str] = Counter()
        for line, result in sorted(enumerate(self.results, start=1), key=lambda one: _place(one[1])):
            if not isinstance(result, dict) or not isinstance(result.get("vars"), dict):
                reason = f"results.results의 {line}번째가 promptfoo의 결과가 아닙니다: vars가 있는 객체여야 합니다."
                yield BrokenRow(line, "other_format", reason)
                continue
            test = json.dumps(result.get("testCase") or result["vars"], sort_keys=True)
            query_id = str(numbers.setdefault(test, len(numbers) + 1))
            if prompt := _place(result)[1]:
                query_id += f"-{prompt + 1}"
            repeats[query_id] += 1
            yield TextRow(line, [query_id, f"{repeats[query_id]}/1", *self._cells(result)])

    def _cells(self, result: dict[str, object]) -> Iterator[str]:
        """The cells after the first two."""
        response, failed = part_of(result, "response"), result.get("failureReason") == _FAILED
        yield _question(result)
        provider = result.get("provider")
        yield export_cell(provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider)
        yield self.evaluated_at
        yield ""
        yield export_cell(response.get("output"))
        yield export_cell(response.get("error") or (failed and (result.get("error") or "error")) or None)
        yield "" if response.get("cached") else export_cell(result.get("latencyMs"))  # nobody waited for the agent
        yield "\n".join(_expected(part_of(result, "testCase").get("assert")))


def promptfoo_results(found: object, where: str) -> PromptfooResults:
    """The results of a parsed file.

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
    return PromptfooResults(results, export_cell(evaluation.get("timestamp")))


def _place(result: object) -> tuple[int, int]:
    """The indexes of its test and its prompt, both from 0."""
    places = [result.get(name) if isinstance(result, dict) else None for name in ("testIdx", "promptIdx")]
    test, prompt = (place if isinstance(place, int) else 0 for place in places)
    return test, prompt


def _question(result: dict[str, object]) -> str:
    """The value of a test's only variable; with several variables the rendered prompt."""
    values = list(part_of(result, "vars").values())
    return export_cell(values[0]) if len(values) == 1 else export_cell(part_of(result, "prompt").get("raw"))


def _expected(checks: object) -> Iterator[str]:
    """The assertions of a test for people, one a line."""
    for check in objects_of(checks):
        yield ": ".join(filter(None, (export_cell(check.get("type")), export_cell(check.get("value")))))
