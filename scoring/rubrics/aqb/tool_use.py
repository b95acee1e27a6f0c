"""Which tools a query expects, which an answer used, and how they match.

Tools are data keys (move, plan), the page that a move leads to, or filters and grid columns (applicant management).
Source: seed 000, 2.3; SPEC 2 (What an execution used) and 3.3 (mapping grade).
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from operator import eq
from typing import TypeAlias

from scoring.rubrics.aqb.thresholds import MISSING_TITLES, MappingGrade, Missing
from scoring.rules.arrow_types import matches
from scoring.testruns.cells import folded
from scoring.testruns.checks import PAGE_KEY, EntryGroup, PathCheck
from scoring.testruns.executions import AgentType, Execution, ParsedExecution
from scoring.testruns.expected import expected_of
from scoring.testruns.filter_names import COMMON_FILTERS, FilterNames
from scoring.testruns.rubric import Undecided
from scoring.testruns.tool_usage import (
    PERIOD_FILTER,
    ToolUsage,
    alternative_datakeys,
    button_url,
    leads_to,
    shows_tools,
    tool_usage_of,
    url_contains,
)

_SHOW_PAGES = frozenset({"raw_json", "button_url"})
_SHOW_DATAKEYS = _SHOW_PAGES | {"used_datakeys"}
_SHOW_FILTERS = _SHOW_PAGES | {"detected_filters"}
_SHOWN_BY = {
    "URL 경로": "답변 raw, buttonUrl",
    "datakey": "답변 raw, buttonUrl, 사용 datakey",
    "필터": "답변 raw, buttonUrl, 화면 열이 아닌 필터는 감지된 필터도",
}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Expected and used tools, sorted. `kind` is their title; the expected ones are `found`, `missing` and `unseen`.

    `extra` are used tools that were not expected, `weak` the found ones that are grid columns, `unmapped` the expected
    names without a code, `unseen` the expected tools whose use the file cannot show. An answer that failed or is empty
    used nothing. The period filter is never `extra`. `names` gives filters their titles.
    """

    kind: str
    found: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    weak: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    names: FilterNames = field(default=COMMON_FILTERS, repr=False, compare=False)

    @property
    def expected(self) -> tuple[str, ...]:
        """Every expected tool with a code."""
        return tuple(sorted((*self.found, *self.missing, *self.unseen)))

    @property
    def used(self) -> tuple[str, ...]:
        """Every tool that the answer used, without columns, which a page may show by default."""
        return tuple(sorted({*self.found, *self.extra} - set(self.weak)))

    @property
    def grade(self) -> MappingGrade:
        """The mapping grade. Source: SPEC 3.3 (mapping grade)."""
        if self.unmapped or self.unseen or not self.expected:
            return MappingGrade.UNKNOWN
        if not self.found:
            return MappingGrade.NONE
        if self.missing:
            return MappingGrade.PARTIAL
        return MappingGrade.EXTRA if self.extra else MappingGrade.EXACT

    @property
    def unknown_because(self) -> Missing | Undecided:
        """Why the grade is unknown, if it is."""
        if self.unmapped:
            return Undecided.UNMAPPED_FILTER
        return Undecided.TOOLS_NOT_SHOWN if self.unseen else Missing.NOTHING_EXPECTED

    @property
    def cause(self) -> str:
        """What was expected and what was used instead (Korean), equal for equal mistakes; '' for none."""
        if self.grade is MappingGrade.UNKNOWN:
            return ""
        if self.missing:
            return f"{self.kind}: 기대 {self._listed(self.missing)}, 사용 {self._listed(self.extra) or '없음'}"
        return f"불필요한 {self.kind} 추가: {self._listed(self.extra)}" if self.extra else ""

    def text(self) -> str:
        """The evidence as a Korean sentence."""
        kind, used = self.kind, self._listed(self.extra) or "없음"
        beside = f", 불필요한 {kind} 추가: {self._listed(self.extra)}" if self.extra else ""
        weak = f" (열 {self._listed(self.weak)}: 화면 기본값일 수 있는 약한 확인)" if self.weak else ""
        match self.grade:
            case MappingGrade.UNKNOWN if self.unmapped:
                return f"{MISSING_TITLES[Undecided.UNMAPPED_FILTER]}: {', '.join(self.unmapped)}"
            case MappingGrade.UNKNOWN if self.unseen:
                title = MISSING_TITLES[Undecided.TOOLS_NOT_SHOWN]
                return f"{title}({_SHOWN_BY[kind]}): {self._listed(self.unseen)} 사용 여부를 알 수 없음"
            case MappingGrade.UNKNOWN:
                return f"{MISSING_TITLES[Missing.NOTHING_EXPECTED]} (사용한 {kind}: {used})"
            case MappingGrade.NONE:
                return f"기대한 {kind} 미사용: {self._listed(self.missing)} (사용한 {kind}: {used})"
            case MappingGrade.PARTIAL:
                missing = self._listed(self.missing)
                return f"기대한 {kind} 일부만 사용: {self._listed(self.found)}, 누락: {missing}{beside}{weak}"
            case MappingGrade.EXTRA:
                return f"기대한 {kind} 모두 사용: {self._listed(self.found)}{beside}{weak}"
        return f"기대한 {kind} 정확히 사용: {self._listed(self.found)}{weak}"

    def _listed(self, tools: Iterable[str]) -> str:
        return ", ".join(map(self.names.title, tools))


def tool_use(reading: ParsedExecution) -> ToolUse:
    """Compares the tools of one answer with the expectations of its row."""
    execution, used = reading.execution, tool_usage_of(reading) if reading.answered else ToolUsage()
    if execution.agent_type is AgentType.APPLICANT_MANAGEMENT:
        return _filter_use(reading, used)
    datakeys = _any_of(alternative_datakeys(execution.expected_datakeys)) | _checked(execution, "dataKey")
    if execution.agent_type is AgentType.MOVE and not datakeys and (pages := _expected_pages(execution)):
        urls, elsewhere = _met(pages, used.urls)
        use = _compared("URL 경로", pages, urls, {*chain(*(button_url(url).url_paths for url in elsewhere))})
        shown = shows_tools(reading, _SHOW_PAGES)
    else:
        use = _compared("datakey", datakeys, *_met(datakeys, used.datakeys))
        shown = shows_tools(reading, _SHOW_DATAKEYS)
    return use if shown else _without_evidence(use, use.missing)


def _without_evidence(use: ToolUse, hidden: Collection[str]) -> ToolUse:
    """Takes missing tools of which the file cannot show the use for unseen."""
    missing = tuple(tool for tool in use.missing if tool not in hidden)
    return replace(use, missing=missing, unseen=tuple(tool for tool in use.missing if tool in hidden))


_Wanted: TypeAlias = dict[str, Callable[[str], bool]]
"""Expected tools as written by people: each with a test whether a used tool matches it."""


def _any_of(alternatives: Iterable[Iterable[str]], is_same: Callable[[str, str], bool] = eq) -> _Wanted:
    return {" 또는 ".join(some): partial(_is_any, some, is_same) for some in alternatives}


def _met(wanted: _Wanted, used: Collection[str]) -> tuple[set[str], set[str]]:
    """The expected tools that were used, and the used ones that were not expected."""
    there = {tool: set(filter(is_meant, used)) for tool, is_meant in wanted.items()}
    return {tool for tool, found in there.items() if found}, set(used).difference(*there.values())


def _expected_pages(execution: Execution) -> _Wanted:
    """The pages that checks expect."""
    return _checked(execution, PAGE_KEY, leads_to, url_contains) | {
        part: partial(url_contains, part) for part in _checked(execution, "buttonUrlContains")
    }


def _filter_use(reading: ParsedExecution, used: ToolUsage) -> ToolUse:
    execution = reading.execution
    expected = execution.filter_names.expected(execution.expected_filters)
    filters = _any_of([code] for code in expected.filters) | _checked(execution, "filterType")
    columns: _Wanted = {column: partial(_is_column, column) for column in expected.columns}
    shown = expected.columns & used.columns
    found, extra = _met(filters | columns, used.filters)
    compared = _compared(
        "필터",
        {*filters, *columns},
        found | shown,
        extra - {PERIOD_FILTER},
        weak=shown - found,
        unmapped=expected.unmapped,
    )
    hidden = {
        *(() if shows_tools(reading, _SHOW_FILTERS) else filters),
        *(() if shows_tools(reading, _SHOW_PAGES) else columns),
    }
    return replace(_without_evidence(compared, hidden), names=execution.filter_names)


def _is_column(column: str, detected: str) -> bool:
    """Whether a detected filter names a column, as `성별(genderFlag)` or alone."""
    return detected == column or f"({column})" in "".join(detected.split())


def _compared(
    kind: str,
    expected: Iterable[str],
    found: Iterable[str],
    extra: Iterable[str],
    weak: Iterable[str] = (),
    unmapped: tuple[str, ...] = (),
) -> ToolUse:
    there = set(found)
    missing = set(expected) - there
    return ToolUse(
        kind, tuple(sorted(there)), tuple(sorted(missing)), tuple(sorted(extra)), tuple(sorted(weak)), unmapped
    )


def _is_part(part: str, tool: str) -> bool:
    return folded(part) in folded(tool)


def _checked(
    execution: Execution,
    key: str,
    is_same: Callable[[str, str], bool] = eq,
    contains: Callable[[str, str], bool] = _is_part,
) -> _Wanted:
    """The tools that the checks of `기대결과` require under a key: each names one, or accepts one of several."""
    wanted: _Wanted = {}
    for item in expected_of(execution).items:
        match item:
            case EntryGroup(checks=checks):
                conditions = (condition for check in checks for condition in check.conditions)
                wanted |= _any_of((list(map(str, one.values)) for one in conditions if one.key == key), is_same)
            case PathCheck(op="eq", path=path, value=str(tool)) if path.steps[-1] == key:
                wanted[tool] = partial(is_same, tool)
            case PathCheck(op="contains", path=path, value=str(part)) if path.steps[-1] == key:
                wanted[part] = partial(contains, part)
            case PathCheck(op="regex", path=path, value=str(pattern)) if path.steps[-1] == key:
                wanted[pattern] = partial(matches, pattern)
            case PathCheck(op="in", path=path, value=list(tools)) if path.steps[-1] == key:
                wanted |= _any_of([list(map(str, tools))], is_same)
    return wanted


def _is_any(some: Iterable[str], is_same: Callable[[str, str], bool], used: str) -> bool:
    return any(is_same(tool, used) for tool in some)
