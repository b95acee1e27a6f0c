"""recruit-agent: what the judge is asked, and what its verdicts and silences come to. Source: seed 004; SPEC 7."""

import json
from typing import Any

import pytest

from scoring.judging.requests import STATUS_TITLES, JudgeRequest, QuestionKind, Verdict, VerdictStatus
from scoring.rubrics.recruit_agent import RUBRIC
from scoring.rubrics.recruit_agent.formulas import RecruitQuery
from scoring.rubrics.recruit_agent.summary import RecruitSummary
from scoring.testruns.executions import Execution, Round
from tasks.reports.testrun_folder import testrun_report

OPTIONS = RUBRIC.chosen({})
SILENT = [status for status in VerdictStatus if status is not VerdictStatus.OK]


def run(message: str = "안내", room: int = 1, **fields: Any) -> Execution:
    raw = json.dumps({"assistantMessage": message, **fields.pop("raw", {})})
    return Execution(**{"query_id": "Q-1", "round": Round(room, 1), "raw_json": raw, **fields})


def request(execution: Execution) -> JudgeRequest:
    (only,) = RUBRIC.requests([execution], OPTIONS)
    return only


def judged(word: str, label: str = "VIEW", reason: str = "") -> RecruitQuery:
    answer = {"intent_verdict": word, "intent_label": label}
    return answered(Verdict(VerdictStatus.OK, answer, reason))


def answered(verdict: Verdict) -> RecruitQuery:
    return RUBRIC.score_query([run()], OPTIONS, {request(run()).key: verdict})


def summary_of(*queries: RecruitQuery) -> RecruitSummary:
    return RUBRIC.summarise(queries, OPTIONS)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("PERFECT", 5), ("GOOD", 4), ("PARTIAL", 3), ("WEAK", 2), ("RELATED_BUT_WRONG", 1), ("FAILED", 0)],
)
def test_verdict_earns_its_points(word: str, expected: int) -> None:
    (execution,) = judged(word).executions
    assert execution.scores["intent"].points == expected
    assert (execution.intent_verdict, execution.intent_label) == (word, "VIEW")


@pytest.mark.parametrize("label", ["ADD", "UPDATE", "DELETE", "VIEW", "MOVE", "CLARIFY", "ERROR", "OTHER"])
def test_label_of_the_table_is_kept(label: str) -> None:
    assert judged("GOOD", label).executions[0].intent_label == label


def test_judges_reason_is_the_scores_reason() -> None:
    assert judged("WEAK", reason="범위가 다름").executions[0].scores["intent"].reason == "WEAK(2점): 범위가 다름"


@pytest.mark.parametrize(
    "answer",
    [
        {"intent_verdict": "SUPERB", "intent_label": "VIEW"},
        {"intent_verdict": "GOOD", "intent_label": "LOOK"},
        {"intent_verdict": "good", "intent_label": "VIEW"},
        {"intent_verdict": ["GOOD"], "intent_label": "VIEW"},
        {"intent_verdict": "GOOD"},
        {},
    ],
)
def test_words_outside_the_tables_are_an_invalid_verdict(answer: dict[str, Any]) -> None:
    found = answered(Verdict(VerdictStatus.OK, answer))
    (execution,) = found.executions
    assert (execution.scores["intent"].points, execution.scores["intent"].missing) == (None, "invalid")
    assert (execution.intent_verdict, execution.intent_label) == (None, None)
    assert found.manual_review_reasons == ["intent_invalid"]


@pytest.mark.parametrize("status", SILENT)
def test_without_an_answer_intent_is_unknown_and_names_the_status(status: VerdictStatus) -> None:
    intent = answered(Verdict(status)).executions[0].scores["intent"]
    assert (intent.points, intent.missing) == (None, status)
    assert STATUS_TITLES[status] in intent.reason


@pytest.mark.parametrize("status", [status for status in SILENT if status is not VerdictStatus.NO_JUDGE])
def test_question_without_an_answer_goes_to_manual_review(status: VerdictStatus) -> None:
    found = answered(Verdict(status))
    row = RUBRIC.query_row(found)
    assert (row["flag_manual_review"], row["manual_review_reasons"]) == (True, [f"intent_{status}"])
    assert summary_of(found).manual_review == 1


def test_every_silence_of_a_query_is_a_reason_to_look() -> None:
    first, second = run("하나"), run("둘", 2)
    verdicts = {
        request(first).key: Verdict(VerdictStatus.REFUSED),
        request(second).key: Verdict(VerdictStatus.FAILED),
    }
    found = RUBRIC.score_query([second, first], OPTIONS, verdicts)
    assert found.manual_review_reasons == ["intent_refused", "intent_failed"]
    assert found.scores["intent"].missing == found.scores["consistency"].missing == "refused"


def test_without_any_judge_the_run_says_so_once_and_flags_nobody() -> None:
    queries = [RUBRIC.score_query([run(query_id=name)], OPTIONS, {}) for name in ("Q-1", "Q-2")]
    summary = summary_of(*queries)
    assert not any(RUBRIC.query_row(found)["flag_manual_review"] for found in queries)
    assert "2건 중 2건" in summary.notice
    assert testrun_report(RUBRIC, "a.csv", queries, summary, OPTIONS).count("판정 모델을 쓰지 않아 실행") == 1


def test_fully_judged_run_has_no_notice() -> None:
    assert summary_of(judged("GOOD")).notice == ""


@pytest.mark.parametrize("fields", [{"error": "timeout"}, {"message": ""}, {"status": "에러"}])
def test_what_did_not_answer_is_failed_by_rule_and_nobody_is_asked(fields: dict[str, Any]) -> None:
    execution = run(**fields)
    assert RUBRIC.requests([execution], OPTIONS) == []
    (found,) = RUBRIC.score_query([execution], OPTIONS, {}).executions
    assert found.scores["intent"].points == 0
    assert (found.intent_verdict, found.intent_label) == ("FAILED", "ERROR")


def test_one_question_is_asked_per_answer() -> None:
    executions = [run("하나"), run("둘", 2), run("셋", 3, error="timeout")]
    requests = RUBRIC.requests(executions, OPTIONS)
    assert [asked.material["assistant_message"] for asked in requests] == ["하나", "둘"]
    assert {(asked.rubric, asked.kind) for asked in requests} == {("recruit-agent", QuestionKind.INTENT)}


def test_same_answer_in_two_rounds_is_one_question() -> None:
    assert request(run(room=1, run_id="A")).key == request(run(room=2, run_id="B")).key


def test_another_answer_is_another_question() -> None:
    assert request(run("하나")).key != request(run("둘")).key


def test_material_holds_what_the_judge_needs() -> None:
    criteria = {"schemaVersion": "aqb.v1", "intentRubric": "조회해야 한다", "note": "참고"}
    ui_value = {
        "formType": "SELECT",
        "message": "전형을 고르세요",
        "selectOptionList": [{"optionName": f"전형 {number}"} for number in range(30)] + ["x"],
        "value": {"nodeDataSet": {"dataKey": "K"}},
        "filterType": "PATRIOT",
    }
    execution = run(
        query_text="보여 줘",
        expected_text="목록을 보여 준다",
        criteria_json=json.dumps(criteria),
        raw={"dataUIList": [{"uiDescription": "전형 선택", "uiValue": ui_value}, {}]},
    )
    assert request(execution).material == {
        "query": "보여 줘",
        "expected_result": "목록을 보여 준다\nnote: 참고",
        "intent_rubric": "조회해야 한다",
        "assistant_message": "안내",
        "data_ui": [
            {
                "description": "전형 선택",
                "formType": "SELECT",
                "message": "전형을 고르세요",
                "options": [f"전형 {number}" for number in range(10)],
                "data_keys": ["K"],
                "filters": ["PATRIOT"],
            },
            {},
        ],
    }


def test_long_data_ui_is_described_shortly() -> None:
    raw = {"dataUIList": [{"uiValue": {"message": "가" * 1000}}] * 50}
    described = request(run(raw=raw)).material["data_ui"]
    assert len(described) == 20
    assert len(described[0]["message"]) == 200


def test_material_is_json_whatever_the_answer_holds() -> None:
    ui_value = {"formType": {"a": [1]}, "selectOptionList": {"x": 1}, "value": [[{"dataKey": 7}]], "filterType": 3}
    material = request(run(raw={"dataUIList": [{"uiValue": ui_value}, {"uiValue": 5}]})).material
    assert json.loads(json.dumps(material)) == material


def test_without_a_judge_consistency_is_not_that_of_the_query_that_always_fails() -> None:
    def repeated(query_id: str, **fields: Any) -> RecruitQuery:
        return RUBRIC.score_query([run(room=room, query_id=query_id, **fields) for room in (1, 2)], OPTIONS, {})

    failing = repeated("F", error="timeout")
    assert failing.scores["consistency"].points == 5  # by rule: it fails the same way every time
    consistency = summary_of(failing, *map(repeated, ("A", "B", "C"))).set["consistency"]
    assert (consistency["mean"], consistency["decided"], consistency["undecided"]) == (None, 1, 3)
    assert (consistency["low"], consistency["high"]) == (1.25, 5)
