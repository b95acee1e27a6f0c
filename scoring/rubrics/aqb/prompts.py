"""The judge's prompts: the semantic quality of one answer, and which answers of a query have the same conclusion.

The anchors are the tables of `thresholds`. Bump a version when a word of its instructions changes: verdicts given under
other words are then asked again. Source: seed 000, 2.1, 2.2, 3.1, 3.2; SPEC 3.3 and 7.
"""

from collections.abc import Mapping
from typing import Any

from scoring.judging.prompts import JudgePrompt, verdict_schema
from scoring.judging.requests import QuestionKind
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.thresholds import MAPPING_TITLES, MappingGrade

SEMANTIC_VERSION = "3"
CONCLUSIONS_VERSION = "1"

_SEMANTIC_INSTRUCTIONS = """\
너는 채용 솔루션 에이전트의 답변을 평가하는 채점자다. 사용자의 질의 하나와 답변 하나를 보고 의도 충족 점수를 정한다.
의도 충족은 두 가지를 함께 본다: 의도에 맞는 조건(필터나 datakey)을 썼는가, 답변이 이해하기 쉽고 말투가 알맞은가.

자료의 항목
- query: 사용자의 질의
- agent_type: plan(실행 에이전트)은 기능을 실행할 버튼이나 선택지를 준다.
  applicant_management(지원자 관리 에이전트)는 지원자를 조회하고 수를 센다.
- expected: 기대한 답변. 기준 답안이므로 반드시 견주어 본다. 비어 있으면 질의만 보고 판단한다.
- answer: 에이전트의 답변 메시지. 비어 있으면 offered가 답변의 전부다.
- offered: 답변과 함께 사용자에게 보인 선택지, 버튼, 링크
- mapping: 조건 매핑의 결과. 규칙으로 이미 확인한 사실이므로 다시 판단하지 말고 그대로 받아들인다.
{grades}
  unknown은 규칙이 확인하지 못했다는 뜻이다. 이때만 조건이 맞는지를 다른 항목을 보고 판단하며, unknown이라는 이유로
  점수를 낮추지 않는다.

점수
{levels}

말투 기준: 정중하고 간결한 존댓말, 사용자가 다음에 할 일이 분명함, 내부 코드나 개발 용어를 드러내지 않음.
수치가 실제로 맞는지는 다른 지표가 본다. 여기서는 질의가 물은 것에 답했는지만 본다.
조건 매핑이 불완전하면 답변이 훌륭해도 높은 점수를 주지 않는다(불필요한 조건 추가나 일부 누락은 3점 이하, 조건이
전혀 맞지 않으면 1점 이하). 말투 기준을 하나라도 어겼으면 조건이 맞아도 4점 이하다.

먼저 reason에 근거를 한국어 한두 문장으로 적되 답변의 어느 부분 때문인지 밝히고, 말투 기준을 어긴 곳이 있으면
그곳도 적는다. 그다음 score를 정한다. 두 점수 사이에서 망설여지면 낮은 쪽을 고른다.
마지막으로 tone_kept에 말투 기준을 모두 지켰으면 true, 하나라도 어겼으면 false를 적는다. 조건이나 내용이 틀렸어도
여기서는 말투만 본다."""

_CONCLUSIONS_INSTRUCTIONS = """\
너는 같은 질의에 대한 여러 답변이 같은 결론을 말하는지 가리는 채점자다. 답변들은 서로 독립된 채팅방에서 나왔다.

자료의 항목
- query: 사용자의 질의
- answers: 답변의 목록. 순서대로 1번, 2번, …이다.

같은 결론인지 가리는 법
- 결론은 답변이 질의에 대해 말하는 요지다: 무엇을 찾았는가, 무엇을 할 수 있는가, 무엇을 되묻는가.
- 숫자의 차이는 무시한다. 숫자는 규칙이 따로 견준다. 숫자만 다르고 말하는 바가 같으면 같은 결론이다.
- 표현, 순서, 자세한 정도, 인사말, 덧붙인 안내의 차이도 무시한다.
- 조회한 조건이나 대상이 다르거나, 하나는 답하고 다른 하나는 되묻거나 못 한다고 하면 다른 결론이다.

먼저 reason에 어떻게 나누었는지 한국어 한두 문장으로 적는다. 그다음 groups에 답변마다 결론의 번호를 순서대로 적는다.
첫 결론은 1이고, 앞에 나오지 않은 결론이 나올 때마다 다음 번호를 쓴다. groups의 길이는 answers의 길이와 같아야 한다."""


def _one_group_per_answer(answer: Mapping[str, Any], material: Mapping[str, Any]) -> bool:
    """Whether every answer has a group, numbered in the order of first appearance."""
    groups, highest = answer["groups"], 0
    for group in groups:
        if not 1 <= group <= highest + 1:
            return False
        highest = max(highest, group)
    return len(groups) == len(material["answers"])


SEMANTIC = JudgePrompt(
    kind=QuestionKind.SEMANTIC,
    version=SEMANTIC_VERSION,
    instructions=_SEMANTIC_INSTRUCTIONS.format(
        grades="\n".join(f"  - {grade.value}: {MAPPING_TITLES[grade]}" for grade in MappingGrade),
        levels="\n".join(f"- {points}: {meaning}" for points, meaning in t.SEMANTIC_LEVELS.items()),
    ),
    schema=verdict_schema(
        score={"type": "integer", "minimum": 0, "maximum": t.MAX_POINTS}, tone_kept={"type": "boolean"}
    ),
)

CONCLUSIONS = JudgePrompt(
    kind=QuestionKind.CONCLUSIONS,
    version=CONCLUSIONS_VERSION,
    instructions=_CONCLUSIONS_INSTRUCTIONS,
    schema=verdict_schema(groups={"type": "array", "items": {"type": "integer"}}),
    accepts=_one_group_per_answer,
)
PROMPTS = (SEMANTIC, CONCLUSIONS)
