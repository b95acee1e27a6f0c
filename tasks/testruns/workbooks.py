"""XLSX workbooks as rows of text. What is no workbook, or too large when unpacked, is never opened.

Cells are read as Excel shows them: the saved value of a formula (`NOT_CALCULATED` without one), a percentage as `25%`
and not 0.25, the value of merged cells in all rows that they span. Hidden sheets are ignored; hidden rows are read and
noted.
"""

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError

from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

from scoring.errors import InputError
from scoring.inputs import NOT_CALCULATED, TextRow
from scoring.limits import (
    LARGEST_RATIO,
    LARGEST_UNPACKED,
    LONGEST_TAG,
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_SHEET_ROWS,
    MOST_SHEET_TEXT,
    MOST_TAGS,
    MOST_TAGS_A_BYTE,
    MOST_TESTRUN_ROWS,
    SMALL_UNPACKED,
    TAGS_OF_ANY_FILE,
)
from scoring.testruns.cells import cell_text
from scoring.testruns.testrun import too_many_rows
from tasks.files.discovery import refuse_protected
from tasks.files.xlsx.escapes import unescaped
from tasks.files.xlsx.package import Package, TooManyTagsError, refuse_too_many, size_of_xml

_HEAD_BYTES = 512
_QUOTED = re.compile(r'"[^"]*"|\\.')  # what a number format shows as it is
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# A workbook is XML that anybody may have written; openpyxl answers a broken one with any of these.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, InvalidFileException, ParseError, OSError, EOFError, RuntimeError),
    *(LookupError, ValueError, TypeError, AttributeError, AssertionError, OverflowError),
)


class Sheet:
    """One visible sheet: `columns` are the cells of its first row that is not empty.

    `not_calculated` is the number of formulas without a saved value, `hidden_rows` that of rows hidden by a filter or
    by hand, known when its rows have been read.
    """

    def __init__(self, path: Path, worksheet: Any) -> None:
        self.name = str(worksheet.title)
        self.not_calculated = self.hidden_rows = 0
        self._path = path
        self._worksheet = worksheet
        with self._parser() as parser:
            first = next(_filled_rows(parser), None)
        self.columns = ["" if name == NOT_CALCULATED else name for name in first.cells] if first else []
        while self.columns and not self.columns[-1].strip():  # blank cells after the last name, which have a format
            self.columns.pop()

    @property
    def part(self) -> str:
        """The name of its part in the package."""
        return str(self._worksheet._worksheet_path).lstrip("/")

    def rows(self) -> list[TextRow]:
        """The rows below the header; `line` is the row number that Excel shows."""
        width = len(self.columns)
        with self._parser() as parser:
            _, *rows = islice(_filled_rows(parser), MOST_TESTRUN_ROWS + 2)  # one too many, but never a million
            if len(rows) > MOST_TESTRUN_ROWS:
                raise too_many_rows(str(self._path))
            self.not_calculated = parser.not_calculated
            self.hidden_rows = sum(row.line in parser.hidden for row in rows)
            merged = parser.merged_cells.mergeCell if parser.merged_cells else []
            last_rows = {(cells.min_row, cells.min_col - 1): cells.max_row for cells in merged}
            rows = [TextRow(row.line, [*row.cells[:width], *[""] * (width - len(row.cells))]) for row in rows]
            return _merges_filled(rows, last_rows) if last_rows else rows

    @contextmanager
    def _parser(self) -> Iterator["_SheetParser"]:
        sheet, book = self._worksheet, self._worksheet.parent
        dates = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
        with _readable(self._path), sheet._get_source() as source:
            parser = _SheetParser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **dates)
            parser.percents = _percent_styles(book)
            yield parser


class _SheetParser(WorkSheetParser):  # type: ignore[misc]
    """The parser below openpyxl's sheets, which alone gives row numbers, merges and formulas."""

    not_calculated = 0
    percents: frozenset[int] = frozenset()  # the styles that show a number as a percentage

    def __init__(self, source: IO[bytes], *shared: Any, **options: Any) -> None:
        super().__init__(_CountedTags(source), *shared, **options)
        self.hidden: set[int] = set()
        """The hidden rows, of those that were parsed and hold cells."""

    def parse_row(self, row: Element) -> tuple[int, list[dict[str, Any]]]:
        self.source.tags = 0
        line, cells = super().parse_row(row)
        # How a row looks is not kept: a sheet may have a million of them that hold nothing.
        if self.row_dimensions.pop(str(line), {}).get("hidden") in ("1", "true") and cells:
            self.hidden.add(line)
        return line, cells

    def parse_cell(self, element: Element) -> dict[str, Any]:
        try:
            cell: dict[str, Any] = super().parse_cell(element)
        except _BROKEN:
            raise ValueError(f"cell {element.get('r', '')[:10]} holds no value of its type") from None  # never quoted
        if cell["value"] is None and element.find(FORMULA_TAG) is not None and element.get("t") != "str":  # of ""
            self.not_calculated += 1
            cell["value"], cell["data_type"] = NOT_CALCULATED, "s"
        if isinstance(cell["value"], str):
            cell["value"] = unescaped(cell["value"])
        if cell["data_type"] == "n" and cell["value"] is not None and cell["style_id"] in self.percents:
            cell["value"] = f"{(Decimal(str(cell['value'])) * 100).normalize():f}%"  # of `25%` Excel keeps 0.25
        return cell


class _CountedTags:
    """A part that is read in pieces; `tags` are those since its reader has set them to 0."""

    def __init__(self, part: IO[bytes]) -> None:
        self._part = part
        self.tags = 0

    def read(self, size: int) -> bytes:
        """The next bytes.

        Raises:
            TooManyTagsError: the reader has let too many tags come together.
        """
        piece = self._part.read(size)
        self.tags += piece.count(b"<")
        refuse_too_many(self.tags)
        return piece


def _percent_styles(book: Any) -> frozenset[int]:
    formats = BUILTIN_FORMATS | dict(enumerate(book._number_formats, BUILTIN_FORMATS_MAX_SIZE))
    shown = (_QUOTED.sub("", formats.get(style.numFmtId, "")) for style in book._cell_styles)
    return frozenset(place for place, number_format in enumerate(shown) if "%" in number_format)


def _filled_rows(parser: _SheetParser) -> Iterator[TextRow]:
    cells = characters = 0
    for line, found in parser.parse():
        values = {cell["column"]: cell_text(cell["value"]) for cell in found if cell["value"] is not None}
        width = max(values, default=0)
        cells += width
        # Before a row is made of its cells: a file of a few bytes can claim any number of them.
        if not 0 < line <= MOST_SHEET_ROWS or width > MOST_COLUMNS:
            raise ValueError(
                f"row {line:,} with {width:,} columns, where a sheet ends at {MOST_SHEET_ROWS:,} and {MOST_COLUMNS:,}"
            )
        if cells > MOST_CELLS:
            raise ValueError(f"a sheet with more than {MOST_CELLS:,} cells")
        characters += sum(map(len, values.values()))
        _refuse_too_much_text(characters)
        if any(value.strip() not in ("", NOT_CALCULATED) for value in values.values()):
            yield TextRow(line, [values.get(column, "") for column in range(1, width + 1)])


def _refuse_too_much_text(characters: int) -> None:
    if characters > MOST_SHEET_TEXT:
        raise ValueError(f"a sheet whose cells show more than {MOST_SHEET_TEXT:,} characters")


def _merges_filled(rows: Iterable[TextRow], last_rows: dict[tuple[int, int], int]) -> list[TextRow]:
    """The rows, with the text of merged cells in all rows that they span, in its column.

    `last_rows`: where merged cells begin (row and place in it) -> their last row.
    """
    held: dict[int, tuple[int, str]] = {}
    filled = 0
    for line, cells in rows:
        for place, text in enumerate(cells):
            last_row, above = held.get(place, (0, ""))
            if (line, place) in last_rows:
                held[place] = (last_rows[line, place], text)
            elif line <= last_row and not text:
                cells[place] = above
                filled += len(above)
        _refuse_too_much_text(filled)
    return list(rows)


class TestRunWorkbook:
    """An open workbook: `sheets` are its visible ones, in order.

    Raises:
        InputError: it is no XLSX workbook, is encrypted, or too large when unpacked.
    """

    def __init__(self, path: Path) -> None:
        _refuse_unsafe(path)
        with ExitStack() as opened, _readable(path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns of what it will not keep; nothing is kept from reading
            file = opened.enter_context(path.open("rb"))  # openpyxl leaves open what it cannot read
            reader = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
            reader.archive = Package(file)
            reader.read()
            self._book = reader.wb
            self.sheets = [Sheet(path, sheet) for sheet in self._book.worksheets if sheet.sheet_state == "visible"]
            self.close = opened.pop_all().close

    def notes(self, read: Sequence[Sheet]) -> dict[str, int]:
        """Notes for readers: sheets that were not read, formulas without a value in the others."""
        counted = {
            "hidden_sheets": len(self._book.worksheets) - len(self.sheets),
            "other_sheets": len(self.sheets) - len(read),
            "formulas_not_calculated": sum(sheet.not_calculated for sheet in read),
            "hidden_rows": sum(sheet.hidden_rows for sheet in read),
        }
        return {code: found for code, found in counted.items() if found}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except TooManyTagsError as error:
        raise _too_large(path, str(error)) from error
    except _BROKEN as error:
        raise InputError(
            f"cannot be read: expected an Excel workbook (.xlsx), found: {str(error).partition(chr(10))[0] or error!r}",
            where=str(path),
            fix="open it in Excel and save it as .xlsx again",
            ko="Excel 파일(.xlsx)로 읽을 수 없습니다. Excel에서 열어 .xlsx로 다시 저장하세요.",
        ) from error


def _refuse_unsafe(path: Path) -> None:
    with _readable(path), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise InputError(
            "the file is empty (0 bytes): expected an Excel workbook",
            where=str(path),
            fix="copy it again",
            ko="빈 파일(0바이트)입니다. 다시 내려받거나 복사하세요.",
        )
    refuse_protected(path, head)
    if head.startswith(_OLE):
        raise InputError(
            "expected an Excel workbook (.xlsx), found one with a password or in the old format (.xls)",
            where=str(path),
            fix="take the password off, or save it as .xlsx",
            ko="암호가 걸렸거나 옛 형식(.xls)인 Excel 파일입니다. 암호를 풀거나 .xlsx로 저장하세요.",
        )
    if not zipfile.is_zipfile(path):
        raise InputError(
            "expected an Excel workbook (.xlsx), found another kind of file or half of one",
            where=str(path),
            fix="copy or export the file again; a text table is named .csv or .tsv",
            ko="Excel 파일(.xlsx)이 아니거나 일부만 온 파일입니다. 다시 내보내거나 복사하세요. "
            "텍스트로 된 표라면 이름이 .csv나 .tsv로 끝나야 합니다.",
        )
    packed = path.stat().st_size
    with _readable(path), zipfile.ZipFile(path) as package:
        unpacked = sum(entry.file_size for entry in package.infolist())  # unpacking never exceeds what they declare
        if unpacked > LARGEST_UNPACKED or (unpacked > SMALL_UNPACKED and unpacked > LARGEST_RATIO * packed):
            raise _too_large(
                path, f"{unpacked:,} bytes (at most {LARGEST_UNPACKED:,}, and {LARGEST_RATIO} times its size)"
            )
        # Also the parts that are not read here: they are copied into the workbook of the scores.
        tags, longest = size_of_xml(package)
    if tags > min(MOST_TAGS, max(TAGS_OF_ANY_FILE, MOST_TAGS_A_BYTE * packed)):
        raise _too_large(path, f"{tags:,} tags (at most {MOST_TAGS:,}, and {MOST_TAGS_A_BYTE} for each of its bytes)")
    if longest > LONGEST_TAG:
        raise _too_large(path, f"a tag or text of {longest:,} bytes (at most {LONGEST_TAG:,})")


def _too_large(path: Path, unpacked: str) -> InputError:
    return InputError(
        f"refused: it unpacks from {path.stat().st_size:,} bytes to {unpacked}",
        where=str(path),
        fix="export the run as CSV",
        ko="압축을 풀면 지나치게 커지는 Excel 파일입니다. 실행 결과를 CSV로 내보내세요.",
    )
