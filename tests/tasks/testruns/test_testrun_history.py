"""Runs of a test set in a warehouse: which run comes before which, also where an earlier version wrote it."""

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

import openpyxl
import pytest
from openpyxl.comments import Comment

from scoring.catalog import TestRunChoices, plan_of
from scoring.testruns.history import RunPlace
from scoring.testruns.scoring import ScoredTestRun, headline, score_testrun
from tasks.reports.site.testrun_history import runs_by_set, values_of_set
from tasks.reports.site.testrun_tables import read_testruns
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.warehouse import SUMMARIES, SUMMARIES_SCHEMA, write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.site import SAMPLE_RUNS
from tests.builders.testruns import LONG_HEADER, write_csv

EARLIER_VERSION = Path("tests/earlier_version/warehouse").resolve()


@pytest.fixture
def warehouse(tmp_path: Path) -> FolderWarehouse:
    """An empty one."""
    return FolderWarehouse(tmp_path / "warehouse")


def rows_of(queries: int, passing: int, *, prefix: str = "Q") -> list[list[str]]:
    return [plan_row(f"{prefix}{n}", question=f"평가기간을 {n}일로 바꿔줘", passes=n < passing) for n in range(queries)]


def scored_file(path: Path, rows: Sequence[Sequence[str]], **options: Any) -> ScoredTestRun:
    source = write_csv(path, [LONG_HEADER, *rows])
    plan = plan_of(read_testrun_file(source), TestRunChoices("plan-agent"), {"plan-agent": options})
    return score_testrun(plan, {})


def put(warehouse: FolderWarehouse, scored: ScoredTestRun, days: int = 0) -> RunPlace:
    day = DAY + timedelta(days=days)
    place = place_of(warehouse, day, scored)
    write_testrun(warehouse, day, scored, place)
    return place


def test_run_is_compared_with_the_last_one_of_its_set_under_another_name_and_ids(
    warehouse: FolderWarehouse, tmp_path: Path
) -> None:
    first = put(warehouse, scored_file(tmp_path / "plan_agent_20260310.csv", rows_of(40, 40)))
    put(warehouse, scored_file(tmp_path / "plan_agent_other_20260310.csv", [plan_row("X", question="공고를 게시해줘")]))
    second = put(warehouse, scored_file(tmp_path / "실행_20260311.csv", rows_of(41, 10, prefix="UUID")), days=1)
    assert first.change is None
    assert second.test_set == first.test_set
    assert second.change is not None
    assert (second.change["name"], second.change["when"]) == ("plan_agent_20260310.csv", "2026-03-10")
    assert (second.change["paired"], second.change["only_now"]) == (40, 1)
    accuracy = next(one for one in second.change["metrics"] if one["metric"] == "accuracy")
    assert (accuracy["before"], accuracy["now"], accuracy["finding"]) == (5.0, 1.25, "worse")


def test_report_of_a_run_that_got_worse_sends_to_the_queries_that_did(
    warehouse: FolderWarehouse, tmp_path: Path
) -> None:
    put(warehouse, scored_file(tmp_path / "plan_agent_20260310.csv", rows_of(40, 40)))
    worse = scored_file(tmp_path / "plan_agent_20260311.csv", rows_of(40, 10))
    assert headline(worse, place_of(warehouse, DAY, worse).change, {})[-1] == "답변이 나빠진 질의 30개부터 확인하세요."
    hardly = scored_file(tmp_path / "plan_agent_20260311.csv", rows_of(40, 39))
    assert "나빠진" not in headline(hardly, place_of(warehouse, DAY, hardly).change, {})[-1]


def test_run_scored_again_keeps_its_place(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    put(warehouse, scored_file(tmp_path / "plan_agent_20260310.csv", rows_of(4, 4)))
    later = scored_file(tmp_path / "plan_agent_20260311.csv", rows_of(4, 1))
    place = put(warehouse, later, days=1)
    assert put(warehouse, later, days=1) == place
    table = warehouse.read(SUMMARIES, None, SUMMARIES_SCHEMA)
    assert table is not None
    assert table.collect().sort("ran_at").select("ran_at", "agent_type", "test_set").rows() == [
        ("2026-03-10", "plan", place.test_set),
        ("2026-03-11", "plan", place.test_set),
    ]


def test_runs_of_a_day_follow_one_another_as_they_were_scored(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    runs = [scored_file(tmp_path / f"v{n}.csv", rows_of(4, 4 - n % 4)) for n in (8, 9, 10, 11)]
    places = [put(warehouse, run) for run in runs]
    assert [place.change and place.change["name"] for place in places] == [None, "v8.csv", "v9.csv", "v10.csv"]
    assert [put(warehouse, run) for run in runs] == places
    (of_set,) = runs_by_set(shown := read_testruns(warehouse, 60))
    assert [run.name for run in of_set] == ["v8.csv", "v9.csv", "v10.csv", "v11.csv"]
    assert [run.name for run in shown] == ["v11.csv", "v10.csv", "v9.csv", "v8.csv"]


def test_runs_under_other_options_are_no_better_and_no_worse(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    put(warehouse, scored_file(tmp_path / "plan_agent_20260310.csv", rows_of(40, 40)))
    changed = scored_file(tmp_path / "plan_agent_20260311.csv", rows_of(40, 0), value_lookup="direct")
    place = put(warehouse, changed, days=1)
    assert place.change is not None
    assert place.change["obstacle"] == "채점 기준의 버전이나 옵션이 다름"


def test_file_scored_by_an_earlier_version_is_the_run_before(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(copytree(EARLIER_VERSION, tmp_path / "warehouse"))
    table = warehouse.read(SUMMARIES, None, SUMMARIES_SCHEMA)
    assert table is not None
    old = table.collect().row(0, named=True)
    assert (old["test_set"], old["agent_type"], old["ran_at"]) == (None, None, None)
    (path,) = (path for path in SAMPLE_RUNS if path.name == old["input_name"])
    book = openpyxl.load_workbook(path)
    book.active["A1"].comment = Comment("고침", "QA")
    book.save(tmp_path / "resume_agent_new.xlsx")
    plan = plan_of(read_testrun_file(tmp_path / "resume_agent_new.xlsx"), TestRunChoices(), {})
    place = place_of(warehouse, old["score_date"] + timedelta(days=1), score_testrun(plan, {}))
    assert place.test_set == old["input_sha256"][:16]
    assert place.change is not None
    assert place.change["sha256"] == old["input_sha256"]


def test_report_and_summary_say_how_a_run_compares(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    put(warehouse, scored_file(tmp_path / "plan_agent_20260310.csv", rows_of(40, 40)))
    later = scored_file(tmp_path / "plan_agent_20260311.csv", rows_of(40, 10))
    place = place_of(warehouse, DAY, later)
    write_testrun_folder(tmp_path / "out", later, tmp_path / "plan_agent_20260311.csv", place=place)
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    first = report.splitlines()[0]
    assert first.startswith(
        "> 지난 실행(plan_agent_20260310.csv, 2026-03-10)보다 답변이 나빠진 질의 30개, 좋아진 질의 0개; "
        "의도 충족 나빠짐(−3.75), "
    )
    assert "질의 40개의 실행 40건을 채점했고" in first
    section = report[report.index("## 지난 실행과 비교") :]
    assert "카테고리" not in section
    assert "에도 있는 질의 40개를 짝지어 비교했습니다. 답변이 나빠진 질의 30개, 좋아진 질의 0개." in section
    assert "| 정확성 | 5.00 | 1.25 | −3.75 |" in section
    assert "평균 시간으로 매기는 지표는 세트 평균과 조금 다를 수 있고" in section
    worst = r"나빠진 질의입니다\. 괄호는 종합 점수의 차이이고, .*\n\n(- 평가기간을 \d+일로 바꿔줘 \(−\d.\d\d\)\n){5}"
    assert re.search(worst, section)
    assert json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["change"] == place.change


def test_run_of_another_set_says_which_run_is_nearest_and_how_little_they_share(
    warehouse: FolderWarehouse, tmp_path: Path
) -> None:
    put(warehouse, scored_file(tmp_path / "plan_agent_20260310.csv", rows_of(40, 40)))
    reworded = [*rows_of(20, 20), *(plan_row(f"Q{n}", question=f"{n}번 공고를 올려줘") for n in range(20, 40))]
    later = scored_file(tmp_path / "plan_agent_20260311.csv", reworded)
    place = put(warehouse, later, days=1)
    assert place.change is None
    write_testrun_folder(tmp_path / "out", later, tmp_path / "plan_agent_20260311.csv", place=place)
    said = (
        "비교할 지난 실행이 없습니다: 가장 비슷한 실행 plan_agent_20260310.csv(2026-03-10)도 두 실행의 질의 60개 중 "
        "20개만 같아(절반 미만) 다른 테스트 세트로 봄."
    )
    assert said in (tmp_path / "out" / "report.md").read_text("utf-8").replace("\\", "")
    last = values_of_set([run for run in read_testruns(warehouse, 60) if run.name == later.plan.run.name], {})
    assert last["why"] in said


@pytest.mark.parametrize(
    ("options", "text", "why"),
    [
        (
            {},
            '1) assistantMessage에 "시험"과 관련된 내용이 언급되어 있는가',
            "질의의 절반 넘게 기대 결과가 이번 실행과 다름",
        ),
        ({"value_lookup": "direct"}, None, "채점 기준의 버전이나 옵션이 다름"),
    ],
    ids=["expectations", "options"],
)
def test_run_scored_for_something_else_is_passed_over_if_an_older_one_can_be_compared(
    warehouse: FolderWarehouse, tmp_path: Path, options: dict[str, str], text: str | None, why: str
) -> None:
    put(warehouse, scored_file(tmp_path / "plan_agent_20260310.csv", rows_of(40, 40)))
    tried = rows_of(40, 39)
    for row in tried:
        row[LONG_HEADER.index("기대결과")] = text or row[LONG_HEADER.index("기대결과")]
    other = put(warehouse, scored_file(tmp_path / "plan_agent_20260311.csv", tried, **options), days=1)
    assert other.change is not None
    assert not any(one["finding"] == "worse" for one in other.change["metrics"]) or other.change["obstacle"]
    later = scored_file(tmp_path / "plan_agent_20260312.csv", rows_of(40, 10))
    place = put(warehouse, later, days=2)
    assert place.change is not None
    assert (place.change["name"], place.change["paired"], place.change["worse"]) == ("plan_agent_20260310.csv", 40, 30)
    write_testrun_folder(tmp_path / "out", later, tmp_path / "plan_agent_20260312.csv", place=place)
    report = (tmp_path / "out" / "report.md").read_text("utf-8").replace("\\", "")
    assert f"비교 기준에서 뺀 실행: plan_agent_20260311.csv(2026-03-11), {why}." in report
    assert put(warehouse, later, days=2) == place
