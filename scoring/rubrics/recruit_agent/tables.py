"""The columns that `recruit-agent` adds to the score tables, and a query as a row. Source: SPEC 4."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from scoring.rubrics.recruit_agent.formulas import EXECUTION_METRICS, METRICS, RecruitQuery
from scoring.rubrics.recruit_agent.thresholds import PASS_MIN_POINTS
from scoring.rules.arrow_types import field
from scoring.testruns.repeats import pass_columns, pass_values
from scoring.testruns.summaries import as_float

OWN_COLUMNS = (
    field("intent_verdict", pa.string(), "의도 판정; 판정받지 못하면 NULL"),
    field("intent_label", pa.string(), "의도 라벨; 판정받지 못하면 NULL"),
    field("signature", pa.string(), "화면 구성의 핵심 키를 순서와 무관하게 적은 JSON, 없으면 EMPTY"),
    field("pass_ratio", pa.float64(), "가중 체크 통과율; 실패했거나 체크가 없으면 NULL"),
    field("failed_checks", pa.list_(pa.string()), "통과하지 못한 체크: [대상] 이유"),
)
QUERY_COLUMNS = (
    field("query_id", pa.string(), "Query ID"),
    field("query_text", pa.string(), "질의"),
    field("agent_type", pa.string(), "에이전트 유형: move, plan, applicant_management"),
    field("rounds", pa.int64(), "실행 수"),
    *(
        field(f"{metric.name}_score", pa.float64(), f"{metric.title}: 실행 점수의 평균")
        for metric in METRICS
        if metric.per_execution
    ),
    field("consistency_score", pa.float64(), "일관성 점수(0~5); 판정받지 못하면 NULL"),
    field("consistency_reason", pa.string(), "일관성 점수의 근거"),
    field("ratio_a", pa.float64(), "의도 라벨 최빈값의 비율"),
    field("ratio_b", pa.float64(), "화면 구성 최빈값의 비율"),
    field("latency_class", pa.string(), "SINGLE(단일 도구 호출) 또는 MULTI(다중)"),
    field("weighted_total", pa.float64(), "종합 점수, 소수 둘째 자리까지; weighted_total=off면 NULL"),
    field("weight_coverage", pa.float64(), "종합 점수에 들어간 가중치의 합(0~1)"),
    field("flag_manual_review", pa.bool_(), "수기 확인 필요 여부"),
    field("manual_review_reasons", pa.list_(pa.string()), "수기 확인이 필요한 까닭의 코드"),
    *pass_columns(PASS_MIN_POINTS),
)


def query_row(query: RecruitQuery) -> Mapping[str, Any]:
    """The row of `queries.parquet`. Means are the nearest floats, the total has two decimals."""
    return {
        "query_id": query.query_id,
        "query_text": query.query_text,
        "agent_type": query.agent_type,
        "rounds": len(query.executions),
        **{f"{name}_score": as_float(query.scores[name].points) for name in EXECUTION_METRICS},
        "consistency_score": as_float(query.scores["consistency"].points),
        "consistency_reason": query.scores["consistency"].reason,
        "ratio_a": as_float(query.ratio_a),
        "ratio_b": as_float(query.ratio_b),
        "latency_class": query.latency_class,
        "weighted_total": query.weighted_total,
        "weight_coverage": query.weight_coverage,
        "flag_manual_review": bool(query.manual_review_reasons),
        "manual_review_reasons": query.manual_review_reasons,
        **pass_values(query.repeats),
    }
