"""The history of a scored test run in a warehouse: its test set, and the run before it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.stats.run_scores import TestRunScores
from scoring.testruns.history import (
    OTHER_RULES,
    KnownRun,
    RunPlace,
    base_among,
    before_of,
    change_figures,
    nearest_figures,
    new_set,
    passed_over_since,
    query_keys,
    runs_before,
    set_of_run,
)
from scoring.testruns.lint import expectation_marks
from scoring.testruns.rubric import AnyTestRunRubric
from scoring.testruns.scoring import ScoredTestRun, failures_of, testrun_summary
from scoring.testruns.tables import execution_rows, run_scores
from tasks.testruns.warehouse import (
    QUERIES,
    QUERIES_SCHEMA,
    SCORES,
    SCORES_SCHEMA,
    SUMMARIES,
    SUMMARIES_SCHEMA,
    agents_of,
)
from tasks.warehouse import Warehouse, table_rows

_DAYS_BACK = 60

Row = Mapping[str, Any]


def place_of(
    warehouse: Warehouse, day: date, scored: ScoredTestRun, judge: Mapping[str, Any] | None = None
) -> RunPlace:
    """The place of a run scored on a day in its history; `judge` is the `judge` part of its summary.

    Its history are the runs of the same rubric and agent among the last 60 days with runs.
    """
    run, rubric = scored.plan.run, scored.plan.rubric
    keys = query_keys(sorted((query.query_id, query.query_text) for query in scored.queries))
    sha256 = run.identity.sha256
    me = KnownRun(
        sha256,
        run.ran_at or str(day),
        new_set(sha256),
        frozenset(keys.values()),
        rules=scored.plan.rubric_version,
        expected=_by_key(expectation_marks(run.queries), keys),
    )
    rows = _summaries(warehouse, rubric.id, agents_of(scored.queries))
    own = next((row["test_set"] for row in rows if row["input_sha256"] == sha256 and row["test_set"]), None)
    others = _known_runs(warehouse, [row for row in rows if row["input_sha256"] != sha256], rubric.id)
    test_set = own or set_of_run(me, others)
    earlier = runs_before(me, others, test_set)
    before = base_among(me, earlier)
    if before is None:
        return RunPlace(test_set, nearest=nearest_figures(me, others, test_set))
    row = next(row for row in rows if row["input_sha256"] == before.sha256)
    queries = map(rubric.query_row, scored.queries)
    now = run_scores(run.name, rubric, testrun_summary(scored, judge), queries, execution_rows(scored))
    base = _scores_before(warehouse, row, rubric)
    compared = rubric.compare(base, now, rubric.score_titles)
    obstacle = OTHER_RULES if compared.versions_differ else ""
    return RunPlace(test_set, change_figures(compared, before, obstacle, passed_over_since(me, before, earlier)))


def _summaries(warehouse: Warehouse, rubric: str, agents: str | None) -> list[Row]:
    """The last summary of each file of the rubric and agent; runs of earlier versions have no agent."""
    frame = table_rows(warehouse, SUMMARIES, SUMMARIES_SCHEMA, warehouse.days(SUMMARIES)[-_DAYS_BACK:])
    of_agent = pl.col("agent_type").is_null() | (pl.col("agent_type") == pl.lit(agents, pl.String))
    same = frame.filter((pl.col("rubric") == rubric) & of_agent).collect()
    return list({row["input_sha256"]: row for row in same.sort("score_date").iter_rows(named=True)}.values())


def _known_runs(warehouse: Warehouse, rows: Sequence[Row], rubric: str) -> list[KnownRun]:
    if not rows:
        return []
    wanted = _columns("input_sha256", "query_id", "query_text", "rubric")
    frame = table_rows(warehouse, QUERIES, wanted, sorted({row["score_date"] for row in rows}))
    queries = frame.filter(pl.col("rubric") == rubric).unique(["input_sha256", "query_id"]).collect()
    texts = queries.rows_by_key("input_sha256", named=True)
    return [_known_run(row, texts.get(row["input_sha256"], ())) for row in rows]


def _known_run(row: Row, queries: Iterable[Row]) -> KnownRun:
    summary = json.loads(row["summary"])
    keys = query_keys(sorted((query["query_id"], query["query_text"] or "") for query in queries))
    return KnownRun(
        sha256=row["input_sha256"],
        when=row["ran_at"] or str(row["score_date"]),
        test_set=row["test_set"] or new_set(row["input_sha256"]),
        keys=frozenset(keys.values()),
        before=before_of(summary),
        name=row["input_name"],
        failures=failures_of(summary),
        rules=summary["rubric_version"],
        expected=_by_key(summary.get("expected", {}), keys),
    )


def _by_key(marks: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, str]:
    """The fingerprints of expectations by the key of their query."""
    return {keys[query_id]: mark for query_id, mark in marks.items() if query_id in keys}


def _scores_before(warehouse: Warehouse, run: Row, rubric: AnyTestRunRubric) -> TestRunScores:
    def read(table: str, *names: str) -> list[dict[str, Any]]:
        mine = (pl.col("input_sha256") == run["input_sha256"]) & (pl.col("rubric") == rubric.id)
        wanted = _columns("input_sha256", "query_id", "rubric", *names)
        return table_rows(warehouse, table, wanted, [run["score_date"]]).filter(mine).collect().to_dicts()

    queries = [json.loads(row["columns"]) | row for row in read(QUERIES, "query_text", "columns")]
    of_rates = ("agent_type", "own") if rubric.rates else ()
    executions = [
        {f"{one['metric']}_score": one["score"] for one in row["scores"]} | json.loads(row.get("own", "{}")) | row
        for row in read(SCORES, "round", "scores", *of_rates)
    ]
    return run_scores(run["input_name"], rubric, json.loads(run["summary"]), queries, executions)


def _columns(*names: str) -> pa.Schema:
    known = {column.name: column for column in (*QUERIES_SCHEMA, *SCORES_SCHEMA)}
    return pa.schema([known[name] for name in ("score_date", *names)])
