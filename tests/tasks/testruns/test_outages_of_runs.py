"""A run whose server failed: it says so first everywhere, and later runs are compared with the one before it."""

import json
from pathlib import Path

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.messages import RouteFilter
from scoring.alerting.run_messages import review_message
from scoring.catalog import TestRunChoices, plan_of
from scoring.stats.comparison import compare_testruns
from scoring.stats.outages import Failures
from scoring.stats.run_scores import QueryScores, TestRunScores
from scoring.testruns.change_wording import change_text, standing
from scoring.testruns.history import KnownRun, change_figures
from scoring.testruns.scoring import score_testrun
from tasks.reports.markdown.comparison import comparison_headline, comparison_markdown
from tasks.reports.markdown.review_list import reviewed_testrun
from tasks.reports.site.testrun_history import runs_by_set, values_of_set
from tasks.reports.site.testrun_tables import read_testruns
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.read_folder import read_scored_folder
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.site import build
from tests.builders.testruns import LONG_HEADER, raw, write_csv

SAID = "실행 40건 중 20건(50%)이 실패하거나 빈 응답이어서 품질을 비교하지 않습니다"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """v1, v2 whose server failed or said nothing at half of the queries, and v3, which answers as v1, one by one."""
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for version, failing in (("v1", 0), ("v2", 20), ("v3", 0)):
        rows = [plan_row(f"Q{n}", question=f"평가기간을 {n}일로 바꿔줘", passes=n > 2) for n in range(40)]
        for row in rows:
            row[LONG_HEADER.index("Run ID")] = version
        for number, row in enumerate(rows[:failing]):
            if number % 2:
                row[LONG_HEADER.index("Raw JSON")] = raw("")  # as where a bot's server says nothing
            else:
                row[LONG_HEADER.index("오류")] = "INTERNAL_SERVER_ERROR"
        path = write_csv(tmp_path / f"{version}.csv", [LONG_HEADER, *rows])
        scored = score_testrun(plan_of(read_testrun_file(path), TestRunChoices("plan-agent"), {}), {})
        place = place_of(warehouse, DAY, scored)
        write_testrun(warehouse, DAY, scored, place)
        write_testrun_folder(tmp_path / version, scored, path, place=place)
    return tmp_path


def test_report_says_the_outage_first_and_to_fix_it_before_reading_answers(runs: Path) -> None:
    report = (runs / "v2" / "report.md").read_text("utf-8")
    said = [line.removeprefix("> ") for line in report.splitlines()[:5] if line != ">"]
    assert said[0] == f"{SAID}."
    assert "INTERNAL_SERVER_ERROR" in said[1].replace("\\", "")
    assert said[2] == "오류를 고치고 다시 실행하세요."
    section = report[report.index("## 지난 실행과 비교") :].split("\n## ")[0]
    assert SAID in section
    assert "나빠진" not in section


def test_run_after_an_outage_is_compared_with_the_one_before_it_and_says_so(runs: Path) -> None:
    change = json.loads((runs / "v3" / "summary.json").read_text("utf-8"))["change"]
    assert (change["name"], change["outage"], change["worse"], change["better"]) == ("v1.csv", None, 0, 0)
    report = (runs / "v3" / "report.md").read_text("utf-8")
    assert f"비교 기준에서 뺀 실행: v2.csv({DAY}), 실행 40건 중 20건(50%)이 실패하거나 빈 응답." in report.replace(
        "\\", ""
    )


def test_pages_say_the_outage_and_keep_the_order_of_the_runs(runs: Path) -> None:
    warehouse = FolderWarehouse(runs / "warehouse")
    (of_set,) = runs_by_set(read_testruns(warehouse, 60))
    assert [run.name for run in of_set] == ["v1.csv", "v2.csv", "v3.csv"]
    values = values_of_set(of_set[:2], {})
    assert (values["verdict"], values["why"]) == ("판단 보류", SAID)
    assert "v2.csv" in values_of_set(of_set, {})["passed_over"]
    build(warehouse, runs / "site")
    page = (runs / "site" / "test-runs" / of_set[1].page).read_text("utf-8")
    assert f'<p class="notice">{SAID}.</p>' in page
    assert "나빠진 질의" not in page


def test_report_and_message_of_a_broken_export_say_to_export_the_file_again(
    tmp_path: Path,
) -> None:
    rows = [plan_row(f"Q{n}") for n in range(20)]
    for row in rows:  # as pandas writes a dict that nobody dumped
        row[LONG_HEADER.index("Raw JSON")] = repr(json.loads(row[LONG_HEADER.index("Raw JSON")]))
    path = write_csv(tmp_path / "v1.csv", [LONG_HEADER, *rows])
    scored = score_testrun(plan_of(read_testrun_file(path), TestRunChoices("plan-agent"), {}), {})
    write_testrun_folder(tmp_path / "v1", scored, path)
    summary = json.loads((tmp_path / "v1" / "summary.json").read_text("utf-8"))
    todo = "다시 실행하기 전에 Raw JSON이 잘리거나 바뀌지 않게 파일을 다시 내보내 채점하세요."
    assert summary["headline"][-1] == f"Raw JSON을 읽지 못한 실행이 20건이니, {todo}"
    run = reviewed_testrun(tmp_path / "v1", summary, "0f3a")
    assert run is not None
    (message,) = review_message(RouteFilter(), run)
    assert todo in readable(message.blocks)


def test_aqb_compare_says_the_outage_and_gives_no_verdict(runs: Path) -> None:
    base, candidate = (read_scored_folder(runs / version) for version in ("v1", "v2"))
    text = comparison_markdown(compare_testruns(base.run_scores(), candidate.run_scores(), base.titles), [])
    assert text.split("\n\n")[1] == f"후보의 {SAID}.\n오류를 고치고 다시 실행하세요."
    assert "나빠" not in text
    back = comparison_headline(compare_testruns(candidate.run_scores(), base.run_scores(), base.titles))
    assert back == [f"기준의 {SAID}.", "오류 없이 실행한 결과를 기준으로 다시 비교하세요."]


def test_message_says_the_outage_and_to_fix_it(runs: Path) -> None:
    summary = json.loads((runs / "v2" / "summary.json").read_text("utf-8"))
    run = reviewed_testrun(runs / "v2", summary, "0f3a")
    assert run is not None
    (message,) = review_message(RouteFilter(), run)
    text = readable(message.blocks)
    assert SAID in text
    assert "할 일  오류를 고치고 다시 실행하세요." in text
    assert "나빠짐" not in text


def test_message_says_which_run_was_passed_over(runs: Path) -> None:
    summary = json.loads((runs / "v3" / "summary.json").read_text("utf-8"))
    run = reviewed_testrun(runs / "v3", summary, "0f3a")
    assert run is not None
    assert run.change.endswith(f"비교 기준에서 뺀 실행: v2.csv({DAY}), 실행 40건 중 20건(50%)이 실패하거나 빈 응답")


# Zeros of executions that failed read as answers that got worse, or, in the base, as a better prompt.
@pytest.mark.parametrize(
    ("order", "said", "of_inbox"),
    [
        (
            (0, 8),
            "후보의 실행 40건 중 8건(20%)이 실패하거나 빈 응답(기준 0건)이어서",
            "실행 40건 중 8건(20%)이 실패하거나 빈 응답(지난 실행 0건)이어서",
        ),
        (
            (8, 0),
            "기준의 실행 40건 중 8건(20%)이 실패하거나 빈 응답(후보 0건)이어서",
            "지난 실행은 실행 40건 중 8건(20%)이 실패하거나 빈 응답(이번 실행 0건)이어서",
        ),
        ((0, 2), "", ""),  # as few may have failed by chance
        ((8, 7), "", ""),
    ],
)
def test_comparison_says_first_that_surely_more_executions_of_one_run_failed(
    order: tuple[int, int], said: str, of_inbox: str
) -> None:
    base, candidate = (
        TestRunScores(
            f"{failed}.csv",
            "plan-agent",
            "1",
            {str(n): QueryScores(f"{n}번 질의", {"accuracy": 5.0 if n >= failed else 0.0}) for n in range(40)},
            failures=Failures(failed, 40),
        )
        for failed in order
    )
    comparison = compare_testruns(base, candidate, {"accuracy": "정확성"})
    headline = comparison_headline(comparison)
    change = change_figures(comparison, KnownRun("", "2026-03-09", "", frozenset()))
    if said:
        assert headline[0] == f"{said} 그 0점이 차이에 들어 있습니다."
        todo = "오류를 고치고 다시 실행하세요." if order[1] else "오류 없이 실행한 결과를 기준으로 다시 비교하세요."
        assert headline[-1] == todo
        told = f"{of_inbox} 그 0점이 차이에 들어 있음; 지난 실행({order[0]}.csv, 2026-03-09)보다 "
        assert change_text(change).startswith(told)
        assert standing({"change": change})[0] == ("나빠짐" if order[1] else "판단 보류")
    else:
        assert headline[0].startswith("짝지은 질의 40개")
        assert "실패" not in change_text(change)
