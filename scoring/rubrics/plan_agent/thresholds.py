"""Every number and fixed text of the `plan-agent` rubric, each with the clause it comes from.

Change a threshold here, bump `VERSION`, and one named edge case in `tests/scoring/rubrics` will ask for its new value.
Source: seed 003 (실행 에이전트 Scoring Skill), SPEC 3.1.
"""

from fractions import Fraction

from scoring.rules.bands import Bands

VERSION = "2"
MAX_POINTS = 5

# --- Item score: intent and accuracy (seed 003, 2-2 and 2-3) -------------------------------------------------------
PASS_RATIO_POINTS = Bands("at_least", ((1, 5), (0.75, 4), (0.50, 3), (0.25, 2)), beyond=1)
NOTHING_PASSED_POINTS = 0
NOT_ANSWERED_POINTS = 0

# --- Stability (seed 003, 2-4) -------------------------------------------------------------------------------------
STABLE_MIN_ITEM_POINTS = 1
STABLE_POINTS, UNSTABLE_POINTS = 5, 0

# --- Consistency (seed 003, 2-5) -----------------------------------------------------------------------------------
MIN_ROUNDS = 2
PASS_MIN_POINTS = 3
CONSISTENT_POINTS, INCONSISTENT_POINTS = 5, 0

# --- Response time in seconds: the single-tool table alone (seed 003, 2-6) -----------------------------------------
SPEED_POINTS = Bands("at_most", ((5, 5), (8, 4), (10, 3), (15, 2), (20, 1)), beyond=0)

# --- The check list (seed 003, 6) ----------------------------------------------------------------------------------
LOW_MAX_POINTS = 2
SLOW_MAX_POINTS = 3
FAILURE_RATE_LIMIT = Fraction(1, 100)
CHECK_ROUNDS = "Query ID-방/반복 매핑이 깨지지 않았는지 확인"
CHECK_RECORDED = "LLM 점수 미기록 시 F+R 휴리스틱이 일관되게 적용되는지 확인"
CHECK_LOW_SCORES = "0/1/2점 구간의 오탐이 과도한지 패턴 분석"
CHECK_SLOW = "속도 분포(특히 2~3점) 상위 패턴 추적"
CHECK_FAILURES = f"안정성 실패가 {FAILURE_RATE_LIMIT * 100}% 이상이면 수집/파싱 경로 점검"

# --- The report's fixed lines (seed 003, 4) ------------------------------------------------------------------------
REPORT_TITLE = "# 실행 에이전트 스코어링 리포트"
REPORT_BASIS = f"""## 산출 기준
- 의도/정확성: F 기대조건 + R 체크패스율 0~5 매핑
- 안정성: error/empty {UNSTABLE_POINTS}점
- 일관성: same-pass/fail({PASS_MIN_POINTS}점이상/미만) 기준
- 속도: 단일 루브릭(responseTimeSec)"""
REPORT_METRICS = "## 지표별 점수"
REPORT_NOTES = "## 분포/첨언"
REPORT_SCORES = "- 0~5 점수 분포"
REPORT_SPEEDS = "- 속도 분포"
REPORT_FAILURES = "- 안정성 실패(에러) 패턴"
REPORT_INSIGHTS = "- 정성 인사이트 Top 패턴"
