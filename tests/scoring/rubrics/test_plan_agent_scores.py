"""plan-agent: item scores, stability, speed, consistency, and what a run comes to. Source: seed 003; SPEC 3.1."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.rubrics.plan_agent import RUBRIC
from scoring.rubrics.plan_agent.formulas import PlanExecution, PlanQuery
from scoring.rubrics.plan_agent.summary import PlanSummary
from scoring.testruns.executions import AgentType, Execution, LatencyClass, Round
from tests.builders.executions import mean_and_n, passing, run

NESTED = RUBRIC.chosen({})
DIRECT = RUBRIC.chosen({"value_lookup": "direct"})
SELECT_LIST = """평가 요소 4가지 ->:
1) assistantMessage에 "평가 기간"과 관련된 내용이 언급되어 있는가
2) dataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가
3) 해당 항목의 multiSelectAllowYn 값이 true인가"""


def scored(execution: Execution, **options: str) -> PlanExecution:
    return query(execution, **options).executions[0]


def query(*executions: Execution, **options: str) -> PlanQuery:
    return RUBRIC.score_query(executions, RUBRIC.chosen(options), {})


def points(execution: Execution, metric: str = "accuracy") -> Any:
    return scored(execution).scores[metric].points


def test_reason_rounds_half_away_from_zero() -> None:
    assert "통과율 0.13," in scored(passing(1, 8)).scores["accuracy"].reason


def summary_of(*queries: PlanQuery) -> PlanSummary:
    return RUBRIC.summarise(queries, NESTED)


@pytest.mark.parametrize(
    ("passed", "asked", "expected"),
    [
        (4, 4, 5), (99, 100, 4), (3, 4, 4), (74, 100, 3), (2, 4, 3), (49, 100, 2), (1, 4, 2), (24, 100, 1),
        (1, 200, 1), (0, 4, 0),
    ],
)  # fmt: skip
def test_item_scores_by_its_pass_ratio(passed: int, asked: int, expected: int) -> None:
    assert points(passing(passed, asked)) == expected
    assert points(passing(passed, asked), "intent") == expected


@pytest.mark.parametrize(
    ("check", "accuracy", "stability"),
    [("formType=SELECT", None, None), ("assistantMessageContains=안내", 5, 5), ("assistantMessageContains=없음", 0, 0)],
)
def test_screen_of_an_answer_without_raw_json_is_not_known(
    check: str, accuracy: int | None, stability: int | None
) -> None:
    lost = Execution("Q-1", Round(2, 1), expected_text=f"@check {check}", answer_text="안내합니다")
    found = scored(lost)
    assert (points(lost), points(lost, "stability")) == (accuracy, stability)
    assert not found.failed
    if accuracy is None:
        assert found.scores["accuracy"].missing == "tools_not_shown"
        assert found.checks == ()
        of_both = query(passing(4, 4), lost)
        assert of_both.scores["consistency"].missing == "tools_not_shown"
        assert summary_of(of_both).data_quality["tools_not_shown"] == 1


def test_ratio_that_no_float_can_hold_is_compared_exactly() -> None:
    assert points(passing(2, 3)) == 3


def test_seeds_check_list_is_scored_line_by_line() -> None:
    ui_value = {"formType": "SELECT", "multiSelectAllowYn": False}
    raw = {"assistantMessage": "평가기간을 고르세요", "dataUIList": [{"uiValue": ui_value}]}
    scored_ = scored(run(raw=raw, expected_text=SELECT_LIST))
    assert scored_.scores["accuracy"].points == 3
    assert (scored_.pass_count, scored_.check_count) == (2, 3)
    assert scored_.pass_ratio == pytest.approx(2 / 3)
    assert [line.split("]")[0] for line in scored_.failed_checks] == ["[multiSelectAllowYn"]
    assert '"false"' in scored_.scores["accuracy"].reason


@pytest.mark.parametrize(
    "fields",
    [
        {"error": "timeout"},
        {"status": "에러"},
        {"raw": '{"assistantMessage": "낱말'},
        {"raw": "[]"},
        {"raw": {"assistantMessage": " ", "dataUIList": []}},
        {"raw": {"assistantMessage": None, "dataUIList": None}},
    ],
)
def test_what_failed_or_is_empty_scores_zero(fields: dict[str, Any]) -> None:
    execution = run(expected_text="@check assistantMessageContains=안내", **fields)
    found = scored(execution)
    assert {found.scores[name].points for name in ("intent", "accuracy", "stability")} == {0}
    assert found.check_count is None


def test_what_failed_scores_zero_even_without_checks() -> None:
    assert points(run(error="timeout")) == 0


def test_zero_of_a_failure_is_no_mean_where_no_answer_has_checks() -> None:
    summary = summary_of(query(run()), query(run(query_id="Q-2", error="timeout")))
    assert (summary.set["accuracy"]["mean"], summary.set["stability"]["mean"]) == (None, 2.5)
    mixed = query(run(), run("2/1", error="timeout")).scores["accuracy"]
    assert (mixed.points, mixed.missing) == (None, "no_checks")


def test_without_checks_the_item_is_unknown_and_stable() -> None:
    found = scored(run(expected_text="친절하게 답하는가"))
    assert found.scores["accuracy"].points is None
    assert found.scores["accuracy"].missing == "no_checks"
    assert found.scores["stability"].points == 5


@pytest.mark.parametrize(("passed", "expected"), [(1, 5), (0, 0)])
def test_stability_follows_the_item_score(passed: int, expected: int) -> None:
    assert points(passing(passed, 200), "stability") == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, 5), (5, 5), (5.01, 4), (8, 4), (8.01, 3), (10, 3), (10.01, 2), (15, 2), (15.01, 1), (20, 1), (20.01, 0),
    ],
)  # fmt: skip
def test_speed_band_includes_its_upper_bound(seconds: float, expected: int) -> None:
    assert points(passing(1, 1, seconds=seconds), "speed") == expected


def test_missing_time_leaves_speed_unknown() -> None:
    assert scored(passing(1, 1, seconds=None)).scores["speed"].missing == "no_time"


def test_failed_execution_has_no_speed() -> None:
    assert scored(passing(1, 1, error="timeout")).scores["speed"].missing == "failed"


def test_failed_round_leaves_the_speed_of_the_others() -> None:
    found = query(passing(1, 1, error="timeout"), passing(1, 1, "2/1", seconds=6))
    assert found.scores["speed"].points == 4


def test_empty_answer_keeps_its_time() -> None:
    found = scored(run(raw={"assistantMessage": "", "responseTimeSec": 6}))
    assert (found.scores["accuracy"].points, found.scores["speed"].points) == (0, 4)


def test_what_failed_is_not_counted_as_empty_again() -> None:
    failed = query(run(raw={"assistantMessage": ""}, error="timeout"))
    empty = query(run(raw={"assistantMessage": ""}, query_id="Q-2"))
    quality = summary_of(failed, empty).data_quality
    assert (quality["failed"], quality["empty"]) == (1, 1)


def test_single_tool_table_serves_every_query() -> None:
    steps = [{"ms": 1}, {"ms": 2}]
    found = scored(run(raw={"responseTimeSec": 9, "executionProcesses": steps}))
    assert found.latency_class is LatencyClass.SINGLE
    assert found.scores["speed"].points == 3


def test_file_that_names_no_agent_is_the_execution_agents() -> None:
    assert query(passing(1, 1)).agent_type is AgentType.PLAN


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([4, 2], 5),  # 5 and 3
        ([2, 1], 0),  # 3 and 2
        ([1, 0], 5),  # 2 and 0
        ([4, 4, 2], 5),
        ([4, 4, 1], 0),
        ([1, 0, 0], 5),
        ([1, 0, 4], 0),
    ],
)
def test_query_is_consistent_when_all_rounds_pass_or_all_fail(ratios: list[int], expected: int) -> None:
    rounds = [passing(passed, 4, f"{room}/1") for room, passed in enumerate(ratios, 1)]
    assert query(*rounds).scores["consistency"].points == expected


def test_query_with_one_round_is_left_out() -> None:
    assert query(passing(4, 4)).scores["consistency"].missing == "one_round"


def test_query_with_an_unknown_round_is_left_out() -> None:
    unknown = run("2/1", expected_text="친절하게 답하는가")
    assert query(passing(4, 4), unknown).scores["consistency"].missing == "no_checks"


def test_repeats_of_one_room_count_as_rounds() -> None:
    assert query(passing(4, 4, "1/1"), passing(0, 4, "1/2")).scores["consistency"].points == 0


def pair(query_id: str, first: int, second: int) -> PlanQuery:
    return query(passing(first, 4, "1/1", query_id=query_id), passing(second, 4, "2/1", query_id=query_id))


def test_consistency_of_the_set_is_five_times_the_consistent_share() -> None:
    lonely = query(passing(4, 4, query_id="Q-4"))
    figures = summary_of(pair("Q-1", 4, 4), pair("Q-2", 0, 1), pair("Q-3", 4, 0), lonely).set["consistency"]
    assert figures == {
        "mean": pytest.approx(10 / 3),
        "n": 3,
        "both_pass": 1,
        "both_fail": 1,
        "mixed": 1,
        "one_round": 1,
        "no_checks": 0,
        "tools_not_shown": 0,
        "pass_at": 3,
        "pass_hat_k": {"1": {"mean": 0.625, "n": 4}, "2": {"mean": pytest.approx(1 / 3), "n": 3}},
        "mode_ratio": {"mean": pytest.approx(2 / 3), "n": 3},
    }


def test_set_has_a_mean_of_every_metric() -> None:
    summary = summary_of(pair("Q-1", 4, 4))
    assert {name for name, figures in summary.set.items() if "mean" in figures} == {one.name for one in RUBRIC.metrics}


def test_set_is_the_mean_of_the_rounds_not_of_the_items() -> None:
    lonely = query(passing(0, 4, query_id="Q-2"))
    summary = summary_of(pair("Q-1", 4, 4), lonely)
    assert mean_and_n(summary.rounds["1/1"]["accuracy"]) == (2.5, 2)
    assert mean_and_n(summary.rounds["2/1"]["accuracy"]) == (5.0, 1)
    assert mean_and_n(summary.set["accuracy"]) == (3.75, 3)


def test_unknown_items_are_left_out_of_means_and_counted() -> None:
    summary = summary_of(pair("Q-1", 4, 4), query(run(query_id="Q-2"), run("2/1", query_id="Q-2")))
    assert mean_and_n(summary.set["accuracy"]) == (5.0, 2)
    assert summary.set["consistency"]["no_checks"] == 1
    assert summary.data_quality["no_checks"] == 2
    assert summary.distributions["1/1"]["accuracy"] == {"null": 1, "5": 1}


def timed(query_id: str, *seconds: float | None) -> PlanQuery:
    rounds = enumerate(seconds, 1)
    return query(*(passing(1, 1, f"{room}/1", query_id=query_id, seconds=second) for room, second in rounds))


def test_speed_is_read_both_ways() -> None:
    speed = summary_of(timed("Q-1", 4.9, 9), timed("Q-2", 5.1, 9), timed("Q-3", 20, 9)).rounds["1/1"]["speed"]
    assert speed == {"mean": 3.0, "n": 3, "speed_band_of_mean": 3.0, "speed_mean_of_bands": 10 / 3, "latency_s": 10.0}


def test_mean_time_is_exact_at_a_cut() -> None:
    assert summary_of(timed("Q-1", 4.9), timed("Q-2", 5.1)).set["speed"]["speed_band_of_mean"] == 5.0


def test_sets_speed_is_the_mean_of_its_rounds() -> None:
    speed = summary_of(timed("Q-1", 6, 9)).set["speed"]
    assert (speed["speed_band_of_mean"], speed["latency_s"], speed["n"]) == (3.5, 7.5, 2)


def test_missing_times_and_failures_are_left_out_of_speed_and_counted() -> None:
    failed = query(passing(1, 1, query_id="Q-3", seconds=100, error="timeout"))
    summary = summary_of(timed("Q-1", 4), timed("Q-2", None), failed)
    assert summary.set["speed"]["n"] == 1
    assert summary.set["speed"]["speed_mean_of_bands"] == 5.0
    assert (summary.data_quality["no_time"], summary.data_quality["failed"]) == (1, 1)


def test_run_without_any_time_has_no_speed() -> None:
    assert summary_of(timed("Q-1", None)).set["speed"]["mean"] is None


def test_recorded_scores_are_compared_and_replace_nothing() -> None:
    first = query(passing(4, 4, recorded_score=5.0))
    second = query(passing(2, 4, query_id="Q-2", recorded_score=4.0))
    third = query(passing(0, 4, query_id="Q-3", recorded_score=2.0))
    summary = summary_of(first, second, third, query(passing(4, 4, query_id="Q-4")))
    assert summary.agreement == {"n": 3, "exact": 1, "within_1": 2, "mean_difference": -1.0}
    assert second.executions[0].scores["accuracy"].points == 3
    assert summary.recorded_scores == 3


def test_without_recorded_scores_there_is_nothing_to_compare() -> None:
    assert summary_of(query(passing(4, 4))).agreement is None


NESTED_KEY = run(
    raw={"dataUIList": [{"uiValue": {"formType": "ACTION", "value": {"nodeDataSet": {"dataKey": "K"}}}}]},
    expected_text='dataUIList 내 formType 값이 "ACTION"인 항목이 존재하는가\n해당 항목의 value 내 dataKey 값이 "K"인가',
)


def test_data_key_is_found_anywhere_inside_value() -> None:
    assert scored(NESTED_KEY).scores["accuracy"].points == 5


def test_direct_look_up_fails_what_only_the_nested_one_finds() -> None:
    assert scored(NESTED_KEY, value_lookup="direct").scores["accuracy"].points == 3


@pytest.mark.parametrize("lookup", ["nested", "direct"])
def test_checks_that_only_the_nested_look_up_passes_are_counted(lookup: str) -> None:
    found = query(NESTED_KEY, value_lookup=lookup)
    assert summary_of(found).nested_only_checks == 1
    assert RUBRIC.query_row(found)["nested_only_checks"] == 1


def test_option_stands_in_the_version() -> None:
    assert (RUBRIC.version_with(NESTED), RUBRIC.version_with(DIRECT)) == ("2", "2+value_lookup=direct")


def test_expected_text_that_no_rule_can_check_is_counted_once_a_query() -> None:
    text = "@check assistantMessageContains=안내\n친절하게 답하는가"
    found = query(run(expected_text=text), run("2/1", expected_text=text))
    assert [code for code, _ in found.problems] == ["unchecked_text"]
    assert summary_of(found).data_quality["unchecked_text"] == 1


def test_nobody_is_asked() -> None:
    assert RUBRIC.requests([passing(1, 1)], NESTED) == []


def test_rows_fill_exactly_the_declared_columns() -> None:
    found = pair("Q-1", 4, 2)
    assert list(RUBRIC.query_row(found)) == [column.name for column in RUBRIC.query_columns]
    assert list(found.executions[0].own_values()) == [column.name for column in RUBRIC.own_columns]
    assert list(found.executions[0].scores) == [metric.name for metric in RUBRIC.metrics if metric.per_execution]


def test_summary_is_json() -> None:
    summary = summary_of(pair("Q-1", 4, 2), query(passing(0, 4, query_id="Q-2", error="x")))
    parts = (summary.rounds, summary.set, summary.distributions, summary.data_quality, summary.own_values())
    assert json.loads(json.dumps(parts, allow_nan=False))


RUNS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([None, 1, 5, 5.01, 30]), st.sampled_from(["", "timeout"])),
    min_size=1,
    max_size=4,
)


@given(RUNS, st.randoms())
def test_order_of_executions_does_not_matter(runs: list[tuple[int, Any, str]], random: Any) -> None:
    executions = [
        passing(passed, 4, f"{room}/1", seconds=seconds, error=error)
        for room, (passed, seconds, error) in enumerate(runs, 1)
    ]
    shuffled = random.sample(executions, len(executions))
    assert query(*executions) == query(*shuffled)


@given(RUNS)
def test_points_stay_between_zero_and_five(runs: list[tuple[int, Any, str]]) -> None:
    rounds = enumerate(runs, 1)
    found = query(*(passing(p, 4, f"{room}/1", seconds=s, error=error) for room, (p, s, error) in rounds))
    all_scores = [*found.scores.values(), *(score for one in found.executions for score in one.scores.values())]
    assert all(score.points is None or 0 <= score.points <= 5 for score in all_scores)
    assert all(score.reason for score in all_scores)


@given(st.integers(1, 40).flatmap(lambda asked: st.tuples(st.just(asked), st.integers(0, asked - 1))))
def test_one_more_pass_never_lowers_the_score(case: tuple[int, int]) -> None:
    asked, passed = case
    assert points(passing(passed, asked)) <= points(passing(passed + 1, asked))


@given(st.text(), st.text())
def test_any_text_can_be_scored(raw: str, expected: str) -> None:
    found = query(run(raw=raw, expected_text=expected))
    assert summary_of(found).set["stability"]["n"] == 1
