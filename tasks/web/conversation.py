"""The conversation and texts of a row, as a person may read them."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from scoring.chat.row_filter import RowFilter
from scoring.chat.row_ids import TEXTS
from scoring.days import days_window
from scoring.judging.masking import masked
from tasks.chat.source_rows import rows_of_source
from tasks.warehouse.row_search import RowOrder
from tasks.web.asked import Asked

_MOST_TURNS, _MOST_SEARCHED = 200, 100_000
_LONGEST_TEXT = 20_000

Row = Mapping[str, Any]


def around(day: date, row: Row) -> RowFilter:
    """The rows of a row's session from the day before to the day after. Session ids are those of its tenant."""
    span = day - timedelta(days=1), day + timedelta(days=1)
    return RowFilter(*span, tenants=(row["tenant_id"],), session=row["session_id"])


def conversation(asked: Asked, day: date, row: Row) -> Sequence[Row]:
    """The turns around a row of a day, in order, itself among them; none without a session."""
    if not row["session_id"]:
        return []
    rubric = asked.context.rubric
    columns = ["score_date", "row_id", "timestamp", rubric.total, rubric.final_scale.column, *TEXTS]
    search = asked.context.warehouse.row_search(rubric)
    wanted, order = around(day, row), RowOrder("timestamp", descending=False)
    found = search.rows(wanted, columns, order, 0, _MOST_TURNS)
    if row["row_id"] not in found["row_id"]:  # as of a program that asks all day
        turns = search.rows(wanted, ["row_id"], order, 0, _MOST_SEARCHED)["row_id"]
        place = turns.index_of(row["row_id"]) or 0
        found = search.rows(wanted, columns, order, max(place - _MOST_TURNS // 2, 0), _MOST_TURNS)
    return found.to_dicts()


def with_source_texts(asked: Asked, day: date, rows: Sequence[Row]) -> list[Row]:
    """The rows with their texts from the source."""
    days = [one.get("score_date", day) for one in rows]
    window = days_window(min(days), max(days), asked.context.settings.time_zone)
    found, _ = rows_of_source([one["row_id"] for one in rows], None, window, asked.context)
    return [
        {**one, **{name: found[one["row_id"]].values[name] for name in TEXTS}} if one["row_id"] in found else one
        for one in rows
    ]


def lacks_texts(rows: Sequence[Row]) -> bool:
    """Whether a text of one of the rows is not stored."""
    return any(row[name] is None for row in rows for name in TEXTS)


def shown_text(asked: Asked, text: str | None) -> str | None:
    """A text as this person may read it, truncated with a mark if it is too long for a page."""
    if text is None:
        return None
    shown = text[:_LONGEST_TEXT] if asked.sees_personal_data else masked(text, end=_LONGEST_TEXT)
    return shown if len(text) <= _LONGEST_TEXT else f"{shown}…(잘림: 전체 {len(text):,}자)"
