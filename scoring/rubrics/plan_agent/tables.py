"""The columns that `plan-agent` adds to the score tables, and a query as a row. Source: SPEC 4."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from scoring.rubrics.plan_agent.formulas import EXECUTION_METRICS, METRICS, PlanQuery
from scoring.rubrics.plan_agent.thresholds import PASS_MIN_POINTS
from scoring.rules.arrow_types import field
from scoring.testruns.repeats import pass_columns, pass_values
from scoring.testruns.summaries import as_float

OWN_COLUMNS = (
    field("pass_count", pa.int64(), "통과한 체크 수; 응답이 없거나 체크가 없으면 NULL"),
    field("check_count", pa.int64(), "확인한 체크 수; 응답이 없거나 체크가 없으면 NULL"),
    field("pass_ratio", pa.float64(), "통과한 체크 수 / 확인한 체크 수"),
    field("failed_checks", pa.list_(pa.string()), "통과하지 못한 체크: [대상] 이유"),
    field("recorded_llm_score", pa.float64(), "입력에 기록된 LLM 점수; 규칙 점수를 대신하지 않음"),
)
QUERY_COLUMNS = (
    field("query_id", pa.string(), "Query ID"),
    field("query_text", pa.string(), "질의"),
    field("agent_type", pa.string(), "에이전트 유형"),
    field("rounds", pa.int64(), "실행한 라운드 수"),
    *(
        field(f"{metric.name}_score", pa.float64(), f"{metric.title}: 라운드 점수의 평균")
        for metric in METRICS
        if metric.per_execution
    ),
    field("consistency_score", pa.float64(), "일관성: 5 또는 0, 비교할 수 없으면 NULL"),
    field("consistency_reason", pa.string(), "일관성 점수의 근거"),
    field("latency_s", pa.float64(), "응답 속도에 쓴 실행의 평균 시간(초)"),
    field("nested_only_checks", pa.int64(), "value 안쪽까지 찾아야만 통과하는 체크 수"),
    *pass_columns(PASS_MIN_POINTS),
    field("mode_ratio", pa.float64(), "라운드 점수 가운데 가장 흔한 것의 비율; 비교할 수 없으면 NULL"),
)


def query_row(query: PlanQuery) -> Mapping[str, Any]:
    """The row of `queries.parquet`."""
    return {
        "query_id": query.query_id,
        "query_text": query.query_text,
        "agent_type": query.agent_type,
        "rounds": len(query.executions),
        **{f"{name}_score": as_float(query.scores[name].points) for name in EXECUTION_METRICS},
        "consistency_score": as_float(query.scores["consistency"].points),
        "consistency_reason": query.scores["consistency"].reason,
        "latency_s": query.latency_s,
        "nested_only_checks": query.nested_only_checks,
        **pass_values(query.repeats),
        "mode_ratio": as_float(query.repeats.mode_ratio),
    }
