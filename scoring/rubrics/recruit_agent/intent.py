"""The judge's part: its question about an answer, and the score of its verdict. Source: seed 004, 의도 충족; SPEC 7."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.judging.prompts import JudgePrompt, verdict_schema
from scoring.judging.requests import STATUS_TITLES, JudgeRequest, QuestionKind, Verdicts, verdict_of
from scoring.markdown import shortened
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.testruns.cells import given
from scoring.testruns.executions import Execution, ParsedExecution, parse_execution
from scoring.testruns.expected import expected_of, parse_expected
from scoring.testruns.raw_json import JsonObject, objects_of, part_of
from scoring.testruns.rubric import Options, Score
from scoring.testruns.tool_usage import filters_of, scalars

RUBRIC_ID = "recruit-agent"
_DESCRIBED_TEXTS = ("formType", "actionType", "planId", "message", "buttonName")


@dataclass(frozen=True)
class Intent:
    """The intent of an answer. Without a verdict both words are None and `missing` is the status."""

    score: Score
    verdict: str | None
    label: str | None

    @property
    def missing(self) -> str:
        """Why there is no verdict: the status of the question; empty if there is one."""
        return self.score.missing


def requests(executions: Sequence[Execution], options: Options) -> list[JudgeRequest]:
    """One question per answered execution, verdict and label together; the others are decided by rule."""
    readings = (parse_execution(execution) for execution in executions)
    return [intent_request(reading) for reading in readings if reading.answered]


def intent_request(reading: ParsedExecution) -> JudgeRequest:
    """The question about one answer. It names no run and no round: the same answer is asked about once."""
    execution = reading.execution
    expected = expected_of(execution)
    criteria = parse_expected("", execution.criteria_json)
    texts = (given(execution.expected_text), criteria.prose)
    return JudgeRequest(
        RUBRIC_ID,
        QuestionKind.INTENT,
        {
            "query": execution.query_text,
            "expected_result": "\n".join(text for text in texts if text),
            "intent_rubric": expected.intent_rubric,
            "assistant_message": reading.response.assistant_message,
            "data_ui": list(map(_described, reading.response.ui_entries[: t.DESCRIBED_ENTRIES])),
        },
    )


def intent_of(reading: ParsedExecution, verdicts: Verdicts) -> Intent:
    """The verdict's points; FAILED and ERROR by rule without an answer; NULL with the status without a verdict.

    A verdict whose words are not in the tables is no verdict: its status is `invalid`.
    """
    if not reading.answered:
        verdict = t.INTENT_VERDICTS[t.NOT_ANSWERED_VERDICT]
        reason = f"{t.NOT_ANSWERED_VERDICT}({verdict.points}점): {reading.not_answered}"
        return Intent(Score(verdict.points, reason), t.NOT_ANSWERED_VERDICT, t.NOT_ANSWERED_LABEL)
    given_verdict = verdict_of(intent_request(reading), verdicts)
    word, label = (str(given_verdict.answer.get(field)) for field in ("intent_verdict", "intent_label"))
    if not given_verdict.given or word not in t.INTENT_VERDICTS or label not in t.INTENT_LABELS:
        status = given_verdict.unusable_because
        reason = f"의도를 판정받지 못해 채점하지 않음({STATUS_TITLES[status]})"
        return Intent(Score(None, reason, status), None, None)
    verdict = t.INTENT_VERDICTS[word]
    reason = f"{word}({verdict.points}점): {given_verdict.reason or verdict.meaning}"
    return Intent(Score(verdict.points, reason), word, label)


def _described(entry: JsonObject) -> Mapping[str, Any]:
    """A short description of what the user saw beside the message: the judge needs its meaning, not its JSON."""
    ui_value = part_of(entry, "uiValue")
    names = [option.get("optionName") for option in objects_of(ui_value.get("selectOptionList"))]
    described: dict[str, Any] = {
        "description": _short(entry.get("uiDescription")),
        **{name: _short(ui_value[name]) for name in _DESCRIBED_TEXTS if name in ui_value},
        "options": [_short(name) for name in names[: t.DESCRIBED_OPTIONS]],
        "data_keys": sorted({_short(text) for _, text in scalars(ui_value, "dataKey")})[: t.DESCRIBED_OPTIONS],
        "filters": sorted(map(_short, filters_of(ui_value)))[: t.DESCRIBED_OPTIONS],
    }
    return {name: value for name, value in described.items() if value}


def _short(value: object) -> str:
    return shortened(" ".join((given(value) or "").split()), t.DESCRIBED_CHARACTERS)


PROMPT_VERSION = "1"  # bump it when a word of the instructions changes: verdicts are then asked again

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
    schema=verdict_schema(
        intent_verdict={"type": "string", "enum": list(t.INTENT_VERDICTS)},
        intent_label={"type": "string", "enum": list(t.INTENT_LABELS)},
    ),
)
PROMPTS = (INTENT,)
