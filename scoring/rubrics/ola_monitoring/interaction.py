"""The I-Score: how well an answer meets its question. Source: seed 002, 6.

One row per scored turn, after the columns of `question` and `answer`. Points are INT64 and never NULL.
"""

from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring.answer import A_GRADE
from scoring.rubrics.ola_monitoring.metrics import answer_has, question_has
from scoring.rubrics.ola_monitoring.question import Q_TIER
from scoring.rules.expressions import AllOf, Case, Column, Definition, IsIn, Sum, Value, When, banded, points

I_SCORE = Column("i_score")

INTERACTION_SCORE = (
    Definition(
        "i_match",
        Case(
            tuple(
                When(
                    AllOf((IsIn(Q_TIER, tiers), IsIn(A_GRADE, grades))),
                    Value(earned),
                    f"질문 {'/'.join(tiers)} · 답변 {'/'.join(grades)}",
                )
                for tiers, grades, earned in t.MATCH_POINTS
            ),
            Value(t.MATCH_OTHER_POINTS),
        ),
        "질문-답변 매칭",
        "seed 002, 6.2 (1)",
    ),
    Definition(
        "i_ratio",
        banded(Column("length_ratio"), t.LENGTH_RATIO_POINTS, "답변/질문 길이 비율"),
        "길이 비율 적정성",
        "seed 002, 6.2 (2)",
    ),
    Definition(
        "i_information",
        Sum(
            (
                # The seed's pattern here ends in an optional 원, which never changes whether it is found.
                points(
                    t.INFORMATION_POINTS,
                    AllOf((question_has(*t.PRICE_WORDS), Column("answer_has_number"))),
                    "주가를 물었고 숫자로 답함",
                ),
                points(
                    t.INFORMATION_POINTS,
                    AllOf((question_has(*t.NEWS_WORDS), answer_has(*t.NEWS_ANSWER_WORDS))),
                    "뉴스를 물었고 뉴스로 답함",
                ),
                points(
                    t.INFORMATION_POINTS,
                    AllOf((question_has(*t.EARNINGS_WORDS), answer_has(*t.EARNINGS_ANSWER_WORDS))),
                    "실적을 물었고 실적으로 답함",
                ),
            )
        ),
        "정보 대응도",
        "seed 002, 6.2 (3)",
    ),
    Definition(
        "i_score", Sum(tuple(map(Column, ("i_match", "i_ratio", "i_information")))), "상호작용 점수", "seed 002, 6.2"
    ),
)
