"""A metric that a rubric file has judged: what is asked, what a verdict earns, what caps it, and what is told of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from scoring.catalog import rubric_of_text, testrun_rubric_of_text
from scoring.judging.requests import NO_JUDGE, Verdict, VerdictStatus
from scoring.testruns.executions import Execution, Round
from tests.builders.rubric_files import EXAMPLES, assert_refused

EXAMPLE = (EXAMPLES / "support-tests.toml").read_text("utf-8")
RUBRIC = testrun_rubric_of_text(EXAMPLE)
OPTIONS = RUBRIC.chosen({})
HELPING = "Please open https://example.com/track and enter your number."


def asked(answer: str = HELPING, room: int = 1, **fields: Any) -> Execution:
    return Execution("t1", Round(room, 1), query_text="Where is my parcel?", answer_text=answer, **fields)


def judged(verdict: Verdict, *executions: Execution) -> Any:
    """The query whose questions all have this verdict."""
    verdicts = {request.key: verdict for request in RUBRIC.requests(executions, OPTIONS)}
    return RUBRIC.score_query(executions, OPTIONS, verdicts)


def given(points: int) -> Verdict:
    return Verdict(VerdictStatus.OK, {"reason": "It names the page.", "points": points}, "It names the page.")


def score_of(query: Any) -> tuple[float | None, str]:
    score = query.executions[0].scores["helpful"]
    return score.points, score.reason


def test_one_question_is_asked_of_each_answer_with_the_columns_that_the_file_names() -> None:
    (request,) = RUBRIC.requests([asked(expected_text="It names the tracking page.", latency_ms=1200.0)], OPTIONS)
    assert (request.rubric, request.kind) == ("support-tests", "helpful")
    expected = "It names the tracking page."
    assert request.material == {"query_text": "Where is my parcel?", "expected": expected, "answer": HELPING}


def test_metrics_that_see_the_same_columns_are_asked_apart() -> None:
    helpful = EXAMPLE[EXAMPLE.index("[metrics.helpful]") : EXAMPLE.index("[metrics.speed]")]
    rubric = testrun_rubric_of_text(EXAMPLE.replace(helpful, helpful + helpful.replace("helpful", "polite")))
    first, second = rubric.requests([asked()], OPTIONS)
    assert first.material == second.material
    assert first.key != second.key


def test_judge_is_told_the_text_and_the_scale_of_the_file_behind_the_fence() -> None:
    (prompt,) = RUBRIC.prompts
    assert all(part in prompt.system_text for part in ("one answer of a support bot", "- 3: helps, but", "같은 표식"))
    assert list(prompt.schema["properties"]) == ["reason", "points"]
    assert prompt.parse('{"reason": "x", "points": 5}', {}) and not prompt.parse('{"reason": "x", "points": 4}', {})


def test_nothing_is_asked_where_a_rule_decides() -> None:
    unanswered, too_short, out_of_scope = asked(""), asked("No."), asked(category="out of scope")
    executions = [unanswered, too_short, out_of_scope]
    assert RUBRIC.requests(executions, OPTIONS) == []
    scores = [RUBRIC.score_query([one], OPTIONS, {}).executions[0].scores["helpful"] for one in executions]
    assert [(score.points, score.undecided) for score in scores] == [(0, False), (0, False), (None, False)]
    assert scores[1].reason == "Fewer than 10 characters: 0점"


def test_verdict_earns_its_points_and_a_guard_caps_them() -> None:
    assert score_of(judged(given(5), asked())) == (5, "5점: It names the page.")
    refusing = asked("I cannot say where your parcel is.")
    assert score_of(judged(given(5), refusing)) == (3, "Most checks failed: 3점까지. 5점: It names the page.")
    assert score_of(judged(given(1), refusing)) == (1, "1점: It names the page.")


@pytest.mark.parametrize(
    ("status", "todo"),
    [
        ("refused", "수기 확인이 필요한 질의 1개를 'Where is my parcel?'부터 확인하세요."),
        ("invalid", "수기 확인이 필요한 질의 1개를 'Where is my parcel?'부터 확인하세요."),
        ("failed", "판정에 실패해 점수 2개가 비었습니다. aqb doctor로 판정 모델을 확인하고 다시 채점하세요."),
        (
            "over_budget",
            "판정 예산이 다해 점수 2개가 비었습니다. judge.max_usd나 judge.max_tokens를 늘리고 다시 채점하세요.",
        ),
    ],
)
def test_question_that_was_asked_in_vain_has_no_points_and_is_for_a_person(status: str, todo: str) -> None:
    query = judged(Verdict(VerdictStatus(status)), asked(), asked(room=2))
    assert query.scores["helpful"].points is None and query.scores["helpful"].undecided
    assert query.manual_review_reasons == [f"helpful_{status}"]
    assert RUBRIC.code_titles[f"helpful_{status}"].startswith("Helpful: ")
    summary = RUBRIC.summarise([query], OPTIONS)
    assert (summary.data_quality[f"helpful_{status}"], summary.notice) == (2, "")
    assert RUBRIC.headline([query], summary)[-1] == todo


def test_without_any_judge_the_run_says_so_once_and_flags_nobody() -> None:
    query = judged(NO_JUDGE, asked())
    assert query.manual_review_reasons == []
    assert "점수 1개(Helpful)" in RUBRIC.summarise([query], OPTIONS).notice


def test_headline_says_which_metrics_a_total_is_without() -> None:
    options = RUBRIC.chosen({"min_weight_coverage": "40"})
    query = RUBRIC.score_query([asked()], options, {})
    sentence = RUBRIC.headline([query], RUBRIC.summarise([query], options))[0]
    assert "종합 점수는 5.00점(5점 만점, Helpful·Speed·Consistency 없이 가중치의 40%만 채점), " in sentence
    assert sentence.count("다.") == 1 and sentence.endswith("등급은 Pass 1개, Weak 0개, Fail 0개입니다.")


def test_points_outside_the_scale_are_an_invalid_verdict() -> None:
    score = judged(given(4), asked()).scores["helpful"]
    assert (score.points, score.missing) == (None, VerdictStatus.INVALID)


def test_epoch_of_a_judged_metric_is_that_of_its_own_questions() -> None:
    by_name: Mapping[str, Any] = {metric.name: metric for metric in RUBRIC.metrics}
    epochs = {"helpful": ["a1"], "intent": ["b2"]}
    assert (by_name["helpful"].epoch(epochs), by_name["accuracy"].epoch(epochs)) == ("a1", None)


@pytest.mark.parametrize(
    ("old", "new", "at", "what", "fix"),
    [
        (
            '"query_text", "expected", "answer"]',
            '"query_text", "pass_ratio"]',
            '"pass_ratio"',
            "does not see",
            "answer",
        ),
        ("{ points = 3, means", "{ points = 5, means", "[", "the same points", "leave one out"),
        ("{ points = 5, means", "{ points = 6, means", "6", "scale.0.points", ""),
        ("pass_ratio < 0.5", "pas_ratio < 0.5", "pas_ratio", "no column pas_ratio", "pass_ratio?"),
        ("at_most = 3, label", "label", "{ when", "key at_most is missing", ""),
        ('title = "Helpful"\n', 'title = "Helpful"\nper_query = true\n', "true", "one answer at a time", "leave"),
        ("[review.people_disagree]", "[review.helpful_failed]", "[review.helpful_failed]", "of its own", "another"),
    ],
)
def test_judged_metric_that_is_wrong_is_refused_with_its_place(
    old: str, new: str, at: str, what: str, fix: str
) -> None:
    assert EXAMPLE.count(old) == 1
    assert_refused(rubric_of_text, EXAMPLE.replace(old, new), at, what, fix)
