"""Workbooks made to take minutes or gigabytes, which are refused, and large ones, which are read."""

import os
import zipfile
from pathlib import Path

import pytest
import xlsxwriter

from scoring.errors import InputError
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import LONG_HEADER, changed_xlsx, long_row

_ROW_END, _SHEET_END, _STYLES_END = b"</row></sheetData>", b"</sheetData>", b"</styleSheet>"
_BOMBS = {
    "empty cells in a row": (_ROW_END, b"<c/>" * 4_000_000 + _ROW_END, "xl/worksheets/sheet1.xml"),
    "texts in a cell": (
        _ROW_END,
        b'<c t="inlineStr"><is>' + b"<t>a</t>" * 2_000_000 + b"</is></c>" + _ROW_END,
        "xl/worksheets/sheet1.xml",
    ),
    "unknown elements in formats": (_STYLES_END, b"<a/>" * 4_000_000 + _STYLES_END, "xl/styles.xml"),
    "unknown elements in the book": (b"</workbook>", b"<a/>" * 4_000_000 + b"</workbook>", "xl/workbook.xml"),
}


@pytest.mark.parametrize("bomb", _BOMBS)
def test_workbook_that_packs_its_tags_as_no_real_one_does_is_refused_unopened(bomb: str, tmp_path: Path) -> None:
    path = changed_xlsx(tmp_path / "r.xlsx", *_BOMBS[bomb])
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match=r"refused: it unpacks from .* to .* tags") as refused:
        read_testrun_file(path)
    assert refused.value.fix == "export the run as CSV"


def test_tag_with_more_attributes_than_any_has_is_refused(tmp_path: Path) -> None:
    attributes = b"".join(b' a%d=""' % number for number in range(900_000))
    path = changed_xlsx(tmp_path / "r.xlsx", _ROW_END, b"<c" + attributes + b"/>" + _ROW_END)
    with pytest.raises(InputError, match=r"refused: it unpacks from .* to a tag or text of 9,"):
        read_testrun_file(path)


@pytest.mark.parametrize("bomb", ["empty cells in a row", "texts in a cell", "unknown elements in formats"])
def test_file_that_was_made_larger_to_hide_it_is_refused_when_a_row_or_part_grows(bomb: str, tmp_path: Path) -> None:
    path = changed_xlsx(tmp_path / "r.xlsx", *_BOMBS[bomb])
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("xl/media/noise.bin", os.urandom(1_000_000))
    with pytest.raises(InputError, match=r"refused: .* to more than 1,000,000 tags in a row or a part"):
        read_testrun_file(path)


def test_workbook_with_too_many_rows_is_refused_before_the_rest_of_it_is_parsed(tmp_path: Path) -> None:
    """A sheet that was filled down to its end took 18 seconds at each look at it."""
    rows = b"<row><c><v>1</v></c></row>" * 50_001 + b"<row><c><v>no number</v></c></row>"
    path = changed_xlsx(tmp_path / "r.xlsx", _SHEET_END, rows + _SHEET_END)
    with pytest.raises(InputError, match=r"a test run with more than 50,000 rows\n  -> split the file"):
        read_testrun_file(path)


def test_rows_that_show_nothing_are_none_however_many(tmp_path: Path) -> None:
    rows = b'<row><c t="str"><v> </v></c></row>' * 50_001
    path = changed_xlsx(tmp_path / "r.xlsx", _SHEET_END, rows + _SHEET_END)
    assert read_testrun_file(path).counts.rows_in == 2


def test_long_sheet_that_repeats_its_texts_is_read(tmp_path: Path) -> None:
    """Texts that are alike pack hundreds of times smaller, in real runs, too."""
    path = tmp_path / "r.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for line in range(2_000):
            row = long_row(f"Q{line}", 기대결과=("같은 줄입니다.\n" * 700)[:7_000] + str(line))
            sheet.write_row(line, 0, row if line else LONG_HEADER)
    with zipfile.ZipFile(path) as package:
        texts = package.getinfo("xl/sharedStrings.xml")
        assert texts.file_size > 100 * texts.compress_size
    assert read_testrun_file(path).counts.rows_in == 1_999


def test_zip_bomb_is_refused_by_its_size_unopened(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.xlsx", "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/worksheets/sheet1.xml", b"0" * (65 * 1024 * 1024))
    with pytest.raises(InputError, match=r"refused: it unpacks from .* to 68,157,440 bytes"):
        read_testrun_file(tmp_path / "r.xlsx")
