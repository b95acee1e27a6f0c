"""A sample scored without a judge: no output headlines a figure of what happened to be easy."""

import json
import re
from pathlib import Path

import openpyxl
import pytest

from tasks.samples import SAMPLE_INBOX
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
