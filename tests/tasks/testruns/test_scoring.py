"""Runs scored query by query, and the folder that comes of it, with a rubric that nothing here knows."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

from scoring.catalog import TestRunChoices, plan_of, row_rubric
from scoring.errors import InputError, UsageError
from scoring.judging.requests import Verdict, VerdictStatus
from scoring.stats.comparison import compare_testruns
from scoring.testruns.scoring import ScoredTestRun, judge_requests, score_testrun
from tasks.judge.client import Judged
from tasks.reports.site.build import build_pages
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.read_folder import read_scored_folder
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.testruns import (
    LONG_HEADER,
    WIDE_HEADER,
    long_row,
    raw,
    toy_rubric,
    wide_row,
    write_csv,
    write_xlsx,
)

TOY = TestRunChoices(rubric="toy")


@pytest.fixture(autouse=True)
def fifth_rubric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy rubric, registered without editing anything."""
    with toy_rubric(tmp_path / "rubrics", monkeypatch):
        yield


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    """Two queries in two rooms, the later room first, and a row that cannot be read."""
    rows = [
        LONG_HEADER,
        long_row(round_="2/1", **{"Raw JSON": raw("네")}),
        long_row(),
        long_row("Q2"),
        long_row("Q3", "x"),
    ]
    return write_csv(tmp_path / "run.csv", rows)


def scored(path: Path, choices: TestRunChoices = TOY, **options: Any) -> ScoredTestRun:
    return score_testrun(plan_of(read_testrun_file(path), choices, options), {})


def test_fifth_rubric_scores_a_file(long_file: Path, tmp_path: Path) -> None:
    summary = write_testrun_folder(tmp_path / "out", scored(long_file), long_file)
    table = pl.read_parquet(tmp_path / "out" / "scores.parquet")
    assert table.columns == [
        *("run_id", "item_id", "query_id", "round", "query_text", "agent_type", "failed", "latency_s", "latency_class"),
        *("tool_calls", "ttft_s", "length_score", "length_reason", "liked_score", "liked_reason", "letters"),
        *("rubric", "rubric_version", "judge_epochs"),
    ]
    assert table.select("query_id", "round", "length_score", "letters", "rubric", "rubric_version").rows() == [
        ("Q1", "1/1", 5.0, 9, "toy", "3"),
        ("Q1", "2/1", 0.0, 1, "toy", "3"),
        ("Q2", "1/1", 5.0, 9, "toy", "3"),
    ]
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert (summary["rubric"], summary["options"]) == ("toy", {"long": "5"})


def test_every_file_of_the_folder_is_there(long_file: Path, tmp_path: Path) -> None:
    summary = write_testrun_folder(tmp_path / "out", scored(long_file), long_file)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {
        *("scores.parquet", "queries.parquet", "rejected.parquet", "scores.json", "scores.xlsx", "report.md"),
        "summary.json",
    }
    queries = pl.read_parquet(tmp_path / "out" / "queries.parquet")
    assert queries.drop("query_text").rows() == [("Q1", 2, 2.5, "toy", "3", None), ("Q2", 1, 5.0, "toy", "3", None)]
    rejected = pl.read_parquet(tmp_path / "out" / "rejected.parquet")
    assert rejected.select("line", "column", "code", "rubric").rows() == [(5, "방/반복", "bad_round", "toy")]
    assert summary["counts"] | {"rows_in": 4, "scored": 3, "excluded": 0, "rejected": 1} == summary["counts"]
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "행 4건 = 채점 3 + 제외 0 + 거부 1. 질의 2개, 실행 3건." in report
    assert json.loads((tmp_path / "out" / "scores.json").read_text("utf-8")) == [{"query_id": "Q1"}, {"query_id": "Q2"}]


def test_report_has_a_line_for_each_cause_of_rejected_rows(tmp_path: Path) -> None:
    spoiled = [long_row(f"Q{number}", "01월 01일") for number in range(30)]
    run = write_csv(tmp_path / "run.csv", [LONG_HEADER, long_row(), *spoiled, long_row("Q90", latency_ms="빠름")])
    write_testrun_folder(tmp_path / "out", scored(run), run)
    rejected = (tmp_path / "out" / "report.md").read_text("utf-8").partition("| 줄 | 열 | 거부한 까닭 |")[2]
    assert rejected.count("\n|") == 3  # the line below the head, dates that Excel made of rounds, and a time
    assert "| 3, 4, 5, 6, 7 외 25행 | 방/반복 | " in rejected and "| 33 | latency_ms | " in rejected
    assert '모든 행은 `scores.xlsx`의 "거부한 행" 탭에 있습니다.' in rejected


def test_rubric_that_nobody_knows_is_detected_by_its_own_sign(tmp_path: Path) -> None:
    rows = [[*LONG_HEADER, "장난감 열"], [*long_row(), ""]]
    plan = plan_of(read_testrun_file(write_csv(tmp_path / "run.csv", rows)), TestRunChoices(), {})
    assert plan.rubric.id == "toy"


def test_rubric_that_nobody_knows_is_compared(long_file: Path, tmp_path: Path) -> None:
    for name, long in (("a", "5"), ("b", "1")):
        write_testrun_folder(tmp_path / name, scored(long_file, toy={"long": long}), long_file)
    base, candidate = (read_scored_folder(tmp_path / name) for name in ("a", "b"))
    (change,) = compare_testruns(base.run_scores(), candidate.run_scores(), base.titles).metrics
    assert (change.title, change.base, change.candidate) == ("길이", 3.75, 5.0)


def test_rubric_that_nobody_knows_draws_its_own_part_of_the_page(long_file: Path, tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    run = scored(long_file)
    write_testrun(warehouse, DAY, run, place_of(warehouse, DAY, run))
    build_pages(warehouse, row_rubric("ola-monitoring"), tmp_path / "site", "Asia/Seoul")
    (page,) = (tmp_path / "site" / "test-runs").glob("run-*-toy.html")
    text = page.read_text("utf-8")
    assert all(part in text for part in ("장난감의 알림", "긴 답변", "가장 긴 답변의 길이", "9자", "길이", "호감"))


def test_same_file_gives_the_same_bytes(long_file: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_testrun_folder(tmp_path / name, scored(long_file), long_file)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_workbook_of_a_text_file_opens_on_the_summary_and_ends_with_its_rows_as_text(
    long_file: Path, tmp_path: Path
) -> None:
    write_testrun_folder(tmp_path / "out", scored(long_file), long_file)
    book = openpyxl.load_workbook(tmp_path / "out" / "scores.xlsx")
    assert book.sheetnames == [
        *("점수 요약", "질의별 점수", "실행별 점수", "점수 기준", "열 설명", "거부한 행", "입력"),
    ]
    assert book.active.title == "점수 요약"
    assert [cell.value for cell in book["입력"][1]] == LONG_HEADER
    assert {cell.data_type for row in book["입력"].iter_rows() for cell in row if cell.value is not None} == {"s"}
    sheet = book["실행별 점수"]
    reason = next(cell for title, cell in zip(sheet[1], sheet[2], strict=True) if title.value == "길이 근거")
    assert (reason.value, reason.data_type) == ("=답변 9자", "s")
    assert ["전체", "길이", 5, 2] in [[cell.value for cell in row][:4] for row in book["점수 요약"]]
    assert ("실행별 점수", "길이", "0~5점", "length_score") in book["열 설명"].values


def test_workbook_of_a_workbook_keeps_its_sheets_and_adds_tabs(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "run.xlsx", {"내 시트": [WIDE_HEADER, wide_row()], "메모": [["메모"]]})
    write_testrun_folder(tmp_path / "out", scored(path), path)
    book = openpyxl.load_workbook(tmp_path / "out" / "scores.xlsx")
    assert book.sheetnames == ["점수 요약", "질의별 점수", "실행별 점수", "점수 기준", "열 설명", "내 시트", "메모"]
    assert [cell.value for cell in book["내 시트"][1]] == WIDE_HEADER


def test_what_is_wrong_with_a_test_set_stands_in_report_summary_and_workbook(tmp_path: Path) -> None:
    rows = [LONG_HEADER, long_row("Q1", "1/1", 질의="$공고명$ 지원자 수", 기대결과="안내한다")]
    path = write_csv(tmp_path / "run.csv", rows)
    summary = write_testrun_folder(tmp_path / "out", scored(path), path)
    assert [(found["code"], found["query_ids"]) for found in summary["lint"]] == [("placeholder", ["Q1"])]
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| 채우지 않은 자리 표시가 있는 질의 | 1 | $공고명$ | $공고명$ 지원자 수 |" in report
    book = openpyxl.load_workbook(tmp_path / "out" / "scores.xlsx")
    (note,) = (row[1] for row in book["점수 요약"].values if row[0] == "테스트 세트 점검")
    assert note == "채우지 않은 자리 표시가 있는 질의 1개: $공고명$"


def test_question_is_asked_once_and_its_verdict_scores_every_answer_like_it(long_file: Path) -> None:
    plan = plan_of(read_testrun_file(long_file), TOY, {})
    requests = list(judge_requests(plan))
    assert [request.material["answer"] for request in requests] == ["네, 준비했어요.", "네"]
    verdicts = {
        requests[0].key: Verdict(VerdictStatus.OK, {"points": 4}),
        requests[1].key: Verdict(VerdictStatus.REFUSED),
    }
    run = score_testrun(plan, verdicts)
    liked = [[one.scores["liked"].points for one in query.executions] for query in run.queries]
    assert (liked, run.questions) == ([[4, None], [4]], {"ok": 1, "refused": 1})


def test_without_a_judge_its_scores_are_null_and_counted(long_file: Path, tmp_path: Path) -> None:
    summary = write_testrun_folder(tmp_path / "out", scored(long_file), long_file)
    assert summary["judge"] | {"questions": 2, "by_status": {"no_judge": 2}} == summary["judge"]
    assert pl.read_parquet(tmp_path / "out" / "scores.parquet")["liked_score"].to_list() == [None] * 3


def test_every_table_of_a_judged_report_begins_after_a_blank_line(long_file: Path, tmp_path: Path) -> None:
    """Without one it is a paragraph with bars in most of what renders Markdown."""
    write_testrun_folder(tmp_path / "out", scored(long_file), long_file, Judged({}, ()))
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "## 판정 모델" in report
    assert re.findall(r"^[^|\n].*\n\|.*", report, re.MULTILINE) == []


@pytest.mark.parametrize(
    ("given", "settings", "version"),
    [({}, {}, "3"), ({}, {"toy": {"long": "9"}}, "3+long=9"), ({"long": "7"}, {"toy": {"long": "9"}}, "3+long=7")],
)
def test_options_stand_above_settings_and_in_the_version(
    long_file: Path, given: dict[str, str], settings: dict[str, Any], version: str
) -> None:
    assert scored(long_file, TestRunChoices("toy", options=given), **settings).plan.rubric_version == version


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        (TestRunChoices("toy", options={"wide": "1"}), "no option 'wide'"),
        (TestRunChoices("toy", options={"long": "x"}), "no value of long"),
        (TestRunChoices("nothing"), "no rubric 'nothing'"),
        (TestRunChoices("ola-monitoring"), "scores chat rows"),
        (TestRunChoices(), "nothing tells which rubric"),
        (TestRunChoices("toy", agent_type="robot"), "no agent type 'robot'"),
        (TestRunChoices("aqb-1.2"), "nothing tells which agent"),
    ],
)
def test_wrong_choice_is_wrong_usage(long_file: Path, choices: TestRunChoices, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plan_of(read_testrun_file(long_file), choices, {})


def test_order_of_rows_changes_no_score(tmp_path: Path) -> None:
    rows = [long_row("Q1"), long_row("Q1", "2/1"), long_row("Q2"), long_row("Q2", "2/1")]
    tables = []
    for name, ordered in (("a", rows), ("b", rows[::-1])):
        path = write_csv(tmp_path / f"{name}.csv", [LONG_HEADER, *ordered])
        write_testrun_folder(tmp_path / name, scored(path), path)
        tables.append(pl.read_parquet(tmp_path / name / "scores.parquet").sort("query_id", "round"))
    assert tables[0].equals(tables[1])


def test_report_compares_the_scores_that_the_file_holds(tmp_path: Path) -> None:
    expected = {"기대 필터": "보훈", "1차 답변 raw": raw("12명"), "2차 답변 raw": raw("12명")}
    rows = [[*WIDE_HEADER, "정확도 점수"], [*wide_row(**expected), "3"], [*wide_row("A2", **expected), "5"]]
    path = write_csv(tmp_path / "resume_agent_1.csv", rows)
    summary = write_testrun_folder(tmp_path / "out", scored(path, TestRunChoices("aqb-1.2")), path)
    (accuracy,) = summary["recorded"]
    assert (accuracy["metric"], accuracy["recorded_mean"]) == ("accuracy", 4.0)
    assert "## 파일에 기록된 점수와 비교" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("truths", "note"),
    [(["", ""], "- 정확성: 질의 2개 중 2개는"), (["12명", ""], "- 정확성: 질의 2개 중 1개는"), (["12명", "3명"], "")],
)
def test_comparison_with_the_scores_of_a_file_says_how_many_lack_a_ground_truth(
    tmp_path: Path, truths: list[str], note: str
) -> None:
    cells = {"기대 필터": "보훈", "1차 답변 raw": raw("12명"), "2차 답변 raw": raw("12명")}
    queries = [[*wide_row(f"A{place}", **cells, **{"정답 수치": truth}), "5"] for place, truth in enumerate(truths)]
    path = write_csv(tmp_path / "resume_agent_1.csv", [[*WIDE_HEADER, "정확도 점수"], *queries])
    write_testrun_folder(tmp_path / "out", scored(path, TestRunChoices("aqb-1.2")), path)
    compared = (tmp_path / "out" / "report.md").read_text("utf-8").partition("## 파일에 기록된 점수와 비교")[2]
    said = f"{note} 정답 수치가 없어 최고 4점입니다."
    assert said in compared if note else "최고 4점" not in compared


@pytest.mark.parametrize("rubric", ["plan-agent", "recruit-agent", "aqb-1.2"])
def test_report_compares_the_score_that_a_long_file_holds_with_accuracy(tmp_path: Path, rubric: str) -> None:
    scores = (("1/1", "4"), ("2/1", "2"))
    expected = '@check dataKey="RESUME_STATUS"'
    rows = [LONG_HEADER, *(long_row("Q1", at, **{"LLM 점수": held, "기대결과": expected}) for at, held in scores)]
    path = write_csv(tmp_path / "plan_agent_1.csv", rows)
    choices = TestRunChoices(rubric, agent_type="plan")
    (accuracy,) = write_testrun_folder(tmp_path / "out", scored(path, choices), path)["recorded"]
    assert (accuracy["metric"], accuracy["n"], accuracy["recorded_mean"]) == ("accuracy", 1, 3.0)


@pytest.mark.parametrize("removed", [False, True])
def test_scoring_a_file_that_is_replaced_meanwhile_writes_nothing(
    tmp_path: Path, long_file: Path, removed: bool
) -> None:
    run = scored(long_file)
    long_file.unlink()
    if not removed:
        long_file.write_text("another,file\n", "utf-8")
    with pytest.raises(InputError, match="cannot be read" if removed else "was changed while it was scored"):
        write_testrun_folder(tmp_path / "out", run, long_file)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rubric", ["plan-agent", "recruit-agent", "aqb-1.2"])
def test_report_of_a_run_in_which_nothing_was_scored_says_so_first(rubric: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "plan_agent_run.csv", [LONG_HEADER, long_row("Q1", "1월 1일"), long_row("Q2", "x")])
    write_testrun_folder(tmp_path / "out", scored(path, TestRunChoices(rubric=rubric)), path)
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert report.startswith("**채점한 것이 없습니다:** 행 2건 = 제외 0 + 거부 2.")
    assert "없습니다" not in report[report.index("# plan_agent_run.csv") :]
    assert "| 2 | 방/반복 |" in report


def test_report_says_at_its_top_how_many_rows_its_scores_are_without(tmp_path: Path, long_file: Path) -> None:
    plan_file = long_file.rename(tmp_path / "plan_agent_run.csv")
    summary = write_testrun_folder(tmp_path / "out", scored(plan_file, TestRunChoices()), plan_file)
    said = "행 4건 중 1건은 읽지 못해 빼고(까닭은 보고서의 '입력 파일'), 질의 "
    assert len(summary["headline"]) == 3 and summary["headline"][0].startswith(said)


def test_report_begins_with_the_sentences_that_stand_in_the_summary(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "plan_agent_run.csv", [LONG_HEADER, long_row(기대결과="@check formType=SELECT")])
    summary = write_testrun_folder(tmp_path / "out", scored(path, TestRunChoices()), path)
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert len(summary["headline"]) == 3
    assert report.split("\n\n")[0] == "\n>\n".join(f"> {sentence}" for sentence in summary["headline"])


def test_report_speaks_of_a_judge_only_where_one_could_be_asked(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    write_testrun_folder(tmp_path / "out", scored(path, TestRunChoices("plan-agent")), path, Judged({}, ()))
    assert "## 판정 모델" not in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.parametrize(("name", "is_known"), [("보훈", True), ("별자리", False)])
def test_report_says_where_to_add_a_filter_that_nobody_knows(tmp_path: Path, name: str, is_known: bool) -> None:
    path = write_csv(tmp_path / "resume_agent_1.csv", [WIDE_HEADER, wide_row(**{"기대 필터": name})])
    write_testrun_folder(tmp_path / "out", scored(path, TestRunChoices("aqb-1.2")), path)
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert ("`[test_runs.filters]`" in report) is not is_known
