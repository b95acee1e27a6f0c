import csv
import io
from pathlib import Path
from typing import Any

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.messages import RouteFilter
from scoring.alerting.run_messages import ReviewedTestRun, review_message
from scoring.catalog import TestRunChoices, plan_of
from scoring.testruns.scoring import score_testrun
from tasks.reports.markdown.review_list import REVIEW_LIST, reviewed_testrun
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, raw, wide_row, write_csv

GOOD = {"1차 답변 raw": raw("총 10명입니다."), "1차 답변": "총 10명입니다.", "1차 답변 시간(초)": "3"}
FAILED = {"1차 답변 raw": "", "1차 답변": "", "1차 응답 상태": "실패"}


def scored_folder(tmp_path: Path, rows: list[list[str]], rubric: str = "aqb-1.2") -> tuple[Path, dict[str, Any]]:
    path = write_csv(tmp_path / "resume_agent_1.csv", [WIDE_HEADER, *rows])
    scored = score_testrun(plan_of(read_testrun_file(path), TestRunChoices(rubric=rubric), {}), {})
    return tmp_path / "out", write_testrun_folder(tmp_path / "out", scored, path)


def review_list(folder: Path) -> list[dict[str, str]]:
    text = (folder / REVIEW_LIST).read_text("utf-8")
    assert text.startswith("\ufeff"), "Korean Excel takes a file without it for CP949"
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def reviewed(folder: Path, summary: dict[str, Any]) -> ReviewedTestRun:
    run = reviewed_testrun(folder, summary, "0f3a")
    assert run is not None
    return run


def test_flagged_queries_are_listed_with_reasons_and_scores_worst_first(tmp_path: Path) -> None:
    expected = {"기대 필터": "보훈", "2차 답변 raw": raw("12명")}  # what is not known about accuracy leaves no total
    rows = [wide_row("A2", **GOOD, **expected), wide_row("A1", **FAILED, **expected), wide_row("A3", **GOOD)]
    folder, _ = scored_folder(tmp_path, rows)
    listed = review_list(folder)
    assert listed[0]["질의 ID"] == "A1"
    assert float(listed[0]["종합 점수"]) == min(float(row["종합 점수"]) for row in listed if row["종합 점수"])
    assert "실패하거나 빈 응답 있음" in listed[0]["까닭"]
    assert listed[0]["안정성 점수"] == "2.50"
    assert listed[0]["안정성 근거"]


def test_score_that_is_not_known_is_an_empty_cell(tmp_path: Path) -> None:
    folder, _ = scored_folder(tmp_path, [wide_row("A1", **FAILED)])
    (row,) = review_list(folder)
    assert row["일관성 점수"] == ""


@pytest.mark.parametrize("text", ['=HYPERLINK("x")', "+1", "-1", "@SUM(A1)", "  =1"])
def test_no_cell_is_a_formula(tmp_path: Path, text: str) -> None:
    folder, _ = scored_folder(tmp_path, [wide_row("A1", 질의=text, **FAILED)])
    (row,) = review_list(folder)
    assert row["질의"].startswith("'")


def test_run_without_flags_has_an_empty_list_and_no_message(tmp_path: Path) -> None:
    folder, summary = scored_folder(tmp_path, [wide_row("A1", **FAILED)], "recruit-agent")
    assert review_list(folder) == []
    assert review_message(RouteFilter(), reviewed(folder, summary)) == []


def test_rubric_that_flags_nothing_has_no_list_and_no_message(tmp_path: Path) -> None:
    folder, summary = scored_folder(tmp_path, [wide_row("A1", **FAILED)], "plan-agent")
    assert not (folder / REVIEW_LIST).exists()
    assert review_message(RouteFilter(), reviewed(folder, summary)) == []


@pytest.mark.parametrize("rubric", ["plan-agent", "recruit-agent", "aqb-1.2"])
def test_rejected_rows_are_told_whatever_the_rubric(tmp_path: Path, rubric: str) -> None:
    rows = [wide_row("A1", **GOOD), *(wide_row(name, **GOOD | {"1차 답변 시간(초)": "빠름"}) for name in ("A2", "A3"))]
    folder, summary = scored_folder(tmp_path, rows, rubric)
    run = reviewed(folder, summary)
    assert (run.rows_in, run.rejected, run.queries) == (3, 2, 1)
    (message,) = review_message(RouteFilter(), run)
    assert "행 3건 중 2건을 읽지 못해 채점하지 않았습니다." in readable(message.blocks)


def test_message_can_be_made_of_the_folder(tmp_path: Path) -> None:
    folder, summary = scored_folder(tmp_path, [wide_row("A1", 질의="연락처 010-1234-5678", **FAILED)])
    run = reviewed(folder, summary)
    assert (run.name, run.rubric, run.queries, run.flagged) == ("resume_agent_1.csv", "aqb-1.2", 1, 1)
    assert run.agent_types == ("applicant_management",)
    assert ("실패하거나 빈 응답 있음", 1) in run.reasons
    (message,) = review_message(RouteFilter(), run)
    text = readable(message.blocks)
    assert "[전화번호]" in text
    assert "010-1234" not in text
    assert str(folder / REVIEW_LIST) in text
    assert "010-1234" in (folder / REVIEW_LIST).read_text("utf-8"), "whoever reviews has to read it"


@pytest.mark.parametrize(("passing", "told"), [(10, True), (40, False)])
def test_run_that_got_worse_is_told_though_it_flags_nothing(tmp_path: Path, passing: int, *, told: bool) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    summary: dict[str, Any] = {}
    for day, passes in ((1, 40), (2, passing)):
        rows = [plan_row(f"Q{n}", question=f"{n}일로 바꿔줘", passes=n < passes) for n in range(40)]
        path = write_csv(tmp_path / f"plan_agent_2026030{day}.csv", [LONG_HEADER, *rows])
        scored = score_testrun(plan_of(read_testrun_file(path), TestRunChoices(), {}), {})
        place = place_of(warehouse, DAY, scored)
        write_testrun(warehouse, DAY, scored, place)
        summary = write_testrun_folder(tmp_path / "out", scored, path, place=place)
    messages = review_message(RouteFilter(), reviewed(tmp_path / "out", summary))
    assert bool(messages) == told
    assert all(
        "지난 실행(plan_agent_20260301.csv, 2026-03-01)보다 답변이 나빠진 질의 30개, 좋아진 질의 0개; "
        "의도 충족 나빠짐(−3.75)" in readable(one.blocks)
        for one in messages
    )
