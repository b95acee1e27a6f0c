"""Tabs in front of a copy of a workbook: what they hold, how they are shown, and that nothing else changes."""

import re
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter

from scoring.errors import InputError
from tasks.files.excel import LONGEST_CELL, shown_text
from tasks.files.xlsx.sheet_xml import NumberCell, SheetColumn, Style, Tab
from tasks.files.xlsx.workbook import write_workbook

CHANGED = {"[Content_Types].xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml"}


def tab(*rows: list[Any], name: str = "점수", notes: tuple[tuple[str, str], ...] = ()) -> Tab:
    columns = [
        SheetColumn("id"),
        SheetColumn("a_score", "score"),
        SheetColumn("초", "seconds"),
        SheetColumn("까닭", "long"),
    ]
    return Tab(name, columns, rows, notes)


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {name: package.read(name) for name in package.namelist()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A workbook with what programs lose that load and save it: a chart, saved values, rich text, hidden parts."""
    path = tmp_path / "source.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("결과")
        sheet.write_row(0, 0, ["ID", "질의", "합"])
        sheet.write_rich_string(1, 1, "보통 ", book.add_format({"bold": True}), "굵게")
        sheet.write_formula(1, 2, "=1+2", None, 3)
        sheet.merge_range("A3:B3", "합친 칸", book.add_format({"bg_color": "#FFCC00"}))
        sheet.set_column(1, 1, 33)
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=결과!$C$2:$C$2"})
        sheet.insert_chart("E2", chart)
        sheet.hide_row_col_headers()
        book.add_worksheet("숨김").hide()
        sheet.repeat_rows(0)
        sheet.activate()
    return path


def test_own_parts_of_a_workbook_stay_byte_for_byte_but_for_what_is_shown_first(source: Path, tmp_path: Path) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(["a", 5, 1.5, "좋음"])], source)
    before, after = parts(source), parts(tmp_path / "out.xlsx")
    first = "xl/worksheets/sheet1.xml"
    assert after[first] == before[first].replace(b'tabSelected="1"', b'tabSelected="0"') != before[first]
    assert {name for name in before if before[name] != after[name]} == CHANGED | {first}
    assert set(after) - set(before) == {"xl/worksheets/aqb1.xml"}
    book = openpyxl.load_workbook(tmp_path / "out.xlsx", data_only=True)
    assert book.sheetnames == ["점수", "결과", "숨김"]
    assert [sheet.sheet_state for sheet in book] == ["visible", "visible", "hidden"]
    assert (book["결과"]["C2"].value, book["결과"].merged_cells.ranges) == (
        3,
        {openpyxl.worksheet.cell_range.CellRange("A3:B3")},
    )


def test_workbook_opens_on_the_first_tab_alone(source: Path, tmp_path: Path) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(name="요약"), tab(name="점수")], source)
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert book.active.title == "요약"
    assert [sheet.title for sheet in book if sheet.sheet_view.tabSelected] == ["요약"]


def test_text_about_the_shown_sheet_is_no_mark(tmp_path: Path) -> None:
    text = 'sheetView tabSelected="1"'
    write_workbook(tmp_path / "once.xlsx", [tab([text, 1, 1.0, ""])])
    write_workbook(tmp_path / "twice.xlsx", [tab(name="요약")], tmp_path / "once.xlsx")
    assert openpyxl.load_workbook(tmp_path / "twice.xlsx")["점수"]["A2"].value == text


def test_printed_pages_are_wide_and_repeat_the_header_of_each_sheet(source: Path, tmp_path: Path) -> None:
    columns = [SheetColumn("a"), SheetColumn("b"), SheetColumn("c")]
    tabs = [
        Tab("요약", columns, [["1", "2", "3"]], head=("제목",)),
        Tab("점수's", columns, [["1", "2", "3"]], printed=(2, 1)),
        Tab("입력", columns, [["1", "2", "3"]], printed=(3, 0)),
    ]
    write_workbook(tmp_path / "out.xlsx", tabs, source)
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert [sheet.print_title_rows for sheet in book] == ["$3:$3", "$1:$1", "$1:$1", "$1:$1", None]
    assert book["점수's"].print_area == "'점수''s'!$A$1:$B$2"
    assert book["입력"].print_area == "'입력'!$A$1:$C$1"
    assert {(book[name].page_setup.orientation, book[name].page_setup.fitToHeight) for name in ("요약", "입력")} == {
        ("landscape", 0)
    }


def test_lines_above_the_header_move_everything_below(tmp_path: Path) -> None:
    columns = [SheetColumn("id"), SheetColumn("점수", "score")]
    write_workbook(tmp_path / "out.xlsx", [Tab("요약", columns, [["a", 5]], head=("제목", "첫 문장"), frozen=1)])
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["요약"]
    assert [cell.value for cell in sheet["A"]] == ["제목", "첫 문장", None, "id", "a"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("B5", "A4:B5")
    assert [str(found.sqref) for found in sheet.conditional_formatting] == ["B5"]


@pytest.mark.parametrize(("widths", "merged", "lines"), [([60, 60, 60], "A2:B2", 4), ([150, 9], "", 3)])
def test_sentence_above_the_header_is_no_wider_than_a_screen(
    tmp_path: Path, widths: list[int], merged: str, lines: int
) -> None:
    columns = [SheetColumn(f"열 {width}", width=width) for width in widths]
    write_workbook(tmp_path / "out.xlsx", [Tab("요약", columns, [], head=("제목", "가" * 200))])
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["요약"]
    assert " ".join(map(str, sheet.merged_cells.ranges)) == merged
    assert (sheet["A2"].alignment.wrap_text, sheet.row_dimensions[2].height) == (True, lines * 16.5)


def test_drop_down_stands_where_something_is_asked(tmp_path: Path) -> None:
    columns = [
        SheetColumn("id"),
        SheetColumn("판정", choices=("5", "0", "판단 불가")),
        SheetColumn("까닭", folded=True),
    ]
    rows: list[list[Any]] = [["a", "", "x"], ["b", "", "x"], ["c", None, "x"], ["d", "", "x"]]
    write_workbook(tmp_path / "out.xlsx", [Tab("검토", columns, rows)])
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["검토"]
    [choice] = sheet.data_validations.dataValidation
    assert (choice.formula1, sorted(map(str, choice.sqref.ranges))) == ('"5,0,판단 불가"', ["B2:B3", "B5"])
    assert [sheet[f"B{row}"].fill.fgColor.rgb for row in (2, 4)] == ["FFFFF2CC", "FFE7E6E6"]
    assert (sheet.column_dimensions["C"].hidden, sheet.column_dimensions["C"].outlineLevel) == (True, 1)


def test_drop_downs_of_many_rows_stand_in_several_lists(tmp_path: Path) -> None:
    columns = [SheetColumn("id"), SheetColumn("판정", choices=("5", "0"))]
    rows = [[str(row), "" if row % 2 else None] for row in range(500)]
    write_workbook(tmp_path / "out.xlsx", [Tab("검토", columns, rows)])
    lists = openpyxl.load_workbook(tmp_path / "out.xlsx")["검토"].data_validations.dataValidation
    assert [len(choice.sqref.ranges) for choice in lists] == [100, 100, 50]


def test_cell_formats_of_the_source_keep_their_places(source: Path, tmp_path: Path) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(["a", 5, 1.5, "좋음"])], source)
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert book["결과"]["A3"].fill.fgColor.rgb == "FFFFCC00"
    header = book["점수"]["A1"]
    assert (header.font.b, header.font.color.rgb, header.fill.fgColor.rgb) == (True, "FFFFFFFF", "FF2F4B7C")


def test_tab_has_a_frozen_header_filters_and_colours(tmp_path: Path) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(["a", 5, 1.5, "좋음"], ["b", None, None, None], notes=(("행", "2"),))])
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["점수"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", "A1:D3")
    assert [str(found.sqref) for found in sheet.conditional_formatting] == ["B2:B3"]
    assert (sheet["A5"].value, sheet["B5"].value) == ("행", "2")


@pytest.mark.parametrize(
    ("value", "read", "kind"),
    [
        (5, 5, "n"), (2.345, 2.35, "n"), (2.675, 2.68, "n"), (4.0, 4, "n"), (True, True, "b"),
        (-2.345, -2.35, "n"), (-0.004, 0, "n"), (float("nan"), None, "n"), (None, None, "n"),
    ],
)  # fmt: skip
def test_numbers_stay_numbers_and_scores_show_two_decimals(tmp_path: Path, value: Any, read: Any, kind: str) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(["a", value, None, None])])
    cell = openpyxl.load_workbook(tmp_path / "out.xlsx")["점수"]["B2"]
    assert (cell.value, cell.data_type) == (read, kind)


def test_measured_figure_is_a_number_that_reads_as_its_text(tmp_path: Path) -> None:
    figures = [NumberCell(0.1, Style.RATE, "10.0%"), NumberCell(34.25, Style.POINTS, "34.3점")]
    write_workbook(tmp_path / "out.xlsx", [tab(*([each, None, None, None] for each in figures))])
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["점수"]
    rate, points = sheet["A2"], sheet["A3"]
    assert (rate.value, rate.number_format, points.value, points.number_format) == (0.1, "0.0%", 34.25, '0.0"점"')


@pytest.mark.parametrize("theirs", [[], ["0.000", "@@"]])
def test_number_formats_of_the_source_keep_their_numbers(tmp_path: Path, theirs: list[str]) -> None:
    with xlsxwriter.Workbook(tmp_path / "source.xlsx") as written:
        sheet = written.add_worksheet("결과")
        for line, each in enumerate(theirs):
            sheet.write_number(line, 0, 1.5, written.add_format({"num_format": each}))
    ours = tab([NumberCell(0.1, Style.RATE, "10.0%"), None, None, None])
    write_workbook(tmp_path / "out.xlsx", [ours], tmp_path / "source.xlsx")
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert [book["결과"].cell(line + 1, 1).number_format for line in range(len(theirs))] == theirs
    assert book["점수"]["A2"].number_format == "0.0%"


@pytest.mark.parametrize("text", ["=1+1", "+82", "-", "@SUM(A1)", "=cmd|'/c calc'!A1"])
def test_text_that_starts_like_a_formula_is_a_text_even_when_edited(tmp_path: Path, text: str) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab([text, 1, 1.0, text])])
    for cell in openpyxl.load_workbook(tmp_path / "out.xlsx")["점수"][2][::3]:
        assert (cell.value, cell.data_type, cell.quotePrefix) == (text, "s", True)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("가\x00나\x0b\x1f\ufffe다", "가나다"), ("<b>&amp;\"'", "<b>&amp;\"'"), (" 앞뒤 ", " 앞뒤 "),
        ("두\n줄", "두\n줄"), ("반쪽 \ud83d 글자", "반쪽  글자"), ("온전한 😀", "온전한 😀"),
        ("_x0041_", "_x0041_"), (["가", "나"], "가, 나"),
    ],
)  # fmt: skip
def test_any_text_opens_and_reads_the_same(tmp_path: Path, text: Any, read: str) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(["a", 1, 1.0, text])])
    value = openpyxl.load_workbook(tmp_path / "out.xlsx")["점수"]["D2"].value
    assert value.replace("_x005F_", "_") == read


@pytest.mark.parametrize(
    ("text", "cut"), [("가" * LONGEST_CELL, False), ("가" * (LONGEST_CELL + 1), True), ("😀" * 20_000, True)]
)
def test_text_too_long_for_a_cell_is_cut_with_a_mark(text: str, cut: bool) -> None:
    shown = shown_text(text)
    assert (shown != text) is cut
    assert len(shown.encode("utf-16-le")) // 2 <= LONGEST_CELL
    assert shown.endswith(f"…(잘림: 전체 {len(text):,}자)") is cut


def test_hangul_takes_two_columns_of_width(tmp_path: Path) -> None:
    write_workbook(tmp_path / "out.xlsx", [Tab("t", [SheetColumn("x"), SheetColumn("y")], [["가" * 15, "a" * 15]])])
    widths = openpyxl.load_workbook(tmp_path / "out.xlsx")["t"].column_dimensions
    assert (widths["A"].width, widths["B"].width) == (31, 16)


def test_long_text_gets_the_height_of_its_lines(tmp_path: Path) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(["a", 1, 1.0, "가" * 80], ["b", 1, 1.0, "짧음"])])
    rows = openpyxl.load_workbook(tmp_path / "out.xlsx")["점수"].row_dimensions
    assert (rows[2].height, rows[3].height) == (3 * 16.5, None)  # points of a line of Hangul


def test_name_that_is_taken_gets_a_number(source: Path, tmp_path: Path) -> None:
    write_workbook(tmp_path / "out.xlsx", [tab(name="결과"), tab(name="숨김"), tab(name="가" * 40)], source)
    names = openpyxl.load_workbook(tmp_path / "out.xlsx").sheetnames
    assert names == ["결과 (2)", "숨김 (2)", "가" * 31, "결과", "숨김"]


def test_scoring_a_scored_workbook_adds_tabs_beside_the_old_ones(source: Path, tmp_path: Path) -> None:
    write_workbook(tmp_path / "once.xlsx", [tab(["a", 5, 1.5, ""])], source)
    write_workbook(tmp_path / "twice.xlsx", [tab(["b", 4, 1.5, ""])], tmp_path / "once.xlsx")
    book = openpyxl.load_workbook(tmp_path / "twice.xlsx")
    assert book.sheetnames == ["점수 (2)", "점수", "결과", "숨김"]
    assert (book["점수"]["A2"].value, book["점수 (2)"]["A2"].value) == ("a", "b")


def test_workbook_with_prefixed_names_is_extended_in_its_own_words(source: Path, tmp_path: Path) -> None:
    prefixed = tmp_path / "prefixed.xlsx"
    with zipfile.ZipFile(prefixed, "w") as package:
        for name, content in parts(source).items():
            if name in ("xl/workbook.xml", "xl/styles.xml"):
                text = content.decode().replace('xmlns="', 'xmlns:x="').replace("</", "</x:").replace("<", "<x:")
                content = text.replace("<x:/x:", "</x:").replace("<x:?", "<?").encode()
            package.writestr(name, content)
    write_workbook(tmp_path / "out.xlsx", [tab(["a", 5, 1.5, ""])], prefixed)
    assert openpyxl.load_workbook(tmp_path / "out.xlsx")["점수"]["B2"].value == 5


def test_workbook_without_formats_is_given_those_of_the_tabs(source: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.xlsx"
    with zipfile.ZipFile(plain, "w") as package:
        for name, content in parts(source).items():
            if name != "xl/styles.xml":
                package.writestr(name, re.sub(rb"<(?:Override|Relationship) [^>]*styles[^>]*/>", b"", content))
    write_workbook(tmp_path / "out.xlsx", [tab(["a", 5, 1.5, ""])], plain)
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert (book["점수"]["B2"].value, book["점수"]["A1"].font.b) == (5, True)
    assert book["결과"]["A1"].value == "ID"


def test_same_tabs_give_the_same_bytes(source: Path, tmp_path: Path) -> None:
    for name in ("a.xlsx", "b.xlsx"):
        write_workbook(tmp_path / name, [tab(["a", 5, 1.5, "좋음"])], source)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_package_that_is_no_workbook_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.xlsx", "w") as package:
        package.writestr("_rels/.rels", "<Relationships/>")
    with pytest.raises(InputError, match="no score tabs"):
        write_workbook(tmp_path / "out.xlsx", [tab()], tmp_path / "r.xlsx")
    assert not (tmp_path / "out.xlsx").exists()


@pytest.mark.parametrize(
    "part", ["[Content_Types].xml", "xl/workbook.xml", "xl/styles.xml", "xl/_rels/workbook.xml.rels"]
)
def test_part_of_elements_within_elements_is_one_error_of_its_file(source: Path, tmp_path: Path, part: str) -> None:
    nested = tmp_path / "nested.xlsx"
    with zipfile.ZipFile(nested, "w") as package:
        for name, content in parts(source).items():
            end = content.rindex(b"</")
            deep = b"<x>" * 3_000 + b"</x>" * 3_000
            package.writestr(name, content[:end] + deep + content[end:] if name == part else content)
    with pytest.raises(InputError, match="no score tabs") as refused:
        write_workbook(tmp_path / "out.xlsx", [tab()], nested)
    assert refused.value.where == str(nested)
    assert not (tmp_path / "out.xlsx").exists()
