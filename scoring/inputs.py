"""What readers of files hand over: what a file was, its rows as text, and rows that cannot be read, with the reason."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from scoring.errors import shown_name
from scoring.rules.arrow_types import field


@dataclass(frozen=True)
class FileIdentity:
    """What a file held when it was read: its path as given, SHA-256 in hex, size in bytes."""

    name: str
    sha256: str
    bytes: int


NOT_CALCULATED = "#NOT_CALCULATED!"
"""The text of a cell whose formula was saved without a value: what people see there only Excel knows."""


class TextRow(NamedTuple):
    """One row with as many cells as the header.

    `line` is the physical line it starts on (the first line of the file is 1). Bytes that are no text in the file's
    encoding stand in the cells as lone surrogates: encoding such a cell fails.
    """

    line: int
    cells: list[str]

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing at all, as the rows that Excel leaves below a table (`,,,,`): then it is none."""
        return not any(map(str.strip, self.cells))


class BrokenRow(NamedTuple):
    """Lines from `line` on, of which no row could be made.

    `code` is English, `reason` Korean: what is wrong and which lines are lost, without any content of the row.
    """

    line: int
    code: str
    reason: str


REJECTED_SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "이 행을 읽으려던 실행의 날"),
        field("file", pa.string(), "파일"),
        field("line", pa.int64(), "줄(Parquet는 행 번호)"),
        field("column", pa.string(), "문제가 된 열. 행 전체가 문제면 NULL"),
        field("code", pa.string(), "거부한 까닭의 코드"),
        field("reason", pa.string(), "거부한 까닭"),
        field("rubric", pa.string(), "루브릭 id"),
    ]
)


@dataclass(frozen=True)
class Reject:
    """A row that cannot be read. `line` as in the rows, `column` NULL when the whole row is meant.

    `code` is English, `reason` a Korean sentence with its evidence; neither holds a text or a session of a person.
    `at` are microseconds from 1970 to the time of a chat row, None where it is not known.
    """

    file: str
    line: int | None
    column: str | None
    code: str
    reason: str
    at: int | None = None


_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def ungrouped(number: str) -> str:
    """The text of a number without the commas that set its thousands apart; any other text as it is."""
    return number.replace(",", "") if _GROUPED.fullmatch(number) else number


class UnreadableCell(Exception):  # noqa: N818  (caught row by row: it ends as a reject, never as an error)
    """Why a row is rejected: the column, a code in English, a reason in Korean. Never what a person wrote."""

    def __init__(self, column: str, code: str, reason: str) -> None:
        super().__init__(code)
        self.column = column
        self.code = code
        self.reason = reason


def repeated_files(contents: Iterable[tuple[str, str]]) -> list[str]:
    """A sentence for each group of equal files; `contents` are names and hashes of the files with rows."""
    alike: dict[str, list[str]] = {}
    for name, sha256 in contents:
        alike.setdefault(sha256, []).append(name)
    return [
        f"each row counts {len(names)} times, for these files hold the same: {', '.join(map(shown_name, names))}\n"
        "  -> remove all but one of them, then score again"
        for names in alike.values()
        if len(names) > 1
    ]


def nothing_scored(counts: Mapping[str, int]) -> str:
    """A sentence that rows came in and none was scored; '' where one was scored, or none came in."""
    if counts["scored"] or not counts["rows_in"]:
        return ""
    return (
        f"nothing was scored: rows in {counts['rows_in']:,} = excluded {counts['excluded']:,} "
        f"+ rejected {counts['rejected']:,}"
    )
