"""aqb-1.2: what a run comes to: final means, totals per agent, targets, patterns, report, README."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from docs.generators.testrun_rubric_readme import testrun_rubric_readme
from scoring.rubrics.aqb import RUBRIC
from scoring.testruns.executions import LatencyClass
from scoring.testruns.patterns import Outage
from scoring.testruns.summaries import nearest_rank
from tests.builders.aqb_runs import agent, execution, move, plan, report, run, summary, target


def test_final_mean_is_the_mean_of_the_rounds() -> None:
    # Round 1: 5 and 0; round 2: 5 alone. The rounds weigh the same, whatever they hold.
    found = agent(execution("Q-1"), execution("Q-2", error="x"), execution("Q-1", room=2))
    assert [found["rounds"][name]["stability"]["mean"] for name in ("1/1", "2/1")] == [2.5, 5]
    stability = found["set"]["stability"]
    assert (stability["mean"], stability["n"], stability["decided"], stability["undecided"]) == (3.75, 3, 2, 0)


def test_agents_total_comes_from_its_final_means() -> None:
    found = agent(move("M-1"), move("M-2", "A B", answer_time_s=9.0))
    # semantic 4, accuracy 4, speed 4, stability 5 of weights 20, 30, 20, 20
    assert found["weighted_total"] == float(round(Fraction(4 * 70 + 5 * 20, 90), 2))
    assert found["weight_coverage"] == 0.9


def test_agents_are_summed_up_apart() -> None:
    agents = summary(execution(), plan(), move()).agents
    assert {name: figures["queries"] for name, figures in agents.items()} == {
        "move": 1,
        "plan": 1,
        "applicant_management": 1,
    }


def test_speed_by_class_stands_apart_and_counts_together() -> None:
    multi: dict[str, Any] = {"expected_filters": "보훈 + 국적", "answer_time_s": 35.0}
    found = summary(execution("Q-1"), execution("Q-2", **multi)).set
    assert (found["speed_single"]["mean"], found["speed_multi"]["mean"], found["speed"]["mean"]) == (5, 3, 4)


def test_without_a_judge_failures_alone_are_no_semantic_mean() -> None:
    found = agent(execution("Q-1"), execution("Q-2", error="x"))
    semantic = found["set"]["semantic"]
    assert (semantic["mean"], semantic["low"], semantic["high"]) == (None, 0, 2.5)
    assert (semantic["decided"], semantic["undecided"]) == (1, 1)
    assert found["weight_coverage"] == 0.7


def test_zero_of_a_failure_is_no_mean_of_a_speed_that_was_not_measured() -> None:
    found = agent(move("M-1", answer_time_s=None), move("M-2", answer_time_s=None, error="x"))
    speed = found["set"]["speed"]
    assert (speed["mean"], speed["n"], speed["low"]) == (None, 0, None)
    assert found["rounds"]["1/1"]["speed"]["mean"] is None
    assert found["set"]["accuracy"]["mean"] == 2.5  # measured: a failure counts
    assert found["weight_coverage"] == 0.7
    both, _ = run(move(answer_time_s=None), move(room=2, answer_time_s=None, error="x"))
    assert (both[0].scores["speed"].points, both[0].scores["speed"].missing) == (None, "no_time")


def test_speed_of_failures_alone_is_zero() -> None:
    assert agent(move(answer_time_s=None, error="x"))["set"]["speed"]["mean"] == 0


def test_move_keeps_its_semantic_mean_beside_unjudged_agents() -> None:
    found = summary(move(), execution())
    assert found.agents["move"]["set"]["semantic"]["mean"] == 5
    # Of all agents together half of the queries wait for a judge.
    assert (found.set["semantic"]["low"], found.set["semantic"]["high"]) == (2.5, 5)


@pytest.mark.parametrize(("unmapped", "mean"), [(0, 4), (1, 4), (2, None)])
def test_mean_is_withheld_where_more_than_a_fifth_is_undecided(unmapped: int, mean: float | None) -> None:
    queries = [execution(f"Q-{n}", expected_filters="별자리" if n < unmapped else "보훈") for n in range(5)]
    accuracy = agent(*queries)["set"]["accuracy"]
    assert (accuracy["mean"], accuracy["undecided"], accuracy["decided"]) == (mean, unmapped, 5 - unmapped)
    bounds = (4 * 3 / 5, (4 * 3 + 5 * 2) / 5) if mean is None else (None, None)
    assert (accuracy["low"], accuracy["high"]) == pytest.approx(bounds)


def test_agent_whose_accuracy_is_unknown_has_no_total() -> None:
    found = agent(execution("Q-1"), execution("Q-2", expected_filters="별자리"))
    assert (found["weighted_total"], "정확성" in found["weighted_total_missing"]) == (None, True)
    text = report(execution("Q-1"), execution("Q-2", expected_filters="별자리"))
    assert "- 종합 점수: 정확성을 알 수 없어" in text
    assert "- 정확성: 질의 2개 중 1개 미판정." in text
    assert "| 정확성 | 2.00\\~4.50 |" in text
    what, most, _ = RUBRIC.headline(*run(execution("Q-1"), execution("Q-2", expected_filters="별자리")))
    assert what.endswith(" 지원자 관리 에이전트 점수 없음(정확성을 알 수 없어 종합 점수를 내지 않음)입니다.")
    assert most.endswith("질의는 1개(가장 잦은 까닭은 '기대 필터 이름을 코드로 바꿀 수 없음' 1개)입니다.")


def test_best_accuracy_without_a_ground_truth_is_said() -> None:
    unmapped = execution("Q-3", expected_filters="별자리")  # its accuracy is not known at all
    said = RUBRIC.page_parts(summary(execution(), execution("Q-2", ground_truth="5"), unmapped).own_values()).notice
    assert "정답 수치가 없는 질의 1개" in said
    assert RUBRIC.page_parts(summary(execution(ground_truth="5")).own_values()).notice == ""
    assert "정답 수치가 없는 질의 1개는 필터만으로 채점해 4점이 최고" in report(
        execution("Q-1"), execution("Q-2", ground_truth="5")
    )


def test_slowest_filters_are_as_many_in_the_report_as_on_the_page_which_say_how_many_others_there_are() -> None:
    executions = [execution(f"Q-{n}", used=f"FILTER_{n}", answer_time_s=float(n + 1)) for n in range(13)]
    (slowest,) = (one for one in RUBRIC.page_parts(summary(*executions).own_values()).tables if one.id == "slowest")
    assert (len(slowest.rows), slowest.caption) == (
        10,
        "필터 조합별 평균 응답 시간 (느린 것부터 10가지, 그 밖에 3가지)",
    )
    text = report(*executions)
    assert text[text.index("### 가장 느린 필터 조합") :].count("| FILTER") == 10
    assert "느린 것부터 10가지만 실었습니다. 그 밖에 3가지가 있습니다." in text


def test_consistency_is_summed_over_queries() -> None:
    rooms = [execution("Q-1", room) for room in (1, 2, 3)]
    found = summary(*rooms, execution("Q-2")).set["consistency"]
    assert (found["n"], found["by_score"]) == (1, {"null": 1, "5": 1})
    # One of the two has a single room: what the other one earned is no mean of both.
    assert (found["mean"], found["low"], found["high"]) == (None, 2.5, 5)
    assert found["pass_hat_k"]["3"] == {"mean": 1, "n": 1}
    assert found["mode_ratio"] == {"mean": 1, "n": 1}


@pytest.mark.parametrize(("good", "met"), [(9, True), (8, False)])
def test_nine_of_ten_first_tokens_within_a_second_meet_the_target(good: int, met: bool) -> None:
    executions = [execution(f"Q-{n}", ttft_s=1.0 if n < good else 1.01) for n in range(10)]
    assert target("ttft_rate", *executions) == (good, 10, met)


def test_without_a_measurement_a_rate_is_not_known() -> None:
    assert target("ttft_rate", execution()) == (0, 0, None)


@pytest.mark.parametrize(("measured", "missing"), [((1.0, None), 0), ((None, None), 1)])
def test_ttft_is_missing_of_a_query_that_no_round_measured(measured: Sequence[float | None], missing: int) -> None:
    rounds = [execution("Q-1", room, ttft_s=seconds) for room, seconds in enumerate(measured, 1)]
    assert summary(*rounds).data_quality["no_ttft"] == missing


@pytest.mark.parametrize(("ttft_s", "counted"), [(850.0, 1), (3.0, 0), (None, 0)])
def test_first_token_after_the_whole_answer_is_counted(ttft_s: float | None, counted: int) -> None:
    """Milliseconds in a column of seconds: the target would be missed by every answer, and nobody told why."""
    rooms = [execution("Q-1", room, ttft_s=ttft_s, answer_time_s=3.0) for room in (1, 2)]
    assert summary(*rooms).data_quality["ttft_above_latency"] == counted


def test_ttft_is_counted_for_single_and_multi_apart() -> None:
    seconds = {LatencyClass.SINGLE: [0.5, 1.0, 1.2], LatencyClass.MULTI: [2.0]}
    every = [
        execution(f"Q-{kind}-{place}", ttft_s=one, latency_class=kind)
        for kind, measured in seconds.items()
        for place, one in enumerate(measured)
    ]
    rate = agent(*every)["targets"]["ttft_rate"]
    assert rate["by_class"] == {"SINGLE": {"passed": 2, "n": 3}, "MULTI": {"passed": 0, "n": 1}}


@pytest.mark.parametrize(("seconds", "passed"), [(10.0, 1), (10.01, 0)])
def test_chat_waits_ten_seconds_at_most(seconds: float, passed: int) -> None:
    assert target("chat_wait_rate", execution(answer_time_s=seconds))[:2] == (passed, 1)


def test_chat_is_judged_by_its_mean_and_questions_stand_beside_it() -> None:
    slow = [execution("Q-1", answer_time_s=4.0), execution("Q-2", answer_time_s=16.0)]
    other = execution("Q-1", room=2, answer_time_s=12.0)
    multi = execution("Q-3", expected_filters="보훈 + 국적", answer_time_s=99.0)
    wait = agent(*slow, other, multi, execution("Q-4", error="x"))["targets"]["chat_wait_rate"]
    assert (wait["passed"], wait["n"], wait["met"]) == (1, 2, False)
    assert (wait["questions"], wait["mean_wait_s"]) == (3, 11)
    assert wait["questions_rate"] == pytest.approx(1 / 3)


def test_datakey_too_many_still_passes() -> None:
    assert target("tool_accuracy_rate", plan("P-1"), plan("P-2", "A B"), plan("P-3", "B")) == (2, 3, False)


def test_filter_too_many_passes_only_where_the_numbers_stayed_right() -> None:
    extra: dict[str, Any] = {"used": "PATRIOT LICENSE"}
    executions = [
        execution("Q-1"),
        execution("Q-2", **extra, ground_truth="5"),
        execution("Q-3", **extra, ground_truth="7"),
        execution("Q-4", **extra),
        execution("Q-5", expected_filters="별자리"),
        execution("Q-6", error="timeout"),
    ]
    assert target("tool_accuracy_rate", *executions) == (2, 5, False)


def test_result_accuracy_counts_queries_with_a_ground_truth_only() -> None:
    executions = [execution("Q-1", ground_truth="5"), execution("Q-2", ground_truth="7"), execution("Q-3")]
    assert target("result_accuracy_rate", *executions) == (1, 2, False)


@pytest.mark.parametrize(("wrong", "met"), [(1, True), (2, False)])
def test_ninety_eight_of_a_hundred_answers_and_tools_meet_their_targets(wrong: int, met: bool) -> None:
    answers = [execution(f"Q-{n}", ground_truth="7" if n < wrong else "5") for n in range(50)]
    assert target("result_accuracy_rate", *answers)[2] is met
    tools = [execution(f"Q-{n}", used="LICENSE" if n < wrong else "PATRIOT") for n in range(50)]
    assert target("tool_accuracy_rate", *tools)[2] is met


@pytest.mark.parametrize(("slow", "met"), [(1, True), (2, False)])
def test_nineteen_of_twenty_chats_within_ten_seconds_meet_the_target(slow: int, met: bool) -> None:
    chats = [execution(room=n, answer_time_s=11.0 if n <= slow else 9.0) for n in range(1, 21)]
    assert target("chat_wait_rate", *chats)[2] is met


def test_target_of_few_chats_is_undecided_for_programs_as_in_the_report() -> None:
    chats = [execution(room=n, answer_time_s=9.0) for n in range(1, 7)]
    wait = agent(*chats)["targets"]["chat_wait_rate"]
    assert (wait["met"], wait["verdict"]) == (True, "undecided")
    assert "판단 보류(n 73 이상이어야 달성 가능)" in wait["text"]


@pytest.mark.parametrize(
    ("n", "percent", "rank"),
    [(1, 50, 1), (2, 50, 1), (3, 50, 2), (20, 95, 19), (21, 95, 20), (100, 95, 95), (1, 95, 1)],
)
def test_percentile_is_a_measured_value(n: int, percent: int, rank: int) -> None:
    assert nearest_rank(range(1, n + 1), percent) == rank


def test_filters_that_no_query_covers_are_listed_by_name() -> None:
    uncovered = summary(execution(expected_filters="보훈")).uncovered_filters
    assert "국적(NATIONALITY)" in uncovered
    assert "보훈(PATRIOT)" not in uncovered
    assert not [name for name in uncovered if "RESUME_PERIOD" in name]
    assert summary(plan()).uncovered_filters == []


def test_slowest_filter_combination_comes_first() -> None:
    executions = [
        execution("Q-1", used="PATRIOT RESUME_PERIOD", answer_time_s=2.0),
        execution("Q-2", used="NATIONALITY PATRIOT", answer_time_s=30.0),
        execution("Q-3", used="PATRIOT", answer_time_s=4.0),
    ]
    assert summary(*executions).slowest_filter_combinations == [
        {"filters": ["국적(NATIONALITY)", "보훈(PATRIOT)"], "n": 1, "mean_s": 30},
        {"filters": ["보훈(PATRIOT)"], "n": 2, "mean_s": 3},
    ]


def test_failures_are_counted_by_step() -> None:
    broken = json.dumps({"assistantMessage": "답", "worker": [{"type": "FILTER", "error": "x"}]})
    executions = [execution("Q-1", raw_json=broken), execution("Q-2", raw_json=broken), execution("Q-3", error="x")]
    assert summary(*executions).failures_by_step == [
        {"step": "FILTER", "n": 2, "query_ids": ["Q-1", "Q-2"]},
        {"step": "단계 기록 없음", "n": 1, "query_ids": ["Q-3"]},
    ]


def test_causes_of_lost_accuracy_are_what_was_used_the_numbers_and_missing_answers() -> None:
    executions = [
        execution("Q-1", used="NATIONALITY"),
        execution("Q-2", used="NATIONALITY"),
        execution("Q-3", used=""),
        execution("Q-4", ground_truth="12명"),
        execution("Q-5", ground_truth="5명"),
        execution("Q-6", error="x"),
        *(execution(f"Q-{n}", ground_truth="5.02명") for n in (7, 8)),
    ]
    assert summary(*executions).accuracy_causes == [
        Outage("필터: 기대 보훈(PATRIOT), 사용 국적(NATIONALITY)", 2, ("Q-1", "Q-2")),
        Outage("응답 실패: x", 1, ("Q-6",)),
        Outage("필터: 기대 보훈(PATRIOT), 사용 없음", 1, ("Q-3",)),
        Outage("답변의 수치가 정답과 다름", 1, ("Q-4",)),
        Outage("답변의 수치가 정답과 허용 오차 안에서 다름", 2, ("Q-7", "Q-8")),
    ]
    assert "점수를 많이 잃은 원인부터입니다." in report(*executions)
    first_lines = RUBRIC.headline(*run(*executions))
    assert "가장 큰 원인은 '필터: 기대 보훈(PATRIOT), 사용 국적(NATIONALITY)' 2건" in first_lines[1]


def test_every_answer_that_loses_accuracy_has_a_cause_but_for_a_missing_ground_truth() -> None:
    executions = [
        execution("Q-1", used=""),
        execution("Q-2", ground_truth="5.02명"),
        execution("Q-3", error="x"),
        execution("Q-4", raw_json="{}"),
        execution("Q-5", ground_truth="5명"),
        execution("Q-6"),
        plan(query_id="P-1", ground_truth="99명"),
    ]
    causes = summary(*executions).accuracy_causes
    assert sorted(name for cause in causes for name in cause.query_ids) == ["Q-1", "Q-2", "Q-3", "Q-4"]


def test_data_quality_table_counts_queries() -> None:
    quality = summary(execution("Q-1", answer_time_s=None), execution("Q-2", expected_filters="별자리")).data_quality
    found = {code: count for code, count in quality.items() if count}
    assert found == {"unmapped_filter": 1, "no_time": 1, "needs_3_runs": 2, "no_judge": 2, "no_ttft": 2}


def test_summary_is_json() -> None:
    found = summary(execution(), plan(), move())
    parts = [found.rounds, found.set, found.distributions, found.data_quality, found.own_values()]
    assert json.loads(json.dumps(parts)) == parts


def test_report_says_once_that_there_was_no_judge() -> None:
    text = report(execution("Q-1"), execution("Q-2"), plan())
    assert text.count("판정 모델 없이 채점했습니다") == 1
    assert "판정 모델 없이 채점했습니다" not in report(move())


def test_report_says_what_a_round_is_where_there_are_several() -> None:
    several = report(execution("Q-1"), execution("Q-1", room=2))
    assert "회차 2/1 |" in several and "2/1은 둘째 방의 첫 실행" in several
    assert "둘째 방" not in report(execution("Q-1"), execution("Q-2"))


def test_without_a_judge_the_report_says_whose_zeros_the_distribution_counts() -> None:
    text = report(execution("Q-1"), execution("Q-2", error="x"))
    assert "| 0점 | 1 |" in text
    assert "실패하거나 빈 응답은 판정 없이 0점" in text


def test_report_lists_what_a_person_should_look_at_with_its_evidence() -> None:
    text = report(execution("Q-1", used="LICENSE"), execution("Q-2"))
    assert "| 보훈 지원자 수 |" in text
    assert "정확성 2점 이하" in text
    assert "| 정확성: 기대한 필터 미사용: 보훈(PATRIOT)" in text
    assert "| Q-2 |" not in text


def test_evidence_of_an_answer_that_failed_names_its_metric() -> None:
    text = report(
        execution("Q-1", expected_filters="별자리"), execution("Q-1", 2, error="x", expected_filters="별자리")
    )
    assert "| 안정성: 평균 2.50점 — 1/1 5점: 정상 응답 / 2/1 0점: 실패: x |" in text


@pytest.mark.parametrize(
    ("n", "slow", "said"),
    [
        (29, 29, "0.0% | 0.0\\~11.7% | 90% 이상 | 판단 보류(n 35 이상이어야 달성 가능)"),
        (30, 30, "0.0% | 0.0\\~11.4% | 90% 이상 | 미달"),
        (30, 0, "100.0% | 88.6\\~100.0% | 90% 이상 | 판단 보류(n 35 이상이어야 달성 가능)"),
        (36, 0, "100.0% | 90.4\\~100.0% | 90% 이상 | 달성"),
        (0, 0, "– | – | 90% 이상 | 미측정"),
    ],
)
def test_report_judges_targets_by_n_and_interval(n: int, slow: int, said: str) -> None:
    measured = (execution(f"Q-{place}", ttft_s=1.01 if place < slow else 1.0) for place in range(n))
    (line,) = (line for line in report(execution("Q"), *measured).splitlines() if line.startswith("| TTFT 1초"))
    assert line.endswith(f"| {said} | {n - slow} / {n} |")


def test_report_says_whether_answers_with_unneeded_tools_pass() -> None:
    partial = "불필요한 도구를 함께 쓴 실행(PARTIAL) 1건"
    assert f"{partial}(통과로 셈)." in report(move(used="A B"))
    assert f"{partial}(통과로 세지 않음)." in report(execution(used="PATRIOT LICENSE"))


def test_report_names_the_filters_that_no_expectation_has() -> None:
    text = report(execution(expected_filters="보훈"))
    listed = text.split("### 기대 조건에 나오지 않은 필터 ", 1)[1]
    assert "국적(NATIONALITY)" in listed
    assert "보훈(PATRIOT)" not in listed


def test_report_says_where_nothing_is_wrong() -> None:
    text = report(move())
    assert "수기 확인이 필요한 질의가 없습니다." in text
    assert "실패하거나 빈 응답이 없습니다." in text


def test_seconds_of_the_report_round_half_away_from_zero() -> None:
    text = report(execution(answer_time_s=4.125), execution(room=2, answer_time_s=4.375))
    assert "채팅당 평균 대기 시간은 4.3초" in text
    assert "| 단일 도구 호출 | 2 | 4.25 | 4.13 | 4.38 |" in text
    assert "| 보훈(PATRIOT) | 1 | 4.13 |" in report(execution(answer_time_s=4.125))


def test_markup_in_a_query_cannot_break_the_report() -> None:
    text = report(execution(query_text="<b>|표|</b>\n# 제목", error="a|b\nc"))
    assert "<b>" not in text
    assert "\n# 제목" not in text


def test_readme_shows_every_number_of_the_tables() -> None:
    text = testrun_rubric_readme(RUBRIC)
    for shown in (
        "| 정확성 | 30 % |",
        "60초 초과",
        "| 불필요한 조건 추가 | 수치 부정확 | 1 | FAIL |",
        "tolerance\\_percent",
    ):
        assert shown.replace("\\_", "_") in text
