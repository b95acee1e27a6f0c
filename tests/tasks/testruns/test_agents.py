"""Which agent an execution is of, in files that do not name it in every row."""

from pathlib import Path

import pytest

from scoring.catalog import TestRunChoices, plan_of
from scoring.errors import UsageError
from scoring.testruns.executions import AgentType
from scoring.testruns.scoring import TestRunPlan, score_testrun
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import raw, write_csv

HEADER = ["ID", "질의", "에이전트 유형", "기대 필터", "기대 datakey", "1차 답변", "1차 답변 raw"]
DATA_KEY = raw("네", dataUIList=[{"uiValue": {"value": {"dataKey": "DK1"}}}])
FILTERS = ["F", "몇 명?", "", "보훈", "", "1명", raw("1명")]
DATA_KEYS = ["D", "설정해줘", "", "", "DK1", "네", DATA_KEY]

NOTHING = ["X", "안녕", "", "", "", "네", raw("네")]


def planned(folder: Path, *rows: list[str], agent: str = "", rubric: str = "aqb-1.2") -> TestRunPlan:
    run = read_testrun_file(write_csv(folder / "run.csv", [HEADER, *rows]))
    return plan_of(run, TestRunChoices(rubric, agent), {})


def agents(plan: TestRunPlan) -> list[AgentType | None]:
    scored = score_testrun(plan, {})
    return [one.execution.agent_type for query in scored.queries for one in query.executions]


@pytest.mark.parametrize("word", ["", "챗봇"])
def test_data_keys_beside_rows_that_expect_filters_need_their_agent(tmp_path: Path, word: str) -> None:
    """They were scored as applicant management, which uses none: their accuracy was NULL for nothing expected."""
    unnamed = [*DATA_KEYS[:2], word, *DATA_KEYS[3:]]
    with pytest.raises(UsageError, match="2 of 3 executions have no known agent"):
        planned(tmp_path, FILTERS, unnamed, ["N", "설정해줘", "실행", *DATA_KEYS[3:]])


def test_rows_that_expect_filters_are_of_applicant_management_beside_named_ones(tmp_path: Path) -> None:
    plan = planned(tmp_path, FILTERS, [*DATA_KEYS[:2], "실행", *DATA_KEYS[3:]], NOTHING)
    manages = AgentType.APPLICANT_MANAGEMENT
    assert agents(plan) == [manages, AgentType.PLAN, manages]


def test_chosen_agent_is_that_of_data_keys_beside_filters(tmp_path: Path) -> None:
    assert agents(planned(tmp_path, FILTERS, DATA_KEYS, agent="plan")) == [AgentType.PLAN] * 2


def test_rubric_that_needs_no_agent_scores_data_keys_beside_filters(tmp_path: Path) -> None:
    assert len(agents(planned(tmp_path, FILTERS, DATA_KEYS, rubric="recruit-agent"))) == 2
