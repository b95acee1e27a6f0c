"""The parts of a test run's page that a rubric adds, from the JSON of its summary. Texts of test files are masked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.judging.masking import SHOWN, masked
from scoring.markdown import percent, shortened

_TEXT_CHARACTERS = 300
_SHOWN_PATTERNS = 15


@dataclass(frozen=True)
class Queries:
    """A cell that lists queries, by their ids."""

    ids: Sequence[str]


@dataclass(frozen=True)
class PageTable:
    """A table in Korean; with an `id` and a `title` it is its own section, else it belongs to the failures."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Queries]]
    id: str = ""
    title: str = ""


@dataclass(frozen=True)
class AgentTotal:
    """The weighted total of one agent (`title`), None if `missing` says why; `coverage` of the weights 0 to 1."""

    title: str
    total: float | None
    coverage: float | None
    missing: str = ""


@dataclass(frozen=True)
class PageParts:
    """The rubric-specific parts of a page.

    `review_count` is the number of queries for a person, None if the rubric flags none. `targets`: title -> the figures
    of a rate, as arguments of `goal_figure`.
    """

    notice: str = ""
    totals: Sequence[AgentTotal] = ()
    review_count: int | None = None
    targets: Sequence[tuple[str, Mapping[str, Any]]] = ()
    tables: Sequence[PageTable] = ()


def safe_text(text: str, characters: int = _TEXT_CHARACTERS) -> str:
    """A text of a test file without personal data, limited to the length for a page."""
    return shortened(masked(text, end=SHOWN), characters)


def cut_caption(caption: str, rows: int, shown: int, order: str) -> str:
    """The caption of a table with the first of its rows: in which order, and how many it leaves out (Korean)."""
    return caption + (f" ({order} {shown}가지, 그 밖에 {rows - shown:,}가지)" if rows > shown else "")


def check_table(patterns: Sequence[Mapping[str, Any]]) -> PageTable:
    """The most frequent reasons of failed checks, from the JSON of `CheckPattern`; one of an earlier version has the
    most frequent reason.
    """
    return PageTable(
        cut_caption("통과하지 못한 체크", len(patterns), _SHOWN_PATTERNS, "많은 것부터"),
        ["체크 대상", "원인", "미통과 / 전체", "비율", "함께 실패한 체크", "질의"],
        [
            [
                pattern["key"],
                safe_text(pattern.get("cause") or pattern["commonest"]),
                f"{pattern['failed']:,} / {pattern['asked']:,}",
                percent(pattern["failed"] / pattern["asked"]),
                f"{pattern.get('followers', 0):,}",
                Queries(pattern["query_ids"]),
            ]
            for pattern in patterns[:_SHOWN_PATTERNS]
        ],
    )


def cause_table(caption: str, causes: Sequence[Mapping[str, Any]], name: str, count: str) -> PageTable:
    """The reasons of failed executions; `name` and `count` are the keys of a cause's text and number."""
    return PageTable(
        caption,
        [caption, "건수", "질의"],
        [[safe_text(cause[name]), f"{cause[count]:,}", Queries(cause["query_ids"])] for cause in causes],
    )


def check_parts(summary: Mapping[str, Any]) -> PageParts:
    """The parts of a rubric that evaluates checks: failed checks, and why executions have no answer.

    A summary of an earlier version may lack some of it, and so may that of a rubric without review flags.
    """
    tables = (
        check_table(summary.get("check_patterns", ())),
        cause_table("실패와 빈 응답의 원인", summary.get("outages", ()), "cause", "count"),
    )
    return PageParts(notice=summary.get("notice", ""), review_count=summary.get("manual_review"), tables=tables)
