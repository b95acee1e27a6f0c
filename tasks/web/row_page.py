"""The page of one row: its texts, which rule gave what, and the conversation around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from starlette.responses import Response

from scoring.chat.row_filter import RowFilter
from scoring.chat.row_ids import TEXTS
from scoring.days import days_window
from scoring.judging.masking import masked
from scoring.markdown import score_text
from tasks.chat.source_rows import explained_rows
from tasks.reports.site.worst_rows import shown_row
from tasks.reports.wording import tenant_text
from tasks.warehouse.row_search import RowOrder
from tasks.web.asked import Asked, NotFoundError, href

_MOST_TURNS = 200
_LONGEST_TEXT = 20_000

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """One turn of the conversation; texts are None where they are not at hand."""

    href: str
    time: str
    grade: str
    tone: str
    score: str
    question: str | None
    answer: str | None
    is_this: bool


def row_page(asked: Asked) -> Response:
    """The row of a day and id; with `source=1` texts that the table does not keep are read again from the source.

    Raises:
        NotFoundError: there is no such row.
    """
    context, rubric = asked.context, asked.context.rubric
    day, row_id = _day(asked.place["day"]), asked.place["row_id"]
    rows = context.warehouse.day_queries(day, rubric).rows([row_id], rubric.scores_schema.names)
    if not rows:
        raise NotFoundError("그런 행은 없습니다")
    from_source = ("source", "1") in asked.pairs
    asked.record("행과 원본" if from_source else "행", f"{day} {row_id}")
    turns = _conversation(asked, day, rows[0])
    if from_source:
        row, *turns = _with_source_texts(asked, day, [rows[0], *turns])
    else:
        row = rows[0]
    zone = ZoneInfo(context.settings.time_zone)
    question, answer = (_text(asked, row[name]) for name in TEXTS)
    return asked.page(
        "scored_row.html",
        section="rows",
        title="행 하나",
        rubric=rubric,
        row=replace(shown_row(rubric, row, zone), question=question, answer=answer),
        when=f"{row['timestamp'].astimezone(zone):%Y-%m-%d %H:%M:%S}",
        tenant=tenant_text(row["tenant_id"]),
        failure=rubric.failure.titles.get(row[rubric.failure.column] or "", ""),
        same_rules=row["rubric_version"] == rubric.version,
        lacks_texts=any(one[column] is None for one in [row, *turns] for column in TEXTS),
        from_source=from_source,
        source_href=href(f"/rows/{day}/{row_id}", [("source", "1")]),
        session_href=_session_href(day, row),
        turns=[_turn(asked, one, row_id, zone) for one in turns],
        sees_personal_data=asked.sees_personal_data,
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise NotFoundError("그런 날은 없습니다") from None


def _around(day: date, session: str) -> RowFilter:
    return RowFilter(day - timedelta(days=1), day + timedelta(days=1), session=session)


def _session_href(day: date, row: Row) -> str:
    return href("/rows", [*_around(day, row["session_id"]).pairs(), ("sort", "timestamp")]) if row["session_id"] else ""


def _conversation(asked: Asked, day: date, row: Row) -> Sequence[Row]:
    """The turns of the row's session from the day before to the day after, in their order; none without a session."""
    if not row["session_id"]:
        return []
    rubric = asked.context.rubric
    columns = ["score_date", "row_id", "timestamp", rubric.total, rubric.final_scale.column, *TEXTS]
    search = asked.context.warehouse.row_search(rubric)
    order = RowOrder("timestamp", descending=False)
    return search.rows(_around(day, row["session_id"]), columns, order, 0, _MOST_TURNS).to_dicts()


def _with_source_texts(asked: Asked, day: date, rows: Sequence[Row]) -> list[Row]:
    """The rows with the texts that the source has for them."""
    days = [one.get("score_date", day) for one in rows]
    window = days_window(min(days), max(days), asked.context.settings.time_zone)
    found, _ = explained_rows([one["row_id"] for one in rows], None, window, asked.context)
    return [
        {**one, **{name: found[one["row_id"]].values[name] for name in TEXTS}} if one["row_id"] in found else one
        for one in rows
    ]


def _turn(asked: Asked, row: Row, shown_id: str, zone: ZoneInfo) -> Turn:
    rubric = asked.context.rubric
    grade = rubric.final_scale.grade(row[rubric.final_scale.column])
    question, answer = (_text(asked, row[name]) for name in TEXTS)
    return Turn(
        href=f"/rows/{row['score_date']}/{row['row_id']}",
        time=f"{row['timestamp'].astimezone(zone):%m-%d %H:%M:%S}",
        grade=grade.sign,
        tone=grade.tone,
        score=score_text(row[rubric.total], 1),
        question=question,
        answer=answer,
        is_this=row["row_id"] == shown_id,
    )


def _text(asked: Asked, text: str | None) -> str | None:
    """A text as this person may read it, cut where a page would not hold it."""
    if text is None or asked.sees_personal_data:
        return text and text[:_LONGEST_TEXT]
    return masked(text, end=_LONGEST_TEXT)
