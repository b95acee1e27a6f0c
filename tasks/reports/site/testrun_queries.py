"""The queries on the page of a test run: what was asked, expected and answered, side by side for every round.

A page must open on a phone: what does not fit into its bytes is left out from the best scored query on, and counted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from markupsafe import escape

from scoring.markdown import score_text, shortened
from scoring.stats.exact import Exact
from scoring.stats.run_scores import TOTAL
from scoring.testruns.headline import distinct_names
from scoring.testruns.page_parts import safe_text
from scoring.testruns.query_columns import groups_of
from tasks.reports.site.pages import Link
from tasks.reports.site.testrun_tables import PublishedTestRun, Row
from tasks.reports.wording import seconds_text

_QUERIES_SHOWN = 500
# A page is at most 1.5 MB: scripts and style take 0.55, the other parts of the page at most 0.1.
_LIST_BYTES = 830_000
_BARE_QUERY_BYTES, _MARKUP_BYTES = 600, 40
_RAW_BYTES = 200_000
_ANSWER_CHARACTERS, _EXPECTED_CHARACTERS, _RAW_CHARACTERS = 1_500, 1_000, 4_000
_CHECK_CHARACTERS = _QUESTION_CHARACTERS = 200
_NAME_CHARACTERS = 40


@dataclass(frozen=True)
class ShownCheck:
    """One check of an answer; `reason` is '' where it passed."""

    passed: bool
    text: str
    reason: str


@dataclass(frozen=True)
class ShownExecution:
    """One round of a query; texts are masked, None where the table does not hold them.

    `scores`: the metrics with their points, and why.
    """

    round: str
    seconds: str
    failed: bool
    answer: str | None
    checks: Sequence[ShownCheck]
    scores: Sequence[tuple[str, str]]
    raw_json: str | None


@dataclass(frozen=True)
class ShownQuery:
    """A query with its total and its mean scores by metric; `executions` are empty where the page has no room for them.

    `groups` are those that its file names, `reasons` those of scores that the executions do not have: metric and text.
    """

    id: str
    text: str
    groups: Sequence[str]
    tags: Sequence[str]
    points: Sequence[tuple[str, str]]
    expected: str | None
    reasons: Sequence[tuple[str, str]]
    executions: Sequence[ShownExecution]


@dataclass(frozen=True)
class ShownQueries:
    """The queries that lost most points first. Of `total` the first are shown, of them `detailed` with their answers,
    of these `without_raw_json` without what the agent sent, for which there was no room."""

    shown: Sequence[ShownQuery]
    total: int
    detailed: int
    without_raw_json: int


def shown_queries(
    run: PublishedTestRun, queries: Sequence[Row], executions: Mapping[str, Sequence[Row]]
) -> ShownQueries:
    """Queries for a person first, then those that lost most points; `executions` are those of a query by its id."""
    worst = sorted(queries, key=review_order(run))[:_QUERIES_SHOWN]
    shown: list[ShownQuery] = []
    left, raw_left, detailed, without_raw = _LIST_BYTES - sum(map(_bare_bytes, worst)), _RAW_BYTES, 0, 0
    for row in worst:
        query = _query(run, row, executions.get(row["query_id"], ()) if left > 0 else ())
        raw = sum(_bytes(one.raw_json or "") for one in query.executions)
        if is_raw_left_out := raw > raw_left:
            query = replace(query, executions=[replace(one, raw_json=None) for one in query.executions])
            raw = 0
        size = sum(map(_execution_bytes, query.executions))
        if size > left:
            query, size, raw, left = replace(query, executions=(), expected=None), 0, 0, 0
        left, raw_left = left - size, raw_left - raw
        detailed += bool(query.executions)
        without_raw += is_raw_left_out and bool(query.executions)
        shown.append(query)
    return ShownQueries(shown, len(queries), detailed, without_raw)


def query_links(queries: Sequence[Row], shown: ShownQueries) -> dict[str, Link]:
    """A link to every query by its id, named by its text; without an address where the page does not show it."""
    places = {query.id for query in shown.shown}
    names = distinct_names({row["query_id"]: query_name(row) for row in queries})
    return {id_: Link(name, f"#query-{quote(id_)}" if id_ in places else "") for id_, name in names.items()}


def query_name(query: Row) -> str:
    """What a query is called in a list: its text, its id where it has none."""
    return shortened(safe_text(" ".join((query["query_text"] or "").split())), _NAME_CHARACTERS) or query["query_id"]


def review_order(run: PublishedTestRun) -> Callable[[Row], tuple[bool, Exact, str]]:
    """The key that brings queries for a person first, then those that lost most points."""

    def key(query: Row) -> tuple[bool, Exact, str]:
        lost = run.rubric.lost({name: score["score"] for name, score in query["scores"].items()}) if run.rubric else 0
        return not query["columns"].get("manual_review_reasons"), -lost, query["query_id"]

    return key


def _query(run: PublishedTestRun, row: Row, executions: Sequence[Row]) -> ShownQuery:
    of_executions = executions[0]["scores"] if executions else {}
    expected = next((text for one in executions if (text := one["expected"])), None)
    return ShownQuery(
        id=row["query_id"],
        text=safe_text(row["query_text"] or "", _QUESTION_CHARACTERS),
        groups=[safe_text(name) for name in groups_of(row["columns"]).values()],
        tags=[run.code_title(code) for code in row["columns"].get("manual_review_reasons") or []],
        points=[(run.titles.get(name, name), score_text(score)) for name, score in _points(row).items()],
        expected=safe_text(expected, _EXPECTED_CHARACTERS) if expected else None,
        reasons=[
            (run.titles.get(name, name), safe_text(score["reason"]))
            for name, score in row["scores"].items()
            if score["reason"] and name not in of_executions
        ],
        executions=[_execution(run, one) for one in executions],
    )


def _points(row: Row) -> dict[str, float | None]:
    total = {TOTAL: row["columns"][TOTAL]} if row["columns"].get(TOTAL) is not None else {}
    return total | {name: score["score"] for name, score in row["scores"].items()}


def _execution(run: PublishedTestRun, row: Row) -> ShownExecution:
    raw, answer = row["raw_json"], row["answer"]
    return ShownExecution(
        round=row["round"],
        seconds=seconds_text(row["latency_s"]),
        failed=row["failed"],
        answer=safe_text(answer, _ANSWER_CHARACTERS) if answer else None,
        checks=[
            ShownCheck(
                one["passed"], safe_text(one["text"], _CHECK_CHARACTERS), safe_text(one["reason"], _CHECK_CHARACTERS)
            )
            for one in json.loads(row["checks"] or "[]")
        ],
        scores=_scores(run, row["scores"].values()),
        raw_json=safe_text(raw, _RAW_CHARACTERS) if raw else None,
    )


def _scores(run: PublishedTestRun, scores: Sequence[Any]) -> list[tuple[str, str]]:
    """Metrics that have the same points for the same reason stand together."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for score in scores:
        if score["score"] is not None or score["missing"]:
            points = "점수 없음" if score["score"] is None else f"{score_text(score['score'])}점"
            title = run.titles.get(score["metric"], score["metric"])
            metrics.setdefault((points, safe_text(score["reason"] or "")), []).append(title)
    return [(f"{'·'.join(titles)} {points}", reason) for (points, reason), titles in metrics.items()]


def _bare_bytes(row: Row) -> int:
    return _BARE_QUERY_BYTES + _bytes(shortened(row["query_text"] or "", _QUESTION_CHARACTERS))


def _execution_bytes(execution: ShownExecution) -> int:
    texts = [
        execution.answer or "",
        execution.raw_json or "",
        *(text for check in execution.checks for text in (check.text, check.reason)),
        *(text for score in execution.scores for text in score),
    ]
    return sum(map(_bytes, texts)) + _MARKUP_BYTES * (len(texts) + 2)


def _bytes(text: str) -> int:
    return len(escape(text).encode())
