"""Messages, the content of a day's message, and routing (SPEC 8).

Keys identify facts, not wordings or routes. A message in several parts has keys with a suffix for the part (`#1/2`).
"""

import re
from ast import literal_eval
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Literal, NamedTuple

from scoring.alerting.block_kit import split
from scoring.alerting.blocks import Block, Line, Span, code, fallback, header, paragraph, plain
from scoring.alerting.decision import DayDecisions
from scoring.alerting.incidents import Incident
from scoring.alerting.snoozes import Snooze
from scoring.chat.kpis import ALL_TENANTS, KpisByDay
from scoring.chat.rubric import RowRubric

MessageKind = Literal["page", "digest", "review", "failure", "late", "all_clear", "quiet", "weekly", "dead_letters"]
MessageLevel = Literal["critical", "warning", "info"]
RunKind = Literal["nightly", "intraday"]

LEVEL_SIGNS: dict[MessageLevel, str] = {"critical": "🔴", "warning": "🟡", "info": "⚪"}
_LEVEL_NAMES: dict[MessageLevel, str] = {"critical": "Critical", "warning": "Warning", "info": "안내"}
_FACT = re.compile(
    r"(?P<rubric>[^|@]+)@[^|]*\|(?P<rule>[^|]+)\|(?P<day>\d{4}-\d\d-\d\d)\|(?P<over>resolved\|)?(?P<tenant>[-*]|['\"].*)",
    re.DOTALL,
)
_PART = re.compile(r"#[0-9]+/[0-9]+$")
_LATER_PART = re.compile(r"#(?!1/)[0-9]+/[0-9]+$")


@dataclass(frozen=True)
class Message:
    """One message for every channel. `text` is the single line of a notification.

    `service` is the service that it is about, '' if there is only one.
    """

    kind: MessageKind
    level: MessageLevel
    keys: tuple[str, ...]
    text: str
    blocks: list[Block]
    service: str = ""


NEVER_TRIED = "it was never tried"
"""The error of a message that waited for an earlier one until it expired."""


@dataclass(frozen=True)
class OutboxMessage:
    """A message to one route, in the outbox.

    `thread` is the day that it is about, '' without one. `unsure_since` is the start of an attempt with unknown
    outcome: the message may have arrived. `keys` identify its facts and `thread_ts` is Slack's id of the first message
    of its thread; both are read when it is sent.
    """

    id: int
    route: str
    kind: str
    level: str
    thread: str
    text: str
    blocks: Sequence[Block]
    created_at: datetime
    attempts: int = 0
    lease_until: datetime | None = None
    unsure_since: datetime | None = None
    last_error: str | None = None
    sent_at: datetime | None = None
    ts: str | None = None
    dead_at: datetime | None = None
    service: str | None = None
    keys: tuple[str, ...] = ()
    thread_ts: str | None = None

    @property
    def identity(self) -> str:
        """An id that is unique across messages and state databases."""
        return f"{self.id}-{self.created_at.isoformat()}"

    @classmethod
    def unsaved(cls, route: str, message: Message, now: datetime, thread: str = "") -> "OutboxMessage":
        """A message that is not stored in an outbox."""
        unsaved = cls(0, route, message.kind, message.level, thread, message.text, message.blocks, now)
        return replace(unsaved, keys=message.keys, service=message.service or None)


_ABOUT_A_SERVICE = ("aqb rows ", "aqb alerts snooze ", "aqb alerts accept ", "aqb backfill ")
"""Beginnings of commands that need an explicit service if there are several."""


@dataclass(frozen=True)
class Example:
    """A row as an example. Its texts are masked for display; None if the warehouse does not keep them.

    `failure` is the Korean title of the failure type, `score` the final score (0..100).
    """

    row_id: str
    question: str | None
    answer: str | None
    failure: str | None
    score: float | None


@dataclass(frozen=True)
class DayDigest:
    """A scored day with its incidents, and the data for messages about them. `kpis` are the KPI rows of the day and of
    earlier days, by day; `rejected` is its number of rejected rows.

    `report` is the path of the report, `report_url` its address if the reports are served. `examples` by row id,
    `row_urls` the addresses of rows, `rows_urls` those of an incident's rows, by rule and tenant. The results of an
    intraday run are provisional. `snoozes` are those that nobody has ended and that were active the day before.
    `lately` are the decisions of the last scored days of this rubric version, up to this one, from their current rows;
    none for a day without rows. `of_version_before` are those of the last day of the version before, if this one began
    on one of these days.
    """

    day: date
    incidents: Sequence[Incident]
    rubric: RowRubric
    run_id: str
    rejected: int
    kpis: KpisByDay
    report: str
    report_url: str = ""
    examples: Mapping[str, Example] = field(default_factory=dict)
    row_urls: Mapping[str, str] = field(default_factory=dict)
    kind: RunKind = "nightly"
    snoozes: Sequence[Snooze] = ()
    rows_urls: Mapping[tuple[str, str | None], str] = field(default_factory=dict)
    lately: Mapping[date, DayDecisions] = field(default_factory=dict)
    of_version_before: DayDecisions = field(default_factory=dict)


def fact_key(rubric: str, version: str, rule: str, day: date, tenant: str | None, *, resolved: bool = False) -> str:
    """The key of one fact: `<rubric>@<version>|<rule>|2026-03-02|*`. Source: SPEC 8."""
    return "|".join((f"{rubric}@{version}", rule, str(day), *(["resolved"] if resolved else []), _tenant(tenant)))


class KnownKey(NamedTuple):
    """When a message with a key was written for a route, its kind, and its service, '' if it names none."""

    written_at: datetime
    kind: MessageKind
    service: str = ""


class NamedFact(NamedTuple):
    """The fact that a key identifies: a rule of a tenant on a day under a rubric, or its end (`is_over`)."""

    rubric: str
    rule: str
    day: date
    tenant_id: str | None
    is_over: bool


def named_facts(keys: Iterable[str]) -> list[NamedFact]:
    """The facts that these keys identify, each once: all parts of a message have its keys. Other keys are ignored."""
    found = []
    for key in dict.fromkeys(map(without_part, keys)):
        if named := _FACT.fullmatch(key):
            tenant_id = _named_tenant(named["tenant"])
            day = date.fromisoformat(named["day"])
            found.append(NamedFact(named["rubric"], named["rule"], day, tenant_id, bool(named["over"])))
    return list(dict.fromkeys(found))


def _named_tenant(text: str) -> str | None:
    if text in ("-", ALL_TENANTS):
        return None if text == "-" else ALL_TENANTS
    return str(literal_eval(text))


def without_part(key: str) -> str:
    """The key without the suffix of a part."""
    return _PART.sub("", key)


def level_mark(level: MessageLevel) -> str:
    """`🔴 Critical`."""
    return f"{LEVEL_SIGNS[level]} {_LEVEL_NAMES[level]}"


def messages(
    kind: MessageKind,
    level: MessageLevel,
    keys: Collection[str],
    title: Sequence[str],
    blocks: Iterable[Block],
    details: Iterable[str] = (),
) -> list[Message]:
    """A message, or its parts if it exceeds Slack's limits. Nothing is left out.

    `title` is the header of each part; a notification shows the `details` after it.
    """
    text, parts = fallback(*title, *details), split([header(" · ".join(title)), *blocks])
    if len(parts) == 1:
        return [Message(kind, level, tuple(keys), text, parts[0])]
    return [
        Message(kind, level, tuple(f"{key}#{i}/{len(parts)}" for key in keys), f"{text} ({i}/{len(parts)})", part)
        for i, part in enumerate(parts, 1)
    ]


def with_mention(message: Message, mention: str) -> Message:
    """A Critical message with mentions of the people in `mention` directly below its header. Other messages are
    unchanged.

    A digest mentions nobody: only pages call people, because pages are counted.

    `mention` is the setting, `<@U1> <!subteam^S2> <!here>`. If a message has several parts, only the first one
    mentions.
    """
    if not mention or message.level != "critical" or message.kind == "digest" or _LATER_PART.search(message.keys[0]):
        return message
    line: list[Span] = []
    for name in mention.split():
        line += [plain(" "), {"type": "mention", "text": f"@{name.strip('<@!>').removeprefix('subteam^')}"}]
    title, *rest = message.blocks
    return replace(message, blocks=[title, *paragraph(line[1:]), *rest])


def with_service(message: Message, service: str) -> Message:
    """A message that begins with the name of its service, and names it in service-specific commands; '' leaves it
    unchanged.
    """
    if not service:
        return message
    title, *rest = message.blocks
    assert title["type"] == "header"
    named = [header(f"{service} · {title['text']}"), *(_of_service(block, service) for block in rest)]
    return replace(message, text=f"{service} · {message.text}", blocks=named, service=service)


def _of_service(block: Block, service: str) -> Block:
    if block["type"] == "paragraph":
        return {**block, "lines": [_line_of_service(line, service) for line in block["lines"]]}
    if block["type"] == "bullets":
        return {**block, "items": [_line_of_service(item, service) for item in block["items"]]}
    return block


def _line_of_service(line: Line, service: str) -> Line:
    return [
        code(span["text"].replace("aqb", f"aqb --service {service}", 1))
        if span["type"] == "code" and span["text"].startswith(_ABOUT_A_SERVICE)
        else span
        for span in line
    ]


def _tenant(tenant: str | None) -> str:
    """A unique name for a tenant, including a missing tenant and all tenants."""
    return {None: "-", "*": "*"}.get(tenant) or repr(tenant)


NO_TENANT = ""
"""The name of turns without a tenant in a filter."""


@dataclass(frozen=True)
class RouteFilter:
    """The messages that a route accepts; an empty part accepts everything, except what one of the `others` accepts.

    A filter by tenants accepts their chat rows, and no test runs, which have no tenant; a filter by agent types accepts
    their test runs, and no chat rows.
    """

    levels: frozenset[str] = frozenset()
    rubrics: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    agent_types: frozenset[str] = frozenset()
    others: tuple["RouteFilter", ...] = ()

    @property
    def whose(self) -> list[str | None]:
        """The tenants that it names, in order; without any, all of them together (`*`)."""
        return [None if name == NO_TENANT else name for name in sorted(self.tenants)] or [ALL_TENANTS]

    def matches_rows(self, level: str, rubric: str, tenant: str | None = ALL_TENANTS) -> bool:
        """Whether the route accepts chat rows of a tenant, or of all of them (`*`)."""
        named = NO_TENANT if tenant is None else tenant
        matches = self._matches(level, rubric) and not self.agent_types and (not self.tenants or named in self.tenants)
        return matches and not any(other.matches_rows(level, rubric, tenant) for other in self.others)

    def matches_testrun(self, level: str, rubric: str, agent_types: Collection[str]) -> bool:
        """Whether the route accepts a test run of these agents; a test run may not name its agents."""
        of_agents = not self.agent_types or not self.agent_types.isdisjoint(agent_types)
        matches = self._matches(level, rubric) and not self.tenants and of_agents
        return matches and not any(other.matches_testrun(level, rubric, agent_types) for other in self.others)

    def matches_pipeline(self, level: str) -> bool:
        """Whether the route accepts messages without a rubric: a failed flow, a quiet week, undelivered messages."""
        matches = not self.levels or level in self.levels
        return matches and not any(other.matches_pipeline(level) for other in self.others)

    def matches_inbox(self, level: str) -> bool:
        """Whether the route accepts unreadable files of the inbox: they are test runs of an unknown agent."""
        matches = (not self.levels or level in self.levels) and not self.tenants
        return matches and not any(other.matches_inbox(level) for other in self.others)

    def _matches(self, level: str, rubric: str) -> bool:
        return (not self.levels or level in self.levels) and (not self.rubrics or rubric in self.rubrics)
