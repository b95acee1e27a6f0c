"""The displayed columns of a scored row, for the list of rows and for exports."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from scoring.chat.rubric import CodedColumn, RowRubric
from scoring.judging.masking import masked

TEXT_WIDTHS = {"user_input": 40, "llm_response": 60, "alert_rules": 30}
"""How wide long texts stand in a sheet, in characters, by the column."""

Row = Mapping[str, Any]
Value = str | int | float | datetime | None


@dataclass(frozen=True)
class RowColumn:
    """A column: its name in the table and in addresses, its title (Korean), and its value.

    Rows can be ordered by it if it `sorts`. A text is a question or an answer.
    """

    name: str
    title: str
    value: Callable[[Row], Value]
    sorts: bool = False
    is_text: bool = False


def row_columns(rubric: RowRubric, time_zone: str) -> list[RowColumn]:
    """All columns of a rubric's rows, in reading order."""
    zone = ZoneInfo(time_zone)
    return [
        RowColumn("timestamp", "시각", lambda row: row["timestamp"].astimezone(zone), sorts=True),
        _plain("tenant_id", "테넌트", sorts=True),
        _plain(rubric.total, rubric.titles[rubric.total], sorts=True),
        *(_plain(part.column, rubric.titles[part.column], sorts=True) for part in rubric.parts),
        *(_coded(one, rubric.titles[one.column]) for one in rubric.coded_columns),
        RowColumn("alert_rules", "알림", lambda row: _titles(row["alert_rules"], rubric.rule_titles)),
        *([_coded(CodedColumn(rubric.cause, rubric.titles), rubric.titles[rubric.cause])] if rubric.cause else []),
        _plain("user_input", "질문", is_text=True),
        _plain("llm_response", "답변", is_text=True),
        _plain("input_tokens", "입력 토큰", sorts=True),
        _plain("output_tokens", "출력 토큰", sorts=True),
        _plain("session_id", "세션"),
        _plain("row_id", "행 ID"),
    ]


def usual_columns(rubric: RowRubric) -> tuple[str, ...]:
    """The names of the columns that are shown by default."""
    return ("timestamp", "tenant_id", rubric.total, rubric.failure.column, "alert_rules", "user_input")


def table_columns(columns: Sequence[RowColumn]) -> list[str]:
    """The table columns that these columns need, each once."""
    return list(dict.fromkeys(column.name for column in columns))


def shown_value(column: RowColumn, row: Row, *, personal: bool) -> Value:
    """The value of a column; without `personal`, personal data in texts is masked."""
    value = column.value(row)
    return masked(value) if column.is_text and isinstance(value, str) and not personal else value


def _plain(name: str, title: str, *, sorts: bool = False, is_text: bool = False) -> RowColumn:
    return RowColumn(name, title, lambda row: row[name], sorts, is_text)


def _coded(column: CodedColumn, title: str) -> RowColumn:
    name = column.column
    return RowColumn(name, title, lambda row: row[name] and column.titles.get(row[name], row[name]))


def _titles(rules: Sequence[str] | None, titles: Mapping[str, str]) -> str:
    return ", ".join(titles.get(rule, rule) for rule in rules or ())
