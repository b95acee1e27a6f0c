"""Every number, word and regex of the `ola-monitoring` rubric, each with the clause it comes from.

Change a threshold here, bump `VERSION`, and one named edge case in `tests/cases` will ask for its new value.
Regexes are the seed's with `\\d` and `\\s` written out as RE2 reads them (ASCII).
Source: seed 002 (rule-based question/answer quality), SPEC 1.
"""

from scoring.rules.bands import Bands
from scoring.rules.expressions import Pattern

VERSION = "1"

# --- Metrics (seed 002, 1.2) ---------------------------------------------------------------------------------------
STOCK_CODE = Pattern(r"[0-9]{6}")  # M8
TABLE = Pattern(r"\|.*\|.*\|")  # M9
GROUPED_NUMBER = Pattern(r"[0-9]{1,3}(,[0-9]{3})+")  # M10
YEAR_MONTH = Pattern(r"[0-9]{4}[-/][0-9]{2}")  # M11
BOLD = Pattern(r"\*\*.*\*\*")  # M12
OPENING_APOLOGY = Pattern(r"^(>?[\t\n\f\r ]*)?죄송")  # M13
LINE_BREAK = Pattern(r"\n")  # M7

# --- Question categories (M14; the seed leaves them open, SPEC 1.3 takes the 20-point words of 4.2 (2) one by one) --
CATEGORY_WORDS = (
    ("price", ("주가 동향",)),
    ("financials", ("재무 지표", "실적 분석")),
    ("target_price", ("목표주가",)),
    ("dividend", ("배당 현황",)),
    ("news", ("뉴스 동향",)),
)
NAME_ONLY_MAX_LENGTH = 10

# --- Q-Score (seed 002, 4.2) ---------------------------------------------------------------------------------------
SPECIFICITY_STOCK_CODE_POINTS = 15
COMPANY_NAME = Pattern(r"[가-힣]{2,8}(주|전자|화학|건설|증권|반도체|에너지|바이오)")
SPECIFICITY_COMPANY_NAME_POINTS = 10
INDICATOR_WORDS = ("PER", "PBR", "ROE", "EPS", "BPS", "배당수익률", "영업이익률", "시가총액")
SPECIFICITY_INDICATOR_POINTS = 5

ANALYSIS_WORDS = ("종합적으로 분석", "상세히 분석", "비교 분석")
INTENT_ANALYSIS_POINTS = 25
TOPIC_WORDS = tuple(word for _, words in CATEGORY_WORDS for word in words)  # the 20-point words
INTENT_TOPIC_POINTS = 20
REQUEST_WORDS = ("알려", "설명", "보여", "비교", "분석", "조회")
INTENT_REQUEST_POINTS = 15
QUESTION_MARKS = ("?", "？")
INTENT_QUESTION_MARK_POINTS = 10
INTENT_NAME_ONLY_POINTS = 5
INTENT_OTHER_POINTS = 8

EXACT_PERIOD = Pattern(r"(최근 [0-9]+(개월|일|년)|20[0-9]{2}년|[0-9]+분기)")
CONTEXT_EXACT_PERIOD_POINTS = 8
VAGUE_PERIOD_WORDS = ("최근", "올해", "이번", "작년", "전월")
CONTEXT_VAGUE_PERIOD_POINTS = 4
COMPARE_WORDS = ("vs", "대비", "비교", "차이", "유사", "비슷")
CONTEXT_COMPARE_POINTS = 7
COMBINED_TOPICS = (("주가", "뉴스"), ("재무", "전망"))
CONTEXT_COMBINED_POINTS = 5

QUESTION_LENGTH_POINTS = Bands("at_most", ((3, 2), (7, 5), (14, 10), (40, 15), (80, 12)), beyond=8)

HANGUL_SYLLABLE = Pattern(r"[가-힣]")
HANGUL_MIN_SHARE = 0.5
FORMALITY_HANGUL_POINTS, FORMALITY_OTHER_SCRIPT_POINTS = 5, 2
LOOSE_JAMO = Pattern(r"[ㄱ-ㅎㅏ-ㅣ]{2,}")
FORMALITY_NO_JAMO_POINTS = 3
ABUSE_WORDS = ("시발", "ㅅㅂ", "ㅂㅅ", "병신", "개새", "미친")
FORMALITY_NO_ABUSE_POINTS = 2

Q_TIERS = Bands("at_least", ((80, "S"), (60, "A"), (40, "B"), (20, "C")), beyond="D")  # 4.3

# --- A-Score (seed 002, 5.2) ---------------------------------------------------------------------------------------
VOLUME_POINTS = Bands("at_least", ((1200, 25), (800, 22), (400, 18), (200, 14), (101, 10), (61, 5), (31, 2)), beyond=0)

STRUCTURE_TABLE_POINTS = 8
STRUCTURE_BOLD_POINTS = 5
BULLET = Pattern(r"^[-•*]|\n[-•*]")
STRUCTURE_BULLET_POINTS = 4
LINE_BREAK_POINTS = Bands("at_least", ((10, 5), (5, 3)), beyond=0)
SECTION = Pattern(r"(---|\n#{1,3}[\t\n\f\r ])")
STRUCTURE_SECTION_POINTS = 3

DATA_NUMBER_POINTS = 8
FULL_DATE = Pattern(r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}")
DATA_DATE_POINTS = 5
MARKET_WORDS = ("KOSPI", "KOSDAQ", "코스피", "코스닥")
DATA_MARKET_POINTS = 4
UNIT_SIGNS = ("원", "%")
DATA_UNIT_POINTS = 4
DATA_STOCK_CODE_POINTS = 4

EFFICIENCY_POINTS = Bands("at_least", ((0.20, 15), (0.15, 12), (0.10, 8), (0.05, 4)), beyond=0)

TEMPLATE_REFUSAL = Pattern(r"^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 (법률|금융)")
TOO_BROAD_PHRASE = "질문의 범위가 너무 넓어"
NOT_UNDERSTOOD_PHRASE = "입력하신 내용을 정확히 이해하지 못했습니다"
NON_REFUSAL_REFUSED_POINTS = 0
APOLOGY_WORD = "죄송"
NO_DATA_WORD = "제공되지 않"
SHORT_APOLOGY_BELOW_TOKENS, NON_REFUSAL_SHORT_APOLOGY_POINTS = 100, 2
SUBSTANTIAL_MIN_TOKENS = 200
NON_REFUSAL_NO_DATA_POINTS = 7
NON_REFUSAL_LONG_APOLOGY_POINTS = 8
NON_REFUSAL_POINTS = 10

A_GRADES = Bands("at_least", ((85, "A"), (65, "B"), (40, "C"), (20, "D")), beyond="F")  # 5.3

# --- I-Score (seed 002, 6.2) ---------------------------------------------------------------------------------------
# (tiers, grades, points): first match wins, the last two rows of the seed's table.
MATCH_POINTS = (
    (("S", "A"), ("A", "B"), 40),
    (("S", "A"), ("C",), 25),
    (("S", "A"), ("D", "F"), 5),
    (("B", "C"), ("A", "B"), 35),
    (("B", "C"), ("C",), 25),
    (("B", "C"), ("D", "F"), 10),
    (("D",), ("A", "B"), 30),
    (("D",), ("C", "D", "F"), 15),
)
MATCH_OTHER_POINTS = 20
LENGTH_RATIO_POINTS = Bands("at_least", ((80, 30), (40, 22), (15, 15), (5, 8)), beyond=0)
INFORMATION_POINTS = 10
PRICE_WORDS = ("주가",)
NEWS_WORDS, NEWS_ANSWER_WORDS = ("뉴스",), ("뉴스", "기사", "보도", "발표")
EARNINGS_WORDS, EARNINGS_ANSWER_WORDS = ("재무", "실적"), ("매출", "영업이익", "순이익")

# --- Final score (seed 002, 7) -------------------------------------------------------------------------------------
Q_WEIGHT_PERCENT, A_WEIGHT_PERCENT, I_WEIGHT_PERCENT = 25, 50, 25
FINAL_GRADES = Bands("at_least", ((80, "STAR"), (60, "A"), (40, "B"), (20, "C")), beyond="F")
CAUSE_GRADE = "C"  # "개선 대상 → 원인 태깅"
KEPT_TEXT_GRADES = ("C", "F")  # SPEC 1.3
COMPONENT_MAXIMA = (
    ("a_volume", 25),
    ("a_structure", 25),
    ("a_data", 25),
    ("a_efficiency", 15),
    ("a_non_refusal", 10),
)

# --- Failure types (SPEC 1.3, from the production team's analysis of 683 failures in 12,777 turns) -----------------
ADVICE_REFUSAL = Pattern(r"^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 법률")
DOMAIN_REFUSAL = Pattern(r"^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 금융")
SCOPE_REFUSAL = Pattern(r"^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 주식")
TOO_SHORT_MAX_LENGTH = 50

# --- Answers that say that the data is not there (SPEC 1.5): no part of any score ------------------------------------
# "중요 정보가 없다고 공시했습니다" is company news, so 없다 counts only after 데이터.
SAYS_NO_DATA = Pattern(
    r"제공되지 않|데이터(에|가)? 없|"
    r"(데이터|자료|정보)(가|는|에|에는)?( 내| 내에)? (없(습|어|으|는)|존재하지 않|포함되(어 있)?지 않|확인되지 않)"
)

# --- Alerts (seed 002, 10.1) ---------------------------------------------------------------------------------------
ANSWER_FAILED_BELOW = 20
WEAK_ANSWER_BELOW, REASONABLE_QUESTION_MIN = 40, 40
GOOD_TIERS, BAD_GRADES = ("S", "A"), ("D", "F")
VERY_SHORT_MIN_TOKENS, VERY_SHORT_MAX_TOKENS = 1, 100

# How often rules fired before AQB was first run, of the 12,831 turns of the seed: the baseline of the first days.
# A failed answer is the seed's FAIL (its 2.1); answers of 0 and of 1 to 100 tokens are counted in its 2.2.
ANSWER_FAILED_USUAL_RATE = 689 / 12_831
LLM_BLOCKED_USUAL_RATE = 223 / 12_831
VERY_SHORT_USUAL_RATE = (124 + 397 + 408) / 12_831

# --- KPI targets (seed 002, 10.2) ----------------------------------------------------------------------------------
GOOD_GRADES = ("A", "B")
ANSWER_EXCELLENT_RATE_MIN = 0.90
FAILURE_RATE_MAX = 0.03
GOLD_MINE_RATE_MAX = 0.01
MEAN_FINAL_SCORE_MIN = 65
