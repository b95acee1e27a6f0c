"""The scoring criteria, for people who score by hand. Source: seed 000, 3.1 to 3.3."""

from math import ceil

from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.thresholds import MAPPING_TITLES, NUMBERS_TITLES, MappingGrade
from scoring.testruns.executions import AGENT_TITLES, AgentType

_OFFERING = f"{AGENT_TITLES[AgentType.MOVE]}·{AGENT_TITLES[AgentType.PLAN]}"
_COUNTING = AGENT_TITLES[AgentType.APPLICANT_MANAGEMENT]


def _accuracy() -> list[tuple[str, str]]:
    """The cases of both tables by points: `지원자 관리: 조건 매핑 정확, 수치 정확`."""
    cases: dict[int, list[str]] = {points: [] for points in range(t.MAX_POINTS, -1, -1)}
    for mapping, accuracy in t.DATAKEY_ACCURACY.items():
        cases[accuracy.points].append(f"{_OFFERING}: datakey 매핑 {MAPPING_TITLES[mapping]}")
    for (mapping, numbers), accuracy in t.FILTER_ACCURACY.items():
        expected = "기대 조건 없음" if mapping is MappingGrade.UNKNOWN else f"조건 매핑 {MAPPING_TITLES[mapping]}"
        cases[accuracy.points].append(f"{_COUNTING}: {expected}, {NUMBERS_TITLES[numbers]}")
    return [(str(points), "\n".join(found)) for points, found in cases.items() if found]


def _consistency() -> list[tuple[str, str]]:
    needed = ceil(t.AGREEING_SHARE * t.MIN_ROOMS)
    rungs = sorted(t.CONSISTENCY_LADDER, reverse=True)
    return [(str(points), text.format(n=t.MIN_ROOMS, k=needed)) for points, text in rungs]


CRITERIA = {
    "semantic": [(str(points), meaning) for points, meaning in t.SEMANTIC_LEVELS.items()],
    "accuracy": _accuracy(),
    "consistency": _consistency(),
}
