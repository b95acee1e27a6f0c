import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.files.excel import excel_csv, no_formula


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1",
        "\n =1",
        "\0=1",
        "\ufeff =1",
        "\x1b=1",
        "\u200b+1",
        "＝1+1",
        "＋1",
        "－1",
        "＠SUM(A1)",
        "﹦1",
    ],
)
def test_what_excel_would_calculate_becomes_a_text(cell: str) -> None:
    assert no_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "가", "1=1", "a-b", "'=1", "\0", "·=1", "−1점", "\0가"])
def test_other_texts_stay_as_they_are(cell: str) -> None:
    assert no_formula(cell) == cell


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell() -> None:
    assert "".join(excel_csv([["행", "점수"], ["가", -1.5], ["나", None]])) == "\ufeff행,점수\r\n가,-1.5\r\n나,\r\n"


_NOT_IN_EXCEL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""The characters that a workbook cannot hold; a line end in a cell stays the one that it is."""


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=5))
def test_every_cell_is_read_back(rows: list[list[str]]) -> None:
    text = "".join(excel_csv(rows)).removeprefix("\ufeff")
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == [[no_formula(_NOT_IN_EXCEL.sub("", cell)) for cell in row] for row in rows]


def test_what_a_terminal_would_obey_is_in_no_file() -> None:
    assert "".join(excel_csv([["\x1b[31m빨강\x00", "\x00=1+1"]])) == "\ufeff[31m빨강,'=1+1\r\n"
