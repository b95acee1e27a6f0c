"""An expected result (`기대결과`, `LLM 평가기준`) becomes checks; what is no check is kept for the judge."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from scoring.testruns.cells import given
from scoring.testruns.checklist import EntryLine, NoCheck, checklist_lines, parse_checklist_line
from scoring.testruns.checks import CHECK_KEYS, EntryGroup, Item, MessageCheck, Source, declared_as
from scoring.testruns.criteria import Criteria, Problem, declared_check, parse_criteria
from scoring.testruns.executions import LatencyClass
from scoring.testruns.raw_json import without_lone_surrogates

_MENTION = re.compile(r"@check(?![A-Za-z0-9_])", re.IGNORECASE)
_PAIR = re.compile(r"([A-Za-z]+)\s*(?:={1,2}|:)\s*(.*)", re.DOTALL)
_PARTS = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^;])+")
# Two checks without a semicolon between them: `@check formType=SELECT multiSelectAllowYn=true`.
_NEXT_PAIR = re.compile(rf"[,\s]\s*(?=(?:{'|'.join(CHECK_KEYS)})\s*=)", re.IGNORECASE)
_JSON_START = re.compile(r"^[ \t]*(?=\{|\[\s*\{)", re.MULTILINE)
_MOST_JSON_STARTS = 50  # each try may read to the end of the text


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """What a query should bring about.

    `items` in the order they were written, each question once. `prose` is the text that is no check,
    for the judge. `problems` are texts that look like checks but cannot be checked, with the reason
    (Korean); they stand in `prose` too. `intent_rubric` and `latency_class` come from criteria JSON.
    """

    items: tuple[Item, ...] = ()
    prose: str = ""
    problems: tuple[Problem, ...] = ()
    intent_rubric: str = ""
    latency_class: LatencyClass | None = None

    @property
    def declared(self) -> tuple[Item, ...]:
        """`@check`s and JSON checks, which come before the checklist where both are written."""
        return tuple(item for item in self.items if source_of(item) != "checklist")

    @property
    def checklist(self) -> tuple[Item, ...]:
        """The lines of the Korean checklist."""
        return tuple(item for item in self.items if source_of(item) == "checklist")


@lru_cache(maxsize=1024)  # every execution of a query carries the same text
def parse_expected(expected_text: str, criteria_json: str = "") -> ExpectedResult:
    """Read `기대결과` and, where given, the criteria JSON of `LLM 평가기준`. Never refuses a text.

    Source: seed 003, 2-1; seed 004, 정확성 (accuracyChecks, @check).
    """
    draft = _Draft()
    for text in (expected_text, criteria_json):
        if given(text):
            draft.add_text(text.replace("\r\n", "\n").strip().removeprefix("\ufeff"))
    return ExpectedResult(
        items=tuple(_each_once(draft.items)),
        prose="\n".join(draft.prose),
        problems=tuple(draft.problems),
        intent_rubric="\n".join(draft.rubrics),
        latency_class=draft.latency_class,
    )


def source_of(item: Item) -> Source:
    """In which form an item was written; a group counts as its opener."""
    return item.opener.source if isinstance(item, EntryGroup) else item.source


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
            self._add_criteria(parse_criteria(document))
            position = end
        self._add_lines(text[position:])

    def _add_criteria(self, criteria: Criteria) -> None:
        self.items += criteria.items
        self.problems += criteria.problems
        self.prose += [*criteria.prose, *(problem.text for problem in criteria.problems)]
        self.rubrics += [criteria.intent_rubric] if criteria.intent_rubric else []
        self.latency_class = self.latency_class or criteria.latency_class

    def _add_lines(self, text: str) -> None:
        for line in checklist_lines(text):
            before, *mentions = _MENTION.split(line)
            if before.strip():
                self._add_checklist_line(before.strip())
            for mention in mentions:
                pairs = [pair for part in _PARTS.findall(mention) for pair in _NEXT_PAIR.split(part)]
                texts = [text for pair in pairs if (text := pair.lstrip(": ").strip())]
                for text in texts or [""]:
                    self._add_declared(text)

    def _add_declared(self, text: str) -> None:
        pair = _PAIR.fullmatch(text)
        if pair is None:
            self._reject(f"@check {text}".strip(), "key=value 형식이 아님")
            return
        value = pair.group(2).strip().rstrip(",").strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1].strip()
        check = declared_check(pair.group(1), value, "check", f"@check {text}")
        if isinstance(check, Problem):
            self._reject(check.text, check.reason)
        else:
            self.items.append(check)

    def _add_checklist_line(self, line: str) -> None:
        parsed = parse_checklist_line(line)
        if isinstance(parsed, MessageCheck):
            self.items.append(parsed)
        elif isinstance(parsed, EntryLine):
            self._add_entry_line(parsed)
        elif isinstance(parsed, NoCheck):
            if parsed.reason:
                self._reject(line, parsed.reason)
            else:
                self.prose.append(line)

    def _add_entry_line(self, line: EntryLine) -> None:
        group = self.items[self.open_group] if self.open_group >= 0 else None
        if line.role != "opens" and isinstance(group, EntryGroup):
            self.items[self.open_group] = EntryGroup(group.opener, (*group.followers, line.check))
        else:
            self.open_group = len(self.items)
            self.items.append(EntryGroup(line.check))

    def _reject(self, text: str, reason: str) -> None:
        self.prose.append(text)
        self.problems.append(Problem(text, reason))


def _each_once(items: Iterable[Item]) -> list[Item]:
    kept: list[Item] = []
    asked = set()
    for item in items:
        question = declared_as(item)
        if question is None or question not in asked:
            kept.append(item)
        asked.add(question)
    return kept
