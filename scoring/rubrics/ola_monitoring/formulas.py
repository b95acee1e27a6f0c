"""The scores of `ola-monitoring`: metrics, Q-, A- and I-Score, tier and grade. `outcome` says what they come to.

One row per scored turn. `user_input` and `llm_response` are never NULL here (such rows are excluded before); tokens may
be. Points are INT64 and never NULL. Numbers and regexes stand in `thresholds`.
"""

from __future__ import annotations

from scoring.expressions import (
    AllOf,
    AnyOf,
    Case,
    Column,
    Compare,
    ContainsAny,
    Count,
    Definition,
    Expression,
    IsIn,
    Length,
    Matches,
    Not,
    Ratio,
    Sum,
    Value,
    When,
    banded,
    points,
)
from scoring.rubrics.ola_monitoring import thresholds as t

QUESTION, ANSWER = Column("user_input"), Column("llm_response")
INPUT_TOKENS, OUTPUT_TOKENS = Column("input_tokens"), Column("output_tokens")
QUESTION_LENGTH, ANSWER_LENGTH = Column("question_length"), Column("answer_length")
Q_SCORE, A_SCORE, I_SCORE = Column("q_score"), Column("a_score"), Column("i_score")
Q_TIER, A_GRADE = Column("q_tier"), Column("a_grade")

ANSWER_LINE_BREAKS = Sum((Column("answer_lines"), Value(-1)))


def _question_has(*words: str) -> ContainsAny:
    return ContainsAny(QUESTION, words)


def _answer_has(*words: str) -> ContainsAny:
    return ContainsAny(ANSWER, words)


def first_true(branches: list[tuple[Expression, str]], otherwise: str | None) -> Case:
    """The name of the first condition that is true."""
    return Case(tuple(When(condition, Value(name)) for condition, name in branches), Value(otherwise))


METRICS = (
    Definition("question_length", Length(QUESTION), "질문 길이(자)", "seed 002, 1.2 M1"),
    Definition("answer_length", Length(ANSWER), "답변 길이(자)", "seed 002, 1.2 M2"),
    Definition("token_ratio", Ratio(OUTPUT_TOKENS, INPUT_TOKENS), "출력/입력 토큰 비율", "seed 002, 1.2 M5"),
    Definition("length_ratio", Ratio(ANSWER_LENGTH, QUESTION_LENGTH), "답변/질문 길이 비율", "seed 002, 1.2 M6"),
    Definition("answer_lines", Sum((Count(ANSWER, t.LINE_BREAK), Value(1))), "답변 줄 수", "seed 002, 1.2 M7"),
    Definition("question_has_stock_code", Matches(QUESTION, t.STOCK_CODE), "질문에 종목코드", "seed 002, 1.2 M8"),
    Definition("answer_has_table", Matches(ANSWER, t.TABLE), "답변에 표", "seed 002, 1.2 M9"),
    Definition("answer_has_number", Matches(ANSWER, t.GROUPED_NUMBER), "답변에 숫자", "seed 002, 1.2 M10"),
    Definition("answer_has_date", Matches(ANSWER, t.YEAR_MONTH), "답변에 날짜", "seed 002, 1.2 M11"),
    Definition("answer_has_bold", Matches(ANSWER, t.BOLD), "답변에 볼드", "seed 002, 1.2 M12"),
    Definition("answer_has_apology", Matches(ANSWER, t.OPENING_APOLOGY), "사과로 시작", "seed 002, 1.2 M13"),
    Definition(
        "question_category",
        first_true(
            [
                (_question_has(*t.ANALYSIS_WORDS), "analysis"),
                *((_question_has(*words), category) for category, words in t.CATEGORY_WORDS),
                (_question_has(*t.COMPARE_WORDS), "comparison"),
                (_question_has(*t.REQUEST_WORDS), "general"),
                (Column("question_has_stock_code"), "stock_code"),
                (Compare(QUESTION_LENGTH, "<=", Value(t.NAME_ONLY_MAX_LENGTH)), "name_only"),
            ],
            otherwise="other",
        ),
        "질문 유형",
        "seed 002, 1.2 M14; SPEC 1.3",
    ),
)

QUESTION_SCORE = (
    Definition(
        "q_specificity",
        Sum(
            (
                points(t.SPECIFICITY_STOCK_CODE_POINTS, Column("question_has_stock_code"), "종목코드 6자리"),
                points(t.SPECIFICITY_COMPANY_NAME_POINTS, Matches(QUESTION, t.COMPANY_NAME), "종목명으로 보이는 낱말"),
                points(t.SPECIFICITY_INDICATOR_POINTS, _question_has(*t.INDICATOR_WORDS), "구체적 지표"),
            )
        ),
        "구체성",
        "seed 002, 4.2 (1)",
    ),
    Definition(
        "q_intent",
        Case(
            (
                When(_question_has(*t.ANALYSIS_WORDS), Value(t.INTENT_ANALYSIS_POINTS), "분석 키워드"),
                When(_question_has(*t.TOPIC_WORDS), Value(t.INTENT_TOPIC_POINTS), "정보 유형 키워드"),
                When(_question_has(*t.REQUEST_WORDS), Value(t.INTENT_REQUEST_POINTS), "일반 요청 키워드"),
                When(_question_has(*t.QUESTION_MARKS), Value(t.INTENT_QUESTION_MARK_POINTS), "의문문"),
                When(
                    Compare(QUESTION_LENGTH, "<=", Value(t.NAME_ONLY_MAX_LENGTH)),
                    Value(t.INTENT_NAME_ONLY_POINTS),
                    "10자 이하 단순 입력",
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
                        When(_question_has(*t.VAGUE_PERIOD_WORDS), Value(t.CONTEXT_VAGUE_PERIOD_POINTS), "대략적 기간"),
                    ),
                    Value(0),
                ),
                points(t.CONTEXT_COMPARE_POINTS, _question_has(*t.COMPARE_WORDS), "비교 요청"),
                points(
                    t.CONTEXT_COMBINED_POINTS,
                    AnyOf(tuple(AllOf((_question_has(a), _question_has(b))) for a, b in t.COMBINED_TOPICS)),
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
                            "한글이 절반 이상",
                        ),
                    ),
                    Value(t.FORMALITY_OTHER_SCRIPT_POINTS),
                    "한글이 절반 미만",
                ),
                points(t.FORMALITY_NO_JAMO_POINTS, Not(Matches(QUESTION, t.LOOSE_JAMO)), "초성·자모 나열 없음"),
                points(t.FORMALITY_NO_ABUSE_POINTS, Not(_question_has(*t.ABUSE_WORDS)), "비속어 없음"),
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
                points(t.DATA_MARKET_POINTS, _answer_has(*t.MARKET_WORDS), "시장 언급"),
                points(t.DATA_UNIT_POINTS, _answer_has(*t.UNIT_SIGNS), "원·% 단위"),
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
                When(_answer_has(t.TOO_BROAD_PHRASE), Value(t.NON_REFUSAL_REFUSED_POINTS), "범위가 넓어 거절"),
                When(_answer_has(t.NOT_UNDERSTOOD_PHRASE), Value(t.NON_REFUSAL_REFUSED_POINTS), "이해 불가 거절"),
                When(
                    AllOf(
                        (
                            _answer_has(t.APOLOGY_WORD),
                            Compare(OUTPUT_TOKENS, "<", Value(t.SHORT_APOLOGY_BELOW_TOKENS)),
                        )
                    ),
                    Value(t.NON_REFUSAL_SHORT_APOLOGY_POINTS),
                    "사과하는 짧은 답변",
                ),
                When(
                    AllOf(
                        (
                            _answer_has(t.NO_DATA_WORD),
                            Compare(OUTPUT_TOKENS, ">=", Value(t.SUBSTANTIAL_MIN_TOKENS)),
                        )
                    ),
                    Value(t.NON_REFUSAL_NO_DATA_POINTS),
                    "데이터 없음을 알리되 대안 제시",
                ),
                When(
                    AllOf(
                        (
                            _answer_has(t.APOLOGY_WORD),
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
                    AllOf((_question_has(*t.PRICE_WORDS), Column("answer_has_number"))),
                    "주가를 물었고 숫자로 답함",
                ),
                points(
                    t.INFORMATION_POINTS,
                    AllOf((_question_has(*t.NEWS_WORDS), _answer_has(*t.NEWS_ANSWER_WORDS))),
                    "뉴스를 물었고 뉴스로 답함",
                ),
                points(
                    t.INFORMATION_POINTS,
                    AllOf((_question_has(*t.EARNINGS_WORDS), _answer_has(*t.EARNINGS_ANSWER_WORDS))),
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

SCORES = (*METRICS, *QUESTION_SCORE, *ANSWER_SCORE, *INTERACTION_SCORE)
