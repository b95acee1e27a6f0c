"""Finds problems of a test set itself: its questions, expected results and units, independent of the agent's answers.

Scores do not change. A finding is for the author of the test set to correct.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from scoring.testruns.cells import folded, given, unfilled
from scoring.testruns.checklist import checklist_lines
from scoring.testruns.executions import Execution

Queries = Mapping[str, Sequence[Execution]]

_STATED_COUNT = re.compile(r"(?:요소|항목|기준|리스트|포인트|조건)[^0-9\n]{0,10}([0-9]{1,2})\s?(?:가지|개)")
_MARK_DIGITS = 8
_NUMBERED = re.compile(r"\(?[0-9]{1,2}[).]|[①-⑳]")
_LONGEST_S = 1_000  # of an answer; milliseconds of a second and more are larger
_SHORTEST_S = 0.1  # seconds that are taken for milliseconds are shorter


@dataclass(frozen=True)
class LintFinding:
    """A rule that queries of a test set violate. `title` and `example` are Korean; ids are in the order of the file."""

    code: str
    title: str
    query_ids: list[str]
    example: str


@dataclass(frozen=True)
class LintRule:
    """A rule; `broken` returns the queries that violate it, each with an example text."""

    code: str
    title: str
    broken: Callable[[Queries], Iterator[tuple[str, str]]]


def lint(queries: Queries) -> list[LintFinding]:
    """The rules that `queries` (query id -> its executions) violate, those with most queries first."""
    found = []
    for rule in LINT_RULES:
        broken = dict(rule.broken(queries))
        if broken:
            found.append(LintFinding(rule.code, rule.title, list(broken), next(iter(broken.values()))))
    return sorted(found, key=lambda finding: -len(finding.query_ids))


def _placeholders(queries: Queries) -> Iterator[tuple[str, str]]:
    for query_id, executions in queries.items():
        for text in (executions[0].query_text, executions[0].expected_text):
            if found := unfilled(text):
                yield query_id, found
                break


def _wrong_counts(queries: Queries) -> Iterator[tuple[str, str]]:
    for query_id, executions in queries.items():
        lines = checklist_lines(executions[0].expected_text)
        headings = [line for line in lines if not _NUMBERED.match(line)]
        listed = len(lines) - len(headings)
        stated = next((int(match[1]) for line in headings if (match := _STATED_COUNT.search(line))), listed)
        if listed and stated != listed:
            yield query_id, f"{stated}가지라고 적고 {listed}가지를 나열함"


def _without_question(queries: Queries) -> Iterator[tuple[str, str]]:
    for query_id, executions in queries.items():
        if not any(given(one.query_text) for one in executions):
            yield query_id, "질의가 빈칸"


def _without_expectation(queries: Queries) -> Iterator[tuple[str, str]]:
    for query_id, executions in queries.items():
        if not any(any(map(given, _expectation(one))) for one in executions):
            yield query_id, executions[0].query_text


def _repeated(queries: Queries) -> Iterator[tuple[str, str]]:
    for by_expectation in _same_questions(queries):
        for query_ids in by_expectation:
            if len(query_ids) > 1:
                yield from ((query_id, queries[query_id][0].query_text) for query_id in query_ids)


def _contradicted(queries: Queries) -> Iterator[tuple[str, str]]:
    for by_expectation in _same_questions(queries):
        if len(by_expectation) > 1:
            yield from ((one, queries[one][0].query_text) for query_ids in by_expectation for one in query_ids)


def _changing(queries: Queries) -> Iterator[tuple[str, str]]:
    for query_id, executions in queries.items():
        texts = dict.fromkeys(one.query_text.strip() for one in executions if given(one.query_text))
        if len({folded(text) for text in texts}) > 1:
            yield query_id, " / ".join(texts)


def _expecting_otherwise(queries: Queries) -> Iterator[tuple[str, str]]:
    for query_id, executions in queries.items():
        for texts in zip(*map(_expectation, executions), strict=True):
            if len({folded(text) for text in texts}) > 1:
                yield query_id, " / ".join(dict.fromkeys(text or "빈칸" for text in texts))
                break


def _in_another_unit(queries: Queries) -> Iterator[tuple[str, str]]:
    """A time that no answer takes: milliseconds in a column of seconds, or the reverse."""
    for query_id, executions in queries.items():
        times = {
            "latency_ms": [one.latency_ms / 1000 for one in executions if one.latency_ms is not None],
            "답변 시간(초)": [one.answer_time_s for one in executions if one.answer_time_s is not None],
            "ttft(초)": [one.ttft_s for one in executions if one.ttft_s is not None],
        }
        for column, seconds in times.items():
            if odd := [s for s in seconds if s > _LONGEST_S or (column == "latency_ms" and 0 < s < _SHORTEST_S)]:
                yield query_id, f"{column} 열을 {odd[0]:g}초로 읽음"
                break


LINT_RULES = (
    LintRule("placeholder", "채우지 않은 자리 표시가 있는 질의", _placeholders),
    LintRule("wrong_count", "적은 개수와 나열한 개수가 다른 기대 결과", _wrong_counts),
    LintRule("no_question", "질의 문장이 없는 질의", _without_question),
    LintRule("no_expectation", "기대 결과가 하나도 없는 질의", _without_expectation),
    LintRule("repeated", "ID만 다르고 질의와 기대 결과가 같은 질의", _repeated),
    LintRule("contradicted", "질의는 같은데 기대 결과가 다른 질의", _contradicted),
    LintRule("changing", "ID는 같은데 회차마다 질의 문장이 다른 질의", _changing),
    LintRule("expecting_otherwise", "ID는 같은데 회차마다 기대 결과나 정답 수치가 다른 질의", _expecting_otherwise),
    LintRule("time_unit", "응답 시간의 단위(초, 밀리초)를 확인할 질의", _in_another_unit),
)


def expectation_marks(queries: Queries) -> dict[str, str]:
    """Query id -> a key that is equal in two runs with the same expectations, white space aside.

    The ground truth is not included, because it is counted anew for each run; the last digit is whether there is one,
    because without it accuracy has another scale.
    """
    found = {}
    for query_id, executions in queries.items():
        said = sorted({"\0".join(map(folded, _expectation(one)[:-1])) for one in executions})
        mark = sha256("\1".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_DIGITS]
        found[query_id] = f"{mark}{any(given(one.ground_truth) for one in executions):d}"
    return found


def _expectation(execution: Execution) -> tuple[str, ...]:
    """The expected values of a row; the ground truth comes last."""
    return (
        *(execution.expected_text, execution.criteria_json, execution.expected_filters),
        *(execution.expected_datakeys, execution.ground_truth),
    )


def _same_questions(queries: Queries) -> list[list[list[str]]]:
    """The ids of the queries by question and expected result, white space aside."""
    found: dict[str, dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for query_id, executions in queries.items():
        first = executions[0]
        if question := given(first.query_text):
            found[folded(question)][tuple(map(folded, _expectation(first)))].append(query_id)
    return [list(by_expectation.values()) for by_expectation in found.values()]
