"""The aggregates of a day of scored rows: KPIs with their targets, means, and counts.

Source: seed 002, 10.2; SPEC 1.4.
"""

from scoring.chat.kpis import Crosstab, FramedPairs, Quotient
from scoring.chat.standard_rubric import one_if
from scoring.figures import Target
from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring.outcome import GOOD_QUESTION_BAD_ANSWER, SAYS_NO_DATA
from scoring.rubrics.ola_monitoring.scores import A_GRADE
from scoring.rules.expressions import Column, Compare, IsIn, Tenths, Value

KPIS = (
    Quotient(
        "answer_excellent_rate",
        one_if(IsIn(A_GRADE, t.GOOD_GRADES)),
        "답변 우수율",
        "seed 002, 10.2",
        target=Target(">=", t.ANSWER_EXCELLENT_RATE_MIN),
    ),
    Quotient(
        "failure_rate",
        one_if(Compare(A_GRADE, "=", Value("F"))),
        "실패율",
        "seed 002, 10.2",
        target=Target("<=", t.FAILURE_RATE_MAX),
    ),
    Quotient(
        "gold_mine_rate",
        one_if(GOOD_QUESTION_BAD_ANSWER),
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
NO_DATA_RATE = Quotient(
    "answer_says_no_data_rate", one_if(Column(SAYS_NO_DATA.name)), SAYS_NO_DATA.title, SAYS_NO_DATA.source
)

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
