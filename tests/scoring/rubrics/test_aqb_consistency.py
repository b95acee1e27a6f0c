"""aqb-1.2: the ladder of consistency, its order, and when a judge is asked."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.judging.requests import JudgeRequest, QuestionKind, Verdict, VerdictStatus
from scoring.rubrics.aqb import RUBRIC
from scoring.rubrics.aqb.consistency import Rooms, consistency_request, consistency_score, rooms_of
from scoring.testruns.cells import folded
from scoring.testruns.executions import Execution, Round, parse_execution
from scoring.testruns.rubric import Score
from tests.builders.aqb_runs import OPTIONS, execution, move, report, run, summary

FAILED = None


def rooms(*answers: str | None, least: int = 3) -> Rooms:
    """A room per answer; `FAILED` is a failed execution."""
    fields: list[dict[str, Any]] = [
        {"error": "x"} if answer is FAILED else {"answer_text": answer} for answer in answers
    ]
    executions = [Execution(query_id="Q", round=Round(n, 1), **given) for n, given in enumerate(fields, start=1)]
    return rooms_of([parse_execution(execution) for execution in executions], least)


def asked(*answers: str | None) -> JudgeRequest | None:
    return consistency_request(rooms(*answers), "aqb-1.2")


def scored(*answers: str | None, judged: dict[str, Any] | None = None, status: str = "ok") -> Score:
    """The judge reads the letter before a colon as the conclusion of an answer."""
    compared = rooms(*answers)
    request = consistency_request(compared, "aqb-1.2")
    if request is None:
        return consistency_score(compared, None, {})
    letters = [text.partition(":")[0] for text in request.material["answers"]]
    answer = {"groups": [ord(letter[0]) for letter in letters]} if judged is None else judged
    verdicts = {request.key: Verdict(VerdictStatus(status), answer, "결론을 비교함")}
    return consistency_score(compared, request, verdicts)


@pytest.mark.parametrize(
    ("answers", "points"),
    [
        # Three rooms: two make two thirds.
        (["A: 3명", "A: 3명", "A: 3명"], 5),
        (["A: 3명", "A: 모두 3명", "A: 3명입니다"], 5),
        (["A: 없음", "A: 없어요", "A: 없습니다"], 5),
        (["A: 3명, 5명", "A: 5명, 3명", "A: 3명과 5명"], 5),
        (["A: 1,000명", "A: 1,010명", "A: 1,000명"], 4),
        (["A: 1,000명", "A: 1,011명", "A: 1,000명"], 3),
        (["A: 52.1%", "A: 52.3%", "A: 52.2%"], 4),
        (["A: 3명", "A: 3명", "A: 4명"], 3),
        (["A: 3명", "A: 3명", "B: 3명"], 3),
        (["A: 3명", "A: 3명", "A: 없음"], 3),
        (["A: 0명입니다", "A: 0명", "A: 해당 지원자가 없습니다"], 5),
        (["A: 0명입니다", "A: 0명", "A: 지금은 조회할 수 없습니다"], 3),
        (["A: 3명", "A: 3명이요", FAILED], 3),
        (["A: 3명", "A: 4명", "A: 5명"], 1),
        (["A: 3명", "A: 4명", "A: 없음"], 1),
        (["A: 3명", "A: 4명", "B: 3명"], 2),
        (["A: 3명", "A: 4명", FAILED], 2),
        (["A: 3명", "B: 3명", "C: 3명"], 0),
        (["A: 3명", "B: 4명", FAILED], 0),
        (["A: 3명", FAILED, FAILED], 0),
        ([FAILED, FAILED, FAILED], 0),
        # Four rooms: three make two thirds.
        (["A: 3명", "A: 3명이요", "A: 3명", "A: 3명"], 5),
        (["A: 1,000명", "A: 1,001명", "A: 1,002명", "A: 1,003명"], 4),
        (["A: 3명", "A: 3명이요", "A: 3명", "A: 9명"], 3),
        (["A: 3명", "A: 3명이요", "A: 3명", "B: 9명"], 3),
        (["A: 3명", "A: 3명이요", "A: 3명", FAILED], 3),
        (["A: 3명", "A: 4명", "A: 5명", "A: 6명"], 1),
        (["A: 3명", "A: 3명이요", "A: 5명", "A: 6명"], 2),
        (["A: 3명", "A: 3명이요", "A: 5명", "A: 5명!"], 2),
        (["A: 3명", "A: 4명", "A: 5명", FAILED], 2),
        (["A: 3명", "A: 3명이요", "B: 3명", "B: 4명"], 0),
        (["A: 3명", "A: 3명이요", FAILED, FAILED], 0),
        # Five rooms: four make two thirds.
        (["A: 3명", "A: 3명이요", "A: 3명", "A: 3명", "B: 9명"], 3),
        (["A: 3명", "A: 3명이요", "A: 3명", "A: 4명", "A: 9명"], 2),
        (["A: 3명", "A: 3명이요", "A: 3명", "B: 3명", "B: 3명"], 0),
        (["A: 1명", "A: 2명", "A: 3명", "A: 4명", "A: 5명"], 1),
        # Six rooms: four make two thirds.
        (["A: 3명", "A: 3명이요", "A: 3명", "A: 3명", "B: 9명", "C: 1명"], 3),
    ],
)
def test_first_rung_that_holds_counts(answers: list[str | None], points: int) -> None:
    assert scored(*answers).points == points


@pytest.mark.parametrize("answers", [["A: 3명"], ["A: 3명", "B: 4명"]])
def test_fewer_than_three_rooms_are_not_compared(answers: list[str]) -> None:
    score = scored(*answers)
    assert (score.points, score.missing) == (None, "needs_3_runs")
    assert asked(*answers) is None


def test_repeats_in_a_room_do_not_count_as_rooms() -> None:
    executions = [Execution("Q", Round(room, repeat), answer_text="3명") for room in (1, 2) for repeat in (1, 2)]
    compared = rooms_of([parse_execution(execution) for execution in executions], 3)
    assert (compared.count, compared.names) == (2, ("1/1", "2/1"))


def test_number_of_the_query_does_not_count() -> None:
    texts = ("경력 3년은 5명", "5명", "3년 경력은 5명")
    executions = [
        Execution("Q", Round(n, 1), query_text="경력 3년인 지원자", answer_text=text) for n, text in enumerate(texts, 1)
    ]
    assert set(rooms_of([parse_execution(execution) for execution in executions], 3).numbers) == {frozenset({5})}


@pytest.mark.parametrize(
    ("answers", "points"),
    [
        (["A: 마감은 3월 15일", "A: 마감은 3월 20일", "A: 마감은 3월 15일"], 3),
        (["A: 마감은 3월 15일", "A: 마감은 2026-03-15", "A: 마감은 2026.3.15"], 5),
        (["A: 2025년 3월", "A: 2026년 3월", "A: 2024년 3월"], 1),
        (["A: 14:30입니다", "A: 16:30입니다", "A: 14:30입니다"], 3),
        (["A: 14:30입니다", "A: 오후 2시 30분", "A: 14시 30분"], 5),
        (["A: 5등급", "A: 3등급", "A: 5등급"], 3),
        # Not all that each room says, or no result:
        (["A: 2차 면접 3명", "A: 1차 면접 3명", "A: 3명"], 5),
        (["A: 3월 15일까지 가능", "A: 가능", "A: 가능합니다"], 5),
        (["A: 1차 면접 3월 15일", "A: 2차 면접 3월 15일", "A: 3월 15일"], 5),
        (["A: 2026-02-13 기준 3월", "A: 2026-02-14 기준 3월", "A: 3월"], 5),
        (["A: 2월 13일 지원자가 없습니다", "A: 2월 14일 지원자는 없습니다", "A: 2월 15일 지원자가 없어요"], 5),
    ],
)
def test_dates_times_and_ordinals_count_where_answers_say_nothing_else(answers: list[str | None], points: int) -> None:
    assert scored(*answers).points == points


def test_dates_count_where_the_ground_truth_asks_for_them() -> None:
    texts = ["3월 15일에 2명", "3월 20일에 2명", "3월 15일에 2명"]
    executions = [
        Execution(query_id="Q", round=Round(n, 1), answer_text=text, ground_truth="2026-03-15")
        for n, text in enumerate(texts, start=1)
    ]
    compared = rooms_of([parse_execution(execution) for execution in executions], 3)
    assert len(set(compared.sets)) == 2
    assert "숫자 2, 3월 15일 vs 2, 3월 20일" in consistency_score(compared, None, {}).reason


def test_dates_and_ordinals_of_the_query_are_no_result() -> None:
    texts = ["1차 면접 일정을 바꿉니다", "1차 면접 일정을 2차 면접처럼 바꿉니다", "1차 면접 일정 변경"]
    executions = [
        Execution(query_id="Q", round=Round(n, 1), answer_text=text, query_text="1차 면접 일정 변경")
        for n, text in enumerate(texts, start=1)
    ]
    assert set(rooms_of([parse_execution(execution) for execution in executions], 3).sets) == {frozenset()}


def test_rooms_that_say_another_date_are_as_far_apart_as_those_with_another_number() -> None:
    texts = ["3월 15일에 마감합니다", "3월 20일에 마감합니다", "3월 15일에 마감합니다"]
    told = [execution("Q-1", room, raw_json=None, answer_text=text) for room, text in enumerate(texts, start=1)]
    assert summary(*told).set["consistency"]["mode_ratio"]["mean"] == pytest.approx(2 / 3)


def test_report_says_that_the_numbers_are_the_same_and_not_the_results() -> None:
    text = report(*(move(used=used, round=Round(room, 1)) for room, used in enumerate("AAB", start=1)))
    assert "1회 66.7%(질의 1개)" in text
    assert "가장 흔한 숫자(숫자 없음 포함)로 답한 방의 비율은 평균 100.0%" in text


def test_texts_equal_but_for_white_space_are_not_asked_about() -> None:
    assert asked("3 명입니다", "3명 입니다\n", "3명입니다") is None
    assert scored("3 명입니다", "3명 입니다\n", "3명입니다").points == 5


def test_too_few_answers_to_agree_are_not_asked_about() -> None:
    assert asked("A: 3명", "B: 4명", FAILED, FAILED) is None
    assert asked("A: 3명", "B: 4명", FAILED) is not None


def test_question_holds_every_text_once_and_no_room() -> None:
    request = asked("A: 3명", "A:  3명", "B: 3명")  # with another number in B its conclusion could not matter
    assert request is not None
    assert request.kind is QuestionKind.CONCLUSIONS
    assert request.material["answers"] == ["A: 3명", "B: 3명"]


def test_nobody_is_asked_where_every_grouping_gives_the_same_score() -> None:
    # Two equal answers of three are 3 points, whatever the third one concludes with its other number.
    assert asked("A: 3명", "A: 3명", "B: 9명") is None
    score = scored("A: 3명", "A: 3명", "B: 9명")
    assert score.points == 3
    assert "결론 판정과 상관없이 같은 점수" in score.reason
    assert asked("A: 3명", "A: 3명", "B: 3명") is not None  # 3 or 5


@given(
    st.lists(st.sampled_from(["A: 1명", "B: 1명", "C: 2명", "D: 100명", "E: 101명", FAILED]), min_size=3, max_size=5)
)
def test_unasked_score_is_that_of_every_verdict(answers: list[str | None]) -> None:
    compared = rooms(*answers)
    if consistency_request(compared, "aqb-1.2") is None:
        texts = list(compared.distinct_texts)
        asking = JudgeRequest("aqb-1.2", QuestionKind.CONCLUSIONS, {"answers": texts})
        unasked = consistency_score(compared, None, {}).points
        for groups in ([1] * len(texts), list(range(1, len(texts) + 1))):
            verdicts = {asking.key: Verdict(VerdictStatus.OK, {"groups": groups})}
            assert consistency_score(compared, asking, verdicts).points == unasked


def test_two_rooms_are_compared_where_wanted_and_marked_as_provisional() -> None:
    compared = rooms("3명", "3명", least=2)
    score = consistency_score(compared, consistency_request(compared, "aqb-1.2"), {})
    assert (score.points, compared.provisional) == (5, True)
    assert score.reason.startswith("잠정(답변을 비교할 방 2개")
    assert not rooms("3명", "3명", "3명", least=2).provisional
    assert not rooms("3명", "3명").provisional  # nor is what has no score
    assert consistency_score(rooms("3명", least=2), None, {}).missing == "needs_3_runs"


@pytest.mark.parametrize("status", [status for status in VerdictStatus if status is not VerdictStatus.OK])
def test_without_a_verdict_consistency_is_not_known(status: VerdictStatus) -> None:
    score = scored("A: 3명", "A: 4명", "B: 5명", judged={}, status=status)
    assert (score.points, score.missing) == (None, status)
    assert "3 vs 4 vs 5" in score.reason


@pytest.mark.parametrize("groups", [None, [], [1, 2], [1, 2, 3, 4], [1, "2", 3], [1, True, 3], "123", {"1": 1}])
def test_groups_that_leave_an_answer_out_are_invalid(groups: object) -> None:
    assert scored("A: 3명", "A: 4명", "B: 5명", judged={"groups": groups}).missing == "invalid"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([FAILED] * 3, "서로 비교할 응답이 2개에 못 미침; 응답 없는 방 3개"),
        (["A: 3명", FAILED, FAILED], "서로 비교할 응답이 2개에 못 미침; 응답 없는 방 2개; 숫자 3"),
    ],
)
def test_answers_that_are_not_there_do_not_differ(answers: list[str | None], reason: str) -> None:
    assert scored(*answers) == Score(0, reason)


def test_reason_names_numbers_conclusions_and_missing_answers() -> None:
    assert scored("A: 52.1%", "A: 52.3%", "A: 52.1 %").reason.startswith(
        "3회 모두 결론 일치, 숫자는 허용 오차 이내; 숫자 52.1 vs 52.3 vs 52.1"
    )
    reason = scored("A: 3명", "A: 4명", "B: 3명", FAILED).reason
    assert "결론 2가지(1/1, 2/1 | 3/1)" in reason
    assert "응답 없는 방 1개" in reason
    assert "결론을 비교함" in reason


ANSWERS = st.lists(st.sampled_from(["A: 3명", "A: 3명이요", "A: 4명", "B: 3명", "C", FAILED]), min_size=3, max_size=6)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_order_of_rooms_does_not_matter(answers: list[str | None], random: Any) -> None:
    shuffled = random.sample(answers, len(answers))
    assert scored(*shuffled).points == scored(*answers).points


@given(ANSWERS)
def test_points_stay_in_range_and_full_marks_need_every_room(answers: Sequence[str | None]) -> None:
    points = scored(*answers).points
    assert points in range(6)
    if FAILED in answers:
        assert points in (3, 2, 0)


@given(st.lists(st.text(max_size=8), min_size=3, max_size=5))
def test_any_texts_are_compared(texts: list[str]) -> None:
    compared = rooms(*texts)
    request = consistency_request(compared, "aqb-1.2")
    assert request is None or len(request.material["answers"]) == len({folded(text) for text in compared.texts})


@pytest.mark.parametrize(
    ("status", "todo"),
    [
        (
            VerdictStatus.FAILED,
            "판정에 실패해 점수 4개가 비었습니다. aqb doctor로 판정 모델을 확인하고 다시 채점하세요.",
        ),
        (
            VerdictStatus.OVER_BUDGET,
            "판정 예산이 다해 점수 4개가 비었습니다. judge.max_usd나 judge.max_tokens를 늘리고 다시 채점하세요.",
        ),
    ],
)
def test_run_that_the_judge_left_open_is_to_be_scored_again_before_people_read_it(
    status: VerdictStatus, todo: str
) -> None:
    rooms = [
        execution("Q-1", room, raw_json=None, answer_text=text, detected_filters="PATRIOT")
        for room, text in enumerate(["5명입니다", "5명이에요", "모두 5명"], start=1)
    ]
    verdicts = {one.key: Verdict(status, {}, "") for one in RUBRIC.requests(rooms, OPTIONS)}
    queries = [RUBRIC.score_query(rooms, OPTIONS, verdicts)]
    said = RUBRIC.headline(queries, RUBRIC.summarise(queries, OPTIONS))[2]
    assert said == todo


@pytest.mark.parametrize(
    ("answers", "unjudged"),
    [
        (["5명입니다"] * 3, "의도 충족"),  # the same text: consistency is known
        (["5명입니다", "다섯 명"], "의도 충족"),  # a judge does not help where rooms are missing
        (["5명입니다", "5명이에요", "모두 5명"], "의도 충족과 일관성"),
    ],
)
def test_run_without_a_judge_names_what_a_judge_would_tell(answers: list[str], unjudged: str) -> None:
    rooms = [
        execution("Q-1", room, raw_json=None, answer_text=text, detected_filters="PATRIOT")
        for room, text in enumerate(answers, start=1)
    ]
    assert RUBRIC.headline(*run(*rooms))[2] == f"판정 모델로 다시 채점해야 {unjudged}을 알 수 있습니다."
    assert f"규칙으로 정할 수 없는 {unjudged} 점수는 비워 두었습니다." in report(*rooms)
