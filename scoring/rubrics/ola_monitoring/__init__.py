"""`ola-monitoring`: production turns of a stock-analysis chatbot, scored by rule alone. Source: seed 002; SPEC 1."""

import math

import polars as pl

from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import EvidenceCheck, EvidenceReport, ExclusionRule, RejectRule, RowRubric
from scoring.rubrics.ola_monitoring import kpis, outcome, tables, thresholds, titles
from scoring.rules.expressions import AllOf, Column, Compare, IsNull, Value

_QUESTION_IS_NULL, _ANSWER_IS_NULL = IsNull(Column("user_input")), IsNull(Column("llm_response"))


def _token_rejects(column: str, title: str) -> tuple[RejectRule, RejectRule]:
    tokens = Column(column)
    return (
        RejectRule("negative_tokens", column, Compare(tokens, "<", Value(0)), f"{title}이 음수입니다"),
        RejectRule("infinite_tokens", column, Compare(tokens, "=", Value(math.inf)), f"{title}이 무한대입니다"),
    )


def _evidence(rows: pl.LazyFrame, period: str) -> EvidenceReport:
    from scoring.rubrics.ola_monitoring.evidence import evidence_report  # one command alone needs it

    return evidence_report(rows, period)


RUBRIC = RowRubric(
    id="ola-monitoring",
    version=thresholds.VERSION,
    title="주식 분석 챗봇 운영 모니터링",
    summary="운영 대화 전체를 규칙만으로 채점합니다(LLM 호출 없음): 질문·답변·상호작용 점수, 종합 등급, 알림.",
    rejects=(
        RejectRule("timestamp_missing", "timestamp", IsNull(Column("timestamp")), "시각이 비어 있습니다"),
        *_token_rejects("input_tokens", "입력 토큰"),
        *_token_rejects("output_tokens", "출력 토큰"),
        RejectRule(
            "reserved_tenant",
            "tenant_id",
            Compare(Column("tenant_id"), "=", Value(ALL_TENANTS)),
            f"테넌트 이름 '{ALL_TENANTS}'는 전체 합계를 뜻하므로 쓸 수 없습니다",
        ),
    ),
    exclusions=(
        ExclusionRule("both_texts_null", AllOf((_QUESTION_IS_NULL, _ANSWER_IS_NULL)), "질문과 답변이 없음"),
        ExclusionRule("user_input_null", _QUESTION_IS_NULL, "질문이 없음"),
        ExclusionRule("llm_response_null", _ANSWER_IS_NULL, "답변이 없음"),
    ),
    definitions=outcome.DEFINITIONS,
    excluded_definitions=outcome.EXCLUDED_DEFINITIONS,
    flagged=outcome.FLAGGED,
    alert_rules=outcome.ALERT_RULES,
    measures=kpis.MEASURES,
    excluded_measures=kpis.EXCLUDED_MEASURES,
    quotients=kpis.QUOTIENTS,
    crosstab=kpis.CROSSTAB,
    scores_schema=tables.SCORES,
    excluded_schema=tables.EXCLUDED,
    kpis_schema=tables.KPIS,
    crosstab_schema=tables.CROSSTAB,
    total="final_score",
    parts=titles.PARTS,
    scales=(titles.FINAL_GRADES, titles.Q_TIERS, titles.A_GRADES),
    failure=titles.FAILURES,
    cause="cause",
    category=titles.CATEGORIES,
    evidence=EvidenceCheck(tables.SCORES, _evidence),
)
