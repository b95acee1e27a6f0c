"""Which agent was tested, and which rubric scores the file, from what a file shows of itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scoring.errors import UsageError
from scoring.testruns.executions import AgentType

_WORDS_OF_AGENTS = {
    AgentType.MOVE: ("move", "url", "urlagent", "이동"),
    AgentType.PLAN: ("plan", "planagent", "실행"),
    AgentType.APPLICANT_MANAGEMENT: ("applicantmanagement", "resume", "resumeagent", "지원자관리"),
}
_AGENT_OF_WORD = {word: agent for agent, words in _WORDS_OF_AGENTS.items() for word in words}
_AGENT_OF_PREFIX = {
    "url_agent_": AgentType.MOVE,
    "plan_agent_": AgentType.PLAN,
    "resume_agent_": AgentType.APPLICANT_MANAGEMENT,
}
_ROUND_COLUMN = re.compile(r"[0-9]+차 답변(?: raw)?")
_LONG_COLUMNS = frozenset({"Query ID", "방/반복", "Raw JSON"})
_CHAT_COLUMNS = frozenset({"user_input", "llm_response"})
_GROUND_TRUTH_COLUMNS = frozenset({"ground_truth", "검증 API 결과", "정답 수치"})


class Layout(StrEnum):
    """How a file lays out its rows: one per execution, one per query, one per chat turn."""

    LONG = "long"
    WIDE = "wide"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What recognition needs to know of a file. `file_name` without its folder, `headers` as
    `header_names` gives them; `has_accuracy_checks`: some row fills `LLM 평가기준` or carries
    `accuracyChecks`."""

    file_name: str
    headers: tuple[str, ...]
    has_accuracy_checks: bool = False


def header_names(cells: Iterable[str]) -> tuple[str, ...]:
    """Header cells without byte order marks and blanks around them."""
    return tuple(cell.replace("\ufeff", "").strip() for cell in cells)


def layout_of(headers: Collection[str]) -> Layout | None:
    """The layout that headers tell, None where they tell none. It may still lack a required column."""
    names = set(headers)
    if names >= _CHAT_COLUMNS:
        return Layout.CHAT
    if any(_ROUND_COLUMN.fullmatch(name) for name in names):
        return Layout.WIDE
    return Layout.LONG if len(names & _LONG_COLUMNS) >= 2 else None


def agent_type_named(text: str) -> AgentType | None:
    """The agent that a cell or an option names: `plan`, `plan_agent`, `실행 에이전트`, ...; else None."""
    return _AGENT_OF_WORD.get(re.sub(r"[\s_-]|에이전트", "", text).casefold())


def agent_type_of(
    facts: FileFacts, *, column: str = "", option: str = "", has_expected_filters: bool = False
) -> AgentType | None:
    """The agent tested: the row's own cell, else the file's name, else `--agent-type`, else
    expected filters tell the applicant agent. None where nothing tells: data keys alone do not
    tell move from plan.

    Raises:
        UsageError: `--agent-type` names no agent.

    Source: seed 000, 2.3; seed 003, 적용 범위.
    """
    chosen = agent_type_named(option)
    if option and chosen is None:
        raise UsageError(f"there is no agent type '{option}'", where="--agent-type", fix=_agent_choices())
    by_name = (agent for prefix, agent in _AGENT_OF_PREFIX.items() if _named(facts, prefix))
    by_filters = AgentType.APPLICANT_MANAGEMENT if has_expected_filters else None
    return agent_type_named(column) or next(by_name, None) or chosen or by_filters


def unknown_agent_type(file_name: str) -> UsageError:
    """The error for a rubric that must know the agent of a file that does not tell it."""
    return UsageError(
        "nothing tells which agent was tested: there is no agent_type column, the file's name does not start with "
        "plan_agent_, url_agent_ or resume_agent_, and data keys alone cannot tell move from plan",
        where=file_name,
        fix=_agent_choices(),
    )


def rubric_of(facts: FileFacts, *, option: str = "", known: Sequence[str]) -> str:
    """The id of the rubric that scores the file: `--rubric`, else what the file shows.

    `known`: the ids of the catalog, for checking the option and for the error's list.

    Raises:
        UsageError: `--rubric` names no rubric, or the file shows none.
    """
    choices = f"choose one with --rubric: {', '.join(known)}"
    if option:
        if option not in known:
            raise UsageError(f"there is no rubric '{option}'", where="--rubric", fix=choices)
        return option
    layout = layout_of(facts.headers)
    if layout is Layout.CHAT:
        return "ola-monitoring"
    if facts.has_accuracy_checks:
        return "recruit-agent"
    if _named(facts, "plan_agent_"):
        return "plan-agent"
    if layout is Layout.WIDE or _GROUND_TRUTH_COLUMNS & set(facts.headers):
        return "aqb-1.2"
    raise UsageError("nothing tells which rubric scores this file", where=facts.file_name, fix=choices)


def _named(facts: FileFacts, prefix: str) -> bool:
    return facts.file_name.casefold().startswith(prefix)


def _agent_choices() -> str:
    names = {AgentType.MOVE: "이동", AgentType.PLAN: "실행", AgentType.APPLICANT_MANAGEMENT: "지원자 관리"}
    listed = ", ".join(f"{agent} ({name})" for agent, name in names.items())
    return f"choose one with --agent-type, or add the column agent_type: {listed}"
