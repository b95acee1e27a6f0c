"""What readers of files hand over: what a file was, its rows as text, and lines of which no row could be made."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class FileIdentity:
    """What a file held when it was read: its path as given, SHA-256 in hex, size in bytes."""

    name: str
    sha256: str
    bytes: int


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
