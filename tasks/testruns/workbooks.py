"""XLSX workbooks as rows of text, without ever opening what is no workbook or unpacks to more than memory holds.

What Excel shows is read: of a formula the value that was saved with it, of merged cells the value in all rows that
they span. Hidden sheets are left alone.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import openpyxl
from openpyxl.utils import column_index_from_string
from openpyxl.utils.exceptions import InvalidFileException

from scoring.errors import InputError
from scoring.inputs import TextRow
from scoring.testruns.cells import cell_text

_LARGEST_UNPACKED = 1024 * 1024 * 1024
_SMALL_UNPACKED = 64 * 1024 * 1024
_LARGEST_RATIO = 100
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CHUNK = 4 * 1024 * 1024
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=\"([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)\"")
# A formula that no program has calculated yet has no value beside it.
_NOT_CALCULATED = re.compile(rb"</(?:\w+:)?f>\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>|</(?:\w+:)?c>)")
# A workbook is XML that anybody may have written; openpyxl answers a broken one with any of these.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, InvalidFileException, ParseError, OSError, EOFError, RuntimeError),
    *(KeyError, ValueError, TypeError, IndexError, AttributeError, AssertionError, OverflowError),
)


class Sheet:
    """One visible sheet: `columns` are the cells of its first row that holds anything."""

    def __init__(self, path: Path, worksheet: Any) -> None:
        self.name = str(worksheet.title)
        self._path = path
        self._worksheet = worksheet
        first = next(self._filled_rows(), None)
        self.columns = first.cells if first else []
        while self.columns and not self.columns[-1].strip():
            self.columns.pop()  # blank cells behind the last name only have a format

    def rows(self) -> Iterator[TextRow]:
        """The rows below the header; `line` is the row number that Excel shows."""
        width = len(self.columns)
        merged = _MergedDown(self._part())
        rows = self._filled_rows()
        next(rows, None)
        for row in rows:
            cells = [*row.cells[:width], *[""] * (width - len(row.cells))]
            yield TextRow(row.line, merged.filled(row.line, cells))

    def not_calculated(self) -> int:
        """How many formulas have no value saved with them."""
        return sum(len(_NOT_CALCULATED.findall(chunk)) for chunk in self._part())

    def _filled_rows(self) -> Iterator[TextRow]:
        # Some programs write a wrong size of the sheet; the rows themselves tell it.
        self._worksheet.reset_dimensions()
        with _readable(self._path):
            for line, values in zip(count(1), self._worksheet.iter_rows(values_only=True), strict=False):
                if any(value is not None for value in values):
                    yield TextRow(line, [cell_text(value) for value in values])

    def _part(self) -> Iterator[bytes]:
        """The XML of the sheet in pieces, none of which cuts a cell or a merge in two."""
        # openpyxl reads merged cells only together with the whole sheet in memory.
        with (
            _readable(self._path),
            zipfile.ZipFile(self._path) as package,
            package.open(self._worksheet._worksheet_path) as part,
        ):
            rest = b""
            while chunk := part.read(_CHUNK):
                rest += chunk
                cut = max(rest.rfind(b"<c "), rest.rfind(b"<mergeCell "), 0)
                yield rest[:cut]
                rest = rest[cut:]
            yield rest


class TestRunWorkbook:
    """An open workbook: `sheets` are its visible ones, in order.

    Raises:
        InputError: no XLSX workbook, encrypted, or too large when unpacked.
    """

    def __init__(self, path: Path) -> None:
        _refuse_what_is_no_package(path)
        with _readable(path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns of what it will not keep; nothing is kept from reading
            self._book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        visible = (sheet for sheet in self._book.worksheets if sheet.sheet_state == "visible")
        self.sheets = [Sheet(path, sheet) for sheet in visible]

    def close(self) -> None:
        """Closes the file."""
        self._book.close()

    def notes(self, read: Sequence[Sheet]) -> dict[str, int]:
        """What a reader should know: sheets that were not read, formulas without a value in those that were."""
        counted = {
            "hidden_sheets": len(self._book.worksheets) - len(self.sheets),
            "other_sheets": len(self.sheets) - len(read),
            "formulas_not_calculated": sum(sheet.not_calculated() for sheet in read),
        }
        return {code: found for code, found in counted.items() if found}


class _MergedDown:
    """Fills the rows of merged cells with the value of their first row, in the column that holds it."""

    def __init__(self, part: Iterable[bytes]) -> None:
        self._last_row: dict[tuple[int, int], int] = {}
        self._held: dict[int, tuple[int, str]] = {}
        for chunk in part:
            for left, top, _, bottom in _MERGED.findall(chunk):
                if int(bottom) > int(top):
                    self._last_row[int(top), column_index_from_string(left.decode()) - 1] = int(bottom)

    def filled(self, line: int, cells: list[str]) -> list[str]:
        if not self._last_row:
            return cells
        for place, text in enumerate(cells):
            last_row, held = self._held.get(place, (0, ""))
            if (line, place) in self._last_row:
                self._held[place] = (self._last_row[line, place], text)
            elif line <= last_row and not text:
                cells[place] = held
        return cells


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise InputError(
            f"cannot be read: expected an Excel workbook (.xlsx), found: {str(error).partition(chr(10))[0] or error!r}",
            where=str(path),
            fix="open it in Excel and save it as .xlsx again",
        ) from error


def _refuse_what_is_no_package(path: Path) -> None:
    with _readable(path), path.open("rb") as file:
        head = file.read(len(_OLE))
    if not head:
        raise InputError(
            "the file is empty (0 bytes): expected an Excel workbook", where=str(path), fix="copy it again"
        )
    if head == _OLE:
        raise InputError(
            "expected an Excel workbook (.xlsx), found one with a password or in the old format (.xls)",
            where=str(path),
            fix="take the password off, or save it as .xlsx",
        )
    if not zipfile.is_zipfile(path):
        raise InputError(
            "expected an Excel workbook (.xlsx), found another kind of file or half of one",
            where=str(path),
            fix="copy or export the file again; a text table is named .csv or .tsv",
        )
    # Unpacking never exceeds the sizes that a package declares.
    with _readable(path), zipfile.ZipFile(path) as package:
        unpacked = sum(entry.file_size for entry in package.infolist())
    ratio = unpacked / max(path.stat().st_size, 1)
    if unpacked > _LARGEST_UNPACKED or (unpacked > _SMALL_UNPACKED and ratio > _LARGEST_RATIO):
        raise InputError(
            f"refused: it unpacks from {path.stat().st_size:,} to {unpacked:,} bytes "
            f"(at most {_LARGEST_UNPACKED:,}, and {_LARGEST_RATIO} times its size)",
            where=str(path),
            fix="export the run as CSV",
        )
