"""The closed sets of outcomes that `aqb-1.2` names, with what people call them (Korean)."""

from enum import StrEnum

from scoring.judging.requests import STATUS_TITLES, VerdictStatus


class MappingGrade(StrEnum):
    """How the tools that an answer used meet the expected ones. Source: SPEC 3.3 (mapping grade)."""

    EXACT = "exact"
    EXTRA = "extra"
    PARTIAL = "partial"
    NONE = "none"
    UNKNOWN = "unknown"


class NumbersGrade(StrEnum):
    """How the numbers of an answer meet the ground truth. Source: seed 000, 3.3 (결과 정확도)."""

    EXACT = "exact"
    WITHIN = "within"
    WRONG = "wrong"


class ToolVerdict(StrEnum):
    """Whether the right tools were used: what the target of tool accuracy counts. Source: seed 000, 2.3 and 3.3."""

    PASS = "PASS"  # noqa: S105
    PARTIAL = "PARTIAL"
    FAIL = "FAIL"


class Missing(StrEnum):
    """Why a score is not known, besides the statuses of a judge's verdict."""

    NOTHING_EXPECTED = "nothing_expected"
    UNMAPPED_FILTER = "unmapped_filter"
    NO_TIME = "no_time"
    NEEDS_3_RUNS = "needs_3_runs"


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
MISSING_TITLES = {
    Missing.NOTHING_EXPECTED: "기대 조건이 적혀 있지 않음",
    Missing.UNMAPPED_FILTER: "기대 필터 이름을 코드로 바꿀 수 없음",
    Missing.NO_TIME: "응답 시간 기록 없음",
    Missing.NEEDS_3_RUNS: "독립된 방 3개 미만",
    **{status: title for status, title in STATUS_TITLES.items() if status != VerdictStatus.OK},
}
