"""The metrics of a turn, and the conditions that the rules of `ola-monitoring` use. Source: seed 002, 1.2.

One row per scored turn. `user_input` and `llm_response` are never NULL here (such rows are excluded before); tokens may
be, and so may a ratio. Numbers and regexes are in `thresholds`.
"""

from scoring.chat.standard_rubric import first_true
from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rules.expressions import (
    Column,
    Compare,
    ContainsAny,
    Count,
    Definition,
    Length,
    Matches,
    Ratio,
    Sum,
    Value,
)

QUESTION, ANSWER = Column("user_input"), Column("llm_response")
# Source: seed 002, 1.2 M4; seed 002, 1.2 M3
INPUT_TOKENS, OUTPUT_TOKENS = Column("input_tokens"), Column("output_tokens")
QUESTION_LENGTH, ANSWER_LENGTH = Column("question_length"), Column("answer_length")


def question_has(*words: str) -> ContainsAny:
    """Whether the question has one of the words."""
    return ContainsAny(QUESTION, words)


def answer_has(*words: str) -> ContainsAny:
    """Whether the answer has one of the words."""
    return ContainsAny(ANSWER, words)


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
                (question_has(*t.ANALYSIS_WORDS), "analysis"),
                *((question_has(*words), category) for category, words in t.CATEGORY_WORDS),
                (question_has(*t.COMPARE_WORDS), "comparison"),
                (question_has(*t.REQUEST_WORDS), "general"),
                (Column("question_has_stock_code"), "stock_code"),
                (Compare(QUESTION_LENGTH, "<=", Value(t.NAME_ONLY_MAX_LENGTH)), "name_only"),
            ],
            otherwise="other",
        ),
        "질문 유형",
        "seed 002, 1.2 M14; SPEC 1.3",
    ),
)
