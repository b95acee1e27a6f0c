"""The tables of a scored run: one row per execution, per query, and per rejected row.

The description of a column begins with its title (Korean), up to a colon if more text follows.

Source: SPEC 4.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.inputs import REJECTED_SCHEMA
from scoring.rules.arrow_types import empty_frame, field, frame_of
from scoring.stats.run_scores import TOTAL, QueryScores, ScoreOfRound, TestRunScores
from scoring.testruns.executions import AGENT_TITLES, LatencyClass
from scoring.testruns.query_columns import AGENT_TYPE, LATENCY_CLASS, QUERY_ID, QUERY_TEXT, groups_of, reason_text
from scoring.testruns.rubric import AnyTestRunRubric, Metric, ScoredExecution
from scoring.testruns.scoring import ScoredTestRun, epochs_of, failures_of
from scoring.testruns.summaries import as_float, withheld_metrics
from scoring.testruns.testrun import TestRunFile

Row = Mapping[str, Any]

EXECUTION_FIELDS = (
    field("run_id", pa.string(), "실행 ID: 파일의 Run ID"),
    field("item_id", pa.string(), "항목 ID: 파일의 Item ID"),
    QUERY_ID.field,
    field("round", pa.string(), "회차: 방/반복. 2/1은 둘째 방의 첫 실행"),
    QUERY_TEXT.field,
    AGENT_TYPE.field,
    field("failed", pa.bool_(), "실행 실패: 오류로 끝났는지"),
    field("latency_s", pa.float64(), "응답 시간(초): Raw JSON에 있으면 그 값, 없으면 파일의 열"),
    LATENCY_CLASS.field,
    field("tool_calls", pa.int64(), "도구 호출 수: 파일에 적힌 값"),
    field("ttft_s", pa.float64(), "TTFT(초): 첫 글자가 보이기까지의 시간"),
)
ANSWER_FIELDS = (
    field("answer", pa.string(), "에이전트의 답변"),
    field("expected", pa.string(), "기대한 결과"),
    field("checks", pa.string(), "체크마다 문장, 통과 여부, 통과하지 못한 까닭(JSON)"),
    field("raw_json", pa.string(), "파일에 있던 Raw JSON"),
)
RUBRIC_FIELDS = (
    field("rubric", pa.string(), "루브릭: 채점 기준의 이름"),
    field("rubric_version", pa.string(), "루브릭 버전: 바꾼 옵션도 적음"),
    field("judge_epochs", pa.string(), "판정한 모델과 조건: 판정한 지표마다(JSON). 규칙만으로 채점하면 NULL"),
)
VALUE_TITLES: Mapping[str, Mapping[Any, str]] = {
    "agent_type": AGENT_TITLES,
    "latency_class": {LatencyClass.SINGLE: "단일", LatencyClass.MULTI: "복수"},
}
"""The titles of the codes in columns that every rubric has (Korean)."""


def scores_schema(rubric: AnyTestRunRubric) -> pa.Schema:
    """The columns of `scores.parquet`."""
    metrics = [
        each
        for metric in rubric.metrics
        if metric.per_execution
        for each in (
            field(f"{metric.name}_score", pa.float64(), f"{metric.title}: 0~5점"),
            field(f"{metric.name}_reason", pa.string(), reason_text(metric.title)),
        )
    ]
    return pa.schema([*EXECUTION_FIELDS, *metrics, *rubric.own_columns, *RUBRIC_FIELDS])


def column_title(column: pa.Field) -> str:
    """The title of a column: the beginning of its description."""
    return column_meaning(column).partition(":")[0]


def column_meaning(column: pa.Field) -> str:
    """The description of a column (Korean)."""
    metadata: Mapping[bytes, bytes] = column.metadata or {}
    return metadata.get(b"description", b"").decode()


def queries_schema(rubric: AnyTestRunRubric) -> pa.Schema:
    """The columns of `queries.parquet`: those of the rubric, then its id, its version and the judge of its metrics."""
    return pa.schema([*(one.field for one in rubric.query_columns), *RUBRIC_FIELDS])


def scores_frame(scored: ScoredTestRun) -> pl.DataFrame:
    """One row per execution in the columns of `scores_schema`: queries as in the file, their executions by round."""
    return _frame(scored, scores_schema(scored.plan.rubric), execution_rows(scored))


def execution_rows(scored: ScoredTestRun) -> list[dict[str, Any]]:
    """The rows of `scores_frame`, with a rubric's own values as they are."""
    metrics = [metric.name for metric in scored.plan.rubric.metrics if metric.per_execution]
    return [
        {**execution_values(execution), **_metric_values(execution, metrics), **execution.own_values()}
        for query in scored.queries
        for execution in query.executions
    ]


def queries_frame(scored: ScoredTestRun) -> pl.DataFrame:
    """One row per query in the columns of `queries_schema`."""
    rubric = scored.plan.rubric
    return _frame(scored, queries_schema(rubric), [rubric.query_row(query) for query in scored.queries])


def run_scores(
    name: str, rubric: AnyTestRunRubric, summary: Mapping[str, Any], queries: Iterable[Row], executions: Iterable[Row]
) -> TestRunScores:
    """The scores of a run for comparisons, from its `summary.json` and from rows as those of `queries_frame` and
    `scores_frame`; what these lack is unknown.
    """
    rows: dict[str, list[Row]] = defaultdict(list)
    for execution in executions:
        rows[execution["query_id"]].append(execution)
    expected = summary.get("expected", {})

    def of_query(query: Row) -> QueryScores:
        mine = rows[query["query_id"]]
        return QueryScores(
            query["query_text"] or "",
            {name: query.get(points_column(name)) for name in rubric.score_titles},
            max(len(mine), 1),
            {metric.name: _reason(metric, query, mine) for metric in rubric.metrics},
            {one["round"]: _scores_of_round(rubric, one) for one in mine},
            groups_of(query),
            rubric.shares(mine),
            expected.get(query["query_id"], ""),
        )

    return TestRunScores(
        name,
        rubric.id,
        summary["rubric_version"],
        {query["query_id"]: of_query(query) for query in queries},
        withheld_metrics(summary.get("set", {})),
        rubric.metric_epochs(epochs_of(summary)),
        failures_of(summary),
        summary["inputs"][0].get("sha256", ""),
    )


def points_column(metric: str) -> str:
    """The column of a metric's points, or of the total."""
    return metric if metric == TOTAL else f"{metric}_score"


def _scores_of_round(rubric: AnyTestRunRubric, execution: Row) -> dict[str, ScoreOfRound]:
    names = [metric.name for metric in rubric.metrics if f"{metric.name}_score" in execution]
    return {name: ScoreOfRound(execution[f"{name}_score"], execution.get(f"{name}_reason") or "") for name in names}


def _reason(metric: Metric, query: Row, executions: Iterable[Row]) -> str:
    """The reason of a query's score: that of its worst execution, if executions have scores; '' if unknown."""
    points, reason = f"{metric.name}_score", f"{metric.name}_reason"
    if not metric.per_execution:
        return query.get(reason) or ""
    known = [row for row in executions if row.get(points) is not None]
    worst = min(known, key=lambda row: row[points], default={})
    return f"{worst['round']} {worst[reason]}" if worst.get(reason) else ""


def rejected_frame(run: TestRunFile, rubric_id: str) -> pl.DataFrame:
    """The rejected rows in the columns of `REJECTED_SCHEMA`, in the order of reading, without a day."""
    rows = [{**vars(reject), "score_date": None, "rubric": rubric_id} for reject in run.rejects]
    return frame_of(REJECTED_SCHEMA, rows)


def execution_values(scored: ScoredExecution) -> dict[str, Any]:
    """The columns of `EXECUTION_FIELDS`; texts that the file does not have are NULL."""
    execution = scored.execution
    return {
        "run_id": execution.run_id or None,
        "item_id": execution.item_id or None,
        "query_id": execution.query_id,
        "round": str(execution.round),
        "query_text": execution.query_text or None,
        "agent_type": execution.agent_type and execution.agent_type.value,
        "failed": scored.failed,
        "latency_s": scored.latency_s,
        "latency_class": scored.latency_class.value,
        "tool_calls": execution.tool_call_count,
        "ttft_s": execution.ttft_s,
    }


_EXPECTED = {
    "expected_filters": "기대 필터",
    "expected_datakeys": "기대 datakey",
    "ground_truth": "정답 수치",
    "criteria_json": "평가기준",
}


def answer_values(scored: ScoredExecution) -> dict[str, Any]:
    """The columns of `ANSWER_FIELDS`; values that the file does not have are NULL."""
    execution = scored.execution
    named = [f"{title}: {text}" for name, title in _EXPECTED.items() if (text := getattr(execution, name))]
    checks = [{"text": one.text, "passed": one.passed, "reason": one.reason} for one in scored.checks]
    return {
        "answer": scored.answer or None,
        "expected": "\n".join(filter(None, [execution.expected_text, *named])) or None,
        "checks": json.dumps(checks, ensure_ascii=False) if checks else None,
        "raw_json": execution.raw_json or None,
    }


def table_value(value: object) -> Any:
    """A rubric's value for a table: exact numbers as floats."""
    return float(value) if type(value) is Fraction else value


def rubric_values(scored: ScoredTestRun) -> dict[str, str | None]:
    """The columns of `RUBRIC_FIELDS`: by which rules a run was scored, and by which judge. Source: SPEC 11."""
    rubric = scored.plan.rubric
    epochs = rubric.metric_epochs(scored.epochs)
    return {
        "rubric": rubric.id,
        "rubric_version": scored.plan.rubric_version,
        "judge_epochs": json.dumps(epochs, ensure_ascii=False) if epochs else None,
    }


def _metric_values(scored: ScoredExecution, metrics: Iterable[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in metrics:
        score = scored.scores[name]
        values[f"{name}_score"] = as_float(score.points)
        values[f"{name}_reason"] = score.reason or None
    return values


def _frame(scored: ScoredTestRun, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The rows in the columns of `schema`, with the values of `RUBRIC_FIELDS`."""
    types, identity = empty_frame(schema).schema, rubric_values(scored)
    columns = {
        name: [identity[name]] * len(rows) if name in identity else [table_value(row[name]) for row in rows]
        for name in types
    }
    return pl.DataFrame(columns, schema=types)
