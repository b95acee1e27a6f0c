"""The Q-, A- and I-Score: how well a question is asked, how much an answer delivers, how well it meets its question.

One row per scored turn, after the columns of `metrics`. Points are INT64 and never NULL.
Source: seed 002, 4 to 6.
"""

from scoring.markdown import percent
from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring.metrics import (
    ANSWER,
    OUTPUT_TOKENS,
    QUESTION,
    QUESTION_LENGTH,
    answer_has,
    question_has,
)
from scoring.rules.expressions import (
    AllOf,
    AnyOf,
    Case,
    Column,
    Compare,
    Count,
    Definition,
    IsIn,
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

A_SCORE, A_GRADE = Column("a_score"), Column("a_grade")
ANSWER_LINE_BREAKS = Sum((Column("answer_lines"), Value(-1)))
_IS_SHORT = Compare(OUTPUT_TOKENS, "<", Value(t.SHORT_APOLOGY_BELOW_TOKENS))
_IS_SUBSTANTIAL = Compare(OUTPUT_TOKENS, ">=", Value(t.SUBSTANTIAL_MIN_TOKENS))

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
                    AllOf((answer_has(t.APOLOGY_WORD), _IS_SHORT)),
                    Value(t.NON_REFUSAL_SHORT_APOLOGY_POINTS),
                    "사과하는 짧은 답변",
                ),
                When(
                    AllOf((answer_has(t.NO_DATA_WORD), _IS_SUBSTANTIAL)),
                    Value(t.NON_REFUSAL_NO_DATA_POINTS),
                    "데이터 없음을 알리되 대안 제시",
                ),
                When(
                    AllOf((answer_has(t.APOLOGY_WORD), _IS_SUBSTANTIAL)),
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
                # The seed's pattern here ends in an optional 원, which never changes whether it matches.
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
