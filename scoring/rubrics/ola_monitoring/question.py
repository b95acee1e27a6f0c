"""The Q-Score: how well a question is asked, and its tier. Source: seed 002, 4.

One row per scored turn, after the columns of `metrics`. Points are INT64 and never NULL.
"""

from scoring.markdown import percent
from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring.metrics import QUESTION, QUESTION_LENGTH, question_has
from scoring.rules.expressions import (
    AllOf,
    AnyOf,
    Case,
    Column,
    Compare,
    Count,
    Definition,
    Matches,
    Not,
    Ratio,
    Sum,
    Value,
    When,
    banded,
    points,
)

Q_SCORE, Q_TIER = Column("q_score"), Column("q_tier")
_HANGUL_SHARE = "절반" if t.HANGUL_MIN_SHARE == 1 / 2 else percent(t.HANGUL_MIN_SHARE, 0)

QUESTION_SCORE = (
    Definition(
        "q_specificity",
        Sum(
            (
                points(t.SPECIFICITY_STOCK_CODE_POINTS, Column("question_has_stock_code"), "종목코드 6자리"),
                points(t.SPECIFICITY_COMPANY_NAME_POINTS, Matches(QUESTION, t.COMPANY_NAME), "종목명으로 보이는 낱말"),
                points(t.SPECIFICITY_INDICATOR_POINTS, question_has(*t.INDICATOR_WORDS), "구체적 지표"),
            )
        ),
        "구체성",
        "seed 002, 4.2 (1)",
    ),
    Definition(
        "q_intent",
        Case(
            (
                When(question_has(*t.ANALYSIS_WORDS), Value(t.INTENT_ANALYSIS_POINTS), "분석 키워드"),
                When(question_has(*t.TOPIC_WORDS), Value(t.INTENT_TOPIC_POINTS), "정보 유형 키워드"),
                When(question_has(*t.REQUEST_WORDS), Value(t.INTENT_REQUEST_POINTS), "일반 요청 키워드"),
                When(question_has(*t.QUESTION_MARKS), Value(t.INTENT_QUESTION_MARK_POINTS), "의문문"),
                When(
                    Compare(QUESTION_LENGTH, "<=", Value(t.NAME_ONLY_MAX_LENGTH)),
                    Value(t.INTENT_NAME_ONLY_POINTS),
                    f"{t.NAME_ONLY_MAX_LENGTH}자 이하 단순 입력",
                ),
            ),
            Value(t.INTENT_OTHER_POINTS),
            "의도 키워드 없음",
        ),
        "의도 명확성",
        "seed 002, 4.2 (2)",
    ),
    Definition(
        "q_context",
        Sum(
            (
                Case(
                    (
                        When(Matches(QUESTION, t.EXACT_PERIOD), Value(t.CONTEXT_EXACT_PERIOD_POINTS), "구체적 기간"),
                        When(question_has(*t.VAGUE_PERIOD_WORDS), Value(t.CONTEXT_VAGUE_PERIOD_POINTS), "대략적 기간"),
                    ),
                    Value(0),
                ),
                points(t.CONTEXT_COMPARE_POINTS, question_has(*t.COMPARE_WORDS), "비교 요청"),
                points(
                    t.CONTEXT_COMBINED_POINTS,
                    AnyOf(tuple(AllOf((question_has(a), question_has(b))) for a, b in t.COMBINED_TOPICS)),
                    "복합 요청",
                ),
            )
        ),
        "맥락 풍부성",
        "seed 002, 4.2 (3)",
    ),
    Definition(
        "q_length",
        banded(QUESTION_LENGTH, t.QUESTION_LENGTH_POINTS, "질문 길이"),
        "길이 적정성",
        "seed 002, 4.2 (4)",
    ),
    Definition(
        "q_formality",
        Sum(
            (
                Case(
                    (
                        When(
                            Compare(
                                Ratio(Count(QUESTION, t.HANGUL_SYLLABLE), QUESTION_LENGTH),
                                ">=",
                                Value(t.HANGUL_MIN_SHARE),
                            ),
                            Value(t.FORMALITY_HANGUL_POINTS),
                            f"한글이 {_HANGUL_SHARE} 이상",
                        ),
                    ),
                    Value(t.FORMALITY_OTHER_SCRIPT_POINTS),
                    f"한글이 {_HANGUL_SHARE} 미만",
                ),
                points(t.FORMALITY_NO_JAMO_POINTS, Not(Matches(QUESTION, t.LOOSE_JAMO)), "초성·자모 나열 없음"),
                points(t.FORMALITY_NO_ABUSE_POINTS, Not(question_has(*t.ABUSE_WORDS)), "비속어 없음"),
            )
        ),
        "형식 적정성",
        "seed 002, 4.2 (5)",
    ),
    Definition(
        "q_score",
        Sum(tuple(map(Column, ("q_specificity", "q_intent", "q_context", "q_length", "q_formality")))),
        "질문 점수",
        "seed 002, 4.1",
    ),
    Definition("q_tier", banded(Q_SCORE, t.Q_TIERS, "질문 점수"), "질문 등급", "seed 002, 4.3"),
)
