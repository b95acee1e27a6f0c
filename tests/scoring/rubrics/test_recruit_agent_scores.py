"""recruit-agent: what rules decide: accuracy, latency, stability, consistency, the weighted total. Source: seed 004."""

import json
from fractions import Fraction
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.judging.requests import Verdict, Verdicts, VerdictStatus
from scoring.rubrics.recruit_agent import RUBRIC
from scoring.rubrics.recruit_agent.formulas import RecruitExecution, RecruitQuery
from scoring.stats.intervals import mode_ratio
from scoring.testruns.executions import AgentType, Execution, LatencyClass, Round
from tests.builders.executions import mean_and_n, passing, run

OPTIONS = RUBRIC.chosen({})


def judged(executions: list[Execution], *answers: tuple[str, str]) -> Verdicts:
    """A verdict (word, label) per execution, in order."""
    requests = [RUBRIC.requests([execution], OPTIONS)[0] for execution in executions]
    fields = ({"intent_verdict": word, "intent_label": label} for word, label in answers)
    return {
        request.key: Verdict(VerdictStatus.OK, answer, "근거") for request, answer in zip(requests, fields, strict=True)
    }


def query(*executions: Execution, verdicts: Verdicts | None = None, **options: str) -> RecruitQuery:
    return RUBRIC.score_query(executions, RUBRIC.chosen(options), verdicts or {})


def scored(execution: Execution) -> RecruitExecution:
    return query(execution).executions[0]


def accuracy(execution: Execution) -> Any:
    return scored(execution).scores["accuracy"].points


@pytest.mark.parametrize(
    ("passed", "asked", "expected"),
    [
        (4, 4, 5), (99, 100, 4), (3, 4, 4), (74, 100, 3), (2, 4, 3), (49, 100, 2), (1, 4, 2), (24, 100, 1),
        (1, 200, 1), (0, 4, 0),
    ],
)  # fmt: skip
def test_accuracy_is_the_banded_pass_ratio(passed: int, asked: int, expected: int) -> None:
    assert accuracy(passing(passed, asked)) == expected


def test_screen_of_an_answer_without_raw_json_is_not_known() -> None:
    lost = Execution("Q-1", Round(1, 1), expected_text="@check formType=SELECT", answer_text="안내합니다")
    score = scored(lost).scores["accuracy"]
    assert (score.points, score.missing) == (None, "tools_not_shown")
    quality = RUBRIC.summarise([query(lost)], OPTIONS).data_quality
    assert (quality["tools_not_shown"], quality["not_evaluable"]) == (1, 0)


def test_accuracy_checks_are_weighted() -> None:
    checks = [
        {"path": "assistantMessage", "op": "contains", "value": "안내", "weight": 3},
        {"path": "assistantMessage", "op": "contains", "value": "없는 말", "weight": 1},
    ]
    found = scored(run(criteria_json=json.dumps({"schemaVersion": "aqb.v1", "accuracyChecks": checks})))
    assert found.scores["accuracy"].points == 4
    assert found.pass_ratio == 0.75
    assert len(found.failed_checks) == 1


def test_same_check_written_twice_counts_once() -> None:
    check = {"path": "assistantMessage", "op": "contains", "value": "없는 말"}
    text = "@check assistantMessageContains=없는 말\n@check assistantMessageContains=안내"
    assert scored(run(expected_text=text, criteria_json=json.dumps([check]))).pass_ratio == 0.5


def test_declared_checks_stand_before_the_check_list() -> None:
    text = 'assistantMessage에 "없는 말"이 언급되어 있는가\n@check assistantMessageContains=안내'
    assert accuracy(run(expected_text=text)) == 5


def test_without_declared_checks_the_check_list_counts() -> None:
    assert accuracy(run(expected_text='assistantMessage에 "없는 말"이 언급되어 있는가')) == 0


@pytest.mark.parametrize("fields", [{"error": "timeout"}, {"status": "에러"}, {"raw": "{"}])
def test_failed_execution_has_accuracy_zero(fields: dict[str, Any]) -> None:
    text = fields.pop("expected_text", "@check assistantMessageContains=안내")
    assert accuracy(run(expected_text=text, **fields)) == 0


def test_empty_answer_is_held_to_its_checks() -> None:
    found = scored(run(raw={"assistantMessage": ""}, expected_text="@check assistantMessageContains=안내"))
    assert found.scores["accuracy"].points == 0
    assert found.failed_checks == ['[assistantMessage] 답변에 "안내" 언급이 없음']


def test_what_failed_is_counted_as_failed_alone() -> None:
    quality = RUBRIC.summarise([query(run(raw={"assistantMessage": ""}, error="timeout"))], OPTIONS).data_quality
    assert (quality["failed"], quality["empty"], quality["not_evaluable"]) == (1, 0, 0)


def test_without_checks_accuracy_is_zero_and_says_so() -> None:
    found = scored(run(expected_text="친절하게 답하는가"))
    assert found.scores["accuracy"].points == 0
    assert "not_evaluable" in found.scores["accuracy"].reason
    assert RUBRIC.summarise([query(run())], OPTIONS).data_quality["not_evaluable"] == 1


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 5),
        ({"error": "timeout"}, 0),
        ({"raw": "[1]"}, 0),
        ({"raw": {"assistantMessage": ""}}, 0),
        ({"raw": {"assistantMessage": "", "dataUIList": [{}]}}, 5),
    ],
)
def test_stability_is_all_or_nothing(fields: dict[str, Any], expected: int) -> None:
    assert scored(run(**fields)).scores["stability"].points == expected


SINGLE = [(5, 5), (5.01, 4), (8, 4), (8.01, 3), (10, 3), (10.01, 2), (15, 2), (15.01, 1), (20, 1), (20.01, 0)]
MULTI = [(20, 5), (20.01, 4), (30, 4), (30.01, 3), (40, 3), (40.01, 2), (50, 2), (50.01, 1), (60, 1), (60.01, 0)]


@pytest.mark.parametrize(
    ("latency_class", "metric", "other", "seconds", "expected"),
    [
        *((LatencyClass.SINGLE, "speed_single", "speed_multi", *case) for case in [*SINGLE, (None, 0)]),
        *((LatencyClass.MULTI, "speed_multi", "speed_single", *case) for case in [*MULTI, (None, 0)]),
    ],
)
def test_speed_is_banded_by_the_latency_class(
    latency_class: LatencyClass, metric: str, other: str, seconds: float | None, expected: int
) -> None:
    found = scored(passing(1, 1, seconds=seconds, latency_class=latency_class))
    assert found.scores[metric].points == expected
    assert (found.scores[other].points, found.scores[other].missing) == (None, "")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, LatencyClass.SINGLE),
        ({"criteria_json": '{"meta": {"latencyClass": "MULTI"}}'}, LatencyClass.MULTI),
        ({"tool_call_count": 2}, LatencyClass.MULTI),
        ({"raw": {"worker": [{}, {}]}}, LatencyClass.MULTI),
        ({"expected_filters": "보훈 + 장애"}, LatencyClass.MULTI),
        ({"expected_filters": "보훈 + 모르는 이름"}, LatencyClass.MULTI),
        ({"expected_filters": "기간 + 장애"}, LatencyClass.SINGLE),
        ({"detected_filters": "보훈, 장애, 기간"}, LatencyClass.MULTI),
        ({"detected_filters": "보훈, 기간"}, LatencyClass.SINGLE),
        ({"detected_filters": "보훈, 장애", "expected_filters": "보훈"}, LatencyClass.SINGLE),
        ({"expected_filters": "보훈 + 장애", "agent_type": AgentType.MOVE}, LatencyClass.SINGLE),
    ],
)
def test_latency_class_comes_from_what_is_known(fields: dict[str, Any], expected: LatencyClass) -> None:
    agent = {"agent_type": AgentType.APPLICANT_MANAGEMENT}
    assert scored(run(**{**agent, **fields})).latency_class is expected


@pytest.mark.parametrize("rooms", [("보훈", "보훈, 장애"), ("보훈, 장애", "보훈")])
def test_latency_class_is_that_of_the_room_with_most_filters(rooms: tuple[str, str]) -> None:
    agent = AgentType.APPLICANT_MANAGEMENT
    executions = [run(f"{room}/1", agent_type=agent, detected_filters=used) for room, used in enumerate(rooms, start=1)]
    assert query(*executions).latency_class is LatencyClass.MULTI


def entry(**ui_value: Any) -> dict[str, Any]:
    return {"uiValue": ui_value}


def signature(*entries: Any, **fields: Any) -> str:
    return str(scored(run(raw={"dataUIList": list(entries)}, **fields)).signature)


SELECT = entry(formType="SELECT", message="고르세요")
ACTION = entry(formType="ACTION", actionType="UPDATE", planId=3, value={"nodeId": 7, "nodeType": "N", "dataKey": "K"})


def test_order_of_entries_does_not_change_the_signature() -> None:
    assert signature(SELECT, ACTION) == signature(ACTION, SELECT)


def test_signature_holds_the_key_fields_alone() -> None:
    assert signature(ACTION) == (
        '[{"actionType":"UPDATE","formType":"ACTION","planId":3,"value.nodeId":7,"value.nodeType":"N"}]'
    )


@pytest.mark.parametrize(
    "change",
    [{"formType": "LINK"}, {"actionType": "EXECUTE"}, {"planId": 4}, {"value": {"nodeId": 8}}, {"setting": {"a": 1}},
     {"filterType": "PATRIOT"}],
)  # fmt: skip
def test_every_key_field_tells_signatures_apart(change: dict[str, Any]) -> None:
    changed = entry(**{**ACTION["uiValue"], **change})
    assert signature(changed) != signature(ACTION)


@pytest.mark.parametrize("change", [{"message": "다른 말"}, {"value": {"nodeId": 7, "nodeType": "N", "dataKey": "L"}}])
def test_other_fields_leave_signatures_alike(change: dict[str, Any]) -> None:
    assert signature(entry(**{**ACTION["uiValue"], **change})) == signature(ACTION)


def test_filters_of_a_url_count_as_filter_types() -> None:
    condition = quote(json.dumps([{"filterType": "PATRIOT"}]))
    assert '"filterType":["PATRIOT"]' in signature(entry(formType="LINK", buttonUrl=f"/a?condition={condition}"))


def test_order_inside_a_setting_does_not_matter() -> None:
    assert signature(entry(setting={"a": 1, "b": 2})) == signature(entry(setting={"b": 2, "a": 1}))


@pytest.mark.parametrize(
    "fields", [{}, {"error": "timeout"}, {"raw_json": "{"}, {"raw_json": '{"assistantMessage": ""}'}]
)
def test_no_entries_and_no_answer_are_empty(fields: dict[str, Any]) -> None:
    assert signature(*([SELECT] if fields else []), **fields) == "EMPTY"


def test_entry_without_ui_value_is_an_entry() -> None:
    assert signature({}) == "[{}]"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("A", 1),
        ("AA", 1),
        ("AB", Fraction(1, 2)),
        ("AAB", Fraction(2, 3)),
        ("AABB", Fraction(1, 2)),
        ("ABC", Fraction(1, 3)),
    ],
)
def test_tie_does_not_change_the_mode_ratio(values: str, expected: Fraction) -> None:
    assert mode_ratio(list(values)) == expected


def repeated(labels: str, screens: str) -> RecruitQuery:
    """One execution per letter; V, U label VIEW, UPDATE; equal letters of `screens` show equal screens."""
    executions = [
        run(f"{room}/1", {"assistantMessage": f"답 {room}", "dataUIList": [entry(formType=screen)]})
        for room, screen in enumerate(screens, 1)
    ]
    words = {"V": "VIEW", "U": "UPDATE", "M": "MOVE"}
    return query(*executions, verdicts=judged(executions, *(("GOOD", words[label]) for label in labels)))


@pytest.mark.parametrize(
    ("labels", "screens", "expected"),
    [
        ("VV", "AA", 5),
        ("VU", "AA", Fraction(15, 4)),
        ("VU", "AB", Fraction(5, 2)),
        ("VVU", "AAA", Fraction(25, 6)),
        ("VVU", "AAB", Fraction(10, 3)),
        ("VUM", "ABC", Fraction(5, 3)),
        ("VVUU", "AABB", Fraction(5, 2)),
    ],
)
def test_consistency_is_the_mean_of_both_mode_ratios(labels: str, screens: str, expected: Fraction) -> None:
    assert repeated(labels, screens).scores["consistency"].points == expected


def test_reasons_round_half_away_from_zero() -> None:
    found = repeated("VVUU", "AAAB")
    assert found.scores["consistency"].points == Fraction(25, 8)
    assert found.scores["consistency"].reason.endswith(", 화면 구성 일치 4건 중 3건으로 3.13점")
    assert "가중 통과율 0.13," in scored(passing(1, 8)).scores["accuracy"].reason


def test_one_execution_has_consistency_zero() -> None:
    found = query(run())
    assert (found.scores["consistency"].points, found.ratio_b) == (0, None)


def test_failed_executions_are_alike_by_rule() -> None:
    found = query(run("1/1", error="timeout"), run("2/1", {"assistantMessage": ""}))
    assert [one.intent_label for one in found.executions] == ["ERROR", "ERROR"]
    assert found.scores["consistency"].points == 5


def test_missing_label_leaves_consistency_unknown_but_shows_ratio_b() -> None:
    found = query(run("1/1"), run("2/1", {"assistantMessage": "다른 답"}))
    assert (found.scores["consistency"].points, found.scores["consistency"].missing) == (None, "no_judge")
    assert (found.ratio_a, found.ratio_b) == (None, Fraction(1))
    assert "화면 구성 일치 2건 중 2건" in found.scores["consistency"].reason


def test_total_is_the_seeds_weighted_mean() -> None:
    executions = [passing(3, 4, seconds=9), passing(3, 4, "2/1", seconds=9)]
    found = query(*executions, verdicts=judged(executions[:1], ("PARTIAL", "VIEW")))
    # 20 % of 3, 10 % of 5, 30 % of 4, 20 % of 3, 20 % of 5
    assert (found.total.points, found.total.coverage) == (3.9, 1.0)


def test_without_a_judge_the_total_covers_the_rest() -> None:
    found = query(passing(4, 4, seconds=5), passing(4, 4, "2/1", seconds=5))
    assert (found.total.points, found.total.coverage) == (5.0, 0.7)


def test_failed_execution_needs_no_judge_for_its_total() -> None:
    found = query(passing(4, 4, error="timeout", seconds=None))
    assert (found.total.points, found.total.coverage) == (0.0, 1.0)


def test_failures_beside_unjudged_answers_make_no_mean() -> None:
    found = query(run("1/1", error="timeout"), run("2/1"), run("3/1"))
    assert (found.scores["intent"].points, found.scores["intent"].missing) == (None, "no_judge")
    assert found.total.coverage == 0.7
    summary = RUBRIC.summarise([found], OPTIONS)
    assert mean_and_n(summary.set["intent"]) == (None, 1)
    assert summary.set["intent"]["low"] == 0
    assert summary.set["intent"]["high"] == pytest.approx(10 / 3)
    assert (summary.set["intent"]["decided"], summary.set["intent"]["undecided"]) == (0, 1)
    assert summary.set["weighted_total"]["weight_coverage"] == 0.7


@pytest.mark.parametrize(("offered", "expected"), [("/agent/setting?dataKey=X", 5), ("/agent/setting?dataKey=Y", 3)])
def test_expected_url_is_found_in_the_button_that_offers_it(offered: str, expected: int) -> None:
    raw = {"assistantMessage": "안내", "dataUIList": [{"uiValue": {"formType": "LINK", "buttonUrl": offered}}]}
    assert accuracy(run(raw=raw, expected_text="/agent/setting?dataKey=X")) == expected


def test_failure_beside_a_refused_question_makes_no_mean() -> None:
    failed, answered = run("1/1", error="timeout"), run("2/1")
    (asked,) = RUBRIC.requests([answered], OPTIONS)
    found = query(failed, answered, verdicts={asked.key: Verdict(VerdictStatus.REFUSED)})
    assert (found.scores["intent"].points, found.scores["intent"].missing) == (None, "refused")


def test_query_that_failed_throughout_keeps_its_zero() -> None:
    failed = query(run("1/1", error="timeout"), run("2/1", error="timeout"))
    assert failed.scores["intent"].points == 0
    assert mean_and_n(RUBRIC.summarise([failed], OPTIONS).set["intent"]) == (0.0, 2)


def test_total_can_be_left_out() -> None:
    found = query(passing(4, 4), weighted_total="off")
    assert RUBRIC.query_row(found)["weighted_total"] is None
    assert "weighted_total" not in RUBRIC.summarise([found], RUBRIC.chosen({"weighted_total": "off"})).set


def test_summary_counts_the_queries_of_one_execution_and_the_executions_without_a_time() -> None:
    two = query(passing(1, 1, query_id="Q-2"), passing(1, 1, "2/1", query_id="Q-2", seconds=None))
    found = RUBRIC.summarise([query(passing(1, 1)), two], OPTIONS)
    assert (found.set["consistency"]["too_few_executions"], found.data_quality["no_time"]) == (1, 1)


def test_sets_total_comes_from_the_sets_means() -> None:
    slow = passing(0, 4, query_id="Q-2", latency_class=LatencyClass.MULTI, seconds=70)
    summary = RUBRIC.summarise([query(passing(4, 4)), query(slow)], OPTIONS)
    # Of the 80 % that rules know: consistency 0, accuracy (5+0)/2, speed (5+0)/2, stability 5.
    assert summary.set["weighted_total"] == {"mean": 2.81, "weight_coverage": 0.8, "missing": ""}


def test_rows_fill_exactly_the_declared_columns() -> None:
    found = query(run(), run("2/1"))
    assert list(RUBRIC.query_row(found)) == [column.name for column in RUBRIC.query_columns]
    assert list(found.executions[0].own_values()) == [column.name for column in RUBRIC.own_columns]
    assert list(found.executions[0].scores) == [metric.name for metric in RUBRIC.metrics if metric.per_execution]


@given(st.permutations(range(4)), st.lists(st.sampled_from("ABC"), min_size=4, max_size=4))
def test_order_of_executions_does_not_matter(order: list[int], screens: list[str]) -> None:
    executions = [run(f"{room}/1", {"dataUIList": [entry(formType=screen)]}) for room, screen in enumerate(screens, 1)]
    assert query(*executions) == query(*(executions[place] for place in order))


@given(st.permutations([SELECT, ACTION, entry(formType="LINK"), {}, entry(setting=[1, 2])]))
def test_signature_is_free_of_order(entries: list[Any]) -> None:
    assert signature(*entries) == signature(SELECT, ACTION, entry(formType="LINK"), {}, entry(setting=[1, 2]))


@given(st.integers(1, 40).flatmap(lambda asked: st.tuples(st.just(asked), st.integers(0, asked - 1))))
def test_one_more_pass_never_lowers_accuracy(case: tuple[int, int]) -> None:
    asked, passed = case
    assert accuracy(passing(passed, asked)) <= accuracy(passing(passed + 1, asked))


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_scored(raw: str, expected: str, criteria: str) -> None:
    found = query(run(raw=raw, expected_text=expected, criteria_json=criteria), run("2/1"))
    all_scores = [*found.scores.values(), *(score for one in found.executions for score in one.scores.values())]
    assert all(score.points is None or 0 <= score.points <= 5 for score in all_scores)
    assert all(score.reason for score in all_scores)


def test_execution_without_checks_neither_passes_nor_fails() -> None:
    row = RUBRIC.query_row(query(passing(3, 4), run("2/1"), run("3/1", error="timeout")))
    assert (row["passed"], row["passed_of"]) == (1, 2)
