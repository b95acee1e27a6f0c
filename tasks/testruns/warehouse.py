"""The test-run tables of a warehouse: the same columns for every rubric, so that a new one changes no table.

Scores are a list of (metric, score, missing, reason); what is specific to a rubric is JSON. A run is identified by the
content of its file and the rubric: writing it again replaces its rows and no others.

Source: SPEC 6.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from scoring.inputs import REJECTED_SCHEMA
from scoring.rules.arrow_types import field, frame_of
from scoring.testruns.executions import AgentType
from scoring.testruns.history import RunPlace
from scoring.testruns.rubric import Score, ScoredQuery
from scoring.testruns.scoring import ScoredTestRun, testrun_summary
from scoring.testruns.summaries import as_float
from scoring.testruns.tables import (
    ANSWER_FIELDS,
    EXECUTION_FIELDS,
    RUBRIC_FIELDS,
    answer_values,
    execution_values,
    rejected_frame,
    rubric_values,
    table_value,
)
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import REJECTED

if TYPE_CHECKING:
    from tasks.judge.client import Judged
    from tasks.judge.verdict_store import Judgement

SCORES, QUERIES, SUMMARIES = "test_run_scores", "test_run_queries", "test_run_summaries"
JUDGEMENTS = "judgements"

_RUN_FIELDS = (
    field("score_date", pa.date32(), "채점한 날"),
    field("input_name", pa.string(), "입력 파일 이름"),
    field("input_sha256", pa.string(), "입력 파일 내용의 SHA-256"),
)
_SCORE = pa.struct(
    [
        field("metric", pa.string(), "지표"),
        field("score", pa.float64(), "0~5. 알 수 없으면 NULL"),
        field("missing", pa.string(), "NULL인 까닭의 코드"),
        field("reason", pa.string(), "판단 근거"),
    ]
)
_SCORE_LIST = field("scores", pa.list_(_SCORE), "지표별 점수")
SCORES_SCHEMA = pa.schema(
    [
        *_RUN_FIELDS,
        *EXECUTION_FIELDS,
        _SCORE_LIST,
        field("own", pa.string(), "루브릭 고유의 값(JSON)"),
        *RUBRIC_FIELDS,
        *ANSWER_FIELDS,
    ]
)
QUERIES_SCHEMA = pa.schema(
    [
        *_RUN_FIELDS,
        field("query_id", pa.string(), "질의 ID"),
        field("query_text", pa.string(), "질의"),
        field("agent_type", pa.string(), " | ".join(AgentType)),
        _SCORE_LIST,
        field("columns", pa.string(), "queries.parquet의 그 질의 행(JSON)"),
        *RUBRIC_FIELDS,
    ]
)
SUMMARIES_SCHEMA = pa.schema(
    [
        *_RUN_FIELDS,
        *(field(name, pa.int64(), title) for name, title in (
            ("rows_in", "읽은 행 = scored + excluded + rejected"),
            ("scored", "채점한 행"),
            ("excluded", "제외한 행"),
            ("rejected", "거부한 행"),
            ("executions", "채점한 실행"),
            ("queries", "질의"),
        )),
        field("summary", pa.string(), "summary.json"),
        *RUBRIC_FIELDS,
        field("ran_at", pa.string(), "실행한 시각이나 날(ISO, 파일에 적힌 그대로). 모르면 NULL"),
        field("agent_type", pa.string(), "에이전트, 여럿이면 쉼표로 이음. 모르면 NULL"),
        field("test_set", pa.string(), "테스트 세트: 질의의 절반 이상이 같은 실행끼리 같음"),
    ]
)  # fmt: skip

JUDGEMENTS_SCHEMA = pa.schema(
    [
        field("kind", pa.string(), "질문의 종류: intent | semantic | conclusions"),
        field("rubric", pa.string(), "루브릭 id"),
        field("rubric_version", pa.string(), "루브릭 버전"),
        field("prompt_version", pa.string(), "프롬프트 버전"),
        field("model_asked", pa.string(), "물은 모델"),
        field("model_answered", pa.string(), "답한 모델"),
        field("key", pa.string(), "모델, 조건, 프롬프트, 자료로 정해지는 판정의 id"),
        field("input_hash", pa.string(), "보낸 자료의 SHA-256"),
        field("status", pa.string(), "ok | refused | invalid | failed | over_budget | no_judge"),
        field("verdict", pa.string(), "판정(JSON)"),
        field("reason", pa.string(), "판정의 근거"),
        field("tokens_in", pa.int64(), "입력 토큰"),
        field("tokens_out", pa.int64(), "출력 토큰"),
        field("tokens_cached", pa.int64(), "입력 토큰 가운데 캐시된 것"),
        field("cost_usd", pa.float64(), "비용(USD). 가격을 모르면 NULL"),
        field("latency_s", pa.float64(), "답한 호출에 걸린 시간(초)"),
        field("attempts", pa.int64(), "물은 횟수"),
        field("epoch", pa.string(), "판정한 모델과 조건: 같은 판정끼리만 비교한다. 모르면 NULL"),
    ]
)
DAY_JUDGEMENTS_SCHEMA = pa.schema([*_RUN_FIELDS, *JUDGEMENTS_SCHEMA])


def agents_of(queries: Sequence[ScoredQuery]) -> str | None:
    """The agents of a run, joined by commas; None if no query has one."""
    return ", ".join(sorted({query.agent_type.value for query in queries if query.agent_type})) or None


def write_testrun(
    warehouse: Warehouse, day: date, scored: ScoredTestRun, place: RunPlace, judged: Judged | None = None
) -> None:
    """Replaces this run among the runs of a day, the summary last; `place` is its place in its history."""
    run, rubric = scored.plan.run, scored.plan.rubric
    mine = {"rubric": rubric.id, "input_sha256": run.identity.sha256}
    identity = {
        "score_date": day,
        "input_name": run.name,
        "input_sha256": run.identity.sha256,
        **rubric_values(scored),
    }
    for table, schema, rows in (
        (SCORES, SCORES_SCHEMA, _execution_rows(scored)),
        (QUERIES, QUERIES_SCHEMA, _query_rows(scored)),
    ):
        warehouse.replace_day(table, day, schema, [_frame(schema, rows, identity)], only=mine)
    rejected = rejected_frame(run, rubric.id).with_columns(score_date=pl.lit(day))
    refused = {"rubric": rubric.id, "file": run.identity.name}
    warehouse.replace_day(REJECTED, day, REJECTED_SCHEMA, [rejected], only=refused)
    if judged:
        of_run = {column.name: pl.lit(identity[column.name]) for column in _RUN_FIELDS}
        asked = judgement_frame(judged.judgements).with_columns(**of_run)
        warehouse.replace_day(JUDGEMENTS, day, DAY_JUDGEMENTS_SCHEMA, [asked], only=mine)
    whole = testrun_summary(scored, judged.summary() if judged else None, place)
    summary = vars(run.counts) | {
        "queries": len(run.queries),
        "summary": _json(whole),
        "ran_at": run.ran_at or None,
        "agent_type": agents_of(scored.queries),
        "test_set": place.test_set,
    }
    warehouse.replace_day(SUMMARIES, day, SUMMARIES_SCHEMA, [_frame(SUMMARIES_SCHEMA, [summary], identity)], only=mine)


def judgement_frame(judgements: Sequence[Judgement]) -> pl.DataFrame:
    """One row per question, in the columns of `JUDGEMENTS_SCHEMA`, in the order of kind and key."""
    rows = [
        {
            **vars(one),
            "model_answered": one.model_answered or None,
            "status": one.status.value,
            "verdict": json.dumps(dict(one.answer), ensure_ascii=False, sort_keys=True) if one.answer else None,
            "reason": one.reason or None,
            "cost_usd": one.usd,
        }
        for one in judgements
    ]
    return frame_of(JUDGEMENTS_SCHEMA, rows).sort("kind", "key")


def _execution_rows(scored: ScoredTestRun) -> Iterator[dict[str, Any]]:
    for query in scored.queries:
        for execution in query.executions:
            yield {
                **execution_values(execution),
                "scores": _score_list(execution.scores),
                "own": _json(execution.own_values()),
                **answer_values(execution),
            }


def _query_rows(scored: ScoredTestRun) -> Iterator[dict[str, Any]]:
    for query in scored.queries:
        yield {
            "query_id": query.query_id,
            "query_text": query.query_text or None,
            "agent_type": query.agent_type and query.agent_type.value,
            "scores": _score_list(query.scores),
            "columns": _json(scored.plan.rubric.query_row(query)),
        }


def _score_list(scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    return [
        {"metric": name, "score": as_float(score.points), "missing": score.missing or None, "reason": score.reason}
        for name, score in scores.items()
    ]


def _frame(schema: pa.Schema, rows: Iterable[Mapping[str, Any]], identity: Mapping[str, Any]) -> pl.DataFrame:
    return frame_of(schema, [{**row, **identity} for row in rows])


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=table_value)
