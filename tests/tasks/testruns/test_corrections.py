"""Files with one expected result corrected: what changes, what stays byte for byte, and what is refused."""

import zipfile
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest

from scoring.errors import UsageError
from scoring.testruns.team_names import COMMON_NAMES, TeamNames
from tasks.testruns.corrections import corrected_file, expectations_of
from tasks.testruns.files import read_testrun_file
from tests.builders.uploads import PLAN, RESUME

HEADER = "Query ID,방/반복,Raw JSON,기대결과"


def written(folder: Path, content: bytes, name: str = "run.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def corrected(path: Path, text: str, query_id: str = "Q1", header: str = "기대결과") -> bytes:
    return corrected_file(path, COMMON_NAMES, query_id, header, text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_corrected_text_file_changes_the_cells_of_one_query_alone(tmp_path: Path, encoding: str, end: str) -> None:
    rows = [
        HEADER,
        "",
        'Q1,1/1,"{""a"": ""가,""\n}","옛 ""기대"", 하나"',
        'Q2,1/1,a"b,다른 것',
        "broken",
        "Q1,2/1,{},plain",
        "Q1,3/1,{},",
    ]
    path = written(tmp_path, end.join([*rows, ""]).encode(encoding))
    rows[2] = 'Q1,1/1,"{""a"": ""가,""\n}","새 ""기대"""'
    rows[5] = 'Q1,2/1,{},"새 ""기대"""'
    assert corrected(path, '새 "기대"') == end.join([*rows, ""]).encode(encoding)


def test_corrected_text_file_fills_all_rows_of_a_query_without_an_expectation(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEADER}\nQ1,1/1,{{}},\nQ1,2/1,{{}},-".encode())
    assert corrected(path, "=1+1") == f"{HEADER}\nQ1,1/1,{{}},=1+1\nQ1,2/1,{{}},=1+1".encode()


def test_expectation_to_correct_is_that_of_the_first_row_which_has_one(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEADER}\nQ1,1/1,{{}},-\nQ1,2/1,{{}},first\nQ1,3/1,{{}},second\nQ1,4/1,{{}},".encode())
    assert expectations_of(path, COMMON_NAMES, "Q1") == {"기대결과": "first"}


def test_corrected_tsv_file_keeps_its_commas_and_tabs(tmp_path: Path) -> None:
    lines = f"{HEADER}\nQ1,1/1,{{}},old".replace(",", "\t")
    path = written(tmp_path, lines.encode(), "run.tsv")
    assert corrected(path, "가, 나") == lines.replace("old", "가, 나").encode()
    assert corrected(path, "가\t나") == lines.replace("old", '"가\t나"').encode()


def test_corrected_file_knows_rows_without_an_id_and_columns_of_a_team(tmp_path: Path) -> None:
    names = TeamNames(columns={"기대결과": "정답 요건"})
    path = written(tmp_path, "ID,질의,1차 답변,정답 요건\n,가,나,old\n5,다,라,other".encode())
    assert expectations_of(path, names, "2") == {"기대결과": "old"}
    assert corrected_file(path, names, "2", "기대결과", "new") == path.read_bytes().replace(b"old", b"new")


@pytest.mark.parametrize(
    ("text", "query_id", "header", "said"),
    [
        ("x", "Q9", "기대결과", "그런 질의는 없습니다"),
        ("x", "Q1", "Raw JSON", "그런 기대결과 열이 없습니다"),
        ("x", "Q1", "기대 URL", "그런 기대결과 열이 없습니다"),
        ("x" * 32_768, "Q1", "기대결과", "칸에 담을 수 없는 글"),
        ("\x00", "Q1", "기대결과", "칸에 담을 수 없는 글"),
        ("😀", "Q1", "기대결과", "글자 집합"),
    ],
)
def test_corrected_file_is_refused_where_it_cannot_hold_the_text(
    tmp_path: Path, text: str, query_id: str, header: str, said: str
) -> None:
    path = written(tmp_path, f"{HEADER}\nQ1,1/1,{{}},옛 것".encode("cp949"))
    with pytest.raises(UsageError, match=said):
        corrected(path, text, query_id, header)


def parts_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as package:
        return {name: package.read(name) for name in package.namelist()}


@pytest.mark.parametrize("text", ["=1+1", "경력 & <신입>\n둘째 줄", ""])
def test_corrected_workbook_has_a_text_in_one_cell_and_all_else_as_it_was(tmp_path: Path, text: str) -> None:
    content = corrected_file(RESUME, COMMON_NAMES, "AM-01", "기대 필터/열", text)
    before, after = parts_of(RESUME.read_bytes()), parts_of(content)
    assert [name for name in before if before[name] != after[name]] == ["xl/worksheets/sheet1.xml"]
    assert list(before) == list(after)
    book, old = openpyxl.load_workbook(BytesIO(content)), openpyxl.load_workbook(RESUME)
    changed = [
        (cell.coordinate, cell.value or "", cell.data_type)
        for sheet in old
        for row in sheet.iter_rows()
        for was in row
        if (cell := book[sheet.title][was.coordinate]).value != was.value
    ]
    assert [(where, value) for where, value, _ in changed] == [("E2", text)]
    assert {kind for *_, kind in changed} <= {"s", "inlineStr", "n"}
    cells = (book["테스트 결과"]["E2"], old["테스트 결과"]["E2"])
    assert cells[0].style_id == cells[1].style_id
    run = read_testrun_file(written(tmp_path, content, RESUME.name))
    assert {one.expected_filters for one in run.queries["AM-01"]} == {text}


SHEET = (
    '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData>'
    "<x:row>{header}</x:row>{rows}</x:sheetData></x:worksheet>"
)


def workbook_of(folder: Path, rows: str) -> Path:
    """A workbook whose cells do not say where they are."""
    path, made = folder / "run.xlsx", BytesIO()
    openpyxl.Workbook().save(made)
    text = "".join(
        f'<x:c t="inlineStr"><x:is><x:t>{name}</x:t></x:is></x:c>' for name in ("ID", "기대결과", "질의", "1차 답변")
    )
    with zipfile.ZipFile(path, "w") as package:
        for name, content in parts_of(made.getvalue()).items():
            is_sheet = name == "xl/worksheets/sheet1.xml"
            package.writestr(name, SHEET.format(header=text, rows=rows).encode() if is_sheet else content)
    return path


@pytest.mark.parametrize(
    ("cell", "after"),
    [
        ("", '<x:c r="B2" t="inlineStr"><x:is><x:t xml:space="preserve">new</x:t></x:is></x:c>'),
        (
            '<x:c r="B2" s="0"/>',
            '<x:c r="B2" s="0" t="inlineStr"><x:is><x:t xml:space="preserve">new</x:t></x:is></x:c>',
        ),
        (
            '<x:c r="B2"><x:v>7</x:v></x:c >',
            '<x:c r="B2" t="inlineStr"><x:is><x:t xml:space="preserve">new</x:t></x:is></x:c>',
        ),
        (
            '<x:c r=""><x:v>7</x:v></x:c>',
            '<x:c r="B2" t="inlineStr"><x:is><x:t xml:space="preserve">new</x:t></x:is></x:c>',
        ),
    ],
)
def test_corrected_workbook_finds_cells_wherever_its_program_put_them(tmp_path: Path, cell: str, after: str) -> None:
    rows = (
        f'<x:row r="2"><x:c r="A2"><x:v>1</x:v></x:c>{cell}<x:c r="C2"><x:v>2</x:v></x:c><x:c><x:v>3</x:v></x:c>'
        "</x:row>"
        "<x:row><x:c><x:v>2</x:v></x:c></x:row>"
    )
    path = workbook_of(tmp_path, rows)
    content = corrected(path, "new", "1")
    sheet = "xl/worksheets/sheet1.xml"
    middle = '<x:c r="A2"><x:v>1</x:v></x:c>'
    expected = parts_of(path.read_bytes())[sheet].replace((middle + cell).encode(), (middle + after).encode())
    assert parts_of(content)[sheet] == expected
    assert expectations_of(written(tmp_path, content, "new.xlsx"), COMMON_NAMES, "1") == {"기대결과": "new"}
    last = corrected(path, "끝", "2")  # its row ends before that column
    assert expectations_of(written(tmp_path, last, "last.xlsx"), COMMON_NAMES, "2") == {"기대결과": "끝"}


def test_corrected_workbook_leaves_formulas_alone(tmp_path: Path) -> None:
    rows = "<x:row><x:c><x:v>1</x:v></x:c><x:c><x:f>1+1</x:f><x:v>2</x:v></x:c><x:c><x:v>3</x:v></x:c></x:row>"
    with pytest.raises(UsageError, match="수식인 칸"):
        corrected(workbook_of(tmp_path, rows), "new", "1")


def test_expectations_are_those_of_the_sample(tmp_path: Path) -> None:
    assert list(expectations_of(RESUME, COMMON_NAMES, "AM-01")) == ["기대 필터/열", "정답 수치"]
    assert expectations_of(PLAN, COMMON_NAMES, "PL-01")["기대결과"].startswith("평가 요소 3가지")
