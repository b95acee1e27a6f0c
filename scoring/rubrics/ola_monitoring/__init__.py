"""`ola-monitoring`: production turns of a stock-analysis chatbot, scored by rule alone. Source: seed 002; SPEC 1."""

from dataclasses import replace

import polars as pl

from scoring.chat.rubric import EvidenceCheck, EvidenceReport
from scoring.chat.standard_rubric import standard_rubric
from scoring.rubrics.ola_monitoring import kpis, outcome, thresholds, titles


def _evidence(rows: pl.LazyFrame, period: str) -> EvidenceReport:
    from scoring.rubrics.ola_monitoring.evidence import evidence_report  # one command alone needs it

    return evidence_report(rows, period)


_STANDARD = standard_rubric(
    id="ola-monitoring",
    version=thresholds.VERSION,
    title="주식 분석 챗봇 운영 모니터링",
    summary="운영 대화 전체를 규칙만으로 채점합니다(LLM 호출 없음): 질문·답변·상호작용 점수, 종합 등급, 알림.",
    columns=outcome.COLUMNS,
    alerts=outcome.ALERTS,
    alert_source="seed 002, 10.1; SPEC 1.3",
    cause=outcome.CAUSE,
    total="final_score",
    parts=titles.PARTS,
    scales=(titles.FINAL_GRADES, titles.Q_TIERS, titles.A_GRADES),
    failure=titles.FAILURES,
    category=titles.CATEGORIES,
    kept_grades=thresholds.KEPT_TEXT_GRADES,
    kpis=kpis.KPIS,
    crosstab=kpis.CROSSTAB,
    later_columns=(outcome.SAYS_NO_DATA,),
    later_kpis=(kpis.NO_DATA_RATE,),
)
RUBRIC = replace(_STANDARD, evidence=EvidenceCheck(_STANDARD.scores_schema, _evidence), stocks=True)
