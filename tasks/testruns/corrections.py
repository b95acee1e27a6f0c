"""Expected results of a query in a test-run file, and a copy of the file with one of them corrected.

Only the corrected cells change: in a text file their bytes, in a workbook those of the sheet; all else is copied.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path

from scoring.errors import UsageError
from scoring.inputs import TextRow
from scoring.testruns.cells import given
from scoring.testruns.column_names import EXPECTATIONS
from scoring.testruns.rows import Columns, columns_of
from scoring.testruns.team_names import TeamNames, written_headers
from scoring.testruns.testrun import TestRunTable
from tasks.files.csv_reader import DelimitedRows, DelimitedText
from tasks.files.excel import LONGEST_CELL, shown_text
from tasks.files.xlsx.corrected_sheet import corrected_sheet
from tasks.testruns.files import testrun_sheets, text_table

Row = tuple[TestRunTable, Columns, TextRow]


def expectations_of(path: Path, names: TeamNames, query_id: str) -> dict[str, str]:
    """Header -> its value in the first row of the query that has one, else ''.

    Raises:
        InputError: the file cannot be read.
        UsageError: it does not have the query.
    """
    with _tables(path, names) as tables:
        rows = _rows(tables, names, str(path), query_id)
    found: dict[str, str] = {}
    for _, columns, row in rows:
        for name, cell in zip(columns.names, row.cells, strict=True):
            if name in EXPECTATIONS:
                found[name] = found.get(name) or given(cell) or ""
    return found


def corrected_file(path: Path, names: TeamNames, query_id: str, header: str, text: str) -> bytes:
    """The file with another expected result in the column of a header, in all rows of the query that have one there, or
    in all of its rows if none has.

    Raises:
        InputError: the file cannot be read.
        UsageError: it does not have the query or the header, or a cell cannot hold the text.
    """
    if text != shown_text(text):
        raise UsageError(
            "칸에 담을 수 없는 글입니다", fix=f"{LONGEST_CELL:,}자까지, 보이지 않는 제어 문자 없이 적으세요."
        )
    with _tables(path, names) as tables:
        rows = _rows(tables, names, str(path), query_id)
        places = [(table, row, columns.names.index(header)) for table, columns, row in rows if header in columns.names]
        if header not in EXPECTATIONS or not places:
            raise UsageError("이 파일에는 그런 기대결과 열이 없습니다", fix="고칠 열을 결과에서 다시 고르세요.")
        if isinstance(table := places[0][0], DelimitedText):
            filled = [(row.line, place) for _, row, place in places if given(row.cells[place])]
            return _corrected_text(table, dict(filled or [(row.line, place) for _, row, place in places]), text)
        return _corrected_workbook(path, places, text)


@contextmanager
def _tables(path: Path, names: TeamNames) -> Iterator[Sequence[TestRunTable]]:
    if path.suffix.lower() != ".xlsx":
        yield [text_table(path)]
        return
    from tasks.testruns.workbooks import TestRunWorkbook  # openpyxl imports longer than a small CSV is read

    with closing(TestRunWorkbook(path)) as workbook:
        yield testrun_sheets(workbook, names)


def _rows(tables: Iterable[TestRunTable], names: TeamNames, where: str, query_id: str) -> list[Row]:
    """The rows of a query; the id of a row without one is that of its line, if no other row has it."""
    named: list[Row] = []
    numbered: list[Row] = []
    for table in tables:
        columns = columns_of(names.headers(table.columns), written_headers(table.columns), where)
        for row in table.rows():
            if not isinstance(row, TextRow) or row.is_blank:
                continue
            found = next(filter(None, (given(row.cells[place]) for place in columns.fields["query_id"])), None)
            if found == query_id:
                named.append((table, columns, row))
            elif found is None and query_id in (str(row.line), f"{row.line}행"):
                numbered.append((table, columns, row))
    if not named and not numbered:
        raise UsageError("이 파일에 그런 질의는 없습니다", fix="결과의 질의에서 고르세요.")
    return named or numbered


def _corrected_text(table: DelimitedText, places: dict[int, int], text: str) -> bytes:
    """The bytes of a text file with another cell at each place (line of the row -> index in it)."""
    content, pieces, done = table.path.read_bytes(), [], 0
    with table.opened() as file:
        rows = DelimitedRows(table, file, table.below_header)
        start = rows.border.position
        for row in rows:
            if row.line in places:
                begin, end = _cell_bytes(content, start, places[row.line], table.delimiter)
                pieces += [content[done:begin], _cell(text, content[begin:end], table)]
                done = end
            start = rows.border.position
    return b"".join([*pieces, content[done:]])


def _cell_bytes(content: bytes, start: int, place: int, delimiter: str) -> tuple[int, int]:
    """The start and end of a cell in the row that begins at `start`, or after blank lines there."""
    cell = re.compile(rf'"[^"]*(?:""[^"]*)*"|[^{delimiter}\r\n]*'.encode())
    while content[start : start + 1] in (b"\r", b"\n"):
        start += 1
    for _ in range(place):
        found = cell.match(content, start)
        assert found is not None  # it matches nothing, too
        start = found.end() + 1
    found = cell.match(content, start)
    assert found is not None
    return found.span()


def _cell(text: str, before: bytes, table: DelimitedText) -> bytes:
    """A cell with the text, quoted if necessary or if it was quoted before."""
    if before.startswith(b'"') or re.search(rf'["\n{table.delimiter}]', text):
        text = '"' + text.replace('"', '""') + '"'
    try:
        return text.encode(table.encoding)
    except UnicodeEncodeError:
        raise UsageError(
            "파일의 글자 집합(CP949)에 없는 글자가 있습니다", fix="파일을 UTF-8로 저장해 다시 올리세요."
        ) from None


def _corrected_workbook(path: Path, places: Sequence[tuple[TestRunTable, TextRow, int]], text: str) -> bytes:
    from tasks.testruns.workbooks import Sheet

    by_part: dict[str, dict[int, int]] = {}
    for table, row, place in places:
        assert isinstance(table, Sheet)
        by_part.setdefault(table.part, {})[row.line] = place
    written = BytesIO()
    with zipfile.ZipFile(path) as package, zipfile.ZipFile(written, "w") as copy:
        for entry in package.infolist():
            content = package.read(entry)
            if entry.filename in by_part:
                content = corrected_sheet(content, by_part[entry.filename], text)
            copy.writestr(entry, content)
    return written.getvalue()
