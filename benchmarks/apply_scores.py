"""Alternative to the rule engine: seed 002 as a first implementation, one Python function per row and
`DataFrame.apply`.

It is not slowed down on purpose: patterns are compiled once, common parts are computed once, single words are found
with `in`. `re.ASCII` and explicit white space make it agree with RE2.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

STOCK_CODE = re.compile(r"\d{6}", re.ASCII)
TABLE = re.compile(r"\|.*\|.*\|")
GROUPED_NUMBER = re.compile(r"\d{1,3}(,\d{3})+", re.ASCII)
YEAR_MONTH = re.compile(r"\d{4}[-/]\d{2}", re.ASCII)
FULL_DATE = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}", re.ASCII)
BOLD = re.compile(r"\*\*.*\*\*")
OPENING_APOLOGY = re.compile(r"^(>?[\t\n\f\r ]*)?죄송")
REFUSAL = re.compile(r"^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 (법률|금융|주식)")
COMPANY_NAME = re.compile(r"[가-힣]{2,8}(주|전자|화학|건설|증권|반도체|에너지|바이오)")
INDICATOR = re.compile(r"(PER|PBR|ROE|EPS|BPS|배당수익률|영업이익률|시가총액)")
ANALYSIS = re.compile(r"(종합적으로 분석|상세히 분석|비교 분석)")
TOPIC = re.compile(r"(주가 동향|재무 지표|목표주가|배당 현황|뉴스 동향|실적 분석)")
REQUEST = re.compile(r"(알려|설명|보여|비교|분석|조회)")
QUESTION_MARK = re.compile(r"[?？]")
EXACT_PERIOD = re.compile(r"(최근 \d+(개월|일|년)|20\d{2}년|\d+분기)", re.ASCII)
VAGUE_PERIOD = re.compile(r"(최근|올해|이번|작년|전월)")
COMPARISON = re.compile(r"(vs|대비|비교|차이|유사|비슷)")
HANGUL = re.compile(r"[가-힣]")
LOOSE_JAMO = re.compile(r"[ㄱ-ㅎㅏ-ㅣ]{2,}")
ABUSE = re.compile(r"(시발|ㅅㅂ|ㅂㅅ|병신|개새|미친)")
BULLET = re.compile(r"^[-•*]|\n[-•*]")
SECTION = re.compile(r"(---|\n#{1,3}[\t\n\f\r ])")
MARKET = re.compile(r"(KOSPI|KOSDAQ|코스피|코스닥)")
UNIT = re.compile(r"(원|%)")
NEWS_ANSWER = re.compile(r"(뉴스|기사|보도|발표)")
EARNINGS_QUESTION = re.compile(r"(재무|실적)")
EARNINGS_ANSWER = re.compile(r"(매출|영업이익|순이익)")

FAILURE_OF_REFUSAL = {"법률": "refused_advice", "금융": "refused_domain", "주식": "refused_scope"}
CATEGORIES = (
    ("price", re.compile(r"주가 동향")),
    ("financials", re.compile(r"재무 지표|실적 분석")),
    ("target_price", re.compile(r"목표주가")),
    ("dividend", re.compile(r"배당 현황")),
    ("news", re.compile(r"뉴스 동향")),
)
VOLUME = ((1200, 25), (800, 22), (400, 18), (200, 14), (101, 10), (61, 5), (31, 2))
EFFICIENCY = ((0.20, 15), (0.15, 12), (0.10, 8), (0.05, 4))
LENGTH_RATIO = ((80, 30), (40, 22), (15, 15), (5, 8))
MATCH = {("A", "A"): 40, ("A", "C"): 25, ("A", "F"): 5, ("B", "A"): 35, ("B", "C"): 25, ("B", "F"): 10}
MAXIMA = {"a_volume": 25, "a_structure": 25, "a_data": 25, "a_efficiency": 15, "a_non_refusal": 10}


def apply_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS` for each row, the usual way: a Series per row, from which `apply` builds a table."""
    return rows.apply(lambda row: pd.Series(score_row(row)), axis=1)


def loop_scores(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same functions without the table: the cost of Python and `re` alone."""
    return [score_row(row) for row in rows]


def score_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of one turn. Source: seed 002; SPEC 1.3."""
    question, answer = row["user_input"], row["llm_response"]
    input_tokens, output_tokens = row["input_tokens"], row["output_tokens"]
    scores = metrics(question, answer, input_tokens, output_tokens)
    question_scores(question, scores)
    answer_scores(answer, output_tokens, scores)
    interaction_scores(question, answer, scores)
    outcome(answer, output_tokens, scores)
    scores["row_key"] = row_key(row, scores)
    return scores


def metrics(question: str, answer: str, input_tokens: float, output_tokens: float) -> dict[str, Any]:
    known = pd.notna(input_tokens) and pd.notna(output_tokens) and input_tokens != 0
    return {
        "question_length": len(question),
        "answer_length": len(answer),
        "token_ratio": output_tokens / input_tokens if known else None,
        "length_ratio": len(answer) / len(question) if question else None,
        "answer_lines": answer.count("\n") + 1,
        "question_has_stock_code": bool(STOCK_CODE.search(question)),
        "answer_has_table": bool(TABLE.search(answer)),
        "answer_has_number": bool(GROUPED_NUMBER.search(answer)),
        "answer_has_date": bool(YEAR_MONTH.search(answer)),
        "answer_has_bold": bool(BOLD.search(answer)),
        "answer_has_apology": bool(OPENING_APOLOGY.search(answer)),
        "question_category": category(question),
    }


def category(question: str) -> str:
    if ANALYSIS.search(question):
        return "analysis"
    for name, words in CATEGORIES:
        if words.search(question):
            return name
    if COMPARISON.search(question):
        return "comparison"
    if REQUEST.search(question):
        return "general"
    if STOCK_CODE.search(question):
        return "stock_code"
    return "name_only" if len(question) <= 10 else "other"


def question_scores(question: str, scores: dict[str, Any]) -> None:
    length = len(question)
    scores["q_specificity"] = (
        (15 if scores["question_has_stock_code"] else 0)
        + (10 if COMPANY_NAME.search(question) else 0)
        + (5 if INDICATOR.search(question) else 0)
    )
    if ANALYSIS.search(question):
        intent = 25
    elif TOPIC.search(question):
        intent = 20
    elif REQUEST.search(question):
        intent = 15
    elif QUESTION_MARK.search(question):
        intent = 10
    else:
        intent = 5 if length <= 10 else 8
    scores["q_intent"] = intent
    context = 8 if EXACT_PERIOD.search(question) else 4 if VAGUE_PERIOD.search(question) else 0
    context += 7 if COMPARISON.search(question) else 0
    combined = ("주가" in question and "뉴스" in question) or ("재무" in question and "전망" in question)
    scores["q_context"] = context + (5 if combined else 0)
    bands = ((3, 2), (7, 5), (14, 10), (40, 15), (80, 12))
    scores["q_length"] = next((points for cut, points in bands if length <= cut), 8)
    hangul = bool(length) and len(HANGUL.findall(question)) / length >= 0.5
    scores["q_formality"] = (
        (5 if hangul else 2) + (0 if LOOSE_JAMO.search(question) else 3) + (0 if ABUSE.search(question) else 2)
    )
    scores["q_score"] = sum(
        scores[name] for name in ("q_specificity", "q_intent", "q_context", "q_length", "q_formality")
    )
    scores["q_tier"] = graded(scores["q_score"], ((80, "S"), (60, "A"), (40, "B"), (20, "C")), "D")


def answer_scores(answer: str, output_tokens: float, scores: dict[str, Any]) -> None:
    breaks = scores["answer_lines"] - 1
    scores["a_volume"] = graded(output_tokens, VOLUME, 0)
    scores["a_structure"] = (
        (8 if scores["answer_has_table"] else 0)
        + (5 if scores["answer_has_bold"] else 0)
        + (4 if BULLET.search(answer) else 0)
        + (5 if breaks >= 10 else 3 if breaks >= 5 else 0)
        + (3 if SECTION.search(answer) else 0)
    )
    scores["a_data"] = (
        (8 if scores["answer_has_number"] else 0)
        + (5 if FULL_DATE.search(answer) else 0)
        + (4 if MARKET.search(answer) else 0)
        + (4 if UNIT.search(answer) else 0)
        + (4 if STOCK_CODE.search(answer) else 0)
    )
    scores["a_efficiency"] = graded(scores["token_ratio"], EFFICIENCY, 0)
    scores["a_non_refusal"] = non_refusal(answer, output_tokens)
    scores["a_score"] = sum(scores[name] for name in MAXIMA)
    scores["a_grade"] = graded(scores["a_score"], ((85, "A"), (65, "B"), (40, "C"), (20, "D")), "F")


def non_refusal(answer: str, output_tokens: float) -> int:
    refusal = REFUSAL.search(answer)
    if refusal and refusal[2] != "주식":
        return 0
    if "질문의 범위가 너무 넓어" in answer or "입력하신 내용을 정확히 이해하지 못했습니다" in answer:
        return 0
    apologises = "죄송" in answer
    if apologises and output_tokens < 100:
        return 2
    if output_tokens >= 200 and "제공되지 않" in answer:
        return 7
    return 8 if apologises and output_tokens >= 200 else 10


def interaction_scores(question: str, answer: str, scores: dict[str, Any]) -> None:
    tier = {"S": "A", "C": "B"}.get(scores["q_tier"], scores["q_tier"])
    grade = {"B": "A", "D": "F"}.get(scores["a_grade"], scores["a_grade"])
    scores["i_match"] = MATCH.get((tier, grade), 30 if grade == "A" else 15)
    scores["i_ratio"] = graded(scores["length_ratio"], LENGTH_RATIO, 0)
    scores["i_information"] = (
        (10 if "주가" in question and scores["answer_has_number"] else 0)
        + (10 if "뉴스" in question and NEWS_ANSWER.search(answer) else 0)
        + (10 if EARNINGS_QUESTION.search(question) and EARNINGS_ANSWER.search(answer) else 0)
    )
    scores["i_score"] = scores["i_match"] + scores["i_ratio"] + scores["i_information"]


def outcome(answer: str, output_tokens: float, scores: dict[str, Any]) -> None:
    q, a, tier, grade = scores["q_score"], scores["a_score"], scores["q_tier"], scores["a_grade"]
    scores["final_score"] = (25 * q + 50 * a + 25 * scores["i_score"] + 5) // 10 / 10
    final = graded(scores["final_score"], ((80, "STAR"), (60, "A"), (40, "B"), (20, "C")), "F")
    scores["final_grade"] = final
    scores["failure_type"] = failure_type(answer, output_tokens)
    critical = {
        "answer_failed": a < 20,
        "good_question_bad_answer": tier in ("S", "A") and grade in ("D", "F"),
        "llm_blocked": output_tokens == 0,
        "final_failed": final == "F",
    }
    warning = {"weak_answer": a < 40 and q >= 40, "very_short_answer": 1 <= output_tokens <= 100}
    scores["alert_level"] = "critical" if any(critical.values()) else "warning" if any(warning.values()) else None
    scores["alert_rules"] = [rule for rule, fired in (critical | warning).items() if fired]
    lost = {name: maximum - scores[name] for name, maximum in MAXIMA.items()}
    scores["cause"] = max(lost, key=lambda name: lost[name]) if final == "C" else None


def failure_type(answer: str, output_tokens: float) -> str | None:
    if refusal := REFUSAL.search(answer):
        return FAILURE_OF_REFUSAL[refusal[2]]
    if "질문의 범위가 너무 넓어" in answer:
        return "too_broad"
    if "입력하신 내용을 정확히 이해하지 못했습니다" in answer:
        return "not_understood"
    if output_tokens == 0:
        return "blocked"
    return "too_short" if len(answer) <= 50 else None


def graded(number: float | None, cuts: tuple[tuple[float, Any], ...], beyond: Any) -> Any:
    if number is None:
        return beyond
    return next((earned for cut, earned in cuts if number >= cut), beyond)


def row_key(row: Mapping[str, Any], scores: dict[str, Any]) -> str:
    texts = [
        "-" if pd.isna(row[name]) else f"{len(row[name])}:{row[name]}"
        for name in ("tenant_id", "session_id", "user_input")
    ]
    canonical = "|".join([str(row["timestamp"].value // 1000), *texts, str(scores["answer_length"])])
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


COLUMNS = (
    *metrics("", "", 0.0, 0.0),
    *("q_specificity", "q_intent", "q_context", "q_length", "q_formality", "q_score", "q_tier"),
    *(*MAXIMA, "a_score", "a_grade", "i_match", "i_ratio", "i_information", "i_score"),
    *("final_score", "final_grade", "failure_type", "alert_level", "alert_rules", "cause", "row_key"),
)
