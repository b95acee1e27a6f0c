"""A file that sorts its queries: every output of a comparison says which group of them got worse."""

import json
from pathlib import Path

import pytest

from scoring.catalog import TestRunChoices, plan_of
from scoring.stats.comparison import Comparison
from scoring.testruns.scoring import score_testrun
from tasks.reports.markdown.comparison import comparison_headline, comparison_json, comparison_markdown
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.read_folder import read_scored_folder
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.site import Page, build
from tests.builders.testruns import LONG_HEADER, write_csv

CAREER = "카테고리 '경력'(질의 20개, 의도 충족 5.00 → 1.25)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of forty queries, of which the second fails most of those about a career, and their site."""
    folder = tmp_path_factory.mktemp("groups")
    warehouse = FolderWarehouse(folder / "warehouse")
    for day, passing in (("10", 40), ("11", 5)):
        rows = [
            [
                *plan_row(f"Q{n}", question=f"{n}년 경력을 보여줘", passes=n < passing or n >= 20),
                "경력" if n < 20 else "전형",
            ]
            for n in range(40)
        ]
        path = write_csv(folder / f"plan_agent_202603{day}.csv", [[*LONG_HEADER, "카테고리"], *rows])
        scored = score_testrun(plan_of(read_testrun_file(path), TestRunChoices(), {}), {})
        place = place_of(warehouse, DAY, scored)
        write_testrun(warehouse, DAY, scored, place)
        write_testrun_folder(folder / day, scored, path, place=place)
    build(warehouse, folder / "site")
    return folder


def compared(folder: Path, base: str, candidate: str) -> Comparison:
    before, after = (read_scored_folder(folder / day) for day in (base, candidate))
    return before.rubric.compare(before.run_scores(), after.run_scores(), before.titles)


def test_report_begins_with_the_group_that_explains_a_loss_and_sends_to_its_queries(folder: Path) -> None:
    report = (folder / "11" / "report.md").read_text("utf-8")
    first, *_, last = [line for line in report.partition("\n# ")[0].splitlines() if line.strip("> ")]
    assert f"주로 나빠진 곳은 {CAREER}." in first
    assert last == "> 카테고리 '경력'의 질의부터 확인하세요."
    table = report[report.index("### 카테고리별") :].splitlines()
    assert table[2] == "| 카테고리 | 질의 | 지난 실행 | 이번 실행 | 차이 | 95% 구간 |"
    assert [row.split(" | ")[:5] for row in table[4:6]] == [
        ["| 경력", "20", "5.00", "1.25", "−3.75"],
        ["| 전형", "20", "5.00", "5.00", "0.00"],
    ]


def test_comparison_of_two_folders_names_the_group_too(folder: Path) -> None:
    found = compared(folder, "10", "11")
    assert comparison_headline(found)[-1] == f"주로 나빠진 {CAREER}의 질의부터 확인하세요."
    assert "| 카테고리 | 질의 | 기준 | 후보 | 차이 | 95% 구간 |" in comparison_markdown(found, [])
    assert "| Q5 (경력) |" in comparison_markdown(found, [])
    groups = json.loads(comparison_json(found, []))["groups"]
    assert (groups["cause"]["name"], [one["name"] for one in groups["rows"]]) == ("경력", ["경력", "전형"])


def test_gain_has_no_group_to_look_at(folder: Path) -> None:
    found = compared(folder, "11", "10")
    assert found.cause is None
    assert [one.name for one in found.groups] == ["전형", "경력"]


def test_page_of_a_run_shows_the_groups_and_to_which_a_query_belongs(folder: Path) -> None:
    (path,) = (folder / "site" / "test-runs").glob("plan_agent_20260311*.html")
    text = Page(path).text
    assert CAREER in text
    assert "경력 20 5.00 1.25 −3.75" in text
    query = text[text.index("10년 경력을 보여줘", text.index("질의와 답변")) :]
    assert "경력 Q10" in query[:200]
