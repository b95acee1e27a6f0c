"""The tables that `ola-monitoring` fills, column by column.

A column that came later stands last, behind `rubric_version`. Source: SPEC 1.3 to 1.5.
"""

import pyarrow as pa

from scoring.chat.kpi_figures import figure_fields
from scoring.chat.kpis import measure_fields, quotient_fields
from scoring.chat.row_ids import SOURCE_ID
from scoring.rubrics.ola_monitoring import kpis, outcome
from scoring.rules.arrow_types import TIMESTAMP, definition_fields, field

_SCORE_DATE = field("score_date", pa.date32(), "설정한 시간대의 날짜")
_TENANT = field("tenant_id", pa.string(), "테넌트")
_RUBRIC = (
    field("rubric", pa.string(), "루브릭 id"),
    field("rubric_version", pa.string(), "루브릭 버전"),
)

SCORES = pa.schema(
    [
        _SCORE_DATE,
        field("row_id", pa.string(), "행의 고유 id: 어느 엔진에서나, 다시 실행해도 같음"),
        field("timestamp", TIMESTAMP, "대화 시각(UTC)"),
        _TENANT,
        field("session_id", pa.string(), "세션"),
        field("user_input", pa.string(), "질문. 알림이 있거나 C·F 등급인 행에만 남김"),
        field("llm_response", pa.string(), "답변. 알림이 있거나 C·F 등급인 행에만 남김"),
        field("input_tokens", pa.float64(), "입력 토큰 (seed 002, 1.2 M4)"),
        field("output_tokens", pa.float64(), "출력 토큰 (seed 002, 1.2 M3)"),
        *definition_fields(one for one in outcome.DEFINITIONS if one is not outcome.SAYS_NO_DATA),
        *_RUBRIC,
        *definition_fields([outcome.SAYS_NO_DATA]),
        SOURCE_ID,
    ]
)

EXCLUDED = pa.schema(
    [
        _SCORE_DATE,
        field("timestamp", TIMESTAMP, "대화 시각(UTC)"),
        _TENANT,
        field("session_id", pa.string(), "세션"),
        field("input_tokens", pa.float64(), "입력 토큰"),
        field("output_tokens", pa.float64(), "출력 토큰"),
        field("reason", pa.string(), "채점하지 않은 까닭"),
        *definition_fields(outcome.EXCLUDED_DEFINITIONS),
    ]
)

KPIS = pa.schema(
    [
        _SCORE_DATE,
        field("tenant_id", pa.string(), "테넌트. '*'는 전체, NULL은 테넌트가 없는 행"),
        field("rows", pa.int64(), "채점한 행 수(모든 비율의 분모)"),
        field("excluded", pa.int64(), "질문이나 답변이 없어 채점하지 않은 행 수"),
        field("excluded_rate", pa.float64(), "제외율: excluded / (rows + excluded)"),
        *quotient_fields(one for one in kpis.QUOTIENTS if one is not kpis.NO_DATA_RATE),
        *measure_fields(one for one in kpis.MEASURES if one not in kpis.SHARED_ROWS),
        *_RUBRIC,
        *quotient_fields([kpis.NO_DATA_RATE]),
        *measure_fields(kpis.SHARED_ROWS),
        *figure_fields(kpis.QUOTIENTS),
    ]
)

CROSSTAB = pa.schema(
    [
        _SCORE_DATE,
        field("q_tier", pa.string(), "질문 등급"),
        field("a_grade", pa.string(), "답변 등급"),
        field("cnt", pa.int64(), "행 수"),
        field("pct", pa.float64(), "그날 행의 몇 %인가"),
        field("avg_q", pa.float64(), "평균 질문 점수"),
        field("avg_a", pa.float64(), "평균 답변 점수"),
        *_RUBRIC,
    ]
)
