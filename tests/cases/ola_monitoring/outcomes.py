"""Golden rows about question and answer together: I-Score, final score and grade, failure type, alerts, cause."""

from unicodedata import normalize

from tests.cases.ola_monitoring.answers import FINANCE, LAW, NOT_UNDERSTOOD, STOCKS, TOO_BROAD
from tests.cases.ola_monitoring.golden import Golden, answer

Turn = tuple[str, float, float]  # answer, input tokens, output tokens

# One question per tier and one answer per grade, each at the lower edge (see TIERS and GRADES).
TIER_QUESTIONS = {
    "S": "삼성전자(005930) 비교 분석미친",
    "A": "최근 3개월 비교 분석",
    "B": "삼성전자 PER",
    "C": "?미친",
    "D": "?",
}
GRADE_ANSWERS: dict[str, Turn] = {
    "A": ("답변 |가|나| **굵게** 1,234 2026-02-13 KOSPI % 005930", 8000.0, 1200.0),
    "B": ("답변 |가|나| **굵게** 1,234 %", 8000.0, 800.0),
    "C": ("답변", 8000.0, 800.0),
    "D": ("답변 1,234", 1000.0, 31.0),
    "F": ("답변", 1000.0, 61.0),
}
BEST_ANSWER: Turn = ("**1,234원** |나|2026-02-13|" + "\n" * 10 + "---코스피 005930", 6000.0, 1200.0)


def turn(name: str, source: str, user_input: str, answered: Turn, **expected: object) -> Golden:
    return Golden(name, source, expected, user_input, *answered)


# Seed 002, 6.2 (1): the eight rows of the seed's table; its ELSE 20 cannot be reached.
MATCH_TABLE = {
    "S": {"A": 40, "B": 40, "C": 25, "D": 5, "F": 5},
    "A": {"A": 40, "B": 40, "C": 25, "D": 5, "F": 5},
    "B": {"A": 35, "B": 35, "C": 25, "D": 10, "F": 10},
    "C": {"A": 35, "B": 35, "C": 25, "D": 10, "F": 10},
    "D": {"A": 30, "B": 30, "C": 15, "D": 15, "F": 15},
}
MATCH = [
    turn(
        f"question {tier}, answer {grade}",
        "seed 002, 6.2 (1)",
        TIER_QUESTIONS[tier],
        GRADE_ANSWERS[grade],
        q_tier=tier,
        a_grade=grade,
        i_match=points,
    )
    for tier, grades in MATCH_TABLE.items()
    for grade, points in grades.items()
]

RATIO = [
    turn(
        f"{answer_length} characters for {question_length}",
        "seed 002, 6.2 (2)",
        "가" * question_length,
        ("가" * answer_length, 1000.0, 300.0),
        length_ratio=ratio,
        i_ratio=points,
    )
    for question_length, answer_length, ratio, points in [
        *((10, 800, 80.0, 30), (10, 799, 79.9, 22), (10, 400, 40.0, 22), (10, 399, 39.9, 15), (10, 150, 15.0, 15)),
        *((10, 149, 14.9, 8), (10, 50, 5.0, 8), (10, 49, 4.9, 0), (1, 0, 0.0, 0), (0, 800, None, 0), (0, 0, None, 0)),
    ]
]

INFORMATION = [
    turn(f"asked {asked!r}, told {told!r}", "seed 002, 6.2 (3)", asked, (told, 1000.0, 300.0), i_information=points)
    for asked, told, points in [
        *(("주가", "1,234", 10), ("주가", "1,234원", 10), ("목표주가", "1,234", 10), ("주가", "1234원", 0)),
        *(("가격", "1,234원", 0), ("주가", "뉴스 매출", 0), ("뉴스", "1,234원 매출", 0), ("재무", "1,234원 뉴스", 0)),
        *(("뉴스", told, 10) for told in ("뉴스", "기사", "보도", "발표")),
        *((asked, told, 10) for asked in ("재무", "실적") for told in ("매출", "영업이익", "순이익")),
        *(("재무 실적", "매출 순이익", 10), ("주가 뉴스", "1,234 기사", 20), ("주가 뉴스 실적", "1,234 기사 매출", 30)),
        (normalize("NFD", "뉴스"), "뉴스", 0),
    ]
]

THREE_TENTHS = "답변 |가|나| 2026-02-13 KOSPI % ---" + "\n- 가" * 10
EIGHT_TENTHS = "답변 |가|나| **굵게** 1,234 KOSPI % 005930 ---" + "\n- 가" * 10
FINAL = [
    turn(f"final score {score} is {grade}", "seed 002, 7", asked, answered, final_score=score, final_grade=grade)
    for score, grade, asked, answered in [
        (80.0, "STAR", TIER_QUESTIONS["S"], BEST_ANSWER),
        (79.8, "A", "삼성전자(005930) 비교 분석", BEST_ANSWER),
        (60.0, "A", "목표주가", ("답변 |가|나| **굵게** 1,234 % ---", 2000.0, 400.0)),
        (59.8, "B", "최근 비교 분석", ("답변 |가|나| 1,234 % 005930 ---", 8000.0, 1200.0)),
        (59.5, "B", "목표주가", ("답변 |가|나| 1,234 KOSPI ---", 8000.0, 1200.0)),
        (40.0, "B", "주식", ("답변 |가|나| **굵게**", 8000.0, 1200.0)),
        (39.8, "C", "005930", ("답변 |가|나|", 2000.0, 400.0)),
        (39.5, "C", "목표주가", ("답변 % 005930", 16000.0, 800.0)),
        (20.0, "C", "005930", ("답변", 1000.0, 61.0)),
        (19.8, "F", "목표주가", ("답변", 1000.0, 31.0)),
        (19.5, "F", "?", ("답변 |가|나|", 1000.0, 25.0)),
        (61.3, "A", "삼성전자 목표주가", (THREE_TENTHS, 2000.0, 400.0)),  # 61.25
        (61.8, "A", "ㅋㅋ", (EIGHT_TENTHS, 8000.0, 1200.0)),  # 61.75
        (8.3, "F", "ㅅㅂ" + "a" * 100, (LAW, 0.0, 0.0)),  # 8.25
    ]
]

FAILURES = [
    answer(name, "SPEC 1.3", text, output_tokens=tokens, failure_type=failure)
    for name, text, tokens, failure in [
        ("refused advice", LAW + " " + "가" * 60, 300.0, "refused_advice"),
        ("refused a domain", "> " + FINANCE + " " + "가" * 60, 300.0, "refused_domain"),
        ("refused by scope", " " + STOCKS + " " + "가" * 60, 300.0, "refused_scope"),
        ("template in the middle", "가" * 60 + LAW, 300.0, None),
        ("too broad", "가" * 60 + TOO_BROAD, 300.0, "too_broad"),
        ("not understood", "가" * 60 + NOT_UNDERSTOOD, 300.0, "not_understood"),
        ("blocked", "가" * 60, 0.0, "blocked"),
        ("negative zero is blocked", "가" * 60, -0.0, "blocked"),
        ("hardly blocked", "가" * 60, 5e-324, None),
        ("fifty characters", "가" * 50, 300.0, "too_short"),
        ("fifty-one characters", "가" * 51, 300.0, None),
        ("fifty emoji", "😀" * 50, 300.0, "too_short"),
        ("empty text", "", 300.0, "too_short"),
        ("NULL tokens are not blocked", "가" * 60, None, None),
        ("NULL tokens and a short answer", "가", None, "too_short"),
        ("an apology alone is no failure", "죄송합니다. " + "가" * 60, 300.0, None),
        ("advice before too broad", LAW + TOO_BROAD, 0.0, "refused_advice"),
        ("domain before too broad", FINANCE + TOO_BROAD, 0.0, "refused_domain"),
        ("scope before too broad", STOCKS + TOO_BROAD, 0.0, "refused_scope"),
        ("too broad before not understood", NOT_UNDERSTOOD + TOO_BROAD, 0.0, "too_broad"),
        ("not understood before blocked", NOT_UNDERSTOOD, 0.0, "not_understood"),
        ("blocked before too short", "", 0.0, "blocked"),
    ]
]

NO_DATA = [
    answer(ascii(text), "SPEC 1.5", text, answer_says_no_data=says)
    for says, texts in {
        True: (
            "노로공업: 해당 종목은 데이터에 없습니다.",
            "비교할 데이터가 없어 판단하기 어렵습니다.",
            "배당 내역은 제공되지 않았습니다.",
            "데이터 없음",
            "해당 종목의 목표주가 정보는 없습니다.",
            "공식 전망 자료가 없으므로 말씀드리기 어렵습니다.",
            "재무 지표나 실적 데이터가 포함되어 있지 않습니다.",
            "업종 정보가 포함되지 않아 고르지 못했습니다.",
            "현재 데이터에 존재하지 않는 종목입니다.",
            "그런 상품은 데이터 내 확인되지 않습니다.",
            "목표주가는 제공된 데이터 내에 없습니다.",
            "매출은 70,000원입니다. 배당락일 정보는 확인되지 않습니다.",
        ),
        False: (
            "",
            "회사는 중요 정보가 없다고 공시했습니다.",
            "개인적인 투자 자문을 제공할 수 없습니다.",
            "추가 계약 뉴스는 없습니다.",
            "데이터에 따르면 부채가 없습니다.",
            "정보를 확인하지 않고 투자하면 위험합니다.",
            "데이터가\n없습니다",
            normalize("NFD", "데이터가 없습니다"),
        ),
    }.items()
    for text in texts
]

SCOPE_REFUSAL = turn(
    "refused by scope scores like an apology",
    "SPEC 1.3",
    "주식",
    (STOCKS, 1000.0, 300.0),
    failure_type="refused_scope",
    a_non_refusal=8,
)

ALERTS = [
    turn(name, "seed 002, 10.1", asked, answered, alert_level=level, alert_rules=rules)
    for name, asked, answered, level, rules in [
        ("nothing to say", TIER_QUESTIONS["S"], GRADE_ANSWERS["A"], None, []),
        ("answer of 19 points", "005930", GRADE_ANSWERS["F"], "critical", ["answer_failed", "very_short_answer"]),
        ("answer of 20 points", "올해 대비 ?미친", GRADE_ANSWERS["D"], "warning", ["very_short_answer"]),
        (
            "tier S with grade D",
            TIER_QUESTIONS["S"],
            GRADE_ANSWERS["D"],
            "critical",
            ["good_question_bad_answer", "weak_answer", "very_short_answer"],
        ),
        (
            "tier A with grade F",
            TIER_QUESTIONS["A"],
            GRADE_ANSWERS["F"],
            "critical",
            ["answer_failed", "good_question_bad_answer", "weak_answer", "very_short_answer"],
        ),
        ("tier A with grade C", TIER_QUESTIONS["A"], GRADE_ANSWERS["C"], None, []),
        ("tier B with 40 points", TIER_QUESTIONS["B"], GRADE_ANSWERS["C"], None, []),
        ("tier B with 39 points", TIER_QUESTIONS["B"], ("답변 ---", 16000.0, 800.0), "warning", ["weak_answer"]),
        ("39 points for 39 points", "올해 대비 ?미친", ("답변 ---", 16000.0, 800.0), None, []),
        ("no tokens", "005930", (EIGHT_TENTHS, 1000.0, 0.0), "critical", ["llm_blocked"]),
        ("half a token", "005930", (EIGHT_TENTHS, 1000.0, 0.5), None, []),
        ("one token", "005930", (EIGHT_TENTHS, 1000.0, 1.0), "warning", ["very_short_answer"]),
        ("a hundred tokens", "005930", (EIGHT_TENTHS, 1000.0, 100.0), "warning", ["very_short_answer"]),
        ("more than a hundred tokens", "005930", (EIGHT_TENTHS, 1000.0, 100.5), None, []),
        ("a hundred and one tokens", "005930", (EIGHT_TENTHS, 1000.0, 101.0), None, []),
        (
            "final grade F with an answer of 20 points",
            "ㅅㅂ" + "a" * 100,
            ("답변 |가|나|", 1000.0, 31.0),
            "critical",
            ["final_failed", "very_short_answer"],
        ),
        (
            "all of a blocked good question",
            TIER_QUESTIONS["S"],
            (LAW, 0.0, 0.0),
            "critical",
            ["answer_failed", "good_question_bad_answer", "llm_blocked", "weak_answer"],
        ),
        (
            "all of a blocked bad question",
            "?",
            ("", 0.0, 0.0),
            "critical",
            ["answer_failed", "llm_blocked", "final_failed"],
        ),
        (
            "a short refusal of a bad question",
            "?",
            (LAW, 800.0, 30.0),
            "critical",
            ["answer_failed", "final_failed", "very_short_answer"],
        ),
    ]
]
UNKNOWN_TOKENS = Golden(
    "unknown tokens raise no token alert",
    "SPEC 1.2",
    {"a_volume": 0, "a_efficiency": 0, "a_non_refusal": 10, "alert_rules": ["answer_failed", "final_failed"]},
    user_input="005930",
    input_tokens=None,
    output_tokens=None,
)

CAUSES = [
    turn(f"cause {cause}: {why}", "seed 002, 7.2", asked, answered, final_grade=grade, cause=cause)
    for cause, why, grade, asked, answered in [
        ("a_volume", "alone", "C", "최근 비교 분석", ("답변 % ---", 1000.0, 25.0)),
        ("a_volume", "level with a_structure", "C", "비교 분석", ("답변 %", 1000.0, 25.0)),
        ("a_volume", "level with two", "C", "삼성전자 목표주가", ("답변", 1000.0, 25.0)),
        ("a_volume", "level with a_efficiency", "C", "?", ("답변 |가|나| 1,234 KOSPI ---", 3000.0, 101.0)),
        ("a_structure", "alone", "C", "005930 최근 비교 분석", ("답변 %", 1000.0, 101.0)),
        ("a_structure", "level with a_data", "C", "최근 비교 분석", ("답변", 1000.0, 31.0)),
        ("a_data", "alone", "C", "삼성전자", ("답변 ---", 8000.0, 200.0)),
        ("a_efficiency", "alone", "C", "?", ("답변 |가|나| 1,234 KOSPI ---", 8000.0, 200.0)),
        (
            "a_non_refusal",
            "alone",
            "C",
            "ㅋㅋ",
            ("질문의 범위가 너무 넓어 |가|나| **굵게** 1,234 KOSPI % ---", 4000.0, 400.0),
        ),
        (
            "a_structure",
            "a point more than a_volume",
            "C",
            "ㅋㅋ",
            ("답변 |가|나| **굵게** 1,234 KOSPI %", 4000.0, 200.0),
        ),
        ("a_data", "a point more than a_structure", "C", "ㅋㅋ", ("답변 |가|나| **굵게** 1,234 KOSPI", 4000.0, 200.0)),
        (
            "a_structure",
            "level with a_non_refusal",
            "C",
            "ㅋㅋ",
            ("질문의 범위가 너무 넓어 |가|나| 1,234 KOSPI % ---\n- 나", 4000.0, 400.0),
        ),
        (None, "grade B", "B", "주식", ("답변 |가|나| **굵게**", 8000.0, 1200.0)),
        (None, "grade F", "F", "?", ("답변 |가|나|", 1000.0, 25.0)),
    ]
]

OUTCOMES: list[Golden] = [
    *(*MATCH, *RATIO, *INFORMATION, *FINAL),
    *(*FAILURES, *NO_DATA, SCOPE_REFUSAL, *ALERTS, UNKNOWN_TOKENS, *CAUSES),
]
