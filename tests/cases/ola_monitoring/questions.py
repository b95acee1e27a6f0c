"""Golden rows about the question: metrics, Q-Score, tier, category."""

from unicodedata import normalize

from tests.cases.ola_monitoring.golden import Golden, question

EXAMPLES = [
    question(
        "example of tier S",
        "4.3",
        "삼성전자(005930) 최근 3개월 재무지표와 애널리스트 목표주가 추이 비교 분석",
        q_specificity=25,
        q_intent=25,
        q_context=15,
        q_length=12,
        q_formality=10,
        q_score=87,
        q_tier="S",
    ),
    question("example of tier A", "4.3", "삼성전자(005930)를 종합적으로 분석해줘", q_score=75, q_tier="A"),
    question("example of tier B", "4.3", "삼성전자 최근 뉴스 알려줘", q_score=49, q_tier="B"),
    question("example of tier C", "4.3", "삼성전자", q_score=30, q_tier="C"),
    question("example of tier D: 주식", "4.3", "주식", q_score=17, q_tier="D"),
    question("example of tier D: ㅋㅋ", "4.3", "ㅋㅋ", q_score=11, q_tier="D"),
    question("example of tier D: 개명", "4.3", "개명", q_score=17, q_tier="D"),
]

SPECIFICITY = [
    question("six digits", "4.2 (1)", "005930", q_specificity=15, question_has_stock_code=True),
    question("five digits", "4.2 (1)", "00593", q_specificity=0, question_has_stock_code=False),
    question("seven digits hold six", "4.2 (1)", "0059301", q_specificity=15),
    question("six digits apart", "4.2 (1)", "005 930", q_specificity=0),
    question("full-width digits are no digits", "4.2 (1), RE2", "００５９３０", q_specificity=0),
    question("Arabic digits are no digits", "4.2 (1), RE2", "٠٠٥٩٣٠", q_specificity=0),
    *(
        question(f"company name ending in {ending}", "4.2 (1)", f"가나{ending}", q_specificity=10)
        for ending in ("주", "전자", "화학", "건설", "증권", "반도체", "에너지", "바이오")
    ),
    question("one syllable before the ending", "4.2 (1)", "가전자", q_specificity=0),
    question("an ending alone", "4.2 (1)", "반도체", q_specificity=0),
    question("nine syllables before the ending hold eight", "4.2 (1)", "가나다라마바사아자전자", q_specificity=10),
    question("목표주가 reads like a company name", "4.2 (1)", "목표주가", q_specificity=10),
    question("a company name in NFD is none", "4.2 (1)", normalize("NFD", "삼성전자"), q_specificity=0),
    *(
        question(f"indicator {word}", "4.2 (1)", f"a {word} b", q_specificity=5)
        for word in ("PER", "PBR", "ROE", "EPS", "BPS", "배당수익률", "영업이익률", "시가총액")
    ),
    question("indicators are case-sensitive", "4.2 (1)", "per Pbr", q_specificity=0),
    question("two indicators count once", "4.2 (1)", "PER PBR", q_specificity=5),
    question("all of specificity", "4.2 (1)", "삼성전자(005930) PER", q_specificity=30),
]

INTENT = [
    *(
        question(f"intent {word}", "4.2 (2)", f"{word}?", q_intent=25, question_category="analysis")
        for word in ("종합적으로 분석", "상세히 분석", "비교 분석")
    ),
    question("intent 주가 동향", "4.2 (2)", "주가 동향?", q_intent=20, question_category="price"),
    question("intent 재무 지표", "4.2 (2)", "재무 지표?", q_intent=20, question_category="financials"),
    question("intent 실적 분석", "4.2 (2)", "실적 분석?", q_intent=20, question_category="financials"),
    question("intent 목표주가", "4.2 (2)", "목표주가?", q_intent=20, question_category="target_price"),
    question("intent 배당 현황", "4.2 (2)", "배당 현황?", q_intent=20, question_category="dividend"),
    question("intent 뉴스 동향", "4.2 (2)", "뉴스 동향?", q_intent=20, question_category="news"),
    question("intent 알려", "4.2 (2)", "알려줘?", q_intent=15, question_category="general"),
    question("intent 설명", "4.2 (2)", "설명?", q_intent=15, question_category="general"),
    question("intent 보여", "4.2 (2)", "보여?", q_intent=15, question_category="general"),
    question("intent 비교", "4.2 (2)", "비교?", q_intent=15, question_category="comparison"),
    question("intent 분석", "4.2 (2)", "분석?", q_intent=15, question_category="general"),
    question("intent 조회", "4.2 (2)", "조회?", q_intent=15, question_category="general"),
    question("question mark", "4.2 (2)", "삼성전자는 지금 어떤가요?", q_intent=10, question_category="other"),
    question("full-width question mark", "4.2 (2)", "어떤가요？", q_intent=10, question_category="name_only"),
    question("small question mark is none", "4.2 (2)", "어떤가요﹖", q_intent=5),
    question("ten characters", "4.2 (2)", "가" * 10, q_intent=5, question_category="name_only"),
    question("eleven characters", "4.2 (2)", "가" * 11, q_intent=8, question_category="other"),
    question("empty question", "4.2 (2)", "", q_intent=5, question_category="name_only"),
    question("words without their blank", "4.2 (2)", "주가동향 재무지표 배당현황", q_intent=8),
    question("종합적으로분석 is only 분석", "4.2 (2)", "종합적으로분석", q_intent=15, question_category="general"),
    question("words in NFD are none", "4.2 (2)", normalize("NFD", "비교 분석"), q_intent=8),
    question("analysis before topic", "4.2 (2)", "주가 동향 상세히 분석", q_intent=25, question_category="analysis"),
    question("topic before request", "4.2 (2)", "뉴스 동향 알려줘", q_intent=20, question_category="news"),
]

# SPEC 1.3: the first of the categories wins; each row also holds the words of every later one.
LATER_WORDS = "실적 분석 목표주가 배당 현황 뉴스 동향 vs 조회 005930"
CATEGORIES = [
    question("price before financials", "1.2 M14", "주가 동향 " + LATER_WORDS, question_category="price"),
    question("financials before target price", "1.2 M14", LATER_WORDS, question_category="financials"),
    question("target price before dividend", "1.2 M14", LATER_WORDS[6:], question_category="target_price"),
    question("dividend before news", "1.2 M14", LATER_WORDS[11:], question_category="dividend"),
    question("news before comparison", "1.2 M14", LATER_WORDS[17:], question_category="news"),
    question("comparison before general", "1.2 M14", "vs 조회 005930", question_category="comparison"),
    question("general before stock code", "1.2 M14", "조회 005930", question_category="general"),
    question("stock code before name only", "1.2 M14", "005930", question_category="stock_code"),
    question("a long question with a stock code", "1.2 M14", "가" * 20 + "005930", question_category="stock_code"),
]

CONTEXT = [
    *(
        question(f"exact period {text}", "4.2 (3)", text, q_context=8)
        for text in ("최근 3개월", "최근 12일", "최근 1년", "2024년", "2099년", "1분기", "12024년")
    ),
    *(
        question(f"vague period {text}", "4.2 (3)", text, q_context=4)
        for text in ("최근", "올해", "이번", "작년", "전월", "최근 3주", "최근3개월", "최근 ３개월", "최근  3개월")
    ),
    *(
        question(f"no period {text}", "4.2 (3)", text, q_context=0)
        for text in ("1999년", "20240년", "２０２４년", "3개월", "분기", "내년")
    ),
    *(
        question(f"comparing {word}", "4.2 (3)", word, q_context=7)
        for word in ("vs", "대비", "비교", "차이", "유사", "비슷")
    ),
    question("VS compares nothing", "4.2 (3)", "VS", q_context=0),
    question("price and news", "4.2 (3)", "뉴스와 주가", q_context=5),
    question("finances and outlook", "4.2 (3)", "재무와 전망", q_context=5),
    question("both pairs count once", "4.2 (3)", "주가 뉴스 재무 전망", q_context=5),
    question("half of each pair", "4.2 (3)", "주가 재무", q_context=0),
    question("the other half of each pair", "4.2 (3)", "뉴스 전망", q_context=0),
    question("all of context", "4.2 (3)", "최근 3개월 대비 주가 뉴스", q_context=20),
]

LENGTHS = [
    *(
        question(f"{length} characters", "4.2 (4)", "가" * length, question_length=length, q_length=points)
        for length, points in [
            *((0, 2), (3, 2), (4, 5), (7, 5), (8, 10), (14, 10), (15, 15), (40, 15), (41, 12), (80, 12), (81, 8)),
            (500, 8),
        ]
    ),
    question("emoji count as one", "1.2 M1", "😀😀😀", question_length=3, q_length=2),
    question("a family counts its members and joiners", "1.2 M1", "👨‍👩‍👧", question_length=5, q_length=5),
    question("NFD counts its letters", "1.2 M1", normalize("NFD", "강"), question_length=3),
    question("CRLF counts as two", "1.2 M1", "\r\n", question_length=2),
    question("blanks and zero-width signs count", "1.2 M1", " \u200b\ufeff\u3000", question_length=4),
]

FORMALITY = [
    question("half Hangul", "4.2 (5)", "가a", q_formality=10),
    question("a third Hangul", "4.2 (5)", "가ab", q_formality=7),
    question("just under half Hangul", "4.2 (5)", "가" * 499 + "a" * 501, q_formality=7),
    question("no characters have no share", "4.2 (5)", "", q_formality=7),
    question("first and last syllable are Hangul", "4.2 (5)", "가힣", q_formality=10),
    question("past the last syllable", "4.2 (5)", "\ud7a4\ud7b0", q_formality=7),
    question("letters of NFD are no syllables and no loose letters", "4.2 (5)", normalize("NFD", "각"), q_formality=7),
    question("one loose letter", "4.2 (5)", "가나다ㅋ", q_formality=10),
    question("two loose letters", "4.2 (5)", "가나다ㅋㅋ", q_formality=7),
    question("loose letters apart", "4.2 (5)", "가나다ㅋ ㅋ", q_formality=10),
    question("loose vowels", "4.2 (5)", "가나다ㅠㅠ", q_formality=7),
    question("a consonant and a vowel", "4.2 (5)", "가나다ㄱㅏ", q_formality=7),
    question("first and last loose letter", "4.2 (5)", "가나다ㄱㅎ", q_formality=7),
    question("past the last loose letter", "4.2 (5)", "가나다ㅣㆍ", q_formality=10),
    *(
        question(f"abuse {word}", "4.2 (5)", f"가나다{word}", q_formality=8)
        for word in ("시발", "병신", "개새", "미친")
    ),
    *(question(f"abuse in letters {word}", "4.2 (5)", f"가나다{word}", q_formality=5) for word in ("ㅅㅂ", "ㅂㅅ")),
    question("the worst form", "4.2 (5)", "ㅅㅂ", q_formality=2),
]

TIERS = [
    question("80 points are tier S", "4.3", "삼성전자(005930) 비교 분석미친", q_score=80, q_tier="S"),
    question("79 points are tier A", "4.3", "삼성전자(005930) 비교 분석", q_score=79, q_tier="A"),
    question("60 points are tier A", "4.3", "최근 3개월 비교 분석", q_score=60, q_tier="A"),
    question("59 points are tier B", "4.3", "PER 최근 목표주가", q_score=59, q_tier="B"),
    question("40 points are tier B", "4.3", "삼성전자 PER", q_score=40, q_tier="B"),
    question("39 points are tier C", "4.3", "올해 대비 ?미친", q_score=39, q_tier="C"),
    question("20 points are tier C", "4.3", "?미친", q_score=20, q_tier="C"),
    question("19 points are tier D", "4.3", "?", q_score=19, q_tier="D"),
]

QUESTIONS: list[Golden] = [
    *EXAMPLES,
    *SPECIFICITY,
    *INTENT,
    *CATEGORIES,
    *CONTEXT,
    *LENGTHS,
    *FORMALITY,
    *TIERS,
]
