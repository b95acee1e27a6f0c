import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from scoring.errors import InputError
from scoring.inputs import BrokenRow, TextRow
from scoring.limits import LARGEST_CELL
from tasks.files.csv_reader import DelimitedText


def table(folder: Path, content: str | bytes, delimiter: str = ",") -> DelimitedText:
    path = folder / "table.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return DelimitedText(path, delimiter)


def rows(folder: Path, content: str | bytes) -> list[TextRow | BrokenRow]:
    return list(table(folder, content).rows())


def lost_lines(row: BrokenRow) -> tuple[int, int]:
    """The first and the last line that people are told are lost."""
    told = re.search(r"([0-9]+)(?:~([0-9]+))?번째 줄을 버리고", row.reason)
    assert told and int(told[1]) == row.line
    return row.line, int(told[2] or told[1])


def lines_of(found: list[TextRow | BrokenRow]) -> list[int | tuple[int, int]]:
    """Where each row starts, and all lines of those that are broken."""
    return [lost_lines(row) if isinstance(row, BrokenRow) else row.line for row in found]


def test_header_cells_lose_bom_and_blanks(tmp_path: Path) -> None:
    assert table(tmp_path, b'\xef\xbb\xbf"id", name ,\tnote\r\n1,2,3\r\n').columns == ("id", "name", "note")


def test_name_may_stand_twice_in_the_header(tmp_path: Path) -> None:
    assert table(tmp_path, "a,a\n1,2\n").columns == ("a", "a")


def test_line_is_where_a_row_starts_even_after_line_breaks_inside_cells(tmp_path: Path) -> None:
    assert rows(tmp_path, 'a,b\n"one\ntwo\r\nthree",x\ny,z\n') == [
        TextRow(2, ["one\ntwo\r\nthree", "x"]),
        TextRow(5, ["y", "z"]),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_both_line_ends_and_a_last_line_without_one(tmp_path: Path, end: str) -> None:
    assert rows(tmp_path, end.join(["a,b", "1,2", "3,4"])) == [TextRow(2, ["1", "2"]), TextRow(3, ["3", "4"])]


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path: Path) -> None:
    assert rows(tmp_path, "\n\na,b\n\n1,2\n\n") == [TextRow(5, ["1", "2"])]


def test_nul_and_lone_carriage_return_survive_in_quotes(tmp_path: Path) -> None:
    assert rows(tmp_path, 'a,b\n"x\0y","p\rq"\n') == [TextRow(2, ["x\0y", "p\rq"])]


def test_tabs_split_a_tsv(tmp_path: Path) -> None:
    assert list(table(tmp_path, "a\tb\n1,5\t2\n", "\t").rows()) == [TextRow(2, ["1,5", "2"])]


def test_cp949_is_recognised_by_its_lines(tmp_path: Path) -> None:
    found = table(tmp_path, "질의,응답\n주가 전망은?,상승\n".encode("cp949"))
    assert found.encoding == "cp949"
    assert found.columns == ("질의", "응답")
    assert list(found.rows()) == [TextRow(2, ["주가 전망은?", "상승"])]


def test_one_damaged_line_does_not_turn_utf8_into_cp949(tmp_path: Path) -> None:
    found = table(tmp_path, "a\n가나\n다라\n".encode() + "마바\n".encode("cp949"))
    assert found.encoding == "utf-8"


def test_one_damaged_line_does_not_turn_cp949_into_utf8(tmp_path: Path) -> None:
    found = table(tmp_path, "a\n가나\n다라\n".encode("cp949") + b"\xff\xff\n")
    assert found.encoding == "cp949"


def test_utf8_that_could_be_read_as_cp949_stays_utf8(tmp_path: Path) -> None:
    assert "각각".encode().decode("cp949")
    found = table(tmp_path, "a\n각각\n각각\n각각\n".encode() + "마바\n".encode("cp949"))
    assert found.encoding == "utf-8"


def test_what_is_neither_utf8_nor_cp949_is_read_as_utf8(tmp_path: Path) -> None:
    assert table(tmp_path, b"a\n\xff\xff\n\xff\n").encoding == "utf-8"


def test_bytes_that_are_no_text_stay_visible_as_lone_surrogates(tmp_path: Path) -> None:
    content = "a,b\n가,나\n다,라\n".encode() + b'x\xb0,"\xff"\n'
    assert rows(tmp_path, content)[2] == TextRow(4, ["x\udcb0", "\udcff"])


def test_wrong_field_count_costs_its_own_line_only(tmp_path: Path) -> None:
    found = rows(tmp_path, "a,b\n1,2\n1,2,3\n4\n5,6\n")
    assert [row.line for row in found if isinstance(row, TextRow)] == [2, 5]
    broken = [row for row in found if isinstance(row, BrokenRow)]
    assert [(lost_lines(row), row.code) for row in broken] == [
        ((3, 3), "wrong_field_count"),
        ((4, 4), "wrong_field_count"),
    ]
    assert "칸이 3개" in broken[0].reason and "머리글은 2개" in broken[0].reason
    assert [".xlsx로 저장하세요" in row.reason for row in broken] == [False, True]  # Excel drops commas at row ends


def test_wrong_field_count_over_several_lines_is_one_broken_row(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a,b\n"one\ntwo\nthree"\n5,6\n')
    assert lines_of(found) == [(2, 4), 5]


@pytest.mark.parametrize("row", ['1,"one\ntwo",x,y', '1,"one\n""two""",x,y', '1,"one\n\nthree",x,"y\nz"'])
def test_too_many_cells_over_several_lines_are_one_broken_row(tmp_path: Path, row: str) -> None:
    last = 2 + row.count("\n")
    assert lines_of(rows(tmp_path, f"a,b,c\n{row}\n5,6,7\n")) == [(2, last), last + 1]


def test_rows_that_a_stray_quote_holds_together_are_read_each(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a,b\n1,"open\n2,x\n3,x\n24",x\n5,6\n')
    assert lines_of(found) == [(2, 2), 3, 4, 5, 6]


def test_quote_that_never_closes_costs_one_row(tmp_path: Path) -> None:
    lines = ["a,b", "1,2", '3,"open', *(f"{number},x" for number in range(4, 40))]
    found = rows(tmp_path, "\n".join(lines) + "\n")
    broken = [row for row in found if isinstance(row, BrokenRow)]
    assert [(lost_lines(row), row.code) for row in broken] == [((3, 3), "broken_quotes")]
    assert "39번째 줄까지" in broken[0].reason
    assert [row.line for row in found if isinstance(row, TextRow)] == [2, *range(4, 40)]


def test_open_quote_that_runs_into_the_next_quote_costs_one_row(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a,b\n1,"open\n2,"fine"\n3,"also\nfine"\n')
    assert [type(row) for row in found] == [BrokenRow, TextRow, TextRow]
    assert [row.line for row in found] == [2, 3, 4]


def test_broken_row_of_several_lines_takes_its_own_lines_along(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a,b\n1,"first line\nsecond "word" here\nthird"\n2,fine\n')
    assert lines_of(found) == [(2, 4), 5]


def test_each_row_with_broken_quotes_counts_for_itself(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a,b\n1,"x"y\n2,"x"y\nz\n3,"x"y')
    assert lines_of(found) == [(2, 2), (3, 4), (5, 5)]


def test_quotes_inside_an_unquoted_cell_are_text(tmp_path: Path) -> None:
    assert rows(tmp_path, 'a,b\n24" screen,x\n') == [TextRow(2, ['24" screen', "x"])]


def test_broken_row_never_quotes_the_row(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a,b\n"비밀"번호,1\n비밀,번호,3\n')
    assert [(type(row), "비밀" in str(row)) for row in found] == [(BrokenRow, False)]


def test_cell_may_be_as_large_as_the_limit_and_no_larger(tmp_path: Path) -> None:
    largest = "x" * LARGEST_CELL
    found = rows(tmp_path, f"a,b\n{largest},1\nx{largest},2\n3,4\n")
    assert [(type(row), row.line) for row in found] == [(TextRow, 2), (BrokenRow, 3), (TextRow, 4)]


# A line that leaves a quoted cell open, whether it begins a row or stands within one.
OPENING = 'x","""\n'


def test_file_may_be_longer_than_the_longest_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.files.csv_reader.LONGEST_LINE", 100)
    assert lines_of(rows(tmp_path, "a,b\n" + "1,2\n" * 200)) == [*range(2, 202)]


def test_row_that_is_quoted_to_the_end_of_the_file_stops_at_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.files.csv_reader.LONGEST_LINE", 10 * len(OPENING))
    first, *_ = rows(tmp_path, "a,b\n" + OPENING * 100 + "1,2\n")
    assert isinstance(first, BrokenRow)
    assert (lost_lines(first), "12번째 줄까지 이어 읽다가" in first.reason) == ((2, 2), True)


def test_file_whose_every_row_is_quoted_to_its_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.files.csv_reader.MOST_LINES_REREAD", 1000)
    assert len(rows(tmp_path, "a,b\n" + OPENING * 10)) == 10
    with pytest.raises(InputError, match="broken again and again; reading stopped at line"):
        rows(tmp_path, "a,b\n" + OPENING * 1000)


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf"])
def test_file_without_header_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="empty"):
        table(tmp_path, content)


@pytest.mark.parametrize("content", ["id,name\r\n1,2\r\n".encode("utf-16"), b"\xfe\xff\0i\0d\0\n"])
def test_file_in_utf_16_is_refused_as_such(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="is in UTF-16"):
        table(tmp_path, content)


@pytest.mark.parametrize("magic", [b"PK\x03\x04\x14", b"\x1f\x8b\x08", b"(\xb5/\xfd", b"\xd0\xcf\x11\xe0\xa1\xb1"])
def test_workbook_and_packed_file_that_are_named_csv_are_refused_as_what_they_are(tmp_path: Path, magic: bytes) -> None:
    with pytest.raises(InputError, match="a workbook or a packed file under the name of a text table"):
        table(tmp_path, magic + b"\0\r,\0\n")


@pytest.mark.parametrize("content", [b'"id,name\n1,2\n', b"\xff\xd8\xff\xe0\n"])
def test_header_that_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="header line cannot be read"):
        table(tmp_path, content)


@st.composite
def written_tables(draw: DrawFn) -> tuple[list[list[str]], bytes]:
    """Cells, and the CSV that the standard library makes of them."""
    width = draw(st.integers(1, 4))
    cell = st.text(st.characters(codec="utf-8"), max_size=12)
    cells = draw(st.lists(st.lists(cell, min_size=width, max_size=width), max_size=8))
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=draw(st.sampled_from(["\n", "\r\n"])))
    writer.writerow([f"c{position}" for position in range(width)])
    writer.writerows(cells)
    return cells, text.getvalue().encode()


@given(written_tables())
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, written: tuple[list[list[str]], bytes]
) -> None:
    cells, content = written
    found = rows(tmp_path_factory.mktemp("csv"), content)
    assert [row.cells for row in found if isinstance(row, TextRow)] == cells
    assert len(found) == len(cells)


@given(
    st.lists(
        st.sampled_from(["1,2", '3,"4"', '5,"open', '"x"y,1', "a,b,c", '"', '6,"two\nlines"', "", '""']), max_size=20
    )
)
def test_damage_never_loses_a_line_in_silence(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    content = "a,b\n" + "\n".join(pieces) + "\n"
    found = rows(tmp_path_factory.mktemp("csv"), content)
    accounted = {1}
    for row in found:
        if isinstance(row, TextRow):
            first, last = row.line, row.line + sum(cell.count("\n") for cell in row.cells)
        else:
            first, last = lost_lines(row)
        lines = set(range(first, last + 1))
        assert not lines & accounted
        accounted |= lines
    blank = {number for number, line in enumerate(content.split("\n"), start=1) if not line}
    assert set(range(1, content.count("\n") + 1)) <= accounted | blank


@pytest.mark.parametrize(
    ("delimiter", "header", "seen"),
    [
        (",", "이름;나이", "semicolons"),
        (",", "이름\t나이", "tabs"),
        (",", "a;b\tc", "semicolons and tabs"),
        ("\t", "a,b", "commas"),
        (",", '"이름";"나이"', "semicolons"),
        (",", '"이름";나이', "semicolons"),
        ("\t", '"a","b"', "commas"),
    ],
)
def test_header_of_one_column_that_holds_another_delimiter_is_asked_about(
    tmp_path: Path, delimiter: str, header: str, seen: str
) -> None:
    with pytest.raises(InputError, match=f"single column that holds {seen}: is the delimiter right") as refused:
        table(tmp_path, f"{header}\n1,2\n", delimiter)
    assert "이름" not in str(refused.value)
    assert refused.value.fix.startswith(f"save the table with {'tabs' if delimiter == chr(9) else 'commas'} between")


@pytest.mark.parametrize("header", ["sep=,", "sep=;", "SEP=\t"])
def test_first_line_that_tells_excel_the_delimiter_is_no_header(tmp_path: Path, header: str) -> None:
    with pytest.raises(InputError, match="the first line only tells Excel the delimiter"):
        table(tmp_path, f"{header}\na,b\n1,2\n")


def test_another_delimiter_beside_ours_is_part_of_a_name(tmp_path: Path) -> None:
    assert table(tmp_path, "이름;나이,b\n").columns == ("이름;나이", "b")
    assert table(tmp_path, "a\n1\n").columns == ("a",)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_header_with_more_columns_than_a_sheet_can_have_is_refused(tmp_path: Path, name: str) -> None:
    path, delimiter = tmp_path / name, "\t" if name.endswith("tsv") else ","
    path.write_text(delimiter.join(f"c{place}" for place in range(16_385)) + "\n")
    with pytest.raises(InputError, match="the header line has 16,385 columns: expected at most 16,384"):
        DelimitedText(path, delimiter)


def test_row_with_a_million_cells_is_broken_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "," * 1_000_000 + "\n1,2\n")
    broken, whole = DelimitedText(path).rows()
    assert isinstance(broken, BrokenRow) and broken.code == "wrong_field_count"
    assert whole == TextRow(3, ["1", "2"])


def test_file_that_gets_other_columns_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("질의,답변\n가,나\n", "utf-8")
    table = DelimitedText(path)
    (tmp_path / "b.csv").write_text("답변,질의\n나,가\n", "utf-8")
    (tmp_path / "b.csv").replace(path)
    with pytest.raises(InputError, match="was replaced while it was read"):
        list(table.rows())
