"""Rows that cannot be read, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reject:
    """A row that cannot be read. `line` as in the rows, `column` NULL when the whole row is meant.

    `code` is English, `reason` a Korean sentence with its evidence; neither holds a text or a session of a person.
    """

    file: str
    line: int | None
    column: str | None
    code: str
    reason: str


class UnreadableCell(Exception):  # noqa: N818  (caught row by row: it ends as a reject, never as an error)
    """Why a row is rejected: the column, a code in English, a reason in Korean. Never what a person wrote."""

    def __init__(self, column: str, code: str, reason: str) -> None:
        super().__init__(code)
        self.column = column
        self.code = code
        self.reason = reason
