"""aqb-1.2: what stands apart in a summary: Tracks, the expert flow, latency classes, sets of messages in a chat."""

from typing import Any

import pytest

from scoring.testruns.executions import Execution
from tests.builders.aqb_runs import agent, execution, report, summary


def test_tracks_and_runs_of_the_expert_flow_stand_apart() -> None:
    expert = execution("Q-1", track="Track 1", run_type="전문가", answer_time_s=20)
    others = [execution(f"Q-{n}", track="Track 2", run_type="일반", error="x") for n in (2, 3)]
    groups = summary(expert, *others).groups
    assert {value: one["queries"] for value, one in groups["Track"].items()} == {"Track 1": 1, "Track 2": 2}
    stability = {value: one["set"]["stability"]["mean"] for value, one in groups["실행 유형"].items()}
    assert stability == {"일반": 0, "전문가": 5}
    assert groups["실행 유형"]["전문가"]["latency"]["SINGLE"]["p95_s"] == 20
    text = report(expert, *others)
    assert "## Track별" in text and "| 전문가 | 1 |" in text
    assert summary(*others).groups == {}
    assert list(summary(expert).groups) == ["실행 유형"]


@pytest.mark.parametrize("flow", ["전문가", "전문가용 요청 흐름"])
def test_expert_flow_has_no_target_of_response_time(flow: str) -> None:
    usual = execution("Q-1", room=1, run_type="일반", answer_time_s=4, ttft_s=0.5)
    expert = execution("Q-2", room=2, run_type=flow, answer_time_s=20, ttft_s=5)
    targets = agent(usual, expert)["targets"]
    assert [(targets[code]["passed"], targets[code]["n"]) for code in ("ttft_rate", "chat_wait_rate")] == [(1, 1)] * 2
    assert targets["tool_accuracy_rate"]["n"] == 2
    assert "전문가 흐름의 실행 1건은 TTFT와 응답 시간의 목표에서 뺐습니다." in report(usual, expert)
    assert list(summary(expert).groups) == ["실행 유형"]


def test_query_of_both_flows_stands_under_each_with_its_own_executions() -> None:
    usual = execution(run_id="a", run_type="일반", answer_time_s=4)
    expert = execution(run_id="b", run_type="전문가", answer_time_s=20)
    groups = summary(usual, expert).groups["실행 유형"]
    assert {value: one["set"]["speed"]["mean"] for value, one in groups.items()} == {"일반": 5, "전문가": 1}
    assert {value: one["latency"]["SINGLE"]["mean_s"] for value, one in groups.items()} == {"일반": 4, "전문가": 20}


def test_latency_of_one_tool_and_of_several_stand_apart() -> None:
    multi = execution("Q-3", expected_filters="보훈 + 국적", answer_time_s=99.0)
    latency = agent(execution("Q-1", answer_time_s=4.0), execution("Q-2", answer_time_s=16.0), multi)["latency"]
    assert {name: (one["n"], one["mean_s"]) for name, one in latency.items()} == {"SINGLE": (2, 10), "MULTI": (1, 99)}


def test_empty_answers_stand_apart_from_failed_ones() -> None:
    quality = summary(execution("Q-1", raw_json="{}"), execution("Q-2", raw_json="{}", error="x")).data_quality
    assert (quality["empty_answer"], quality["failed_answer"]) == (1, 1)


def chat(room: int, messages: int, **fields: Any) -> list[Execution]:
    return [execution(f"Q-{place}", room=room, **fields) for place in range(messages)]


def test_set_of_a_chat_is_three_to_five_messages() -> None:
    rooms = [one for room, messages in enumerate([1, 2, 3, 5, 6], 1) for one in chat(room, messages)]
    found = agent(*rooms)["chat_sets"]
    assert {name: found[name] for name in ("rooms", "sets", "fewer", "more")} == {
        "rooms": 5, "sets": 2, "fewer": 2, "more": 1
    }  # fmt: skip
    assert "방 5개 중 2개(메시지가 더 적은 방 2개, 더 많은 방 1개)로, 응답 속도 측정에 필요한 10개에" in report(*rooms)


def test_set_of_a_chat_counts_every_message_and_is_timed_by_its_answers() -> None:
    failed = [*chat(1, 2), execution("Q-9", error="x")]
    no_set = chat(4, 2)
    found = agent(*failed, *chat(2, 3, answer_time_s=10.01), *chat(3, 3, error="x"), *no_set)["chat_sets"]
    assert (found["sets"], found["passed"], found["timed"]) == (3, 1, 2)


@pytest.mark.parametrize(("sets", "enough"), [(9, False), (10, True)])
def test_ten_sets_of_chats_are_enough(sets: int, enough: bool) -> None:
    rooms = [one for room in range(1, sets + 1) for one in chat(room, 3)]
    assert agent(*rooms)["chat_sets"]["enough"] is enough
    assert ("에 못 미칩니다." in report(*rooms)) is not enough


def test_rooms_of_two_runs_are_two_chats() -> None:
    assert agent(*chat(1, 3, run_id="a"), *chat(1, 2, run_id="b"))["chat_sets"]["sets"] == 1
