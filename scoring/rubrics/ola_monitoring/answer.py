"""The A-Score: how much an answer delivers, and its grade. Source: seed 002, 5.

One row per scored turn, after the columns of `metrics`. Points are INT64 and never NULL.
"""

from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring.metrics import ANSWER, OUTPUT_TOKENS, answer_has
from scoring.rules.expressions import (
    AllOf,
    Case,
    Column,
    Compare,
    Definition,
    Matches,
    Sum,
    Value,
    When,
    banded,
    points,
)

A_SCORE, A_GRADE = Column("a_score"), Column("a_grade")
ANSWER_LINE_BREAKS = Sum((Column("answer_lines"), Value(-1)))

ANSWER_SCORE = (
    Definition("a_volume", banded(OUTPUT_TOKENS, t.VOLUME_POINTS, "출력 토큰"), "응답량", "seed 002, 5.2 (1)"),
    Definition(
        "a_structure",
        Sum(
            (
                points(t.STRUCTURE_TABLE_POINTS, Column("answer_has_table"), "표"),
                points(t.STRUCTURE_BOLD_POINTS, Column("answer_has_bold"), "볼드"),
                points(t.STRUCTURE_BULLET_POINTS, Matches(ANSWER, t.BULLET), "불릿"),
                banded(ANSWER_LINE_BREAKS, t.LINE_BREAK_POINTS, "줄바꿈 수"),
                points(t.STRUCTURE_SECTION_POINTS, Matches(ANSWER, t.SECTION), "섹션 구분"),
            )
        ),
        "구조화",
        "seed 002, 5.2 (2)",
    ),
    Definition(
        "a_data",
        Sum(
            (
                points(t.DATA_NUMBER_POINTS, Column("answer_has_number"), "천 단위 숫자"),
                points(t.DATA_DATE_POINTS, Matches(ANSWER, t.FULL_DATE), "연-월-일 날짜"),
                points(t.DATA_MARKET_POINTS, answer_has(*t.MARKET_WORDS), "시장 언급"),
                points(t.DATA_UNIT_POINTS, answer_has(*t.UNIT_SIGNS), "원·% 단위"),
                points(t.DATA_STOCK_CODE_POINTS, Matches(ANSWER, t.STOCK_CODE), "종목코드"),
            )
        ),
        "데이터 밀도",
        "seed 002, 5.2 (3)",
    ),
    Definition(
        "a_efficiency",
        # Input tokens of 0 make the ratio NULL, which earns the seed's explicit 0.
        banded(Column("token_ratio"), t.EFFICIENCY_POINTS, "출력/입력 토큰 비율"),
        "토큰 효율",
        "seed 002, 5.2 (4)",
    ),
    Definition(
        "a_non_refusal",
        Case(
            (
                When(Matches(ANSWER, t.TEMPLATE_REFUSAL), Value(t.NON_REFUSAL_REFUSED_POINTS), "고정 템플릿 거절"),
                When(answer_has(t.TOO_BROAD_PHRASE), Value(t.NON_REFUSAL_REFUSED_POINTS), "범위가 넓어 거절"),
                When(answer_has(t.NOT_UNDERSTOOD_PHRASE), Value(t.NON_REFUSAL_REFUSED_POINTS), "이해 불가 거절"),
                When(
                    AllOf(
                        (
                            answer_has(t.APOLOGY_WORD),
                            Compare(OUTPUT_TOKENS, "<", Value(t.SHORT_APOLOGY_BELOW_TOKENS)),
                        )
                    ),
                    Value(t.NON_REFUSAL_SHORT_APOLOGY_POINTS),
                    "사과하는 짧은 답변",
                ),
                When(
                    AllOf(
                        (
                            answer_has(t.NO_DATA_WORD),
                            Compare(OUTPUT_TOKENS, ">=", Value(t.SUBSTANTIAL_MIN_TOKENS)),
                        )
                    ),
                    Value(t.NON_REFUSAL_NO_DATA_POINTS),
                    "데이터 없음을 알리되 대안 제시",
                ),
                When(
                    AllOf(
                        (
                            answer_has(t.APOLOGY_WORD),
                            Compare(OUTPUT_TOKENS, ">=", Value(t.SUBSTANTIAL_MIN_TOKENS)),
                        )
                    ),
                    Value(t.NON_REFUSAL_LONG_APOLOGY_POINTS),
                    "사과하지만 내용 있음",
                ),
            ),
            Value(t.NON_REFUSAL_POINTS),
            "거절 표현 없음",
        ),
        "비거절",
        "seed 002, 5.2 (5)",
    ),
    Definition(
        "a_score",
        Sum(tuple(Column(name) for name, _ in t.COMPONENT_MAXIMA)),
        "답변 점수",
        "seed 002, 5.1",
    ),
    Definition("a_grade", banded(A_SCORE, t.A_GRADES, "답변 점수"), "답변 등급", "seed 002, 5.3"),
)
