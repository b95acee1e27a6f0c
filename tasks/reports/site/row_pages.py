"""The page that lists the rows of a day, and the links that lead from a count to exactly the rows that it counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import polars as pl

from scoring.chat.conclusion import FirstRows
from scoring.chat.periods import Period
from scoring.days import day_text
from scoring.markdown import shortened
from tasks.files.report_paths import rows_page_name
from tasks.reports.site.day_summaries import DaySummary
from tasks.reports.site.listed_rows import FLAGGED, FRAMED, QUESTION_CHARACTERS, ListedRows, masked_texts
from tasks.reports.site.pages import Cell, Link, embedded, page
from tasks.reports.site.scored_days import SiteDay
from tasks.reports.wording import count_text, counted_share_text

_TEXT_BYTES = 550_000
_LENGTHS = ((QUESTION_CHARACTERS, 500), (200, 300), (120, 160), (80, 80), (60, 30), (30, 0))
"""Characters of a question and of an answer: the most with which the texts of a page fit."""


@dataclass(frozen=True)
class RowLinks:
    """Links to the rows of a day or a period from a page for which `root` leads to the first page.

    There are none where the score table is gone; where a page cannot list every row, each link says so.
    """

    of: date | Period
    root: str
    there: bool
    complete: bool

    def href(self, **wanted: str) -> str:
        """The rows that have all of these values."""
        return f"{self.root}{rows_page_name(self.of)}#{urlencode(wanted)}"

    def count(self, count: int | None, of: int = 0, /, **wanted: str) -> Cell:
        """A count that leads to its rows, with its share of a total; only a text where there are none."""
        shown = counted_share_text(count, of) if of else count_text(count)
        if not count or not self.there:
            return shown
        return Link(shown if self.complete else f"{shown}, 목록은 일부", self.href(**wanted))

    def first_rows(self, first: FirstRows | None) -> Cell:
        """The number in the sentence about the rows to look at first, which leads to them where all are listed."""
        if first is None:
            return ""
        shown = count_text(first.count)
        return Link(shown, self.href(**values_of(first))) if self.there and self.complete else shown


def values_of(first: FirstRows) -> dict[str, str]:
    """What the rows to look at first have."""
    if first.rule:
        return {"alert": first.rule.id}
    return {"kpi": first.kpi.name} if first.kpi else {FLAGGED: FRAMED}


@dataclass(frozen=True)
class LinkedDay:
    """A day that is summed up, and the links to its rows from a page for which `root` leads to the first page."""

    site: SiteDay
    summary: DaySummary
    root: str

    @cached_property
    def links(self) -> RowLinks:
        """The links to its rows."""
        return RowLinks(self.site.day, self.root, self.summary.listed > 0, self.summary.complete)


def rows_page(listed: ListedRows, day: SiteDay) -> str:
    """The page of the rows of a day, or of the period that ends with it, which its script filters."""
    period = listed.period
    back = Link(period.title, f"{period.key}.html") if period else Link(str(day.day), f"{day.day}.html")
    return page(
        "rows.html",
        root="../",
        section="monitoring",
        title=f"{period.title if period else day_text(day.day)} 행",
        rubric=listed.rubric,
        day=day,
        back=back,
        listed=listed,
        facets=listed.facets,
        row_data=embedded(_data(listed)),
    )


def _data(listed: ListedRows) -> dict[str, Any]:
    """What the script needs, a list for each column."""
    rubric, frame = listed.rubric, listed.frame
    local = frame["timestamp"].dt.convert_time_zone(listed.time_zone).dt
    seconds = local.hour().cast(pl.Int32) * 3600 + local.minute().cast(pl.Int32) * 60 + local.second()
    grades = [[grade.sign, grade.tone] for grade in rubric.final_scale.grades]
    cause = frame[rubric.cause].to_list() if rubric.cause else []
    questions, answers = _shown_texts(listed)
    days = sorted(set(frame["score_date"]))
    return {
        "facets": [
            {"name": one.name, "titles": list(one.values.values()), "values": list(one.values), "of": one.of_rows}
            | ({"many": True} if one.many else {})
            for one in listed.facets
        ],
        "grades": grades,
        "final": rubric.final_scale.column,
        "told": ["alert", rubric.failure.column, *(kind.column for kind in rubric.kinds[1:])],
        "parts": [
            {"title": part.subject, "of": frame[part.column].to_list(), "grade": part.grade_column}
            for part in rubric.parts
        ],
        "total": frame[rubric.total].to_list(),
        "cause": [rubric.titles.get(code, code) if code else None for code in cause],
        "time": seconds.to_list(),
        "id": [row_id or "" for row_id in frame["row_id"]],
        "question": questions,
        "answer": answers,
    } | ({"days": list(map(str, days)), "day": list(map(days.index, frame["score_date"]))} if listed.period else {})


def _shown_texts(listed: ListedRows) -> tuple[list[str | None], list[str | None]]:
    """Questions and answers, masked, as long as there is room for."""
    answers = listed.frame["llm_response"].to_list()
    lengths = next((both for both in _LENGTHS if _size(listed.questions, answers, *both) <= _TEXT_BYTES), _LENGTHS[-1])
    questions = [text if text is None else shortened(text, lengths[0]) for text in listed.questions]
    return questions, masked_texts(answers, lengths[1]) if lengths[1] else [None] * len(answers)


def _size(questions: Iterable[str | None], answers: Iterable[str | None], of_question: int, of_answer: int) -> int:
    """About how many bytes the texts take: three for a character."""
    return 3 * (
        sum(min(len(text), of_question) for text in questions if text)
        + sum(min(len(text), of_answer) for text in answers if text)
    )
