"""The titles of grades, scores, failures and questions of `ola-monitoring`. Source: seed 002, 1.2, 4.3 to 7.2."""

from scoring.chat.rubric import CodedColumn, Grade, GradeScale, PartScore

FINAL_GRADES = GradeScale(
    "final_grade",
    "종합",
    (
        Grade("STAR", "★", "우수", "Golden Set 편입 후보", "met"),
        Grade("A", "A", "양호", "정상 운영", "met"),
        Grade("B", "B", "보통", "모니터링"),
        Grade("C", "C", "미흡", "개선 대상 → 원인 태깅", "undecided"),
        Grade("F", "F", "실패", "즉시 알림 → 규칙 수정", "missed"),
    ),
)
Q_TIERS = GradeScale(
    "q_tier",
    "질문",
    (
        Grade("S", "S", "전문 분석 요청"),
        Grade("A", "A", "구체적 정보 요청"),
        Grade("B", "B", "일반 질문"),
        Grade("C", "C", "단순 입력"),
        Grade("D", "D", "모호·부적합"),
    ),
)
A_GRADES = GradeScale(
    "a_grade",
    "답변",
    (
        Grade("A", "A", "우수"),
        Grade("B", "B", "양호"),
        Grade("C", "C", "보통"),
        Grade("D", "D", "미흡"),
        Grade("F", "F", "실패"),
    ),
)
PARTS = (
    PartScore("q_score", "질문", "q_tier"),
    PartScore("a_score", "답변", "a_grade"),
    PartScore("i_score", "상호작용"),
)
FAILURES = CodedColumn(
    "failure_type",
    {
        "refused_advice": "거절: 투자 자문(법률)",
        "refused_domain": "거절: 금융 범위 밖",
        "refused_scope": "거절: 주식 범위 밖",
        "too_broad": "질문 범위가 너무 넓음",
        "not_understood": "질문을 이해하지 못함",
        "blocked": "LLM 호출 차단(거절 문구 없음)",
        "too_short": "답변이 너무 짧음",
    },
)
CATEGORIES = CodedColumn(
    "question_category",
    {
        "analysis": "종합 분석 질문",
        "price": "주가 동향 질문",
        "financials": "재무·실적 질문",
        "target_price": "목표주가 질문",
        "dividend": "배당 질문",
        "news": "뉴스 질문",
        "comparison": "비교 질문",
        "general": "조회·설명 질문",
        "stock_code": "종목코드 질문",
        "name_only": "열 글자 이하 질문",
        "other": "그 밖의 질문",
    },
)
