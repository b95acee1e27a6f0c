"""A scored query as a row of `queries.parquet` and as JSON.

Source: seed 000, 6.1 and 6.2; SPEC 4.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa

from scoring.rubrics.aqb.queries import METRICS, AqbQuery
from scoring.rubrics.aqb.thresholds import MAPPING_TITLES, PASS_MIN_POINTS, WEIGHTS, MappingGrade
from scoring.rules.arrow_types import field
from scoring.stats.exact import Exact, rounded
from scoring.testruns.query_columns import (
    COVERAGE,
    FLAG,
    GROUPS,
    IDENTITY,
    LATENCY_CLASS,
    REVIEW_REASONS,
    ROUNDS,
    TOTAL_MISSING,
    QueryColumn,
    mode_column,
    pass_columns,
    reason_column,
    score_column,
    total_column,
)

_TITLES = {metric.name: metric.title for metric in METRICS}
# Metrics in the order of the seed's tables, as in its weights, which is not that of `scores.parquet`.
METRIC_TITLES = {name: _TITLES[name] for name in WEIGHTS.percents}

OWN_COLUMNS = (
    field("mapping_grade", pa.string(), "조건 매핑: exact, extra, partial, none, unknown"),
    field("accuracy_grade", pa.string(), "도구 사용: PASS, PARTIAL, FAIL. 판단할 수 없으면 빈칸"),
    field("numbers_grade", pa.string(), "정답 수치 비교: exact, within, wrong. 정답 수치가 없으면 빈칸"),
    field("ttft_pass", pa.string(), "TTFT: PASS, FAIL. 측정하지 않았으면 빈칸"),
)


def _speed_of(latency_class: str) -> Callable[[AqbQuery], Exact | None]:
    return lambda query: query.scores["speed"].points if query.latency_class == latency_class else None


def _mapped(grade: MappingGrade) -> Callable[[AqbQuery], int]:
    return lambda query: query.mapping[grade]


QUERY_COLUMNS = (
    # The fifteen of seed 6.1, in its order.
    *IDENTITY,
    *(score_column(name, f"{title}: 0~5점") for name, title in METRIC_TITLES.items()),
    total_column("종합 점수: 소수 둘째 자리까지"),
    FLAG,
    *(reason_column(name, title) for name, title in METRIC_TITLES.items()),
    # The rest.
    COVERAGE,
    REVIEW_REASONS,
    ROUNDS,
    QueryColumn("rooms", pa.int64(), "비교할 방 수: 답변의 일관성을 비교할 수 있는 방"),
    QueryColumn("unanswered", pa.int64(), "답하지 못한 실행 수: 실패하거나 빈 응답"),
    LATENCY_CLASS,
    QueryColumn("speed_single", pa.float64(), "응답 속도(단일): 복수 도구 호출 질의는 빈칸", _speed_of("SINGLE")),
    QueryColumn("speed_multi", pa.float64(), "응답 속도(복수): 단일 도구 호출 질의는 빈칸", _speed_of("MULTI")),
    QueryColumn("has_ground_truth", pa.bool_(), "정답 수치 있음: 지원자 관리 질의에 없으면 필터만으로 정확성을 채점"),
    *(
        QueryColumn(f"mapping_{grade}", pa.int64(), f"조건 매핑 {title}: 그런 실행의 수", _mapped(grade))
        for grade, title in MAPPING_TITLES.items()
    ),
    *pass_columns(PASS_MIN_POINTS),
    mode_column("같은 숫자의 비율: 가장 흔한 숫자 조합으로 답한 방, 비교할 수 없으면 빈칸"),
    TOTAL_MISSING,
    QueryColumn("consistency_provisional", pa.bool_(), "잠정 일관성: 답변을 비교할 방이 3개 미만인데 낸 점수"),
    *GROUPS,
)


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
        "weighted_total": query.total.points,
        "flag_manual_review": bool(query.manual_review_reasons),
    }


def _json_number(points: Exact | None) -> float | None:
    if points is None:
        return None
    return int(points) if Fraction(points).denominator == 1 else float(rounded(points, 2))
