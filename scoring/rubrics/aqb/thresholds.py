"""Every number, word and table of the `aqb-1.2` rubric, each with the clause it comes from.

Change one here, bump `VERSION`, and one named edge case in the tests will ask for its new value.
Source: seed 000 (six metrics of three recruiting agents), SPEC 3.3.
"""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from scoring.judging.requests import STATUS_TITLES, VerdictStatus
from scoring.rules.bands import Bands
from scoring.testruns.executions import AgentType, LatencyClass
from scoring.testruns.rubric import Undecided
from scoring.testruns.totals import Weights

VERSION = "2"
MAX_POINTS = 5


# --- The closed sets of outcomes, with what people call them (Korean) ----------------------------------------------
class MappingGrade(StrEnum):
    """How the tools used by an answer match the expected ones. Source: SPEC 3.3 (mapping grade)."""

    EXACT = "exact"
    EXTRA = "extra"
    PARTIAL = "partial"
    NONE = "none"
    UNKNOWN = "unknown"


class NumbersGrade(StrEnum):
    """How the numbers of an answer match the ground truth. Source: seed 000, 3.3 (결과 정확도)."""

    EXACT = "exact"
    WITHIN = "within"
    WRONG = "wrong"


class ToolVerdict(StrEnum):
    """Whether the right tools were used: what the target of tool accuracy counts. Source: seed 000, 2.3 and 3.3."""

    PASS = "PASS"  # noqa: S105
    PARTIAL = "PARTIAL"
    FAIL = "FAIL"


class Missing(StrEnum):
    """Why a score is unknown, besides the reasons that keep it undecided."""

    NOTHING_EXPECTED = "nothing_expected"
    NO_TIME = "no_time"


MAPPING_TITLES = {
    MappingGrade.EXACT: "정확",
    MappingGrade.EXTRA: "불필요한 조건 추가",
    MappingGrade.PARTIAL: "일부 누락",
    MappingGrade.NONE: "완전 실패",
    MappingGrade.UNKNOWN: "판단 불가",
}
NUMBERS_TITLES = {
    NumbersGrade.EXACT: "수치 정확",
    NumbersGrade.WITHIN: "수치 허용 오차 이내",
    NumbersGrade.WRONG: "수치 부정확",
    None: "정답 수치 없음",
}
MISSING_TITLES: dict[str, str] = {
    Missing.NOTHING_EXPECTED: "기대 조건이 적혀 있지 않음",
    Undecided.UNMAPPED_FILTER: "기대 필터 이름을 코드로 바꿀 수 없음",
    Undecided.TOOLS_NOT_SHOWN: "사용한 도구를 알려 주는 열이 없음",
    Missing.NO_TIME: "응답 시간 기록 없음",
    Undecided.NEEDS_3_RUNS: "답변을 비교할 방이 3개 미만",
    **{status: title for status, title in STATUS_TITLES.items() if status != VerdictStatus.OK},
}

# --- Semantic quality (seed 000, 3.1; SPEC 3.3) --------------------------------------------------------------------
SEMANTIC_LEVELS = {
    5: "의도한 조건을 정확히 썼고, 답변 내용과 말투도 기대에 맞음",
    4: "조건은 맞으나 말투를 지키지 않았거나 표현 일부가 부정확함",
    3: "핵심 의도는 파악했으나, 조건이 빠지거나 덧붙었거나 답변이 우회적임",
    2: "의도를 일부만 파악하여 결과가 기대와 상당히 다름",
    1: "의도를 잘못 파악했으나 관련 영역의 답변은 제공함",
    0: "전혀 다른 의도로 해석했거나 응답하지 못함",
}
MOVE_SEMANTIC_POINTS = {
    MappingGrade.EXACT: 5,
    MappingGrade.EXTRA: 3,
    MappingGrade.PARTIAL: 3,
    MappingGrade.NONE: 1,
}
SEMANTIC_CAPS = {MappingGrade.EXTRA: 3, MappingGrade.PARTIAL: 3, MappingGrade.NONE: 1}

# --- Consistency (seed 000, 3.2; SPEC 3.3) -------------------------------------------------------------------------
MIN_ROOMS = 3
AGREEING_SHARE = Fraction(2, 3)
NUMBER_SPREAD = Fraction(1, 100)
# The first rung whose condition is true counts. The rung of 1 comes before that of 2: it is the more specific one.
CONSISTENCY_LADDER = (
    (5, "{n}회 모두 결론과 숫자 일치"),
    (4, "{n}회 모두 결론 일치, 숫자는 허용 오차 이내"),
    (3, "{n}회 중 {k}회 이상 결론과 숫자 모두 일치"),
    (1, "{n}회 모두 결론은 같으나 숫자가 매번 다름"),
    (2, "{n}회 중 {k}회 이상 결론만 일치, 숫자 불일치"),
    (0, "{n}회 응답이 서로 다름"),
)
NOTHING_TO_COMPARE = "서로 비교할 응답이 2개에 못 미침"

# --- Accuracy (seed 000, 2.3 and 3.3; SPEC 3.3) --------------------------------------------------------------------
DEFAULT_TOLERANCE_PERCENT = "1"
PASS_MIN_POINTS = 3  # for pass^k: PARTIAL counts as a pass (SPEC 3.3)


@dataclass(frozen=True)
class Accuracy:
    """The outcome of a row of an accuracy table: points, and whether the right tools were used (None: unknown)."""

    points: int
    tools: ToolVerdict | None


_PASS, _PARTIAL, _FAIL = ToolVerdict.PASS, ToolVerdict.PARTIAL, ToolVerdict.FAIL
DATAKEY_ACCURACY = {
    MappingGrade.EXACT: Accuracy(5, _PASS),
    MappingGrade.EXTRA: Accuracy(3, _PARTIAL),
    MappingGrade.PARTIAL: Accuracy(0, _FAIL),
    MappingGrade.NONE: Accuracy(0, _FAIL),
}
# By mapping grade and grade of the numbers (None: no ground truth). `UNKNOWN` is a query that expects no filter.
FILTER_ACCURACY = {
    (MappingGrade.EXACT, NumbersGrade.EXACT): Accuracy(5, _PASS),
    (MappingGrade.EXACT, NumbersGrade.WITHIN): Accuracy(4, _PASS),
    (MappingGrade.EXACT, NumbersGrade.WRONG): Accuracy(2, _PASS),
    (MappingGrade.EXACT, None): Accuracy(4, _PASS),
    (MappingGrade.EXTRA, NumbersGrade.EXACT): Accuracy(5, _PASS),
    (MappingGrade.EXTRA, NumbersGrade.WITHIN): Accuracy(4, _PASS),
    (MappingGrade.EXTRA, NumbersGrade.WRONG): Accuracy(1, _FAIL),
    (MappingGrade.EXTRA, None): Accuracy(3, _PARTIAL),
    (MappingGrade.PARTIAL, NumbersGrade.EXACT): Accuracy(3, _FAIL),
    (MappingGrade.PARTIAL, NumbersGrade.WITHIN): Accuracy(1, _FAIL),
    (MappingGrade.PARTIAL, NumbersGrade.WRONG): Accuracy(1, _FAIL),
    (MappingGrade.PARTIAL, None): Accuracy(1, _FAIL),
    (MappingGrade.NONE, NumbersGrade.EXACT): Accuracy(3, _FAIL),
    (MappingGrade.NONE, NumbersGrade.WITHIN): Accuracy(0, _FAIL),
    (MappingGrade.NONE, NumbersGrade.WRONG): Accuracy(0, _FAIL),
    (MappingGrade.NONE, None): Accuracy(0, _FAIL),
    (MappingGrade.UNKNOWN, NumbersGrade.EXACT): Accuracy(5, None),
    (MappingGrade.UNKNOWN, NumbersGrade.WITHIN): Accuracy(4, None),
    (MappingGrade.UNKNOWN, NumbersGrade.WRONG): Accuracy(2, None),
}
RIGHT_NUMBERS = (NumbersGrade.EXACT, NumbersGrade.WITHIN)
# With an unneeded data key the user still chooses; only the numbers show whether an unneeded filter did harm.
PASSING_TOOLS = {
    AgentType.MOVE: (_PASS, _PARTIAL),
    AgentType.PLAN: (_PASS, _PARTIAL),
    AgentType.APPLICANT_MANAGEMENT: (_PASS,),
}

# --- Speed, seconds (seed 000, 3.4 and 3.5) ------------------------------------------------------------------------
_SINGLE = Bands("at_most", ((5, 5), (8, 4), (10, 3), (15, 2), (20, 1)), beyond=0)
_MULTI = Bands("at_most", ((10, 5), (15, 4), (20, 3), (30, 2), (45, 1)), beyond=0)
_MULTI_APPLICANTS = Bands("at_most", ((20, 5), (30, 4), (40, 3), (50, 2), (60, 1)), beyond=0)
SPEED_BANDS: dict[tuple[LatencyClass, AgentType | None], Bands[int]] = {
    (LatencyClass.SINGLE, AgentType.MOVE): _SINGLE,
    (LatencyClass.SINGLE, AgentType.PLAN): _SINGLE,
    (LatencyClass.SINGLE, AgentType.APPLICANT_MANAGEMENT): _SINGLE,
    (LatencyClass.MULTI, AgentType.MOVE): _MULTI,
    (LatencyClass.MULTI, AgentType.PLAN): _MULTI,
    (LatencyClass.MULTI, AgentType.APPLICANT_MANAGEMENT): _MULTI_APPLICANTS,
}
TTFT_MAX_S = 1

# --- Stability (seed 000, 3.6) -------------------------------------------------------------------------------------
ANSWERED_POINTS, UNANSWERED_POINTS = 5, 0

# --- Weighted total and manual review (seed 000, 4) ----------------------------------------------------------------
WEIGHTS = Weights({"semantic": 20, "consistency": 10, "accuracy": 30, "speed": 20, "stability": 20})
REVIEW_AT_MOST = {"semantic": 2, "accuracy": 2, "stability": 2}
REVIEW_TOTAL_AT_MOST = Decimal("2.5")


# --- Targets (seed 000, 2.3 to 2.5) --------------------------------------------------------------------------------
@dataclass(frozen=True)
class Goal:
    """A rate that the team wants to reach: what is counted, and the minimum share."""

    title: str
    at_least: Fraction
    source: str


SINGLE_MEAN_MAX_S = 10
SET_MESSAGES_MIN, SET_MESSAGES_MAX, SETS_MIN = 3, 5, 10
"""How many messages of one chat are a set, and how many sets the test of the wait asks for (seed 000, 2.4)."""
GOALS = {
    "ttft_rate": Goal(f"TTFT {TTFT_MAX_S}초 이하인 응답", Fraction(90, 100), "seed 000, 2.4·2.5"),
    "chat_wait_rate": Goal(
        f"단일 도구 호출 평균 응답이 {SINGLE_MEAN_MAX_S}초 이내인 채팅", Fraction(95, 100), "seed 000, 2.4"
    ),
    "tool_accuracy_rate": Goal("도구 사용 정확도(필터/datakey)", Fraction(98, 100), "seed 000, 2.3"),
    "result_accuracy_rate": Goal("결과 정확도(정답 수치)", Fraction(98, 100), "seed 000, 2.3"),
}
