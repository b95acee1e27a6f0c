"""What a day of scored rows adds up to: KPIs with their targets, means, and counts.

Source: seed 002, 10.2; SPEC 1.4.
"""

from __future__ import annotations

from scoring.chat.kpis import Crosstab, Measure, Quotient
from scoring.chat.rubric import AlertRule
from scoring.figures import Target
from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring.answer import A_GRADE
from scoring.rubrics.ola_monitoring.outcome import (
    ALERT_RULES,
    EXCLUDED_ROW_RULES,
    FINAL_GRADE,
    GOOD_QUESTION_BAD_ANSWER,
)
from scoring.rubrics.ola_monitoring.question import Q_TIER
from scoring.rules.expressions import Column, Compare, Expression, IsIn, IsNull, Not, Tenths, Value, points


def _one(condition: Expression) -> Expression:
    return points(1, condition, "")


def _alert_measures(rules: tuple[AlertRule, ...]) -> tuple[Measure, ...]:
    return (
        *(
            Measure(f"{level}_rows", _one(Compare(Column("alert_level"), "=", Value(level))), title)
            for level, title in (("critical", "Critical 알림이 있는 행"), ("warning", "Warning 알림이 있는 행"))
            if any(rule.level == level for rule in rules)
        ),
        *(Measure(f"alert_{rule.id}", _one(rule.condition), f"알림 {rule.id}: {rule.title}") for rule in rules),
    )


QUOTIENTS = (
    Quotient(
        "answer_excellent_rate",
        _one(IsIn(A_GRADE, t.GOOD_GRADES)),
        "답변 우수율",
        "seed 002, 10.2",
        target=Target(">=", t.ANSWER_EXCELLENT_RATE_MIN),
    ),
    Quotient(
        "failure_rate",
        _one(Compare(A_GRADE, "=", Value("F"))),
        "실패율",
        "seed 002, 10.2",
        target=Target("<=", t.FAILURE_RATE_MAX),
    ),
    Quotient(
        "gold_mine_rate",
        _one(GOOD_QUESTION_BAD_ANSWER),
        "GOLD MINE 비율",
        "seed 002, 10.2",
        target=Target("<=", t.GOLD_MINE_RATE_MAX),
    ),
    Quotient(
        "mean_final_score",
        Tenths(Column("final_score")),
        "평균 Final Score",
        "seed 002, 10.2",
        scale=10,
        target=Target(">=", t.MEAN_FINAL_SCORE_MIN),
    ),
    Quotient("mean_q_score", Column("q_score"), "평균 질문 점수", "SPEC 1.4"),
    Quotient("mean_a_score", Column("a_score"), "평균 답변 점수", "SPEC 1.4"),
    Quotient("mean_i_score", Column("i_score"), "평균 상호작용 점수", "SPEC 1.4"),
)

MEASURES = (
    *(
        Measure(f"final_grade_{grade.lower()}", _one(Compare(FINAL_GRADE, "=", Value(grade))), f"종합 등급 {grade}")
        for grade in ("STAR", "A", "B", "C", "F")
    ),
    *(
        Measure(f"a_grade_{grade.lower()}", _one(Compare(A_GRADE, "=", Value(grade))), f"답변 등급 {grade}")
        for grade in ("A", "B", "C", "D", "F")
    ),
    *(
        Measure(f"q_tier_{tier.lower()}", _one(Compare(Q_TIER, "=", Value(tier))), f"질문 등급 {tier}")
        for tier in ("S", "A", "B", "C", "D")
    ),
    Measure("failures", _one(Not(IsNull(Column("failure_type")))), "실패 유형이 있는 행"),
    *_alert_measures(ALERT_RULES),
)

EXCLUDED_MEASURES = _alert_measures(EXCLUDED_ROW_RULES)

CROSSTAB = Crosstab("q_tier", "a_grade", ("q_score", "a_score"))
