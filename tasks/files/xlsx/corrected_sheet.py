"""The XML of a worksheet with another text in some cells; all other bytes are unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.parsers.expat import ParserCreate
from xml.sax.saxutils import escape, quoteattr

from openpyxl.utils.cell import coordinate_to_tuple

from scoring.errors import UsageError
from tasks.files.xlsx.escapes import escaped
from tasks.files.xlsx.sheet_xml import column_letters

_CONTENTS = ("v", "is")


@dataclass
class _Cell:
    """Bytes of the sheet from `begin` to `end`: a wanted cell, or the place where it is missing."""

    line: int
    begin: int
    end: int
    tag: str
    style: str = ""
    has_children: bool = False
    has_formula: bool = False
    has_content: bool = False


def corrected_sheet(content: bytes, places: Mapping[int, int], text: str) -> bytes:
    """The sheet with `text` in those of the cells at `places` (row -> column, counted from 0) that are not empty, or in
    all of them if all are. It is always a text, never a number or formula.

    Raises:
        UsageError: such a cell holds a formula.
    """
    cells = _Finder(content, places).found
    cells = [cell for cell in cells if cell.has_content] or cells
    if any(cell.has_formula for cell in cells):
        raise UsageError("수식인 칸은 고칠 수 없습니다", fix="Excel에서 값으로 바꾸어 다시 올리세요.")
    pieces, done = [], 0
    for cell in cells:
        pieces += [content[done : cell.begin], _xml(cell, f"{column_letters(places[cell.line])}{cell.line}", text)]
        done = cell.end
    return b"".join([*pieces, content[done:]])


def _xml(cell: _Cell, name: str, text: str) -> bytes:
    prefix = cell.tag[:-1]
    style = f" s={quoteattr(cell.style)}" if cell.style else ""
    inside = f'<{prefix}is><{prefix}t xml:space="preserve">{escaped(escape(text))}</{prefix}t></{prefix}is>'
    xml = f'<{cell.tag} r="{name}"{style} t="inlineStr">{inside}</{cell.tag}>'
    return xml.encode("ascii", "xmlcharrefreplace")  # whatever encoding the sheet has


class _Finder:
    """Finds cells in the XML of a sheet, where references of rows and cells are optional."""

    def __init__(self, content: bytes, places: Mapping[int, int]) -> None:
        self.found: list[_Cell] = []
        self._content, self._places = content, places
        self._line = self._column = 0
        self._cell: _Cell | None = None
        self._passed = False
        self._parser = ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.Parse(content, True)

    def _start(self, tag: str, attributes: dict[str, Any]) -> None:
        name = tag.rpartition(":")[2]
        if name == "row":
            self._line, self._column = int(attributes.get("r", self._line + 1)), 0
            self._passed = self._line not in self._places
        elif name == "c":
            self._start_cell(tag, attributes)
        elif self._cell:
            self._cell.has_children = True
            self._cell.has_formula |= name == "f"
            self._cell.has_content |= name in _CONTENTS

    def _start_cell(self, tag: str, attributes: dict[str, Any]) -> None:
        name = attributes.get("r")  # empty as good as missing, for openpyxl too
        self._column = coordinate_to_tuple(name)[1] if name else self._column + 1
        if self._passed or self._column <= self._places[self._line]:
            return
        self._passed = True
        begin = self._parser.CurrentByteIndex
        self.found.append(_Cell(self._line, begin, begin, tag))
        if self._column == self._places[self._line] + 1:
            self._cell = self.found[-1]
            self._cell.style = attributes.get("s", "")

    def _end(self, tag: str) -> None:
        name, at = tag.rpartition(":")[2], self._parser.CurrentByteIndex
        if name == "c" and self._cell:
            is_one_tag = not self._cell.has_children and self._content[at - 2 : at] == b"/>"
            self._cell.end = at if is_one_tag else self._content.index(b">", at) + 1
            self._cell = None
        elif name == "row" and not self._passed:
            self.found.append(_Cell(self._line, at, at, f"{tag[:-3]}c"))
