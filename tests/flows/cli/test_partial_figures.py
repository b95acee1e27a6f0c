"""No output headlines a figure of what happened to be easy: without a judge, or in a round of a few queries."""

import json
import re
from pathlib import Path

import openpyxl
import pytest

from tasks.samples import SAMPLE_INBOX
from tests.builders.scored_testruns import plan_row
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, wide_row, write_csv
from tests.flows.conftest import Command

SAMPLE = SAMPLE_INBOX / "resume_agent_sample.xlsx"
BOUNDS = "2.27~5.00"  # of 11 queries 5 are decided by rule, each with 5 points


@pytest.fixture
def scored(aqb: Command, folder: Path) -> str:
    """What the terminal says; the folder is `out`."""
    return aqb("score", SAMPLE, "--out", "out").out


def test_terminal_gives_bounds_and_how_many_queries_are_undecided(scored: str) -> None:
    assert "consistency: 2.27 to 5.00 (6 of 11 queries undecided)" in scored
    assert "semantic: 0.00 to 4.85 (11 of 11 queries undecided)" in scored


def test_terminal_says_how_much_of_the_weights_a_total_has(aqb: Command, folder: Path) -> None:
    told = aqb("score", SAMPLE_INBOX / "plan_agent_sample.csv", "--rubric", "recruit-agent", "--out", "out").out
    assert re.search(r"weighted_total: [0-9.]+ \(70% of the weights\)", told)


def test_report_and_workbook_give_bounds(scored: str, folder: Path) -> None:
    report = (folder / "out/report.md").read_text(encoding="utf-8").replace("\\", "")
    assert f"| 일관성 | {BOUNDS} |" in report
    assert "질의 11개 중 6개 미판정" in report
    sheet = openpyxl.load_workbook(folder / "out/scores.xlsx")["점수 요약"]
    rows = [["" if cell is None else cell for cell in row] for row in sheet.iter_rows(values_only=True)]
    header = next(row for row in rows if row[0] == "구분")
    (consistency,) = (dict(zip(header, row, strict=True)) for row in rows if row[:2] == ["전체", "일관성"])
    assert (consistency["평균"], consistency["미판정 질의"]) == ("", 6)
    assert (consistency["최저(미판정 0점)"], consistency["최고(미판정 5점)"]) == (2.27, 5)


def test_terminal_and_workbook_mark_a_consistency_of_two_rooms_as_provisional(aqb: Command, folder: Path) -> None:
    rows = [WIDE_HEADER, wide_row("Q1"), wide_row("Q2", **{"2차 답변": "몇 명인지 알 수 없습니다"})]
    source = write_csv(folder / "resume_agent_1.csv", rows)
    told = aqb("score", source, "--option", "consistency_min_runs=2", "--out", "out").out
    assert "consistency: 2.50 to 5.00 (1 of 2 queries undecided, 2 provisional)" in told
    summary = openpyxl.load_workbook(folder / "out/scores.xlsx")["점수 요약"]
    notes = [" ".join(str(cell) for cell in row if cell) for row in summary.iter_rows(values_only=True)]
    assert any(note.startswith("참고 질의 2개는 답변을 비교할 방이 3개에 못 미쳐") for note in notes)


def test_inbox_and_the_pages_give_bounds(aqb: Command, folder: Path) -> None:
    (folder / "inbox").mkdir()
    (folder / "inbox" / SAMPLE.name).write_bytes(SAMPLE.read_bytes())
    (folder / "aqb.toml").write_text('[test_runs]\ninbox = "inbox"\nquiet_s = 0\n', encoding="utf-8")
    assert f"consistency {BOUNDS}" in aqb("test-runs").out
    assert aqb("report", "--out", "site").exit_code == 0
    (page_of_run,) = (folder / "site/test-runs").glob("resume*.html")
    of_set, single_queries, _ = page_of_run.read_text(encoding="utf-8").partition('<h2 id="queries">')
    assert single_queries  # their scores are what they are
    index, run = (
        re.sub(r"<[^>]+>", " ", text) for text in ((folder / "site/index.html").read_text(encoding="utf-8"), of_set)
    )
    assert f"일관성 {BOUNDS}" in index
    assert re.search(rf"일관성\s+{BOUNDS}", run)
    assert "질의 11개 중 6개 미판정" in run
    assert "가중치의 70%만 채점" in run
    for page in (index, run):
        assert not re.search(r"일관성\s+5\.00(?!\s*점)", page)


def test_comparison_leaves_out_what_is_mostly_undecided(scored: str, aqb: Command) -> None:
    told = aqb("compare", "out", "out", "--json", "--fail-if", "consistency < -0.1")
    assert told.exit_code == 1
    assert "consistency < -0.1: too many queries are undecided" in told.err
    consistency = json.loads(told.out)["metrics"]["consistency"]
    assert (consistency["base"], consistency["difference"], consistency["withheld"]) == (None, None, True)
    assert "| 일관성 | – | – | – | – | 0 | 판단 보류(미판정 질의가 많음) |" in aqb("compare", "out", "out").out


@pytest.mark.parametrize(("once_more", "is_told"), [(7, True), (8, False)])
def test_round_of_fewer_queries_is_told_before_the_means_that_it_moves(
    aqb: Command, folder: Path, once_more: int, is_told: bool
) -> None:
    """As where those that failed are run once more: the seeds count each round as a whole one."""
    rows = [plan_row(f"Q{number}", passes=False, question=f"{number}월로 바꿔줘") for number in range(10)]
    again = [plan_row(f"Q{number}", "2/1", question=f"{number}월로 바꿔줘") for number in range(once_more)]
    file = write_csv(folder / "plan_agent_made.csv", [LONG_HEADER, *rows, *again])
    told = aqb("score", file, "--out", "out").out
    assert "accuracy: 2.50" in told
    assert ("  round 2/1: 7 of 10 queries, and a whole round in the means\n" in told) is is_told
    first = (folder / "out/report.md").read_text(encoding="utf-8").partition("\n")[0].replace("\\", "")
    warning = "> 질의가 적은 회차 2/1(질의 7개)도 가장 큰 회차(10개)와 똑같이 평균에 들어가니 회차별 점수를 함께"
    assert first.startswith(warning) is is_told
