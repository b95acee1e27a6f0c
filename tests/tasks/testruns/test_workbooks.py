"""Test runs read from XLSX workbooks, and what is refused before it is opened."""

import json
import tracemalloc
import zipfile
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from openpyxl.utils import get_column_letter

from scoring.errors import InputError
from scoring.testruns.team_names import COMMON_NAMES
from tasks.testruns.files import headers_of, read_testrun_file
from tasks.testruns.workbooks import TestRunWorkbook
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, changed_xlsx, long_row, wide_row, write_xlsx


def test_sheets_of_one_layout_are_one_run(tmp_path: Path) -> None:
    sheets = {
        "1회차": [LONG_HEADER, long_row()],
        "2회차": [LONG_HEADER, long_row(round_="2/1"), long_row()],
        "메모": [["끝"]],
    }
    run = read_testrun_file(write_xlsx(tmp_path / "r.xlsx", sheets))
    assert (run.counts.rows_in, run.counts.scored, run.notes) == (3, 2, {"other_sheets": 1})
    assert [(reject.line, reject.column, reject.code) for reject in run.rejects] == [
        (3, "2회차!방/반복", "duplicate_execution")
    ]
    assert len(run.queries["Q1"]) == 2


def test_sheets_of_two_layouts_are_an_error(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", {"a": [LONG_HEADER, long_row()], "b": [WIDE_HEADER, wide_row()]})
    with pytest.raises(InputError, match="different layouts"):
        read_testrun_file(path)


def test_sheet_of_single_answers_beside_results_is_left_alone_and_noted(tmp_path: Path) -> None:
    answers = [["ID", "질의", "응답"], ["A1", "몇 명?", "12명"]]
    both = read_testrun_file(write_xlsx(tmp_path / "r.xlsx", {"결과": [WIDE_HEADER, wide_row()], "참고": answers}))
    assert (both.counts.rows_in, both.notes) == (1, {"other_sheets": 1})
    alone = read_testrun_file(write_xlsx(tmp_path / "s.xlsx", {"참고": answers}))
    assert alone.queries["A1"][0].answer_text == "12명"


def test_line_ends_of_windows_in_cells_are_read_as_they_are(tmp_path: Path) -> None:
    """Workbooks hold them as `_x000D_`, which made JSON over several lines unreadable."""
    raw = json.dumps({"assistantMessage": "네"}, indent=1).replace("\n", "\r\n")
    row = long_row(질의="첫 줄\r\n둘째 줄", **{"Raw JSON": raw})
    with xlsxwriter.Workbook(tmp_path / "r.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, LONG_HEADER)
        sheet.write_row(1, 0, row)
    run = read_testrun_file(tmp_path / "r.xlsx")
    assert run.rejects == ()
    assert run.queries["Q1"][0].query_text == "첫 줄\r\n둘째 줄"


def test_hidden_sheet_is_left_alone_and_noted(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", {"old": [WIDE_HEADER, wide_row("OLD")], "new": [WIDE_HEADER, wide_row()]})
    book = openpyxl.load_workbook(path)
    book["old"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    run = read_testrun_file(path)
    assert (list(run.queries), run.notes) == (["A1"], {"hidden_sheets": 1})


def test_rows_that_a_filter_hides_are_scored_and_noted(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", {"s": [WIDE_HEADER, *map(wide_row, ("A1", "A2", "A3"))]})
    book = openpyxl.load_workbook(path)
    book["s"].row_dimensions[3].hidden = book["s"].row_dimensions[9].hidden = True
    book.save(path)
    run = read_testrun_file(path)
    assert (list(run.queries), run.notes) == (["A1", "A2", "A3"], {"hidden_rows": 1})


def test_how_a_row_without_cells_looks_is_not_kept_in_memory(tmp_path: Path) -> None:
    def peak(looks: str) -> int:
        path = write_xlsx(tmp_path / "r.xlsx", {"s": [WIDE_HEADER, wide_row()]})
        rows = "".join(f'<row r="{line}"{looks}/>' for line in range(3, 20_003))
        with zipfile.ZipFile(path) as package:
            parts = {name: package.read(name) for name in package.namelist()}
        sheet = "xl/worksheets/sheet1.xml"
        parts[sheet] = parts[sheet].replace(b"</sheetData>", f"{rows}</sheetData>".encode())
        with zipfile.ZipFile(path, "w") as package:
            for name, part in parts.items():
                package.writestr(name, part)
        with closing(TestRunWorkbook(path)) as workbook:
            (sheet_read,) = workbook.sheets
            tracemalloc.start()
            try:
                assert (len(sheet_read.rows()), sheet_read.hidden_rows) == (1, 0)
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    assert peak(' hidden="1" ht="15" customHeight="1"') < 1.5 * peak("")


@pytest.mark.parametrize(
    ("value", "shown_as", "read"),
    [
        (0.25, "0%", "25%"),
        (0.253, "0.00%", "25.3%"),
        (12, "#,##0.0 %;-0%", "1200%"),
        (0.25, "0.00", "0.25"),
        (0.25, '0.00"% 아님"', "0.25"),
        ("25%", "0%", "25%"),
    ],
)
def test_percentage_is_read_as_it_is_shown(tmp_path: Path, value: object, shown_as: str, read: str) -> None:
    """Excel keeps 0.25 of a ground truth that somebody typed as 25%: an answer of 25% would be wrong."""
    path = write_xlsx(tmp_path / "r.xlsx", {"s": [WIDE_HEADER, wide_row()]})
    book = openpyxl.load_workbook(path)
    cell = book["s"].cell(2, WIDE_HEADER.index("정답 수치") + 1, value)
    cell.number_format = shown_as
    book.save(path)
    assert read_testrun_file(path).queries["A1"][0].ground_truth == read


def test_workbook_without_a_test_run_says_what_its_first_sheet_has(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", {"표": [["이름", "나이"]], "빈 시트": []})
    with pytest.raises(InputError, match=r"no test run: .* 2 columns have another name"):
        read_testrun_file(path)
    assert headers_of(path, COMMON_NAMES) == ("이름", "나이")


def test_typed_cells_become_the_texts_that_people_see(tmp_path: Path) -> None:
    row: list[object] = [*wide_row()[:4], "12명", 7.5, "", "", "", None, "", "", ""]
    row[0], row[1] = 7, datetime(2026, 3, 1)
    (one,) = read_testrun_file(write_xlsx(tmp_path / "r.xlsx", {"s": [WIDE_HEADER, row]})).queries["7"]
    assert (one.query_id, one.answer_time_s, one.query_text) == ("7", 7.5, "2026-03-01")


def test_round_that_excel_made_a_date_is_rejected_as_such(tmp_path: Path) -> None:
    row: list[object] = [*long_row()]
    row[LONG_HEADER.index("방/반복")] = datetime(2026, 1, 1)
    run = read_testrun_file(write_xlsx(tmp_path / "r.xlsx", {"s": [LONG_HEADER, row, long_row()]}))
    (reject,) = run.rejects
    assert (reject.line, reject.code) == (2, "bad_round")
    assert "Excel이 날짜로" in reject.reason


def test_time_that_excel_made_a_clock_is_rejected_as_such(tmp_path: Path) -> None:
    row: list[object] = [*wide_row()]
    row[5] = timedelta(seconds=7.6)
    (reject,) = read_testrun_file(write_xlsx(tmp_path / "r.xlsx", {"s": [WIDE_HEADER, row, wide_row("A2")]})).rejects
    assert (reject.line, reject.column, reject.code) == (2, "1차 답변 시간(초)", "not_a_number")
    assert "시각입니다. 숫자로 적고, Excel이 바꾼 것이면 열을 숫자 서식으로 두세요." in reject.reason


def test_saved_value_of_a_formula_is_read_and_a_row_without_one_rejected(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "r.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, WIDE_HEADER)
        sheet.write_row(1, 0, wide_row())
        sheet.write_formula(1, 5, "=3+4.5", None, 7.5)
    (first, _) = read_testrun_file(tmp_path / "r.xlsx").queries["A1"]
    assert first.answer_time_s == 7.5
    row: list[object] = [*wide_row()]
    row[5] = "=3+4.5"
    below = [None, None, None, None, "=E2"]
    run = read_testrun_file(write_xlsx(tmp_path / "s.xlsx", {"s": [WIDE_HEADER, row, wide_row("A2"), below]}))
    assert [(one.line, one.column, one.code) for one in run.rejects] == [(2, "1차 답변 시간(초)", "not_calculated")]
    assert (list(run.queries), run.notes) == (["A2"], {"formulas_not_calculated": 2})


def test_formula_that_gives_an_empty_text_is_an_empty_cell(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "text.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, WIDE_HEADER)
        sheet.write_row(1, 0, wide_row())
        sheet.write_formula(1, 5, '=IF(1=1,"","x")', None, "shown")
    with zipfile.ZipFile(tmp_path / "text.xlsx") as old, zipfile.ZipFile(tmp_path / "r.xlsx", "w") as new:
        for part in old.namelist():  # Excel writes an empty text in this way, and xlsxwriter does not
            new.writestr(part, old.read(part).replace(b"<v>shown</v>", b"<v></v>"))
    run = read_testrun_file(tmp_path / "r.xlsx")
    assert (run.queries["A1"][0].answer_time_s, run.rejects, run.notes) == (None, (), {})


@pytest.mark.parametrize("names", [("1회차", "2회차"), ("1차", "2 차"), ("Round 1", "round2"), ("결과", "2회차")])
def test_names_of_sheets_tell_the_round_of_rows_that_name_none(tmp_path: Path, names: tuple[str, str]) -> None:
    single = [["ID", "질의", "응답"], ["A1", "몇 명?", "3명"]]
    numbered = [[*single[0], "회차"], [*single[1], "7"]]
    for rows, rounds in ((single, ["1/1", "2/1"]), ([WIDE_HEADER, wide_row()], ["1/1", "2/1", "1/2", "2/2"])):
        run = read_testrun_file(write_xlsx(tmp_path / "r.xlsx", dict.fromkeys(names, rows)))
        assert ([str(one.round) for one in run.queries["A1"]], run.rejects) == (rounds, ())
    named = read_testrun_file(write_xlsx(tmp_path / "s.xlsx", {names[0]: single, names[1]: numbered}))
    assert [str(one.round) for one in named.queries["A1"]] == ["1/1", "7/1"]
    alone = read_testrun_file(write_xlsx(tmp_path / "t.xlsx", {names[1]: single, "메모": [["끝"]]}))
    assert [str(one.round) for one in alone.queries["A1"]] == ["1/1"]


def test_excluded_row_of_several_sheets_is_told_with_its_sheet(tmp_path: Path) -> None:
    rows = [["ID", "질의", "응답"], ["A1", "몇 명?", "3명"], ["A2", "몇 명?", ""]]
    sheets = {"1회차": [*rows, ["A3", "몇 명?", ""]], "2회차": rows}
    assert read_testrun_file(write_xlsx(tmp_path / "r.xlsx", sheets)).excluded_lines == (
        "1회차!3",
        "1회차!4",
        "2회차!3",
    )
    alone = {"1회차": rows, "메모": [["끝"]]}
    assert read_testrun_file(write_xlsx(tmp_path / "s.xlsx", alone)).excluded_lines == ("3",)


def test_sheets_that_repeat_a_run_without_its_number_are_told_to_give_it(tmp_path: Path) -> None:
    rows = [["ID", "질의", "응답"], ["A1", "몇 명?", "3명"]]
    run = read_testrun_file(write_xlsx(tmp_path / "r.xlsx", {"처음": rows, "다시": rows}))
    (reject,) = run.rejects
    assert (reject.column, reject.code) == ("다시!ID", "duplicate_execution")
    assert "회차 열에 번호(1, 2, 3)를 적고" in reject.reason
    assert "시트 이름을 1회차, 2회차로 바꾸세요" in reject.reason


def test_row_with_an_excel_error_in_place_of_what_the_agent_said_is_rejected_by_its_column(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "r.xlsx") as book:
        sheet = book.add_worksheet("s")
        sheet.write_row(0, 0, WIDE_HEADER)
        for line, query_id in enumerate(("A1", "A2", "A3"), start=1):
            sheet.write_row(line, 0, wide_row(query_id))
        sheet.write_formula(1, 4, "=12명입니다", None, "#NAME?")
        sheet.write_formula(2, len(WIDE_HEADER) - 1, "=A99", None, "#REF!")  # a note of the team, which nobody reads
    run = read_testrun_file(tmp_path / "r.xlsx")
    assert [(reject.line, reject.column, reject.code) for reject in run.rejects] == [(2, "1차 답변", "excel_error")]
    assert "Excel 오류(#NAME?)" in run.rejects[0].reason
    assert list(run.queries) == ["A2", "A3"]


def test_cells_merged_over_rows_hold_their_value_in_each(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", {"s": [LONG_HEADER, long_row(), long_row(round_="2/1"), long_row("Q9")]})
    book = openpyxl.load_workbook(path)
    for column in ("C", "D"):
        book["s"].merge_cells(f"{column}2:{column}3")
    book.save(path)
    run = read_testrun_file(path)
    assert {query_id: len(found) for query_id, found in run.queries.items()} == {"Q1": 2, "Q9": 1}
    assert run.queries["Q1"][1].query_text == "평가기간 바꿔줘"


def test_title_above_is_no_header_but_blank_rows_are_passed_over(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", {"s": [[], [None], LONG_HEADER, [], long_row(), [], long_row("Q2", "x")]})
    run = read_testrun_file(path)
    assert (run.counts.rows_in, run.rejects[0].line) == (2, 7)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "0 bytes"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, "password or in the old format"),
        (b"ID,\xec\xa7\x88\xec\x9d\x98\r\n", "another kind of file"),
        (b"PK\x03\x04 half of a workbook", "half of one"),
    ],
)
def test_what_is_no_workbook_is_refused_with_its_reason(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "r.xlsx").write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_testrun_file(tmp_path / "r.xlsx")


def test_package_that_holds_no_workbook_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.xlsx", "w") as package:
        package.writestr("a.txt", "nothing")
    with pytest.raises(InputError, match="expected an Excel workbook"):
        read_testrun_file(tmp_path / "r.xlsx")


def test_workbook_with_a_broken_sheet_is_refused(tmp_path: Path) -> None:
    whole = write_xlsx(tmp_path / "whole.xlsx", {"s": [WIDE_HEADER, wide_row()]})
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "r.xlsx", "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            new.writestr(entry, content[:-40] if "sheet1" in entry.filename else content)
    with pytest.raises(InputError, match="expected an Excel workbook"):
        read_testrun_file(tmp_path / "r.xlsx")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b'<row r="3"', b'<row r="99999999999"', "row 99,999,999,999 with"),
        (b'<row r="3"', b'<row r="1048577"', "row 1,048,577 with"),
        (b'<row r="3"', b'<row r="-3"', "row -3 with"),
        (b'r="A3"', b'r="XFE3"', "16,385 columns, where a sheet ends"),
        (b'r="A3"', b'r="ZZZZ3"', "expected an Excel workbook"),
        (b"</sheetData>", b'</sheetData><mergeCells><mergeCell ref="A2:ZZZZ3"/></mergeCells>', "ZZZZ"),
        (b"</sheetData>", b'</sheetData><mergeCells><mergeCell ref="A2:A9999999"/></mergeCells>', "expected an Excel"),
        (b"<worksheet", b'<?xml version="1.0" encoding="x-none"?><worksheet', "unknown encoding"),
    ],
)
def test_places_and_encodings_that_no_sheet_has_are_refused_at_once(
    tmp_path: Path, old: bytes, new: bytes, says: str
) -> None:
    path = changed_xlsx(tmp_path / "r.xlsx", old, new)
    with pytest.raises(InputError, match=says) as refused:
        read_testrun_file(path)
    assert refused.value.fix == "open it in Excel and save it as .xlsx again"


def test_cell_that_cannot_be_read_is_not_quoted(tmp_path: Path) -> None:
    path = changed_xlsx(
        tmp_path / "r.xlsx", b"</row></sheetData>", b'<c r="Z3" t="n"><v>leak.me</v></c></row></sheetData>'
    )
    with pytest.raises(InputError, match="cell Z3 holds no value") as refused:
        read_testrun_file(path)
    assert "leak" not in str(refused.value)


def test_row_far_below_the_others_keeps_its_number(tmp_path: Path) -> None:
    path = changed_xlsx(tmp_path / "r.xlsx", b'<row r="3"', b'<row r="1048576"')
    assert read_testrun_file(path).counts.rows_in == 2


def test_more_cells_than_a_test_run_has_are_refused(tmp_path: Path) -> None:
    rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (line, line) for line in range(4, 130))
    path = changed_xlsx(tmp_path / "r.xlsx", b"</sheetData>", rows + b"</sheetData>")
    with pytest.raises(InputError, match="a sheet with more than 2,000,000 cells"):
        read_testrun_file(path)


@pytest.mark.parametrize("merged", [False, True])
def test_text_that_many_rows_show_counts_for_each(
    tmp_path: Path, merged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workbook keeps a text once: of a hundred kilobytes every row may show two million characters."""
    monkeypatch.setattr("tasks.testruns.workbooks.MOST_SHEET_TEXT", 100_000)
    answer, count = "가" * 5_000, 40
    rows = [long_row(f"Q{number}", 기대결과="" if merged and number else answer) for number in range(count)]
    path = write_xlsx(tmp_path / "plan_agent_r.xlsx", {"s": [LONG_HEADER, *rows]})
    if merged:
        book = openpyxl.load_workbook(path)
        column = get_column_letter(LONG_HEADER.index("기대결과") + 1)
        book["s"].merge_cells(f"{column}2:{column}{count + 1}")
        book.save(path)
    with pytest.raises(InputError, match="a sheet whose cells show more than 100,000 characters"):
        read_testrun_file(path)


def test_damaged_part_that_nobody_reads_is_refused_before_anything_is_scored(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", {"s": [WIDE_HEADER, wide_row()]})
    with zipfile.ZipFile(path) as package:
        theme = package.getinfo("xl/theme/theme1.xml")
    content = bytearray(path.read_bytes())
    content[theme.header_offset + 30 + len(theme.filename) + theme.compress_size // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected an Excel workbook"):
        read_testrun_file(path)
