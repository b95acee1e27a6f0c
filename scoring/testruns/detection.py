"""Detects the tested agent, and the rubric that scores the file, from the file itself."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from scoring.errors import UsageError
from scoring.testruns.executions import AGENT_TITLES, AgentType


@dataclass(frozen=True, slots=True)
class _AgentNames:
    """How files and people name an agent: a cell or an option, the beginning of a file's name, in Korean."""

    words: tuple[str, ...]
    file_prefix: str
    korean: tuple[str, ...]


_NAMES_OF_AGENTS = {
    AgentType.PLAN: _AgentNames(("plan", "planagent"), "plan_agent_", ("실행", "플랜 생성")),
    AgentType.MOVE: _AgentNames(("move", "url", "urlagent"), "url_agent_", ("이동",)),
    AgentType.APPLICANT_MANAGEMENT: _AgentNames(
        ("applicantmanagement", "resume", "resumeagent"), "resume_agent_", ("지원자 관리",)
    ),
}
_FILE_PREFIXES = [names.file_prefix for names in _NAMES_OF_AGENTS.values()]
_KOREAN_NAMES = [name for names in _NAMES_OF_AGENTS.values() for name in names.korean]
_AGENT_OF_WORD = {
    word: agent
    for agent, names in _NAMES_OF_AGENTS.items()
    for word in (*names.words, *(name.replace(" ", "") for name in names.korean))
}
_KOREAN = f"({'|'.join(name.replace(' ', '[ _-]?') for name in _KOREAN_NAMES)})"
_KOREAN_FILE_NAME = re.compile(rf"{_KOREAN}(?![가-힣])|.*?{_KOREAN}[ _-]?에이전트")
_EXPERT_NAME = re.compile(r"(?<!비)전문가|(?<![a-z])expert(?![a-z])")
EXPERT_FLOW = "전문가"
"""The kind of run (`실행 유형`) of a file whose name says that the agent was chosen by hand."""
ID_HEADERS = ("ID", "query_id", "질의ID", "Query ID")
"""The headers of a query's id in the wide layout."""
_OF_INBOX = "; for files of the inbox, in the setting [[test_runs.files]]"
_CHOSEN_BY_OPERATORS = "운영 담당자가 설정 [[test_runs.files]]에 적을 수 있습니다."
_ROUND_COLUMN = re.compile(r"[0-9]+차 (?:답변|답변 raw|raw)")
_LONG_COLUMNS = frozenset({"Query ID", "방/반복", "Raw JSON"})
_CHAT_TEXTS, _CHAT_TOKENS = frozenset({"user_input", "llm_response"}), frozenset({"input_tokens", "output_tokens"})


class Layout(StrEnum):
    """How a file lays out its rows: one per execution, one per query (with one round or several), one per chat turn."""

    LONG = "long"
    WIDE = "wide"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts about a file that detection needs.

    `file_name` is without its folder; `headers` are by our names, `written` as in the file. `has_accuracy_checks`: a
    row fills `LLM 평가기준` or has `accuracyChecks`. `has_expected_filters`: a row expects filters.
    `has_data_keys_alone`: a row that names no agent expects data keys and no filters.
    """

    file_name: str
    headers: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    has_accuracy_checks: bool = False
    has_expected_filters: bool = False
    has_data_keys_alone: bool = False


@dataclass(frozen=True, slots=True)
class Recognition:
    """The signs by which a file shows that a rubric scores it, most certain first: expected results that are accuracy
    checks, the beginning of its name, one of the columns, the layout.
    """

    accuracy_checks: bool = False
    file_prefixes: tuple[str, ...] = ()
    columns: frozenset[str] = frozenset()
    layouts: frozenset[Layout] = frozenset()

    def certainty(self, facts: FileFacts) -> int:
        """The certainty of the file's sign, from 4 to 1; 0 without any."""
        layout = layout_of(facts.headers)
        if layout is Layout.CHAT and layout not in self.layouts:
            return 0
        signs = (
            self.accuracy_checks and facts.has_accuracy_checks,
            _begins_with(facts.file_name, self.file_prefixes),
            self.columns & {*facts.headers, *facts.written},
            layout in self.layouts,
        )
        return next((len(signs) - place for place, shown in enumerate(signs) if shown), 0)


def _begins_with(file_name: str, prefixes: Iterable[str]) -> bool:
    """Whether a file's name begins with one of these, regardless of case and word separators: `Plan Agent (1).csv`."""
    return _words(file_name).startswith(tuple(map(_words, prefixes)))


def _words(name: str) -> str:
    return re.sub(r"[\W_]+", "_", unicodedata.normalize("NFC", name).casefold())


def layout_of(headers: Collection[str]) -> Layout | None:
    """The layout of these headers, None if there is none. A required column may still be missing."""
    names = set(headers)
    # In capitals, too: the reader of chat rows then says what they are called.
    if {name.casefold() for name in names} & _CHAT_TEXTS or names >= _CHAT_TOKENS:
        return Layout.CHAT
    if any(_ROUND_COLUMN.fullmatch(name) for name in names):
        return Layout.WIDE
    if len(names & _LONG_COLUMNS) >= 2:
        return Layout.LONG
    return Layout.WIDE if is_single_run(names) else None


def is_single_run(headers: Collection[str]) -> bool:
    """Whether a wide file has one run per query, in `응답` instead of numbered columns."""
    names = set(headers)
    numbered = any(map(_ROUND_COLUMN.fullmatch, names))
    return "응답" in names and bool(names & set(ID_HEADERS)) and bool(names & {"질의", "query"}) and not numbered


def agent_type_named(text: str) -> AgentType | None:
    """The agent that a cell or an option names: `plan`, `plan_agent`, `실행 에이전트`, ...; else None."""
    return _AGENT_OF_WORD.get(re.sub(r"[\s_-]|에이전트", "", text).casefold())


def agent_type_of(facts: FileFacts, option: str = "") -> AgentType | None:
    """The agent of rows that name none: from the file's name, else `--agent-type`, else expected filters imply the
    applicant agent. None if there is no indication: data keys alone do not distinguish move from plan.

    Raises:
        UsageError: `--agent-type` names no agent.

    Source: seed 000, 2.3; seed 003, 적용 범위.
    """
    chosen = agent_type_named(option) if option else None
    if option and chosen is None:
        raise UsageError(f"there is no agent type '{option}'", where="--agent-type", fix=_agent_choices())
    by_filters = AgentType.APPLICANT_MANAGEMENT if facts.has_expected_filters else None
    return _agent_type_of_name(facts.file_name) or chosen or by_filters


def _agent_type_of_name(file_name: str) -> AgentType | None:
    """`plan_agent_*` and its like, or a Korean name as the first word or before 에이전트."""
    name = unicodedata.normalize("NFC", file_name).casefold()
    if korean := _KOREAN_FILE_NAME.match(name):
        return agent_type_named(korean[1] or korean[2])
    return next((agent for agent, names in _NAMES_OF_AGENTS.items() if _begins_with(name, [names.file_prefix])), None)


def run_type_of(name: str) -> str:
    """The expert flow if a file's name, or a word in `실행 유형`, names it; else ''.

    Source: seed 000, 2.4 and 2.5; SPEC 3.3.
    """
    return EXPERT_FLOW if _EXPERT_NAME.search(unicodedata.normalize("NFC", name).casefold()) else ""


def unknown_agent_type(where: str, unnamed: int = 1, executions: int = 1) -> UsageError:
    """The error for a rubric that needs the agent of each execution, of which the file leaves `unnamed` open."""
    who, ko = "there is no agent_type column that names one", "agent_type 열을 넣거나"
    if unnamed < executions:
        who = f"{unnamed:,} of {executions:,} executions have no known agent in their column agent_type"
        ko = f"실행 {executions:,}건 중 {unnamed:,}건은 agent_type 열이 비어 있거나 아는 이름이 아닙니다. 열을 채우거나"
    return UsageError(
        f"nothing tells which agent was tested: {who}, the file's name does not start with "
        f"{', '.join([*_FILE_PREFIXES, *_KOREAN_NAMES])}, and data keys alone cannot tell move from plan",
        where=where,
        fix=f"{_agent_choices()}; an agent of your own is scored with --rubric and the path of its rubric file",
        ko=f"어느 에이전트를 테스트했는지 알 수 없습니다. {ko}, 파일 이름을 "
        f"{', '.join([*_FILE_PREFIXES, *_KOREAN_NAMES])} 가운데 하나로 시작하게 바꾸세요.",
    )


def rubric_of(facts: FileFacts, *, option: str = "", known: Mapping[str, Recognition]) -> str:
    """The id of the rubric that scores the file: `--rubric`, else the one with the most certain sign.

    `known`: the signs of each rubric, by its id.

    Raises:
        UsageError: `--rubric` names no rubric, or the file shows none, or two with the same certainty.
    """
    choices = f"choose one with --rubric: {', '.join(known)}, or the path of a rubric file{_OF_INBOX}"
    if option:
        if option not in known:
            raise UsageError(f"there is no rubric '{option}'", where="--rubric", fix=choices)
        return option
    certainties = {rubric: recognition.certainty(facts) for rubric, recognition in known.items()}
    surest = max(certainties.values())
    if not surest:
        raise UsageError(
            "nothing tells which rubric scores this file",
            where=facts.file_name,
            fix=choices,
            ko=f"어느 채점 기준으로 채점할지 파일만으로는 알 수 없습니다. {_CHOSEN_BY_OPERATORS}",
        )
    shown = [rubric for rubric, certainty in certainties.items() if certainty == surest]
    if len(shown) > 1:
        equally = f"more than one rubric scores such files: {', '.join(shown)}"
        ko = f"여러 채점 기준이 이런 파일을 채점합니다: {', '.join(shown)}. {_CHOSEN_BY_OPERATORS}"
        raise UsageError(equally, where=facts.file_name, fix=choices, ko=ko)
    return shown[0]


def _agent_choices() -> str:
    listed = ", ".join(f"{agent} ({name})" for agent, name in AGENT_TITLES.items())
    return f"choose one with --agent-type, or add the column agent_type: {listed}{_OF_INBOX}"
