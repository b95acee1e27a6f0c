"""`기대 URL`, the column for the page that an answer should lead to."""

import json
from pathlib import Path

import pytest

from scoring.catalog import TestRunChoices, plan_of
from scoring.testruns.scoring import score_testrun
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import write_csv


def accuracy(path: Path, rubric: str, expected: str, offered: str) -> tuple[float | None, str]:
    document = {
        "assistantMessage": "이동하세요",
        "dataUIList": [{"uiValue": {"formType": "LINK", "buttonUrl": offered}}],
    }
    rows = [["ID", "질의", "기대 URL", "1차 답변 raw"], ["A1", "설정 화면", expected, json.dumps(document)]]
    run = read_testrun_file(write_csv(path / "url_agent_1.csv", rows))
    (query,) = score_testrun(plan_of(run, TestRunChoices(rubric), {}), {}).queries
    score = query.executions[0].scores["accuracy"]
    return None if score.points is None else float(score.points), score.reason


@pytest.mark.parametrize("rubric", ["aqb-1.2", "recruit-agent", "plan-agent"])
@pytest.mark.parametrize(
    ("expected", "offered"),
    [
        ("/agent/setting", "/agent/setting?tab=1"),
        ("agent/setting", "/agent/setting"),
        ("setting?tab=1", "/setting?tab=1"),
        ("/agent/flow/{planId}", "https://host/agent/flow/7"),
        ("/agent/setting?dataKey=X", "/agent/setting?dataKey=X"),
        ("buttonUrl: /agent/setting?dataKey=X", "/agent/setting?dataKey=X"),
        *((f"/agent/setting?dataKey=X{stop}", "/agent/setting?dataKey=X") for stop in (",", ".", ";", "。", " .")),
        ('"/agent/setting",', "/agent/setting"),
        ("dataKey는 X.", "/agent/setting?dataKey=X"),
        ("/agent/setting?dataKey=X 또는 /agent/home", "/agent/setting?dataKey=X"),
        ("/agent/setting?dataKey=X 또는 /agent/home.", "/agent/home"),
        ("/agent/a?dataKey=X 혹은 /agent/b?dataKey=Y", "/agent/b?dataKey=Y"),
        ("buttonUrl: /agent/a or /agent/or/b", "/agent/or/b"),
        ("/agent/setting 화면", "/agent/setting"),
        ("/agent/setting?dataKey=X 로 이동", "/agent/setting?dataKey=X"),
        ("https://host/agent/setting (설정 화면)", "/agent/setting"),
        ("설정 화면: /agent/setting", "/agent/setting"),
        ("[설정 화면](/agent/setting)", "/agent/setting"),
        ("설정 화면으로 간다\n/agent/setting (관리자)", "/agent/setting"),
    ],
)
def test_answer_that_leads_to_the_expected_url_is_right(
    tmp_path: Path, rubric: str, expected: str, offered: str
) -> None:
    assert accuracy(tmp_path, rubric, expected, offered)[0] == 5


@pytest.mark.parametrize("rubric", ["aqb-1.2", "recruit-agent", "plan-agent"])
@pytest.mark.parametrize("expected", ["/agent/setting?dataKey=X", "buttonUrl: /agent/setting?dataKey=X"])
def test_answer_with_another_datakey_is_wrong_and_its_reason_names_both(
    tmp_path: Path, rubric: str, expected: str
) -> None:
    points, reason = accuracy(tmp_path, rubric, expected, "/agent/setting?dataKey=Y")
    assert points is not None and points < 5
    assert "X" in reason and "Y" in reason


@pytest.mark.parametrize("rubric", ["aqb-1.2", "recruit-agent", "plan-agent"])
@pytest.mark.parametrize(
    ("expected", "offered"),
    [
        ("/agent/setting?dataKey=X 또는 /agent/home", "/agent/else"),
        ("/agent/setting?dataKey=X 또는 /agent/home", "/agent/setting?dataKey=Y"),
        ("/agent/a?dataKey=X 혹은 /agent/b?dataKey=Y", "/agent/b?dataKey=Z"),
    ],
)
def test_answer_that_leads_to_none_of_several_urls_is_wrong(
    tmp_path: Path, rubric: str, expected: str, offered: str
) -> None:
    points, reason = accuracy(tmp_path, rubric, expected, offered)
    assert points == 0
    assert "또는" in reason


@pytest.mark.parametrize("rubric", ["aqb-1.2", "plan-agent"])
@pytest.mark.parametrize(
    "expected",
    ["없음", "N/A", "설정화면", "설정/조회", "/agent/home 제외", "/agent/home (이동하지 않음)", "/a 또는 홈 화면"],
)
def test_cell_without_a_url_that_is_wanted_decides_nothing(tmp_path: Path, rubric: str, expected: str) -> None:
    assert accuracy(tmp_path, rubric, expected, "/agent/setting")[0] is None


def test_answer_that_leads_elsewhere_is_wrong(tmp_path: Path) -> None:
    assert {accuracy(tmp_path, rubric, "/agent/setting", "/agent/home")[0] for rubric in ("aqb-1.2", "plan-agent")} == {
        0
    }
