"""Rows of a report grouped by kind, one line each."""

from collections.abc import Iterable, Mapping
from typing import Any

from scoring.chat.rubric import RowRubric
from scoring.chat.templates import WORD

GroupedRows = dict[tuple[str, Any], dict[str, Any]]


def group_rows(rubric: RowRubric, found: GroupedRows, rows: Iterable[Mapping[str, Any]]) -> None:
    """Adds rows to the groups: each template of questions and failure type keeps the row with the lowest total.

    `alike` is the number of rows of the group, `are_words` is true if they are different questions of a single word; a
    row whose question is not stored is a group of its own.
    """
    for row in rows:
        question = row["user_input"]
        key = rubric.template_or_id(question, row["row_id"]), row[rubric.failure.column]
        known = found.get(key)
        lowest = row if known is None or _order(rubric, row) < _order(rubric, known) else known
        is_other = known is not None and (known["are_words"] or known["user_input"] != question)
        are_words = is_other and question is not None and rubric.template(question) == WORD
        found[key] = {**lowest, "alike": (known["alike"] if known else 0) + 1, "are_words": are_words}


def lowest_rows(rubric: RowRubric, found: GroupedRows, count: int) -> list[dict[str, Any]]:
    """The `count` rows with the lowest totals, lowest first, of equal ones the earliest."""
    return sorted(found.values(), key=lambda row: _order(rubric, row))[:count]


def _order(rubric: RowRubric, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row[rubric.total], row["timestamp"], row["row_id"]
