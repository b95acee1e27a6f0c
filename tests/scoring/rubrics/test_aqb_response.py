"""aqb-1.2: speed by class and agent, time to first token, stability."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.rubrics.aqb.answers import failed_steps, speed_score, stability_score, ttft_pass
from scoring.stats.exact import mean, rounded
from scoring.testruns.executions import AgentType, Execution, LatencyClass, ParsedExecution, Round, parse_execution

SINGLE = (5, 8, 10, 15, 20)
MULTI = (10, 15, 20, 30, 45)
MULTI_APPLICANTS = (20, 30, 40, 50, 60)
CUTS = {
    **{(LatencyClass.SINGLE, agent): SINGLE for agent in AgentType},
    (LatencyClass.MULTI, AgentType.MOVE): MULTI,
    (LatencyClass.MULTI, AgentType.PLAN): MULTI,
    (LatencyClass.MULTI, AgentType.APPLICANT_MANAGEMENT): MULTI_APPLICANTS,
}

TWO_ERRORS_OF_ONE_STEP = (
    '{"assistantMessage": "답", "worker": [{"type": "DB", "error": 1}, {"type": "DB", "error": 2}]}'
)


def answered(**fields: Any) -> ParsedExecution:
    return parse_execution(Execution(**{"query_id": "Q", "round": Round(1, 1), "answer_text": "답", **fields}))


def speed(seconds: float, latency_class: LatencyClass, agent: AgentType) -> Any:
    return speed_score(answered(answer_time_s=seconds), latency_class, agent).points


@pytest.mark.parametrize(("latency_class", "agent"), list(product(LatencyClass, AgentType)))
def test_band_includes_its_upper_bound_and_nothing_beyond(latency_class: LatencyClass, agent: AgentType) -> None:
    cuts = CUTS[latency_class, agent]
    assert [speed(cut, latency_class, agent) for cut in cuts] == [5, 4, 3, 2, 1]
    assert [speed(cut + 0.01, latency_class, agent) for cut in cuts] == [4, 3, 2, 1, 0]
    assert speed(0, latency_class, agent) == 5


@given(st.floats(0, 100), st.floats(0, 100), st.sampled_from(LatencyClass), st.sampled_from(AgentType))
def test_faster_answer_never_earns_less(one: float, other: float, kind: LatencyClass, agent: AgentType) -> None:
    assert speed(min(one, other), kind, agent) >= speed(max(one, other), kind, agent)


def test_milliseconds_of_exactly_five_seconds_earn_five() -> None:
    reading = answered(latency_ms=5000.0)
    assert speed_score(reading, LatencyClass.SINGLE, AgentType.PLAN).points == 5


def test_failed_answer_is_not_fast() -> None:
    assert speed_score(answered(answer_time_s=1, error="x"), LatencyClass.SINGLE, AgentType.PLAN).points == 0


def test_without_a_time_speed_is_not_known() -> None:
    score = speed_score(answered(), LatencyClass.SINGLE, AgentType.PLAN)
    assert (score.points, score.missing) == (None, "no_time")


def test_reason_names_seconds_class_and_band() -> None:
    score = speed_score(answered(answer_time_s=6.2), LatencyClass.SINGLE, AgentType.APPLICANT_MANAGEMENT)
    assert score.reason == "응답 시간 6.2초 (단일 도구 호출, 5초 초과 8초 이하)"


@pytest.mark.parametrize(
    ("seconds", "passed"), [(0.3, "PASS"), (1.0, "PASS"), (1.001, "FAIL"), (1.01, "FAIL"), (None, None)]
)
def test_first_token_must_come_within_a_second(seconds: float | None, passed: str | None) -> None:
    assert ttft_pass(seconds) == passed


@pytest.mark.parametrize(
    ("fields", "points"),
    [({}, 5), ({"error": "timeout"}, 0), ({"status": "에러"}, 0), ({"answer_text": " "}, 0), ({"raw_json": "{}"}, 0)],
)
def test_answer_is_stable_unless_it_failed_or_is_empty(fields: dict[str, Any], points: int) -> None:
    assert stability_score(answered(**fields)).points == points


def test_four_failures_of_177_make_4_89() -> None:
    readings = [answered()] * 173 + [answered(error="timeout")] * 4
    final = mean(stability_score(reading).points for reading in readings)
    assert final is not None
    assert str(rounded(final, 2)) == "4.89"


@pytest.mark.parametrize(
    ("fields", "steps"),
    [
        ({}, ()),
        ({"error": "timeout"}, ("단계 기록 없음",)),
        ({"answer_text": ""}, ("빈 응답",)),
        ({"raw_json": TWO_ERRORS_OF_ONE_STEP}, ("DB",)),
    ],
)
def test_failure_names_its_step(fields: dict[str, Any], steps: tuple[str, ...]) -> None:
    assert failed_steps(answered(**fields)) == steps
