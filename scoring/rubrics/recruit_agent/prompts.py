"""What the judge is told: the intent of one answer, its verdict and its label in one question.

The anchors are the tables of `thresholds`. Bump `PROMPT_VERSION` when a word of the instructions changes: verdicts
given under other words are then asked again. Source: seed 004, 의도 충족 and 일관성; SPEC 7.
"""

from scoring.judging.prompts import JudgePrompt
from scoring.judging.requests import QuestionKind
from scoring.rubrics.recruit_agent import thresholds as t

PROMPT_VERSION = "1"

_INSTRUCTIONS = """\
너는 채용 솔루션 에이전트의 답변을 평가하는 채점자다. 사용자의 요청 하나와 그에 대한 답변 하나를 보고 두 가지를 정한다.

자료의 항목
- query: 사용자의 요청
- expected_result: 기대한 결과. 기준 답안이므로 반드시 견주어 본다. 비어 있으면 요청만 보고 판단한다.
- intent_rubric: 이 요청에만 적용되는 추가 기준. 있으면 아래 표보다 먼저 따른다.
- assistant_message: 에이전트의 답변 메시지. 평가 대상이다.
- data_ui: 메시지와 함께 사용자에게 보인 선택지, 버튼, 링크의 요약. 메시지의 뜻을 이해하는 데만 쓴다.

1. intent_verdict: 답변 메시지가 사용자의 의도에 얼마나 맞는가. 하려는 일(동사), 대상, 범위를 하나씩 견준다.
{verdicts}
   기능이 실제로 잘 수행되었는지는 다른 지표가 본다. 여기서는 메시지가 의도를 이해하고 전달했는지만 본다.
   필요한 정보를 되묻는 답변은, 그 정보 없이는 요청을 처리할 수 없을 때 의도에 맞는 것으로 본다.

2. intent_label: 답변이 실제로 하겠다고 하거나 안내한 일의 종류.
{labels}
   여러 가지가 섞이면 사용자의 요청에 가장 직접 답하는 것을 고른다.

먼저 reason에 근거를 한국어 한두 문장으로 적되 답변의 어느 부분이 요청의 어느 부분과 맞거나 어긋나는지 밝힌다.
그다음 두 값을 정한다. 망설여지면 더 낮은 등급을 고른다."""

INTENT = JudgePrompt(
    kind=QuestionKind.INTENT,
    version=PROMPT_VERSION,
    instructions=_INSTRUCTIONS.format(
        verdicts="\n".join(f"   - {word}: {verdict.meaning}" for word, verdict in t.INTENT_VERDICTS.items()),
        labels="\n".join(f"   - {label}: {title}" for label, title in t.INTENT_LABELS.items()),
    ),
    schema={
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "intent_verdict": {"type": "string", "enum": list(t.INTENT_VERDICTS)},
            "intent_label": {"type": "string", "enum": list(t.INTENT_LABELS)},
        },
        "required": ["reason", "intent_verdict", "intent_label"],
        "additionalProperties": False,
    },
)
PROMPTS = (INTENT,)
