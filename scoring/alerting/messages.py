"""Messages to a route, and what a message about a day is made of.

Keys name facts, never wordings, and no route. A message in several parts has keys that end with its part (`#1/2`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from scoring.alerting.blocks import Block, Span, paragraph, plain, split
from scoring.alerting.incidents import Incident
from scoring.chat.rubric import RowRubric
from scoring.figures import Figure

MessageKind = Literal["page", "digest", "review", "failure", "quiet", "dead_letters"]
MessageLevel = Literal["critical", "warning", "info"]
RunKind = Literal["nightly", "intraday"]

_PART = re.compile(r"#[0-9]+/[0-9]+$")
_LATER_PART = re.compile(r"#(?!1/)[0-9]+/")


@dataclass(frozen=True)
class Message:
    """One message as every channel gets it. `text` is the one line that a notification shows."""

    kind: MessageKind
    level: MessageLevel
    keys: tuple[str, ...]
    text: str
    blocks: list[Block]


@dataclass(frozen=True)
class Example:
    """A row that shows what happened. Texts are masked when they are shown; None where the warehouse keeps none.

    `failure` is the Korean title of the failure type, `score` the final score (0..100).
    """

    row_id: str
    question: str | None
    answer: str | None
    failure: str | None
    score: float | None


@dataclass(frozen=True)
class DayDigest:
    """A scored day with its incidents, and what messages about them need. `kpis` are those of all tenants.

    The rows of the day were `scored`, `excluded` or `rejected`. `report` is the path of the report, `report_url` its
    address where the reports are served. `examples` by row id. What an intraday run says is provisional.
    """

    day: date
    incidents: Sequence[Incident]
    rubric: RowRubric
    run_id: str
    scored: int
    excluded: int
    rejected: int
    kpis: Mapping[str, Figure]
    report: str
    report_url: str = ""
    examples: Mapping[str, Example] = field(default_factory=dict)
    kind: RunKind = "nightly"


def fact_key(rubric: str, version: str, rule: str, day: date, tenant: str | None, *, resolved: bool = False) -> str:
    """The key of one fact: `<rubric>@<version>|<rule>|2026-03-02|*`. Source: SPEC 8."""
    return "|".join((f"{rubric}@{version}", rule, str(day), *(["resolved"] if resolved else []), _tenant(tenant)))


def without_part(key: str) -> str:
    """The key as it was before its message became several."""
    return _PART.sub("", key)


def messages(
    kind: MessageKind, level: MessageLevel, keys: Collection[str], text: str, blocks: list[Block]
) -> list[Message]:
    """A message, or its parts where it is larger than Slack takes. Nothing is left out."""
    parts = split(blocks)
    if len(parts) == 1:
        return [Message(kind, level, tuple(keys), text, parts[0])]
    return [
        Message(kind, level, tuple(f"{key}#{i}/{len(parts)}" for key in keys), f"{text} ({i}/{len(parts)})", part)
        for i, part in enumerate(parts, 1)
    ]


def with_mention(message: Message, mention: str) -> Message:
    """A Critical message with those in `mention` called right below its header; any other message as it is.

    `mention` is the setting, `<@U1> <!subteam^S2> <!here>`. Of a message in several parts only the first one calls.
    """
    if not mention or message.level != "critical" or _LATER_PART.search(message.keys[0]):
        return message
    line: list[Span] = []
    for name in mention.split():
        line += [plain(" "), {"type": "mention", "text": f"@{name.strip('<@!>').removeprefix('subteam^')}"}]
    title, *rest = message.blocks
    return replace(message, blocks=[title, *paragraph(line[1:]), *rest])


def _tenant(tenant: str | None) -> str:
    """A name that no other tenant has, missing and all of them included."""
    return {None: "-", "*": "*"}.get(tenant) or repr(tenant)
