"""Executions of `aqb-1.2`, and what a run of them comes to."""

import json
from typing import Any

from scoring.rubrics.aqb import RUBRIC
from scoring.rubrics.aqb.queries import AqbQuery
from scoring.rubrics.aqb.summary import AgentFigures, AqbSummary
from scoring.testruns.executions import AgentType, Execution, Round
from tasks.reports.testrun_folder import testrun_report

OPTIONS = RUBRIC.chosen({})


def execution(query_id: str = "Q-1", room: int = 1, used: str = "PATRIOT", **fields: Any) -> Execution:
    entries = [{"uiValue": {"filterType": name}} for name in used.split()]
    given = {
        "query_id": query_id,
        "round": Round(room, 1),
        "query_text": "보훈 지원자 수",
        "agent_type": AgentType.APPLICANT_MANAGEMENT,
        "raw_json": json.dumps({"assistantMessage": "5명입니다", "dataUIList": entries}),
        "expected_filters": "보훈",
        "answer_time_s": 4.0,
    }
    return Execution(**{**given, **fields})


def plan(query_id: str = "P-1", used: str = "A", **fields: Any) -> Execution:
    entries = [{"uiValue": {"value": {"dataKey": key}}} for key in used.split()]
    raw = json.dumps({"assistantMessage": "안내", "dataUIList": entries})
    given = {"agent_type": AgentType.PLAN, "raw_json": raw, "expected_datakeys": "A", "expected_filters": ""}
    return execution(query_id, **{**given, **fields})


def move(query_id: str = "M-1", used: str = "A", **fields: Any) -> Execution:
    return plan(query_id, used, **{"agent_type": AgentType.MOVE, **fields})


def run(*executions: Execution) -> tuple[list[AqbQuery], AqbSummary]:
    by_query: dict[str, list[Execution]] = {}
    for one in executions:
        by_query.setdefault(one.query_id, []).append(one)
    queries = [RUBRIC.score_query(of_query, OPTIONS, {}) for of_query in by_query.values()]
    return queries, RUBRIC.summarise(queries, OPTIONS)


def summary(*executions: Execution) -> AqbSummary:
    return run(*executions)[1]


def agent(*executions: Execution) -> AgentFigures:
    (figures,) = summary(*executions).agents.values()
    return figures


def target(code: str, *executions: Execution) -> tuple[Any, ...]:
    rate = agent(*executions)["targets"][code]
    return rate["passed"], rate["n"], rate["met"]


def report(*executions: Execution) -> str:
    queries, found = run(*executions)
    return testrun_report(RUBRIC, "시험.csv", queries, found, OPTIONS)
