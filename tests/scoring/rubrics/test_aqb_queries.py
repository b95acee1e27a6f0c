"""aqb-1.2: one query as a whole: its scores, total, flags, row and JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import UsageError
from scoring.judging.requests import QuestionKind, Verdict, VerdictStatus
from scoring.rubrics.aqb import RUBRIC
from scoring.rubrics.aqb.queries import AqbQuery
from scoring.testruns.executions import AgentType, Execution, LatencyClass, Round
from scoring.testruns.tables import queries_schema

OPTIONS = RUBRIC.chosen({})
SEED_COLUMNS = (
    "query_id query_text agent_type semantic_score consistency_score accuracy_score speed_score stability_score "
    "weighted_total flag_manual_review semantic_reason consistency_reason accuracy_reason speed_reason stability_reason"
)


def execution(
    room: int = 1, message: str = "남성 52.1%", used: Sequence[str] = ("PATRIOT",), **fields: Any
) -> Execution:
    raw = {"assistantMessage": message, "dataUIList": [{"uiValue": {"filterType": name}} for name in used]}
    given = {
        "query_id": "AM-1",
        "round": Round(room, 1),
        "query_text": "보훈 지원자의 비율",
        "agent_type": AgentType.APPLICANT_MANAGEMENT,
        "raw_json": json.dumps(raw),
        "expected_filters": "보훈",
        "ground_truth": "52.1",
        "answer_time_s": 6.2,
    }
    return Execution(**{**given, **fields})


def scored(*executions: Execution, semantic: int | None = None, options: Mapping[str, str] = OPTIONS) -> AqbQuery:
    """With `semantic` a judge gives these points and one conclusion for all answers."""
    verdicts = {}
    for request in RUBRIC.requests(executions, options) if semantic is not None else ():
        judged: dict[str, Any] = {"score": semantic}
        if request.kind is QuestionKind.CONCLUSIONS:
            judged = {"groups": [1] * len(request.material["answers"])}
        verdicts[request.key] = Verdict(VerdictStatus.OK, judged)
    return RUBRIC.score_query(executions, options, verdicts)


def points(query: AqbQuery) -> dict[str, Any]:
    return {name: score.points for name, score in query.scores.items()}


def test_seeds_example_comes_to_4_7_in_its_shape() -> None:
    shares = (52.1, 52.3, 52.1)
    query = scored(*(execution(n, f"남성 {x}%", ground_truth=str(x)) for n, x in enumerate(shares, 1)), semantic=5)
    assert RUBRIC.query_json is not None
    shown = RUBRIC.query_json(query)
    assert list(shown) == ["query_id", "query_text", "agent_type", "scores", "weighted_total", "flag_manual_review"]
    given_points = {name: score["score"] for name, score in shown["scores"].items()}
    assert given_points == {"semantic": 5, "consistency": 4, "accuracy": 5, "speed": 4, "stability": 5}
    assert list(given_points) == ["semantic", "consistency", "accuracy", "speed", "stability"]
    assert shown["scores"]["consistency"]["reason"].endswith("숫자 52.1 vs 52.3 vs 52.1")
    assert (shown["weighted_total"], shown["flag_manual_review"]) == (4.7, False)
    assert json.loads(json.dumps(shown, ensure_ascii=False)) == shown


def test_means_are_shown_with_two_decimals() -> None:
    assert RUBRIC.query_json is not None
    shown = RUBRIC.query_json(scored(*(execution(n, f"남성 {x}%") for n, x in enumerate((52.1, 52.3, 52.1), 1))))
    assert shown["scores"]["accuracy"]["score"] == 4.67
    assert shown["scores"]["semantic"]["score"] is None


def test_first_fifteen_columns_are_the_seeds() -> None:
    assert [field.name for field in RUBRIC.query_columns[:15]] == SEED_COLUMNS.split()


def test_row_fills_every_column_in_order() -> None:
    row = RUBRIC.query_row(scored(execution(), semantic=5))
    assert list(row) == [field.name for field in RUBRIC.query_columns]
    assert pa.Table.from_pylist([row], schema=queries_schema(RUBRIC)).num_rows == 1


def test_executions_carry_the_four_metrics_in_order_and_the_own_columns() -> None:
    one = scored(execution(ttft_s=1.01)).executions[0]
    assert list(one.scores) == ["semantic", "accuracy", "stability", "speed"]
    own = {field.name: one.own_values()[field.name] for field in RUBRIC.own_columns}
    assert own == {"mapping_grade": "exact", "accuracy_grade": "PASS", "numbers_grade": "exact", "ttft_pass": "FAIL"}


def test_one_question_is_asked_per_answer_and_one_on_the_conclusions() -> None:
    kinds = [request.kind for request in RUBRIC.requests([execution(n, f"{n}명") for n in (1, 2, 3)], OPTIONS)]
    assert kinds == [QuestionKind.SEMANTIC] * 3 + [QuestionKind.CONCLUSIONS]


def test_move_asks_about_conclusions_only() -> None:
    moves = [execution(n, f"{n}번 화면", agent_type=AgentType.MOVE, expected_datakeys="A") for n in (1, 2, 3)]
    assert [request.kind for request in RUBRIC.requests(moves, OPTIONS)] == [QuestionKind.CONCLUSIONS]


def test_without_a_judge_the_rest_is_scored_and_the_weight_says_so() -> None:
    row = RUBRIC.query_row(scored(*(execution(n, "52.1%") for n in (1, 2, 3))))
    assert (row["semantic_score"], row["consistency_score"], row["weight_coverage"]) == (None, 5, 0.8)
    assert row["weighted_total"] == 4.75
    assert row["flag_manual_review"] is False


def test_one_blank_response_sends_a_good_query_to_review() -> None:
    row = RUBRIC.query_row(scored(execution(1), execution(2), execution(3, "", ()), semantic=5))
    assert row["manual_review_reasons"] == ["unanswered"]
    assert (row["flag_manual_review"], row["unanswered"]) == (True, 1)


def test_failures_beside_unjudged_answers_make_no_mean() -> None:
    query = scored(execution(1), execution(2, error="timeout"))
    assert [one.scores["semantic"].points for one in query.executions] == [None, 0]
    assert (query.scores["semantic"].points, query.scores["semantic"].missing) == (None, "no_judge")


def test_unmapped_filter_goes_to_review_and_not_to_zero() -> None:
    query = scored(execution(expected_filters="별자리"), semantic=5)
    row = RUBRIC.query_row(query)
    assert (row["accuracy_score"], row["semantic_score"]) == (None, 5)
    assert row["manual_review_reasons"] == ["unknown_accuracy"]
    assert query.problems == (("unmapped_filter", "기대 필터 이름을 코드로 바꿀 수 없음: 별자리"),)


def test_refused_question_goes_to_review() -> None:
    request = RUBRIC.requests([execution()], OPTIONS)[0]
    query = RUBRIC.score_query([execution()], OPTIONS, {request.key: Verdict(VerdictStatus.REFUSED)})
    assert RUBRIC.query_row(query)["manual_review_reasons"] == ["unknown_semantic"]
    assert RUBRIC.code_titles["unknown_semantic"] == "의도 충족을 채점할 수 없는 응답 있음"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"expected_filters": "보훈"}, LatencyClass.SINGLE),
        ({"expected_filters": "보훈 + 기간"}, LatencyClass.SINGLE),
        ({"expected_filters": "보훈 + 국적"}, LatencyClass.MULTI),
        ({"expected_filters": "보훈 + 별자리"}, LatencyClass.MULTI),
        ({"expected_filters": "보훈", "used": ["PATRIOT", "NATIONALITY"]}, LatencyClass.SINGLE),
        ({"expected_filters": "", "used": ["PATRIOT", "RESUME_PERIOD"]}, LatencyClass.SINGLE),
        ({"expected_filters": "", "used": ["PATRIOT", "NATIONALITY"]}, LatencyClass.MULTI),
        ({"expected_filters": "보훈 + 국적", "tool_call_count": 1}, LatencyClass.SINGLE),
        ({"criteria_json": '{"meta": {"latencyClass": "MULTI"}, "accuracyChecks": []}'}, LatencyClass.MULTI),
        ({"latency_class": LatencyClass.MULTI, "tool_call_count": 1}, LatencyClass.MULTI),
    ],
)
def test_query_has_one_latency_class(given: dict[str, Any], expected: LatencyClass) -> None:
    row = RUBRIC.query_row(scored(execution(**given)))
    assert row["latency_class"] == expected
    speeds = {LatencyClass.SINGLE: row["speed_single"], LatencyClass.MULTI: row["speed_multi"]}
    assert speeds.pop(expected) == row["speed_score"]
    assert list(speeds.values()) == [None]


def test_reason_stands_for_all_executions_or_for_each() -> None:
    same = scored(execution(1), execution(2))
    assert same.scores["stability"].reason == "2회 모두: 정상 응답"
    mixed = scored(execution(1), execution(2, answer_time_s=9))
    assert mixed.scores["speed"].reason.startswith("평균 3.50점 — 1/1 4점: 응답 시간 6.2초")
    assert scored(execution()).scores["stability"].reason == "정상 응답"


def test_rooms_whose_conclusions_the_judge_refused_to_compare_go_to_review() -> None:
    rooms = [execution(room, raw_json=json.dumps({"assistantMessage": f"{room}번째 답: 3명"})) for room in (1, 2, 3)]
    asked = [one for one in RUBRIC.requests(rooms, OPTIONS) if one.kind == QuestionKind.CONCLUSIONS]
    query = RUBRIC.score_query(rooms, OPTIONS, {one.key: Verdict(VerdictStatus.REFUSED) for one in asked})
    assert "unknown_consistency" in query.manual_review_reasons


def test_query_has_the_text_of_the_first_row_that_has_one() -> None:
    assert scored(execution(1, query_text="-"), execution(2, query_text="몇 명?")).query_text == "몇 명?"


def test_two_rooms_give_a_provisional_consistency_where_wanted() -> None:
    rooms = (execution(1), execution(2))
    assert scored(*rooms).scores["consistency"].missing == "needs_3_runs"
    options = RUBRIC.chosen({"consistency_min_runs": "2"})
    found = scored(*rooms, options=options)
    assert found.scores["consistency"].points == 5
    assert RUBRIC.query_row(found)["consistency_provisional"] is True
    assert RUBRIC.summarise([found], options).set["consistency"]["provisional"] == 1
    assert RUBRIC.version_with(options) == "2+consistency_min_runs=2"
    assert RUBRIC.query_row(scored(*rooms, execution(3), options=options))["consistency_provisional"] is False


def test_tolerance_is_an_option() -> None:
    assert scored(execution(message="53.1%")).scores["accuracy"].points == 2
    options = RUBRIC.chosen({"tolerance_percent": "2"})
    assert scored(execution(message="53.1%"), options=options).scores["accuracy"].points == 4
    assert RUBRIC.version_with(options) == "2+tolerance_percent=2"
    with pytest.raises(UsageError):
        RUBRIC.chosen({"tolerance_percent": "much"})


def test_query_of_no_known_agent_is_refused() -> None:
    with pytest.raises(UsageError, match="agent"):
        scored(execution(agent_type=None))


EXECUTIONS = st.lists(
    st.fixed_dictionaries(
        {
            "message": st.sampled_from(["52.1%", "52.3%", "1명", ""]),
            "used": st.lists(st.sampled_from(["PATRIOT", "LICENSE", "RESUME_PERIOD"]), unique=True),
            "error": st.sampled_from(["", "timeout"]),
            "answer_time_s": st.none() | st.floats(0, 100),
            "agent_type": st.just(AgentType.APPLICANT_MANAGEMENT),
            "ground_truth": st.sampled_from(["52.1", ""]),
        }
    ),
    min_size=1,
    max_size=4,
)


@given(EXECUTIONS, st.none() | st.integers(0, 5), st.randoms(use_true_random=False))
def test_scores_stay_in_range_whatever_the_order(given: list[Any], semantic: int | None, random: Any) -> None:
    executions = [execution(n, **fields) for n, fields in enumerate(given, start=1)]
    query = scored(*executions, semantic=semantic)
    known = [*points(query).values(), *(s.points for one in query.executions for s in one.scores.values())]
    assert all(0 <= score <= 5 for score in known if score is not None)
    assert all(score.reason for score in query.scores.values())
    assert all(score.points is not None or score.missing for score in query.scores.values())
    assert query.scores["stability"].points is not None
    random.shuffle(executions)
    assert scored(*executions, semantic=semantic) == query


def test_passes_count_rooms_and_not_repeats_in_a_room() -> None:
    repeat = execution(1, message="몰라요", used=(), round=Round(1, 2))
    row = RUBRIC.query_row(scored(execution(1), repeat, execution(2), execution(3, used=())))
    assert (row["passed"], row["passed_of"]) == (3, 3)
    assert row["mode_ratio"] == 1


def test_rooms_without_an_answer_are_like_nothing() -> None:
    failed = [execution(room, error="timeout") for room in (2, 3)]
    assert RUBRIC.query_row(scored(execution(1), *failed))["mode_ratio"] == pytest.approx(1 / 3)
    assert RUBRIC.query_row(scored(*failed, execution(1, error="timeout")))["mode_ratio"] == pytest.approx(1 / 3)
    assert RUBRIC.query_row(scored(execution(1), execution(2)))["mode_ratio"] is None
