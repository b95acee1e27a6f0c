"""aqb-1.2: whether answers keep the tone, as the judge of their semantic quality tells it."""

import json
from typing import Any

import pytest

from scoring.judging.requests import Verdict, VerdictStatus
from scoring.rubrics.aqb import RUBRIC
from scoring.rubrics.aqb.queries import AqbQuery
from scoring.testruns.executions import AgentType, Execution, Round
from tasks.reports.testrun_folder import testrun_report

OPTIONS = RUBRIC.chosen({})


def judged(place: int, *tone: object, agent: AgentType = AgentType.PLAN) -> AqbQuery:
    """A query whose answer earned 3 points; `tone` is the judge's word on its tone, if it gave one."""
    entry = {"uiValue": {"value": {"dataKey": "A"}}}
    raw = json.dumps({"assistantMessage": f"{place}번 안내", "dataUIList": [entry]})
    one = Execution(f"Q-{place}", Round(1, 1), agent_type=agent, raw_json=raw, expected_datakeys="A")
    answer = {"score": 3, **({"tone_kept": tone[0]} if tone else {})}
    requests = RUBRIC.requests([one], OPTIONS)
    verdicts = {request.key: Verdict(VerdictStatus.OK, answer, "까닭") for request in requests}
    return RUBRIC.score_query([one], OPTIONS, verdicts)


def tone_of(*queries: AqbQuery) -> dict[str, Any]:
    (figures,) = RUBRIC.summarise(queries, OPTIONS).agents.values()
    return figures["tone"]


def report(*queries: AqbQuery) -> str:
    return testrun_report(RUBRIC, "시험.csv", queries, RUBRIC.summarise(queries, OPTIONS), OPTIONS)


def test_tone_is_a_rate_of_the_judged_answers() -> None:
    queries = [judged(1, True), judged(2, True), judged(3, True), judged(4, False), judged(5)]
    assert tone_of(*queries) == {"rate": 0.75, "kept": 3, "n": 4, "undecided": 1}
    assert "톤앤매너 준수율: 75.0% (3 / 4, 미판정 실행 1건)" in report(*queries)


def test_tone_that_is_unknown_too_often_has_no_rate() -> None:
    queries = [judged(1, True), judged(2)]
    assert tone_of(*queries) == {"rate": None, "kept": 1, "n": 1, "undecided": 1}
    assert "톤앤매너 준수율: 미판정이 많아 내지 않음 (1 / 1, 미판정 실행 1건)" in report(*queries)


@pytest.mark.parametrize("tone", [(), (None,), ("true",), (1,)])
def test_verdict_that_does_not_tell_the_tone_keeps_its_score(tone: tuple[object, ...]) -> None:
    query = judged(1, *tone)
    assert query.scores["semantic"].points == 3
    assert "톤앤매너" not in query.scores["semantic"].reason
    assert tone_of(query) == {"rate": None, "kept": 0, "n": 0, "undecided": 1}
    assert "톤앤매너 준수율" not in report(query)


@pytest.mark.parametrize(("kept", "said"), [(True, "; 톤앤매너 준수; 까닭"), (False, "; 톤앤매너 미준수; 까닭")])
def test_tone_stands_in_the_reason_and_changes_no_score(kept: bool, said: str) -> None:
    semantic = judged(1, kept).scores["semantic"]
    assert semantic.points == 3
    assert semantic.reason.endswith(said)


def test_move_has_no_tone() -> None:
    assert tone_of(judged(1, True, agent=AgentType.MOVE)) == {"rate": None, "kept": 0, "n": 0, "undecided": 0}
