"""A scored query as a row of `queries.parquet` and as JSON.

Source: seed 000, 6.1 and 6.2; SPEC 4.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa

from scoring.rubrics.aqb.grades import MAPPING_TITLES, MappingGrade
from scoring.rubrics.aqb.queries import AqbQuery
from scoring.rubrics.aqb.thresholds import PASS_MIN_POINTS
from scoring.rules.arrow_types import field
from scoring.stats.exact import Exact, rounded
from scoring.testruns.executions import LatencyClass
from scoring.testruns.repeats import pass_columns, pass_values
from scoring.testruns.summaries import as_float

# Metrics in the order of the seed's tables, which is not that of `scores.parquet`.
METRIC_TITLES = {
    "semantic": "의도 충족",
    "consistency": "일관성",
    "accuracy": "정확성",
    "speed": "응답 속도",
    "stability": "안정성",
}

OWN_COLUMNS = (
    field("mapping_grade", pa.string(), "조건 매핑: exact, extra, partial, none, unknown (SPEC 3.3)"),
    field("accuracy_grade", pa.string(), "도구 사용: PASS, PARTIAL, FAIL. NULL은 판단 불가 (seed 000, 2.3)"),
    field("numbers_grade", pa.string(), "정답 수치 비교: exact, within, wrong. NULL은 정답 수치 없음 (seed 000, 3.3)"),
    field("ttft_pass", pa.string(), "TTFT: PASS, FAIL. NULL은 측정하지 않음 (seed 000, 5.4)"),
)

QUERY_COLUMNS = (
    # The fifteen of seed 6.1, in its order.
    field("query_id", pa.string(), "질의 id"),
    field("query_text", pa.string(), "질의"),
    field("agent_type", pa.string(), "에이전트 유형: move, plan, applicant_management"),
    *(field(f"{name}_score", pa.float64(), f"{title} 점수(0~5)") for name, title in METRIC_TITLES.items()),
    field("weighted_total", pa.float64(), "종합 점수, 소수 둘째 자리까지 (seed 000, 4.1)"),
    field("flag_manual_review", pa.bool_(), "수기 확인 필요 여부 (seed 000, 4.2)"),
    *(field(f"{name}_reason", pa.string(), f"{title} 판단 근거") for name, title in METRIC_TITLES.items()),
    # The rest.
    field("weight_coverage", pa.float64(), "종합 점수에 들어간 가중치의 합(0~1)"),
    field("manual_review_reasons", pa.list_(pa.string()), "수기 확인이 필요한 까닭의 코드"),
    field("rounds", pa.int64(), "실행 수"),
    field("rooms", pa.int64(), "일관성을 비교할 수 있는 독립된 방의 수"),
    field("unanswered", pa.int64(), "에러 또는 빈 응답인 실행 수"),
    field("latency_class", pa.string(), "SINGLE(단일 도구 호출) 또는 MULTI(복수)"),
    field("speed_single", pa.float64(), "응답 속도 점수(단일). 복수 호출 질의는 NULL"),
    field("speed_multi", pa.float64(), "응답 속도 점수(복수). 단일 호출 질의는 NULL"),
    field("has_ground_truth", pa.bool_(), "정답 수치가 있는지"),
    *(
        field(f"mapping_{grade}", pa.int64(), f"조건 매핑이 '{title}'인 실행 수")
        for grade, title in MAPPING_TITLES.items()
    ),
    *pass_columns(PASS_MIN_POINTS),
    field("mode_ratio", pa.float64(), "가장 흔한 숫자 조합으로 답한 방의 비율; 비교할 수 없으면 NULL"),
)


def query_row(query: AqbQuery) -> Mapping[str, Any]:
    """The row of `queries.parquet`. Means are the nearest floats, the total has two decimals."""
    scores = query.scores
    speed = as_float(scores["speed"].points)
    return {
        "query_id": query.query_id,
        "query_text": query.query_text,
        "agent_type": query.agent_type,
        **{f"{name}_score": as_float(scores[name].points) for name in METRIC_TITLES},
        "weighted_total": total_value(query),
        "flag_manual_review": bool(query.manual_review_reasons),
        **{f"{name}_reason": scores[name].reason for name in METRIC_TITLES},
        "weight_coverage": query.total.coverage_percent / 100,
        "manual_review_reasons": list(query.manual_review_reasons),
        "rounds": len(query.executions),
        "rooms": query.rooms,
        "unanswered": query.unanswered,
        "latency_class": query.latency_class,
        "speed_single": speed if query.latency_class is LatencyClass.SINGLE else None,
        "speed_multi": speed if query.latency_class is LatencyClass.MULTI else None,
        "has_ground_truth": query.has_ground_truth,
        **{f"mapping_{grade}": query.mapping[grade] for grade in MappingGrade},
        **pass_values(query.repeats),
        "mode_ratio": as_float(query.repeats.mode_ratio),
    }


def query_json(query: AqbQuery) -> Mapping[str, Any]:
    """The object of `scores.json`, as seed 000, 6.2 shows it; whole points are whole numbers, NULLs null."""
    return {
        "query_id": query.query_id,
        "query_text": query.query_text,
        "agent_type": query.agent_type,
        "scores": {
            name: {"score": _json_number(query.scores[name].points), "reason": query.scores[name].reason}
            for name in METRIC_TITLES
        },
        "weighted_total": total_value(query),
        "flag_manual_review": bool(query.manual_review_reasons),
    }


def total_value(query: AqbQuery) -> float | None:
    """The weighted total as tables and reports hold it."""
    value = query.total.value
    return None if value is None else float(value)


def _json_number(points: Exact | None) -> float | None:
    if points is None:
        return None
    return int(points) if Fraction(points).denominator == 1 else float(rounded(points, 2))
