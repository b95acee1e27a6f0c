"""Parses an expected result (`기대결과`, `LLM 평가기준`) into checks; other text is kept for the judge.

Checks are written as Korean checklists, as key and value (`@check`), or as JSON: the same keys, and `accuracyChecks`.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice

from scoring.rules.arrow_types import matches
from scoring.testruns.cells import given, number
from scoring.testruns.checklist import checklist_lines, parse_checklist_line, url_conditions
from scoring.testruns.checks import (
    CHECK_KEYS,
    OPS,
    PAGE_KEY,
    VALUE_KEYS,
    Condition,
    EntryCheck,
    EntryGroup,
    Item,
    JsonPath,
    MessageCheck,
    NumberCheck,
    PathCheck,
    Source,
    declared_as,
)
from scoring.testruns.executions import Execution, LatencyClass
from scoring.testruns.numbers import numbers_in
from scoring.testruns.raw_json import without_lone_surrogates

_SCHEMA_VERSION = "aqb.v1"
_KEYS = {
    **{key.casefold(): key for key in CHECK_KEYS},
    **{f"value.{key}".casefold(): key for key in VALUE_KEYS},  # as seed 003, 2-1 names them
}
_MENTION = re.compile(r"@check(?![A-Za-z0-9_])", re.IGNORECASE)
_PAIR = re.compile(r"((?:value\.)?[A-Za-z]+)\s*(?:={1,2}|:)\s*(.*)", re.DOTALL)
_PARTS = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^;])+")
# Two checks without a semicolon between them: `@check formType=SELECT multiSelectAllowYn=true`.
_NEXT_PAIR = re.compile(rf"[,\s]\s*(?=(?:{'|'.join(map(re.escape, _KEYS))})\s*=)", re.IGNORECASE)
_JSON_START = re.compile(r"^[ \t]*(?=\{|\[\s*\{)", re.MULTILINE)
_MOST_JSON_STARTS = 50  # each try may read to the end of the text


@dataclass(frozen=True, slots=True)
class Problem:
    """A text that looks like a check but is not a valid one, with the reason (Korean)."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """The expected result of a query.

    `items` are in the order of the text, each question once. `prose` is the text without checks, for the judge.
    `problems` are texts that look like checks but cannot be evaluated, with the reason (Korean); they are in `prose`
    too. `intent_rubric` and `latency_class` come from criteria JSON.
    """

    items: tuple[Item, ...] = ()
    prose: str = ""
    problems: tuple[Problem, ...] = ()
    intent_rubric: str = ""
    latency_class: LatencyClass | None = None

    @property
    def declared(self) -> tuple[Item, ...]:
        """`@check`s and JSON checks; the other items are lines of the Korean checklist."""
        return tuple(item for item in self.items if item.source != "checklist")


@lru_cache(maxsize=1024)  # every execution of a query carries the same text
def parse_expected(expected_text: str, criteria_json: str = "") -> ExpectedResult:
    """Parses `기대결과` and, if given, the criteria JSON of `LLM 평가기준`. It accepts every text.

    Source: seed 003, 2-1; seed 004, 정확성 (accuracyChecks, @check).
    """
    draft = _Draft()
    for text in (expected_text, criteria_json):
        if given(text):
            draft.add_text(text.replace("\r\n", "\n").strip().removeprefix("\ufeff"))
    once: dict[object, Item] = {}
    for item in draft.items:
        question = declared_as(item) or object()  # a line of a checklist is no other's repetition
        kept = once.setdefault(question, item)
        if isinstance(item, PathCheck) and item.weight != 1 and _weight(kept) == 1:
            once[question] = _weighing(kept, item.weight)
    return ExpectedResult(
        items=tuple(once.values()),
        prose="\n".join(draft.prose),
        problems=tuple(draft.problems),
        intent_rubric="\n".join(draft.rubrics),
        latency_class=draft.latency_class,
    )


def expected_of(execution: Execution) -> ExpectedResult:
    """The expected result of an execution."""
    return parse_expected(execution.expected_text, execution.criteria_json)


def unread_checks(executions: Iterable[Execution]) -> tuple[tuple[str, str], ...]:
    """The invalid checks of the expected results, each text once, as problems of a query."""
    problems = (problem for execution in executions for problem in expected_of(execution).problems)
    return tuple(dict.fromkeys(("unchecked_text", f"{problem.text}: {problem.reason}") for problem in problems))


def _weight(item: Item) -> Fraction:
    return item.opener.weight if isinstance(item, EntryGroup) else item.weight


def _weighing(item: Item, weight: Fraction) -> Item:
    """The same check with an explicit weight, which overrides the default of another form."""
    if isinstance(item, EntryGroup):
        return replace(item, opener=replace(item.opener, weight=weight))
    return replace(item, weight=weight)


@dataclass(slots=True)
class _Draft:
    items: list[Item] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    rubrics: list[str] = field(default_factory=list)
    latency_class: LatencyClass | None = None
    open_group: int = -1  # the place in `items` of the group that a follower joins, -1 before the first

    def add_text(self, text: str) -> None:
        position = 0
        for start in islice(_JSON_START.finditer(text), _MOST_JSON_STARTS):
            if start.end() < position:
                continue
            try:
                document, end = json.JSONDecoder().raw_decode(text, start.end())
                document = without_lone_surrogates(document)
            except (ValueError, RecursionError):
                continue  # read as lines
            self._add_lines(text[position : start.start()])
            self._add_criteria(document)
            position = end
        earlier = len(self.prose)
        self._add_lines(text[position:])
        unread = (line for line in self.prose[earlier:] if "accuracyChecks" in line)
        if not position and (line := next(unread, "")):
            self.problems.append(Problem(line, "JSON으로 읽을 수 없음: 형식이 잘못되었거나 내보낼 때 잘림"))

    def _add(self, check: Item | Problem) -> None:
        if isinstance(check, Problem):
            self.prose.append(check.text)
            self.problems.append(check)
        else:
            self.items.append(check)

    def _add_lines(self, text: str) -> None:
        for line in checklist_lines(text):
            before, *mentions = _MENTION.split(line)
            if before.strip():
                self._add_checklist_line(before.strip())
            for mention in mentions:
                pairs = [pair for part in _PARTS.findall(mention) for pair in _NEXT_PAIR.split(part)]
                texts = [text for pair in pairs if (text := pair.lstrip(": ").strip())]
                for text in texts or [""]:
                    self._add(_mentioned_check(text))

    def _add_checklist_line(self, line: str) -> None:
        if conditions := url_conditions(line):
            # Not one entry must do both: the datakey may be offered beside the page.
            for condition in conditions:
                self._open(EntryGroup(EntryCheck(line, "checklist", (condition,))))
            return
        match parse_checklist_line(line):
            case EntryCheck() as check:
                opened = self.items[self.open_group] if self.open_group >= 0 else None
                if isinstance(opened, EntryGroup):
                    self.items[self.open_group] = EntryGroup(opened.opener, (*opened.followers, check))
                else:
                    self._open(EntryGroup(check))
            case EntryGroup() as group:
                self._open(group)
            case MessageCheck() as keywords:
                self.items.append(keywords)
            case "":
                self.prose.append(line)
            case str(reason):
                self._add(Problem(line, reason))

    def _open(self, group: EntryGroup) -> None:
        self.open_group = len(self.items)
        self.items.append(group)

    def _add_criteria(self, document: object) -> None:
        """Adds an object of check keys, criteria (`schemaVersion` aqb.v1), or a list of either or of path checks."""
        for part in document if isinstance(document, list) else [document]:
            if not isinstance(part, dict):
                self._add(Problem(_text(part), "객체가 아님"))
            elif "path" in part:
                self._add(_path_check(part))
            else:
                for key, value in part.items():
                    self._add_criterion(key, value)

    def _add_criterion(self, key: str, value: object) -> None:
        if key == "accuracyChecks":
            self._add_accuracy_checks(value)
        elif key == "intentRubric":
            self.rubrics += [text] if (text := _text(value).strip()) else []
        elif key == "meta":
            word = value.get("latencyClass") if isinstance(value, dict) else None
            self.latency_class = self.latency_class or LatencyClass.named(word)
        elif key == "schemaVersion":
            if value != _SCHEMA_VERSION:
                self._add(Problem(f"schemaVersion: {_text(value)}", f"{_SCHEMA_VERSION}이 아님"))
        elif key == PAGE_KEY and isinstance(value, str) and (conditions := url_conditions(value)):
            self._add(EntryGroup(EntryCheck(f"{key}: {value}", "json", tuple(conditions))))
        elif key.casefold() in _KEYS:
            for one in value if isinstance(value, list) else [value]:
                self._add(_declared_check(key, one, "json", f"{key}: {_text(one)}"))
        else:
            self.prose.append(f"{key}: {_text(value)}")

    def _add_accuracy_checks(self, checks: object) -> None:
        if not isinstance(checks, list):
            self._add(Problem(_text(checks), "accuracyChecks가 목록이 아님"))
            return
        for check in checks:
            if isinstance(check, dict) and "path" in check:
                self._add(_path_check(check))
            else:
                self._add(Problem(_text(check), "accuracyChecks의 항목에 path가 없음"))


def _mentioned_check(text: str) -> Item | Problem:
    """The check of one `@check`."""
    written = f"@check {text}".strip()
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return Problem(written, "key=value 형식이 아님")
    value = pair.group(2).strip().rstrip(",").strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1].strip()
    return _declared_check(pair.group(1), value, "check", written)


def _declared_check(key: str, value: object, source: Source, text: str) -> Item | Problem:
    """The check of one key of `CHECK_KEYS` (in any case) and its value."""
    name = _KEYS.get(key.casefold())
    if name is None:
        return Problem(text, f"알 수 없는 키: {key} (쓸 수 있는 키: {', '.join(CHECK_KEYS)})")
    if not isinstance(value, str | int | float) or (isinstance(value, str) and not value.strip()):
        return Problem(text, "값이 비어 있거나 글자, 숫자, 참/거짓이 아님")
    if name == "assistantMessageContains":
        return MessageCheck(text, source, (str(value),))
    if name == "numberContains":
        numbers = numbers_in(str(value))
        if numbers:
            return NumberCheck(text, source, numbers)
        has_digits = any(map(str.isdigit, str(value)))
        return Problem(
            text,
            "날짜, 시각, 순번은 수로 세지 않음: assistantMessageContains로 적으세요"
            if has_digits
            else "값에 숫자가 없음",
        )
    return EntryGroup(EntryCheck(text, source, (Condition(name, (value,)),)))


def _path_check(part: Mapping[str, object]) -> PathCheck | Problem:
    """The check of one `{path, op, value, weight}`; `op` defaults to eq with a value, to exists without."""
    text = _text(part)
    path = JsonPath.parse(part["path"]) if isinstance(part["path"], str) else None
    if path is None:
        return Problem(text, "path를 읽을 수 없음 (예: dataUIList[*].uiValue.formType)")
    written = str(part.get("op") or ("eq" if "value" in part else "exists")).strip().casefold()
    op = next((known for known in OPS if known == written), None)
    if op is None:
        return Problem(text, f"알 수 없는 op: {written} (쓸 수 있는 op: {', '.join(OPS)})")
    weight = number(part.get("weight", 1))
    if weight is None or weight <= 0:
        return Problem(text, "weight가 0보다 큰 수가 아님")
    value = part.get("value")
    reason = "value가 없음" if "value" not in part and op != "exists" else ""
    if op == "in" and not isinstance(value, list):
        reason = "op가 in이면 value는 목록이어야 함"
    elif op == "regex":
        reason = _pattern_problem(value)
    return Problem(text, reason) if reason else PathCheck(text, "json", path, op, value, weight=Fraction(weight))


def _pattern_problem(pattern: object) -> str:
    if not isinstance(pattern, str):
        return "op가 regex면 value는 글자여야 함"
    try:
        matches(pattern, "")
    except ValueError as error:
        return f"정규식을 쓸 수 없음: {error}"
    return ""


def _text(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(깊게 중첩된 값)"
