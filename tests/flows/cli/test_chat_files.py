"""Chat rows as people export them: other headers, local times, and tables that open in Excel."""

import csv
import json
from pathlib import Path

import openpyxl
import polars as pl
import pytest

from scoring.rubrics.ola_monitoring.thresholds import VERSION
from tests.builders.chat_rows import DAY, best, plain, refused, write_rows
from tests.flows.conftest import Command

COLUMNS = """
[monitoring.columns]
user_input = "질문"
llm_response = "답변"
timestamp = "시각"
input_tokens = "입력"
output_tokens = "출력"
"""
ROWS = [
    ["질문", "답변", "시각", "입력", "출력"],
    ["삼성전자 주가 알려줘", "70,000원입니다.", "2026-02-13 09:00:00", "100", "200"],
    ["=SUM(A1)", "죄송합니다", "2026-02-13 23:30:00", "10", "20"],
    ["뭐야", "네", "2026-02-13T00:00:00Z", "-5", "20"],
]
SPANS = Path("tests/exports/otel-genai.jsonl").resolve()
RENAMED = ["--out", "out", "--naive-timestamps", "Asia/Seoul"]


@pytest.fixture
def export(folder: Path) -> Path:
    with Path("export.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(ROWS)
    Path("aqb.toml").write_text(COLUMNS)
    return Path("export.csv")


@pytest.mark.parametrize("lacking", ["user_input", "llm_response", "timestamp", "input_tokens"])
def test_score_names_the_column_that_a_chat_file_lacks(aqb: Command, folder: Path, lacking: str) -> None:
    names = ["user_input", "llm_response", "timestamp", "input_tokens", "output_tokens"]
    Path("chat.csv").write_text(",".join(name for name in names if name != lacking) + "\n")
    ended = aqb("score", "chat.csv", "--out", "out")
    assert ended.exit_code == 1
    assert f"chat.csv: required columns are missing: {lacking}; found " in ended.err
    assert "under [monitoring.columns]" in ended.err


def test_score_reads_what_another_tool_exported(aqb: Command, folder: Path) -> None:
    ended = aqb("score", SPANS, "--format", "otel-genai", "--out", "out")
    assert f"ola-monitoring {VERSION}, rows in 5 = scored 4 + excluded 1 + rejected 0" in ended.out
    assert "set monitoring.format (aqb score: --format)" in aqb("score", SPANS, "--out", "out", "--format", "rows").err


def test_score_says_that_a_file_of_other_spans_holds_no_rows(aqb: Command, folder: Path) -> None:
    spans = [{"traceId": "a", "spanId": "b", "attributes": []}]
    Path("web.jsonl").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    ended = aqb("score", "web.jsonl", "--format", "otel-genai", "--out", "out")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "there are no rows in it: docs/reference/formats.md says what is a row in each format" in ended.out


def test_score_names_a_file_of_each_kind_where_it_takes_one(aqb: Command, folder: Path) -> None:
    Path("other.csv").write_text("a,b\n1,2\n")
    ended = aqb("score", SPANS, "other.csv", "--format", "otel-genai", "--out", "out")
    assert ended.exit_code == 2
    assert f"{SPANS.name} holds chat rows, other.csv does not" in ended.err
    assert "--rubric" in ended.err


def test_score_knows_chat_rows_by_the_names_of_the_settings(aqb: Command, export: Path) -> None:
    ended = aqb("score", export, "--out", "out")
    assert f"ola-monitoring {VERSION}, rows in 3 = scored 2 + excluded 0 + rejected 1" in ended.out
    assert ended.out.splitlines()[1].strip().startswith("2 timestamps without a time zone, read as UTC; ")
    days = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))["data_quality"]
    assert (days["naive_timestamps"], days["naive_zone"]) == (2, "UTC")


def test_rejected_rows_name_columns_as_the_file_does(aqb: Command, export: Path) -> None:
    unreadable = [["뭐야", "네", "어제", "5", "20"], ["뭐야", "네", "2026-02-13T00:00:00Z", "5", "스물"]]
    with export.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(unreadable)
    aqb("score", export, "--out", "out")
    rejected = pl.read_parquet("out/rejected.parquet")
    assert rejected["column"].to_list() == ["입력", "시각", "출력"]
    assert not rejected["reason"].str.contains("timestamp|tokens").any()
    assert "| 4 | 입력 |" in Path("out/report.md").read_text(encoding="utf-8")


def test_score_says_that_rows_came_twice(aqb: Command, folder: Path) -> None:
    rows = [plain(1), plain(1), plain(2), plain(1), plain(2, session_id="s2"), refused(3)]
    write_rows(Path("chat.jsonl"), rows)
    ended = aqb("score", "chat.jsonl", "--out", "out")
    assert "rows in 6 = scored 6 + excluded 0 + rejected 0" in ended.out
    assert ended.out.splitlines()[1].strip().startswith("2 rows of those scored are equal to earlier ones in time, ")
    assert ended.exit_code == 0
    assert "모두 같은 행이 2건 있고" in Path("out/report.md").read_text(encoding="utf-8").partition("| 지표 |")[0]
    assert json.loads(Path("out/summary.json").read_text(encoding="utf-8"))["data_quality"]["repeated"] == 2


def test_nightly_says_that_rows_came_twice(aqb: Command, folder: Path) -> None:
    write_rows(Path("chat.jsonl"), [plain(1), plain(1)])
    Path("aqb.toml").write_text('[monitoring]\nsource = "chat.jsonl"\n')
    ended = aqb("nightly", "--date", str(DAY))
    assert "  1 row of those scored is equal to an earlier one in time, " in ended.out
    assert "모두 같은 행이 1건 있고" in Path(f"data/reports/monitoring-{DAY}.md").read_text(encoding="utf-8")


def test_score_reads_local_times_as_it_is_told_and_says_so_at_the_top(aqb: Command, export: Path) -> None:
    ended = aqb("score", export, *RENAMED)
    assert "read as Asia/Seoul" in ended.out
    top = Path("out/report.md").read_text(encoding="utf-8").splitlines()[:10]
    assert [line for line in top if line.startswith("시간대가 없는 시각 2건을 Asia/Seoul 시각으로 읽었습니다.")]
    assert [line for line in top if line.endswith("— 2026-02-13")]  # one day, not two
    wrong = aqb("score", export, "--out", "out", "--naive-timestamps", "Seoul")
    assert (wrong.exit_code, "monitoring.naive_timestamps: 'Seoul' is no time zone" in wrong.err) == (2, True)


def test_night_says_how_it_read_local_times(aqb: Command, export: Path) -> None:
    Path("aqb.toml").write_text(f'[monitoring]\nsource = "export.csv"\nnaive_timestamps = "Asia/Seoul"\n{COLUMNS}')
    ended = aqb("nightly", "--date", "2026-02-13")
    assert "2026-02-13: rows in 3 = scored 2" in ended.out
    assert "2 timestamps without a time zone, read as Asia/Seoul; " in ended.out


def test_score_writes_its_tables_for_excel_too(aqb: Command, export: Path) -> None:
    aqb("score", export, *RENAMED, "--also", "csv", "--also", "xlsx")
    scores = list(csv.DictReader(Path("out/scores.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert [row["timestamp"] for row in scores] == ["2026-02-13 09:00:00+09:00", "2026-02-13 23:30:00+09:00"]
    assert scores[1]["user_input"] == "'=SUM(A1)"
    (rejected,) = csv.DictReader(Path("out/rejected.csv").read_text(encoding="utf-8-sig").splitlines())
    assert (rejected["line"], rejected["code"], rejected["reason"]) == (
        "4",
        "negative_tokens",
        "입력 토큰이 음수입니다",
    )
    book = openpyxl.load_workbook("out/scores.xlsx")
    assert book.sheetnames == ["요약", "행", "날짜별 지표", "등급표", "거부한 행"]
    assert book.active.title == "요약"
    assert "목표" in str(book["요약"]["A2"].value)
    header, *rows = book["행"].iter_rows(values_only=True)
    (asked,) = (row for row in rows if "=SUM(A1)" in row)
    shown = dict(zip(header, asked, strict=True))
    assert (shown["시각"], shown["입력 토큰"]) == ("2026-02-13 23:30:00", 10)
    cell = book["행"].cell(2 + rows.index(asked), 1 + header.index("질문"))
    assert (cell.value, cell.data_type) == ("=SUM(A1)", "s")
    assert scores[1]["alert_rules"]
    assert shown["알림"].count(",") == scores[1]["alert_rules"].count(",")
    assert book["거부한 행"]["A2"].value == "export.csv"
    titles, *days = book["날짜별 지표"].iter_rows()
    read = {title.value: [day[place] for day in days] for place, title in enumerate(titles)}
    assert [cell.value for cell in read["채점"]] == [2, 2]  # as in the report: "행" are also those that were not scored
    assert [cell.value for cell in read["테넌트"]] == ["전체", "(테넌트 없음)"]  # all of them first, on each day
    for title, number_format in (("실패율", "0.0%"), ("평균 Final Score", '0.0"점"')):
        assert {(cell.data_type, cell.number_format) for cell in read[title]} == {("n", number_format)}
    summary = {row[0].value: row[1] for row in book["요약"].iter_rows()}
    assert summary["실패율"].value == read["실패율"][0].value
    titles = [cell.value for sheet in book for cell in next(sheet.iter_rows(max_row=1))]
    assert not [title for title in titles if title and "_" in str(title)]


@pytest.mark.parametrize("given", [("--also", "csv"), ("--naive-timestamps", "Asia/Seoul")])
def test_file_that_cannot_be_read_is_not_taken_for_a_test_run_without_a_way_out(
    aqb: Command, folder: Path, given: tuple[str, str]
) -> None:
    Path("chat.csv").write_text("user_input,llm_response\n질문,답\n", encoding="utf-16")
    refused = aqb("score", "chat.csv", "--out", "out", *given)
    assert "--rubric ola-monitoring" in refused.err
    told = aqb("score", "chat.csv", "--out", "out", *given, "--rubric", "ola-monitoring").err
    assert "UTF-16" in told
    assert ".xlsx" not in told  # chat rows are not read from workbooks


def test_score_refuses_other_tables_of_a_test_run_and_a_folder_that_holds_its_input(aqb: Command, export: Path) -> None:
    Path("run.csv").write_text("ID,질의,1차 답변\n")
    refused = aqb("score", "run.csv", "--out", "out", "--also", "csv")
    assert (refused.exit_code, "--also is for chat rows" in refused.err) == (2, True)
    refused = aqb("score", "run.csv", "--out", "out", "--naive-timestamps", "Asia/Seoul")
    assert (refused.exit_code, "test runs take no --naive-timestamps" in refused.err) == (2, True)
    export.rename("scores.csv")
    among = aqb("score", "scores.csv", "--out", ".", "--also", "csv")
    assert (among.exit_code, "choose another --out folder" in among.err) == (2, True)
    assert Path("scores.csv").read_text(encoding="utf-8").startswith("질문")


def test_empty_tenant_is_not_one_that_is_missing(aqb: Command, folder: Path) -> None:
    tenants = [None, "", "t1"]
    write_rows(Path("chat.jsonl"), [plain(number, tenant_id=tenant) for number, tenant in enumerate(tenants)])
    aqb("score", "chat.jsonl", "--out", "out", "--also", "xlsx")
    book = openpyxl.load_workbook("out/scores.xlsx")

    def told(tab: str) -> list[str | None]:
        header, *rows = book[tab].iter_rows(values_only=True)
        return sorted((row[header.index("테넌트")] for row in rows), key=str)

    assert told("행") == ["(빈 테넌트)", None, "t1"]  # a cell that is empty says that there is none
    assert told("날짜별 지표") == ["(빈 테넌트)", "(테넌트 없음)", "t1", "전체"]


def test_figure_in_excel_has_the_digits_that_show_its_side_of_the_target(aqb: Command, folder: Path) -> None:
    write_rows(Path("chat.jsonl"), [*(best(number) for number in range(32)), refused(40)])
    aqb("score", "chat.jsonl", "--out", "out", "--also", "xlsx")
    summary = {row[0].value: row[1] for row in openpyxl.load_workbook("out/scores.xlsx")["요약"].iter_rows()}
    failures = summary["실패율"]
    assert (failures.value, failures.number_format) == (pytest.approx(1 / 33), "0.00%")  # 3.03%, not 3.0%
    assert summary["답변 우수율"].number_format == "0.0%"
