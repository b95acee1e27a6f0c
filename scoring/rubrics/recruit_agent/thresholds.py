"""Every number, word and table of the `recruit-agent` rubric, each with the clause it comes from.

Change one here, bump `VERSION`, and one named edge case in `tests/scoring/rubrics` will ask for its new value.
Source: seed 004 (채용에이전트 지표별 점수화 방식), SPEC 3.2.
"""

from dataclasses import dataclass

from scoring.rules.bands import Bands
from scoring.testruns.totals import Weights

VERSION = "2"
MAX_POINTS = 5


@dataclass(frozen=True)
class IntentGrade:
    """A word of the judge's vocabulary, its points, and when it applies."""

    points: int
    meaning: str


# --- Intent (seed 004, 의도 충족) ----------------------------------------------------------------------------------
INTENT_VERDICTS = {
    "PERFECT": IntentGrade(5, "하려는 일, 대상, 범위가 모두 맞고 바로 이해됨"),
    "GOOD": IntentGrade(4, "핵심은 맞으나 표현이 조금 모호함"),
    "PARTIAL": IntentGrade(3, "핵심은 알아들었으나 대상이나 범위가 분명하지 않음"),
    "WEAK": IntentGrade(2, "의도의 일부만 담겨 오해하기 쉬움"),
    "RELATED_BUT_WRONG": IntentGrade(1, "같은 영역의 답변이지만 목적이 다름"),
    "FAILED": IntentGrade(0, "관계없는 답변이거나 응답하지 못함"),
}
NOT_ANSWERED_VERDICT = "FAILED"

# --- Accuracy (seed 004, 정확성) -----------------------------------------------------------------------------------
PASS_RATIO_POINTS = Bands("at_least", ((1, 5), (0.75, 4), (0.50, 3), (0.25, 2)), beyond=1)
NOTHING_PASSED_POINTS = 0
FAILED_POINTS = 0
NOT_EVALUABLE_POINTS = 0
PASS_MIN_POINTS = 3  # for pass^k only; seed 004 has no pass mark; seed 003, 2-5 and seed 000, 2.3 set it at 3

# --- Consistency (seed 004, 일관성) --------------------------------------------------------------------------------
MIN_EXECUTIONS = 2
TOO_FEW_EXECUTIONS_POINTS = 0
INTENT_LABELS = {
    "ADD": "추가",
    "UPDATE": "수정",
    "DELETE": "삭제",
    "VIEW": "조회",
    "MOVE": "이동",
    "CLARIFY": "되묻기",
    "ERROR": "오류",
    "OTHER": "그 밖",
}
NOT_ANSWERED_LABEL = "ERROR"
SIGNATURE_KEYS = ("formType", "actionType", "planId", "setting")
SIGNATURE_VALUE_KEYS = ("nodeId", "nodeType")
EMPTY_SIGNATURE = "EMPTY"

# --- Response time in seconds (seed 004, 응답 속도) ----------------------------------------------------------------
SPEED_SINGLE_POINTS = Bands("at_most", ((5, 5), (8, 4), (10, 3), (15, 2), (20, 1)), beyond=0)
SPEED_MULTI_POINTS = Bands("at_most", ((20, 5), (30, 4), (40, 3), (50, 2), (60, 1)), beyond=0)
NO_TIME_POINTS = 0

# --- Stability (seed 004, 안정성) ----------------------------------------------------------------------------------
STABLE_POINTS, UNSTABLE_POINTS = 5, 0

# --- Weighted total (seed 004, 종합 점수) --------------------------------------------------------------------------
WEIGHTS = Weights({"intent": 20, "consistency": 10, "accuracy": 30, "speed": 20, "stability": 20})

# --- The judge's view of a dataUIList (SPEC 7: material, kept short) ----------------------------------------------
DESCRIBED_ENTRIES = 20
DESCRIBED_OPTIONS = 10
DESCRIBED_CHARACTERS = 200
