"""What a day of scored rows adds up to: KPIs with their targets, means, and counts.

Source: seed 002, 10.2; SPEC 1.4.
"""

from itertools import combinations

from scoring.chat.kpis import Crosstab, FramedPairs, Measure, Quotient
from scoring.chat.rubric import AlertRule
from scoring.figures import Target
from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring import titles
from scoring.rubrics.ola_monitoring.outcome import (
    ALERT_RULES,
    EXCLUDED_ROW_RULES,
    GOOD_QUESTION_BAD_ANSWER,
    SAYS_NO_DATA,
)
from scoring.rubrics.ola_monitoring.scores import A_GRADE
from scoring.rules.expressions import AllOf, Column, Compare, Expression, IsIn, IsNull, Not, Tenths, Value, points


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


NO_DATA_RATE = Quotient(
    "answer_says_no_data_rate", _one(Column(SAYS_NO_DATA.name)), SAYS_NO_DATA.title, SAYS_NO_DATA.source
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
    NO_DATA_RATE,
)

# One cause makes one page: rules whose rows are mostly the same are told together. Source: SPEC 8.
SHARED_ROWS = tuple(
    Measure(
        f"alerts_{first.id}_and_{second.id}",
        _one(AllOf((first.condition, second.condition))),
        f"알림 {first.id}와 {second.id}에 모두 해당하는 행",
    )
    for first, second in combinations([rule for rule in ALERT_RULES if rule.level == "critical"], 2)
)

MEASURES = (
    *(
        Measure(scale.count_column(code), _one(Compare(Column(scale.column), "=", Value(code))), f"{title} {code}")
        for scale, title in (
            (titles.FINAL_GRADES, "종합 등급"),
            (titles.A_GRADES, "답변 등급"),
            (titles.Q_TIERS, "질문 등급"),
        )
        for code in scale.codes
    ),
    Measure("failures", _one(Not(IsNull(Column("failure_type")))), "실패 유형이 있는 행"),
    *_alert_measures(ALERT_RULES),
    *SHARED_ROWS,
)

EXCLUDED_MEASURES = _alert_measures(EXCLUDED_ROW_RULES)

_GOOD_TIERS, _BAD_GRADES, _GOOD_GRADES = map("·".join, (t.GOOD_TIERS, t.BAD_GRADES, t.GOOD_GRADES))
CROSSTAB = Crosstab(
    "q_tier",
    "a_grade",
    ("q_score", "a_score"),
    caption="질문 등급과 답변 등급의 교차표",
    note=f"답변 우수율은 답변 {_GOOD_GRADES}, 실패율은 답변 F, GOLD MINE은 좋은 질문({_GOOD_TIERS})에 나쁜 답변"
    f"({_BAD_GRADES})인 행의 비율입니다.",
    framed=FramedPairs(
        t.GOOD_TIERS,
        t.BAD_GRADES,
        f"GOLD MINE(좋은 질문 {_GOOD_TIERS}에 나쁜 답변 {_BAD_GRADES})",
        "이 질문들부터 읽고 거절 규칙과 의도 분류를 확인하세요.",
    ),
)
