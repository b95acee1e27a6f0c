"""`scores.xlsx` of every rubric: Korean headings and values, stored names explained once, pages that can be printed."""

import re
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pyarrow.parquet as pq
import pytest
from openpyxl.utils import range_boundaries
from openpyxl.workbook import Workbook

from scoring.catalog import TestRunChoices, plan_of
from scoring.testruns.scoring import score_testrun
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.samples import SAMPLE_INBOX
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import WIDE_HEADER, raw, wide_row, write_csv, write_xlsx

RUNS = {
    "aqb-1.2": "resume_agent_sample.xlsx",
    "plan-agent": "plan_agent_sample.csv",
    "recruit-agent": "plan_agent_sample.csv",
}
MEANS = ("평균", "최저(미판정 0점)", "최고(미판정 5점)", "종합 점수")
OURS = ("점수 요약", "검토", "질의별 점수", "실행별 점수", "점수 기준", "열 설명")
# What authors of tests, agents and judges wrote, and what the tables call their columns.
NOT_OURS = {
    *("질의", "기대 결과", "답변", "사용한 조건", "화면 요소", "링크", "다른 회차의 답변"),
    *("통과하지 못한 체크", "화면 구성", "저장된 이름", "의도 판정", "파일", "실행 ID", "항목 ID", "질의 ID"),
}
CODE = re.compile(r"\b[a-z]+_[a-z_0-9]+\b|\bNULL\b|\bSPEC\b|\bseed\b")


@pytest.fixture(scope="module", params=RUNS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, source = tmp_path_factory.mktemp("run"), SAMPLE_INBOX / RUNS[request.param]
    plan = plan_of(read_testrun_file(source), TestRunChoices(request.param), {})
    write_testrun_folder(folder, score_testrun(plan, {}), source)
    return folder


@pytest.fixture(scope="module")
def book(folder: Path) -> Workbook:
    return openpyxl.load_workbook(folder / "scores.xlsx")


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_input_keeps_the_headers_that_its_author_wrote(tmp_path: Path, kind: str) -> None:
    header = ["ID", "질의", "1차\n답변", "비고\xa0란", ""]
    rows = [header, ["A1", "몇 명?", "12명", "", ""]]
    source = tmp_path / f"resume_agent_1.{kind}"
    _ = write_csv(source, rows) if kind == "csv" else write_xlsx(source, {"결과": rows})
    run = read_testrun_file(source)
    write_testrun_folder(tmp_path / "out", score_testrun(plan_of(run, TestRunChoices("aqb-1.2"), {}), {}), source)
    book = openpyxl.load_workbook(tmp_path / "out" / "scores.xlsx")
    shown = [cell.value for cell in book["입력" if kind == "csv" else "결과"][1]]
    assert shown[:4] == header[:4]
    again = read_testrun_file(tmp_path / "out" / "scores.xlsx")
    assert again.queries["A1"][0].answer_text == "12명"


def test_workbook_with_cells_cut_for_excel_says_so_and_is_not_scored_again_as_if_whole(tmp_path: Path) -> None:
    rows = [WIDE_HEADER, wide_row(**{"1차 답변 raw": raw("가" * 40_000)}), wide_row("A2")]
    source = write_csv(tmp_path / "resume_agent_1.csv", rows)
    plan = plan_of(read_testrun_file(source), TestRunChoices("aqb-1.2"), {})
    write_testrun_folder(tmp_path / "out", score_testrun(plan, {}), source)
    told = " ".join(
        str(cell.value) for row in openpyxl.load_workbook(tmp_path / "out" / "scores.xlsx")["점수 요약"] for cell in row
    )
    assert "한도(32,767자)를 넘는 칸 1개를 잘라 담았습니다" in told
    again = read_testrun_file(tmp_path / "out" / "scores.xlsx")
    assert [(reject.column, reject.code) for reject in again.rejects] == [("1차 답변 raw", "cut_cell")]
    assert "원본 파일로 채점하세요" in again.rejects[0].reason
    assert list(again.queries) == ["A2"]


def test_workbook_says_how_many_queries_for_a_person_its_tab_leaves_out(tmp_path: Path) -> None:
    rows = [WIDE_HEADER, *(wide_row(f"A{n}", **{"1차 응답 상태": "에러"}) for n in range(203))]
    source = write_csv(tmp_path / "resume_agent_1.csv", rows)
    plan = plan_of(read_testrun_file(source), TestRunChoices("aqb-1.2"), {})
    write_testrun_folder(tmp_path / "out", score_testrun(plan, {}), source)
    book = openpyxl.load_workbook(tmp_path / "out" / "scores.xlsx")
    titles, *listed = book["검토"].iter_rows(values_only=True)
    assert len({row[titles.index("질의 ID")] for row in listed}) == 200
    notes = {row[0]: row[1] for row in book["점수 요약"].iter_rows(values_only=True)}
    assert notes["검토"] == "'검토' 탭은 점수를 많이 잃은 질의부터 담았고, 그 밖에 3개가 있습니다."


def ours(book: Workbook) -> list[str]:
    """Our tabs; there is none to review where no query is flagged."""
    return [name for name in OURS if name in book.sheetnames]


def columns(book: Workbook) -> Iterator[tuple[str, str, list[str]]]:
    """Tab, heading and the texts below, of the tabs that are ours."""
    for name in ours(book):
        rows = list(book[name].iter_rows(values_only=True))
        top = next(place for place, row in enumerate(rows) if len([cell for cell in row if cell is not None]) > 1)
        for place, heading in enumerate(rows[top]):
            yield name, str(heading), [str(row[place]) for row in rows[top + 1 :] if row[place] is not None]


def test_headings_are_korean_and_unique(book: Workbook) -> None:
    for name in ours(book):
        headings = [heading for tab, heading, _ in columns(book) if tab == name]
        assert len(set(headings)) == len(headings), name
        assert all(re.search("[가-힣]", heading) or heading.startswith(("TTFT", "Track")) for heading in headings), (
            headings
        )


def test_no_code_and_no_clause_number_stands_where_people_read(book: Workbook) -> None:
    found = {
        (tab, heading, code)
        for tab, heading, texts in columns(book)
        if heading not in NOT_OURS
        for text in (heading, *texts)
        for code in CODE.findall(text.replace("agent_sample", ""))
    }
    # The option of a rubric by its name, where its column is explained.
    assert found <= {("열 설명", "뜻", "weighted_total")}


def test_every_column_is_explained_with_its_stored_name(folder: Path, book: Workbook) -> None:
    explained = {row[:2]: row[3] for row in book["열 설명"].iter_rows(min_row=2, values_only=True)}
    shown = {(tab, heading) for tab, heading, _ in columns(book) if tab in ("질의별 점수", "실행별 점수")}
    assert explained.keys() == shown
    tables = {"질의별 점수": "queries.parquet", "실행별 점수": "scores.parquet"}
    schemas = {tab: pq.read_schema(folder / table) for tab, table in tables.items()}
    for (tab, heading), name in explained.items():
        described = schemas[tab].field(name).metadata[b"description"].decode()
        assert described.partition(":")[0] == heading


def test_meaning_of_a_column_says_more_than_its_heading(book: Workbook) -> None:
    meanings = {(row[1], row[2]) for row in book["열 설명"].iter_rows(min_row=2, values_only=True)}
    of_numbers = {meaning for heading, meaning in meanings if heading == "정답 수치 비교"}
    assert of_numbers <= {"수치 정확, 수치 허용 오차 이내, 수치 부정확. 정답 수치가 없으면 빈칸"}
    assert not [heading for heading, meaning in meanings if not meaning or heading == meaning]


def test_pages_are_as_wide_as_the_paper_and_few(book: Workbook) -> None:
    for name in ours(book):
        sheet = book[name]
        assert (sheet.page_setup.orientation, sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight) == (
            *("landscape", 1, 0),
        )
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert sheet.print_title_rows
    for name in set(ours(book)) & {"검토", "질의별 점수", "실행별 점수"}:
        area = book[name].print_area.replace("$", "").partition("!")[2]
        printed = next(iter(openpyxl.worksheet.cell_range.MultiCellRange(area)))
        width = sum(
            book[name].column_dimensions[openpyxl.utils.get_column_letter(place)].width
            for place in range(printed.min_col, printed.max_col + 1)
        )
        assert width < 320, name
        assert printed.max_row == book[name].max_row


def test_means_show_two_decimals_as_the_report_does_and_are_coloured(book: Workbook) -> None:
    sheets = [book[name] for name in ("점수 요약", "질의별 점수")]
    headers = [sheet[range_boundaries(sheet.auto_filter.ref)[1]] for sheet in sheets]
    headings = [cell for header in headers for cell in header if cell.value in MEANS]
    for at in headings:
        below = at.parent[at.column_letter][at.row :]
        assert {cell.number_format for cell in below if isinstance(cell.value, float)} <= {"0.00"}
        coloured = at.parent.conditional_formatting
        assert any(str(found.sqref).startswith(f"{at.column_letter}{at.row + 1}:") for found in coloured)
    assert headings


def test_points_stay_numbers_and_are_coloured(book: Workbook) -> None:
    sheet = book["질의별 점수"]
    place = next(cell.column_letter for cell in sheet[1] if cell.value == "안정성")
    assert {cell.data_type for cell in sheet[place][1:]} == {"n"}
    assert any(str(found.sqref).startswith(f"{place}2") for found in sheet.conditional_formatting)
