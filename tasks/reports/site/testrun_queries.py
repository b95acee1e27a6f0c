"""The queries of a test run as its page lists them: scores, reasons to look at them, and what every round gave."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.markdown import score_text
from scoring.testruns.executions import AGENT_TITLES
from scoring.testruns.page_parts import safe_text
from tasks.reports.site.testrun_tables import PublishedTestRun, Row
from tasks.reports.site.wording import NOTHING, seconds_text

_TEXT_CHARACTERS = 200


@dataclass(frozen=True)
class ShownQuery:
    """A query as people see it; `review` are the reasons to look at it, `executions` its rounds with their reasons."""

    query_id: str
    text: str
    agent: str
    scores: Sequence[str]
    review: Sequence[str]
    reasons: Sequence[tuple[str, str]]
    executions: Sequence[tuple[str, str, Sequence[str]]]


def query_metrics(run: PublishedTestRun, queries: Sequence[Row]) -> list[str]:
    """The metrics that queries have a score of, in the order of the rubric."""
    return [name for name in run.titles if any(name in query["scores"] for query in queries)]


def shown_queries(run: PublishedTestRun, executions: Sequence[Row], queries: Sequence[Row]) -> list[ShownQuery]:
    """The queries, those for a person first, then by their mean score."""
    rounds: dict[str, list[Row]] = {}
    for row in executions:
        rounds.setdefault(row["query_id"], []).append(row)
    metrics = query_metrics(run, queries)

    def order(query: Row) -> tuple[bool, float]:
        known = [score["score"] for score in query["scores"].values() if score["score"] is not None]
        return not query["columns"].get("manual_review_reasons"), sum(known) / len(known) if known else 0.0

    return [
        _shown_query(run, query, rounds.get(query["query_id"], []), metrics) for query in sorted(queries, key=order)
    ]


def _shown_query(run: PublishedTestRun, query: Row, rounds: Sequence[Row], metrics: Sequence[str]) -> ShownQuery:
    scores = query["scores"]
    return ShownQuery(
        query_id=query["query_id"],
        text=safe_text(query["query_text"] or NOTHING, _TEXT_CHARACTERS),
        agent=AGENT_TITLES.get(query["agent_type"], NOTHING),
        scores=[score_text(scores[name]["score"]) if name in scores else NOTHING for name in metrics],
        review=[run.code_title(code) for code in query["columns"].get("manual_review_reasons") or []],
        reasons=[
            (run.titles[name], safe_text(scores[name]["reason"]))
            for name in metrics
            if name in scores and name not in (rounds[0]["scores"] if rounds else {}) and scores[name]["reason"]
        ],
        executions=[_shown_round(run, row) for row in rounds],
    )


def _shown_round(run: PublishedTestRun, row: Row) -> tuple[str, str, Sequence[str]]:
    """Round, time, and a line a metric."""
    lines = []
    for name, score in row["scores"].items():
        if score["score"] is not None or score["missing"]:
            reason = f" — {safe_text(score['reason'])}" if score["reason"] else ""
            lines.append(f"{run.titles.get(name, name)} {score_text(score['score'])}점{reason}")
    return row["round"], seconds_text(row["latency_s"]), lines
