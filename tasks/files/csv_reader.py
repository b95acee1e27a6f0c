"""Reads CSV and TSV files as people and programs save them, one row at a time.

The format is RFC 4180 with LF or CRLF: a cell in quotes may hold delimiters, line breaks and doubled quotes. The
encoding is UTF-8, UTF-8 with BOM, or CP949 (Korean Excel), decided per file from a leading sample.

A malformed row becomes a `BrokenRow`, and reading resumes at the next line that starts a row. So an unclosed quote
costs one row, not the rest of the file.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from scoring.errors import InputError
from scoring.headers import bare_name
from scoring.inputs import BrokenRow, TextRow
from scoring.limits import LARGEST_CELL, LONGEST_LINE, MOST_COLUMNS, MOST_LINES_REREAD, MOST_REREADS_OF_A_LINE
from scoring.testruns.cells import encodable
from tasks.files.discovery import readable, refuse_protected

_SAMPLE_BYTES = 1024 * 1024


class _Words(NamedTuple):
    en: str
    ko: str


_DELIMITERS = {",": _Words("commas", "쉼표"), ";": _Words("semicolons", "세미콜론"), "\t": _Words("tabs", "탭")}
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")  # what Excel saves as Unicode Text
_NO_TEXT = (b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xd0\xcf\x11\xe0")  # .xlsx and zip, gzip, zstd, .xls

# The csv module keeps this limit for the whole process.
csv.field_size_limit(LARGEST_CELL)


class Border(NamedTuple):
    """Where a row may start: bytes from the beginning of the file, and its physical line (the first is 1)."""

    position: int
    line: int


class DelimitedText:
    """One delimited file: encoding and header are read on creation, rows are streamed in bounded memory.

    `columns` are the header cells without invisible characters around them; names may be repeated. The rows start at
    `below_header`.

    Raises:
        InputError: the file cannot be opened, is empty, or its header cannot be read.
    """

    def __init__(self, path: Path, delimiter: str = ",") -> None:
        self.path = path
        self.delimiter = delimiter
        with readable(path), path.open("rb") as file:
            sample = file.read(_SAMPLE_BYTES)
            refuse_protected(path, sample)
            if sample.startswith(_UTF16_BOMS):
                raise self.error(
                    "is in UTF-16, as Excel saves Unicode Text (유니코드 텍스트): expected UTF-8 or CP949",
                    fix="save it as CSV UTF-8 (in Excel: CSV UTF-8(쉼표로 분리))",
                    ko="UTF-16(Excel의 유니코드 텍스트)으로 저장한 파일입니다. CSV UTF-8(쉼표로 분리)로 저장하세요.",
                )
            if sample.startswith(_NO_TEXT):
                raise self.error(
                    "is a workbook or a packed file under the name of a text table: expected UTF-8 or CP949",
                    fix="name a workbook .xlsx, unpack a packed file, or save the table as CSV in UTF-8",
                    ko="이름만 텍스트 표이고, 내용은 Excel 파일이거나 압축 파일입니다. "
                    "Excel 파일이면 이름을 .xlsx로 바꾸고, 압축 파일이면 압축을 푸세요.",
                )
            self.encoding = _encoding_of(sample)
            self._header, self.below_header = self._header_of(file)
        self.columns = tuple(map(bare_name, self._header))

    def rows(self) -> Iterator[TextRow | BrokenRow]:
        """The rows below the header in file order, without blank lines.

        Raises:
            InputError: the file has another header now, so its cells would be read in the wrong columns.
        """
        with self.opened() as file:
            yield from DelimitedRows(self, file, self.below_header)

    def error(self, what: str, fix: str, ko: str) -> InputError:
        """An error of this file."""
        return InputError(what, where=str(self.path), fix=fix, ko=ko)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file opened again, for reading sections of it. Raises InputError as `rows`."""
        with self.path.open("rb") as file:
            if self._header_of(file)[0] != self._header:
                raise self.error(
                    "was replaced while it was read",
                    fix="run again",
                    ko="읽는 동안 파일이 바뀌었습니다. 다시 시도하세요.",
                )
            yield file

    def _header_of(self, file: BinaryIO) -> tuple[list[str], Border]:
        file.seek(0)
        rows = DelimitedRows(self, file, Border(len(_BOM) if file.read(len(_BOM)) == _BOM else 0, 1))
        return rows.header(), rows.border


def _encoding_of(sample: bytes) -> str:
    """`utf-8` or `cp949`, by the lines that are not plain ASCII, of which a few may be damaged."""
    if len(sample) == _SAMPLE_BYTES and b"\n" in sample:
        sample = sample[: sample.rindex(b"\n")]
    if _decodes(sample, "utf-8"):  # as most files do: looking at each line takes longer than reading them
        return "utf-8"
    telling = [line for line in sample.split(b"\n") if not line.isascii()]
    as_utf8 = sum(_decodes(line, "utf-8") for line in telling)
    as_cp949 = sum(_decodes(line, "cp949") for line in telling)
    return "cp949" if 2 * as_utf8 < len(telling) and as_cp949 > as_utf8 else "utf-8"


def _decodes(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


class _Lines:
    """The decoded lines of a file; those taken since `taken` was cleared can be pushed back."""

    def __init__(self, file: BinaryIO, text: DelimitedText, border: Border) -> None:
        self.position = border.position
        self.number = border.line - 1
        self.taken: list[bytes] = []
        self._given_back: list[bytes] = []
        self._began, self._reread = border.position, 0
        self._text = text
        self._raw = iter(partial(file.readline, LONGEST_LINE), b"")
        file.seek(border.position)

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        raw = self._given_back.pop() if self._given_back else next(self._raw)
        self.number += 1
        self.position += len(raw)
        self.taken.append(raw)
        if self.position - self._began > LONGEST_LINE > len(raw):
            raise csv.Error(f"a row of more than {LONGEST_LINE:,} bytes")
        if len(raw) == LONGEST_LINE:
            raise self._text.error(
                f"line {self.number} is longer than {LONGEST_LINE:,} bytes: expected delimited text",
                fix="check that it is a table, and export it again",
                ko=f"{self.number:,}번째 줄이 {LONGEST_LINE:,}바이트보다 깁니다. 표인지 확인하고 다시 내보내세요.",
            )
        return raw.decode(self._text.encoding, "surrogateescape")

    def begin(self) -> None:
        """Begins a record: the lines taken so far can no longer be pushed back."""
        self.taken.clear()
        self._began = self.position

    def give_back(self, *, keep: int) -> None:
        """Pushes back all lines taken but the first `keep`.

        Raises:
            InputError: lines were pushed back so often that each broken row would be read to the file's end.
        """
        self.number -= len(self.taken) - keep
        self._reread += len(self.taken) - keep
        if self._reread > MOST_LINES_REREAD + MOST_REREADS_OF_A_LINE * self.number:
            raise self._text.error(
                f"its quotes are broken again and again; reading stopped at line {self.number}",
                fix="export the table again, with a program that doubles the quotes inside its cells",
                ko=f"따옴표가 맞지 않는 행이 거듭되어 {self.number:,}번째 줄에서 읽기를 멈췄습니다. "
                "칸 안의 따옴표를 두 번 적는 프로그램으로 표를 다시 내보내세요.",
            )
        self.position -= sum(map(len, self.taken[keep:]))
        self._given_back.extend(reversed(self.taken[keep:]))


class DelimitedRows:
    """The rows of an open file from `border` on, where one must start, to the first border at or after `stop`.

    `border` advances with them.
    """

    def __init__(self, text: DelimitedText, file: BinaryIO, border: Border, stop: int | None = None) -> None:
        self._text = text
        self._stop = stop
        self._lines = _Lines(file, text, border)
        # Without `strict`, the module would repair a broken quote by guessing, and glue rows together.
        self._reader = csv.reader(self._lines, delimiter=text.delimiter, strict=True)

    @property
    def border(self) -> Border:
        """The start of the next row."""
        return Border(self._lines.position, self._lines.number + 1)

    def header(self) -> list[str]:
        """The cells of the first row, which name the columns."""
        cells: list[str] | csv.Error | None = []
        while cells == []:
            cells = self._next()
        if cells is None:
            raise self._text.error(
                "the file is empty: expected a header line",
                fix="export the table again, with its column names in the first line",
                ko="빈 파일입니다. 첫 줄에 열 이름이 오게 표를 다시 내보내세요.",
            )
        if isinstance(cells, csv.Error):  # "a";"b" of a program that puts names in quotes
            behind_quotes = [mark for mark in _DELIMITERS if f'"{mark}'.encode() in self._lines.taken[0]]
            if self._text.delimiter not in behind_quotes:
                self._refuse_delimiters(behind_quotes)
        if isinstance(cells, csv.Error) or not encodable("".join(cells)):
            if any(b"\r" in line.rstrip(b"\r\n") for line in self._lines.taken):
                found, why = "lines that end in CR alone", "줄바꿈이 옛 매킨토시 형식입니다"
            elif isinstance(cells, csv.Error):
                found, why = f"broken quotes ({cells})", "따옴표가 맞지 않습니다"
            else:
                found, why = "bytes that are neither", "UTF-8도 CP949도 아닙니다"
            raise self._text.error(
                f"the header line cannot be read: expected delimited text in UTF-8 or CP949, found {found}",
                fix="save the table as CSV in UTF-8",
                ko=f"열 이름이 있는 첫 줄을 읽을 수 없습니다({why}). 표를 CSV UTF-8(쉼표로 분리)로 저장하세요.",
            )
        if len(cells) > MOST_COLUMNS:
            raise self._text.error(
                f"the header line has {len(cells):,} columns: expected at most {MOST_COLUMNS:,}",
                fix="check that it is a table, and export only the columns that are needed",
                ko=f"첫 줄에 열이 {len(cells):,}개 있습니다. 필요한 열만 {MOST_COLUMNS:,}개까지 내보내세요.",
            )
        self._refuse_other_delimiter(cells)
        return cells

    def _refuse_other_delimiter(self, header: Sequence[str]) -> None:
        """Refuses a header of one column that contains another delimiter."""
        usual = _DELIMITERS[self._text.delimiter]
        name, *others = header
        if name.casefold().startswith("sep=") and not any(others):
            raise self._text.error(
                "the first line only tells Excel the delimiter (sep=): expected a header line",
                fix=f"take that line out, and save the table with {usual.en} between its columns",
                ko=f"첫 줄이 구분 기호만 알립니다(sep=). 그 줄을 지우고 저장하세요. 열의 구분 기호: {usual.ko}.",
            )
        if not others:
            self._refuse_delimiters([mark for mark in _DELIMITERS if mark in name])

    def _refuse_delimiters(self, marks: Sequence[str]) -> None:
        """Refuses a header that contains these delimiters instead of the expected one."""
        usual, seen = _DELIMITERS[self._text.delimiter], [_DELIMITERS[mark] for mark in marks]
        if seen:
            raise self._text.error(
                f"the header line is a single column that holds {' and '.join(one.en for one in seen)}: "
                f"is the delimiter right? A file with this name has {usual.en} between its columns",
                fix=f"save the table with {usual.en} between its columns (a name ending in .tsv stands for tabs)",
                ko=f"첫 줄이 열 하나로 읽힙니다. 그 안의 구분 기호: {', '.join(one.ko for one in seen)}. 이런 이름의 "
                f"파일에 맞는 구분 기호: {usual.ko}. 그렇게 저장하세요(탭으로 나눈 파일의 이름은 .tsv로 끝납니다).",
            )

    def __iter__(self) -> Iterator[TextRow | BrokenRow]:
        width = len(self._text.columns)
        while self._stop is None or self._lines.position < self._stop:
            line = self._lines.number + 1
            cells = self._next()
            if cells is None:
                return
            if isinstance(cells, list) and len(cells) == width:
                yield TextRow(line, cells)
            elif cells != []:
                yield self._broken(line, cells, width)

    def _next(self) -> list[str] | csv.Error | None:
        """The cells of the next record (none for a blank line), or why it is broken, or None at the end."""
        self._lines.begin()
        try:
            return next(self._reader)
        except StopIteration:
            return None
        except csv.Error as error:
            return error

    def _broken(self, line: int, found: list[str] | csv.Error, width: int) -> BrokenRow:
        """Skips the broken record from `line` up to the start of the next row.

        That is the next line that starts a well-formed row. After broken quotes it may also be a line that breaks
        quotes again: the lines between are the rest of a broken text, not rows. If quotes are balanced and cells too
        many or too few, a line with an unbalanced quote is the end of a cell, not a row.
        """
        lines = self._lines
        reached = lines.number
        lines.give_back(keep=1)
        apart = isinstance(found, csv.Error)
        while apart or lines.number < reached:
            cells = self._next()
            if cells is None:
                break
            if isinstance(cells, csv.Error):
                starts_row = apart
            else:
                starts_row = len(cells) == width and (apart or b"".join(lines.taken).count(b'"') % 2 == 0)
            lines.give_back(keep=0 if starts_row else 1)
            if starts_row:
                break
        if isinstance(found, csv.Error):
            code = "broken_quotes"
            what = f"따옴표가 맞지 않아 {reached}번째 줄까지 이어 읽다가 멈췄습니다"
        else:
            code = "wrong_field_count"
            what = f"칸이 {len(found)}개입니다(머리글은 {width}개)"
        lost = f"{line}번째 줄" if lines.number == line else f"{line}~{lines.number}번째 줄"
        reason = f"{what}. {lost}을 버리고 그다음 줄부터 다시 읽었습니다."
        if isinstance(found, list) and len(found) < width:
            # Excel writes sixteen rows at a time, without the last columns that are empty in all of them.
            reason += " Excel은 끝 열이 빈 행의 구분 기호를 빼고 저장하기도 합니다. 그런 파일이면 .xlsx로 저장하세요."
        return BrokenRow(line, code, reason)
