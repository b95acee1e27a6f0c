"""One execution of a test query, and the facts that every rubric reads from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scoring.testruns.cells import given, reported_error, says_all_is_well
from scoring.testruns.filter_names import COMMON_FILTERS, FilterNames
from scoring.testruns.raw_json import RawResponse, parse_raw_json, response_of

_ROUND = re.compile(r"\s*([1-9][0-9]{0,8})\s*/\s*([1-9][0-9]{0,8})\s*", re.ASCII)

TOOL_COLUMNS = frozenset({"raw_json", "button_url", "detected_filters", "used_datakeys"})
"""The fields whose columns show which tools an execution used."""


class AgentType(StrEnum):
    """The three recruiting agents: 이동, 실행, 지원자 관리."""

    MOVE = "move"
    PLAN = "plan"
    APPLICANT_MANAGEMENT = "applicant_management"


AGENT_TITLES = {AgentType.MOVE: "이동", AgentType.PLAN: "실행", AgentType.APPLICANT_MANAGEMENT: "지원자 관리"}
"""The Korean names of the agents."""


class LatencyClass(StrEnum):
    """Whether a query needs one tool call or several. Source: seed 000, 2.4 and 2.5; seed 004, 응답 속도."""

    SINGLE = "SINGLE"
    MULTI = "MULTI"

    @classmethod
    def named(cls, word: object) -> "LatencyClass | None":
        """The class of a word in any case, or of the Korean words of reports and seeds; None for anything else."""
        name = word.strip().upper() if isinstance(word, str) else ""
        name = {"단일": "SINGLE", "복수": "MULTI", "다중": "MULTI"}.get(name, name)
        return cls(name) if name in cls.__members__ else None


@dataclass(frozen=True, slots=True, order=True)
class Round:
    """`방/반복`: a room is an independent chat session, a repeat one of the executions in it. Both count from 1."""

    room: int
    repeat: int

    def __str__(self) -> str:
        return f"{self.room}/{self.repeat}"

    @classmethod
    def parse(cls, text: str) -> "Round | None":
        """Parses a round `n/m`; None for any other text."""
        match = _ROUND.fullmatch(text)
        return cls(int(match.group(1)), int(match.group(2))) if match else None


@dataclass(frozen=True, slots=True)
class Execution:
    """One row of the executions table: one query, asked once, in one round. Both file layouts are converted to it.

    Missing texts are '', missing numbers None. `raw_json` is '' if the file has no raw cell: then `answer_text` is the
    assistant message. Times are in seconds, `latency_ms` in milliseconds. `detected_filters` and `button_url` are the
    numbered columns of the wide layout, `used_datakeys` is given with the answer of a single run. `latency_class` is
    the value of the column. `recorded_score` is the score of an earlier judge, `recorded_scores` are those of an
    earlier tool by metric. `filter_names` maps filters to codes, `tool_columns` are the columns of `TOOL_COLUMNS` in
    the file.
    """

    query_id: str
    round: Round
    run_id: str = ""
    item_id: str = ""
    query_text: str = ""
    category: str = ""
    track: str = ""
    run_type: str = ""
    executed_at: str = ""
    agent_type: AgentType | None = None
    raw_json: str = ""
    answer_text: str = ""
    error: str = ""
    status: str = ""
    latency_ms: float | None = None
    answer_time_s: float | None = None
    latency_class: LatencyClass | None = None
    ttft_s: float | None = None
    tool_call_count: int | None = None
    detected_filters: str = ""
    used_datakeys: str = ""
    button_url: str = ""
    expected_text: str = ""
    criteria_json: str = ""
    expected_filters: str = ""
    expected_datakeys: str = ""
    ground_truth: str = ""
    recorded_score: float | None = None
    recorded_scores: Mapping[str, float] = field(default_factory=dict)
    filter_names: FilterNames = COMMON_FILTERS
    tool_columns: frozenset[str] = TOOL_COLUMNS


@dataclass(frozen=True, slots=True)
class ParsedExecution:
    """An execution with its parsed Raw JSON and the facts that every rubric needs.

    `failure` and `emptiness` are '' or the Korean reason. `latency_s` is in seconds, None if it is unknown.
    """

    execution: Execution
    response: RawResponse
    failure: str
    emptiness: str
    latency_s: float | None

    @property
    def answered(self) -> bool:
        """Neither failed nor empty."""
        return not self.failure and not self.emptiness

    @property
    def not_answered(self) -> str:
        """The reason why there is no answer to score (Korean)."""
        return f"실행 실패: {self.failure}" if self.failure else f"빈 응답: {self.emptiness}"


def parse_execution(execution: Execution) -> ParsedExecution:
    """Parses the execution. Keep the result only while its query is scored: it is several times as large as its text.

    Source: seed 003, 2-2; seed 004, 안정성; seed 000, 2.6.
    """
    answer = {"assistantMessage": execution.answer_text}
    has_json = bool(given(execution.raw_json))
    read = parse_raw_json(execution.raw_json) if has_json else response_of(answer)
    response = response_of({}) if isinstance(read, str) else read
    problems = _problems(execution, response)
    if isinstance(read, str):
        problems.append(read)
    emptiness = ""
    if not response.assistant_message.strip() and not response.ui_entries:
        emptiness = "답변 메시지와 dataUIList가 모두 비어 있음" if has_json else "답변이 비어 있음"
    return ParsedExecution(
        execution=execution,
        response=response,
        failure="; ".join(problems),
        emptiness=emptiness,
        latency_s=_latency_s(execution, response),
    )


def _problems(execution: Execution, response: RawResponse) -> list[str]:
    error, status = reported_error(execution.error), given(execution.status)
    problems = [error] if error else []
    if response.error and response.error != error:
        problems.append(f"Raw JSON의 error: {response.error}")
    if status and not says_all_is_well(status):
        problems.append(f"응답 상태: {status}")
    problems += [f"{failed.step} 단계 오류: {failed.text}" for failed in response.step_errors]
    return problems


def _latency_s(execution: Execution, response: RawResponse) -> float | None:
    if response.response_time_s is not None:
        return response.response_time_s
    if execution.latency_ms is not None:
        return execution.latency_ms / 1000
    return execution.answer_time_s
