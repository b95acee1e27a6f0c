"""What is said to a route, and what a day, a test run or a failed flow has to be known by to say it.

Keys name facts, never wordings, and no route: whoever sends puts the route in front. A message in several parts has
its keys with the part behind (`#1/2`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from scoring.alerting.block_kit import Block, split
from scoring.chat.rubric import RowRubric
from scoring.figures import Figure

MessageKind = Literal["page", "digest", "review", "failure", "quiet", "dead_letters"]
MessageLevel = Literal["critical", "warning", "info"]
RunKind = Literal["nightly", "intraday"]

_PART = re.compile(r"#[0-9]+/[0-9]+$")


@dataclass(frozen=True)
class Message:
    """One message as Slack will get it. `text` is the fallback of notifications; it calls nobody and links nowhere."""

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
class DayContext:
    """What a message about a day needs beside its incidents. `kpis` are those of all tenants.

    `counts` are rows in, scored, excluded, rejected. `report` is the path of the report, `report_url` its address
    where the reports are served. `examples` by row id. `told` are keys that this route has been told: these facts are
    no news any more. What an intraday run says is provisional.
    """

    rubric: RowRubric
    run_id: str
    counts: DayCounts
    kpis: Mapping[str, Figure]
    report: str
    report_url: str = ""
    examples: Mapping[str, Example] = field(default_factory=dict)
    kind: RunKind = "nightly"
    told: Collection[str] = ()


@dataclass(frozen=True)
class DayCounts:
    """Rows of a day: read = scored + excluded + rejected."""

    rows_in: int
    scored: int
    excluded: int
    rejected: int


def fact_key(rubric: str, version: str, rule: str, day: date, tenant: str | None, *, resolved: bool = False) -> str:
    """The key of one fact: `ola-monitoring@1|answer_failed|2026-03-02|*`. Source: SPEC 8."""
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


def _tenant(tenant: str | None) -> str:
    """A name that no other tenant has, missing and all of them included."""
    return {None: "-", "*": "*"}.get(tenant) or repr(tenant)
