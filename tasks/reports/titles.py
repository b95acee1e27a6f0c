"""Titles that Markdown reports and pages share, in Korean."""

# Codes of `RunFile.notes`.
NOTE_TITLES = {
    "formulas_not_calculated": "계산된 값이 저장되지 않은 수식 칸(빈칸으로 읽음. Excel에서 열어 저장하면 값이 들어감)",
    "hidden_sheets": "읽지 않은 숨긴 시트",
    "other_sheets": "테스트 실행이 아니어서 읽지 않은 시트",
    "unknown_agent_type": "알 수 없는 에이전트 유형(파일 이름이나 옵션을 따름)",
    "unknown_latency_class": "SINGLE도 MULTI도 아닌 latencyClass(다른 근거로 정함)",
    "unknown_recorded_score": "숫자가 아닌 LLM 점수(기록된 점수가 없는 것으로 봄)",
}
