"""What a reviewer reads of an answer: everything that was expected, said and shown, without the input at hand."""

import json
from typing import Any

from scoring.testruns.executions import Execution, Round
from scoring.testruns.review_items import ReviewItem, review_items
from scoring.testruns.rubric import Metric

METRICS = (Metric("accuracy", "정확성"), Metric("consistency", "일관성", per_execution=False))
URL = "/agent/grid?condition=%5B%7B%22filterType%22:%22APPLY_CHANNEL%22%7D,%7B%22filterType%22:%22NEW_ONE%22%7D%5D"


def execution(room: int, message: str = "답", *ui_values: dict[str, Any], **given: Any) -> Execution:
    entries = [{"uiDescription": "고르기", "uiValue": ui_value} for ui_value in ui_values]
    raw = json.dumps({"assistantMessage": message, "dataUIList": entries}, ensure_ascii=False)
    return Execution("Q1", Round(room, 1), query_text="질의", **{"raw_json": raw, **given})


def items(*executions: Execution) -> list[ReviewItem]:
    return list(review_items(executions, METRICS))


def test_item_names_what_the_screen_offered_and_where_links_lead() -> None:
    select = {
        "formType": "SELECT",
        "multiSelectAllowYn": False,
        "selectOptionList": [{"optionName": f"전형 {n}", "optionValue": n} for n in range(1, 15)],
    }
    link = {"formType": "LINK", "buttonName": "이동하기", "buttonUrl": URL, "value": {"nodeDataSet": {"dataKey": "K1"}}}
    (item,) = items(execution(1, "답", select, link))
    first, second = item.screen.split("\n")
    assert first.startswith("1) SELECT · 고르기 · 선택지: 전형 1, 전형 2, ")
    assert first.endswith("전형 12 외 2개 · multiSelectAllowYn: false")
    assert second == "2) LINK · 고르기 · 이동하기 · dataKey: K1"
    assert item.tools == "필터: NEW_ONE, 지원 경로(APPLY_CHANNEL)\ndatakey: K1"
    assert item.urls == '/agent/grid?condition=[{"filterType":"APPLY_CHANNEL"},{"filterType":"NEW_ONE"}]'


def test_item_of_a_file_without_raw_json_shows_its_own_columns() -> None:
    (item,) = items(
        execution(
            1, raw_json="", answer_text="3명", detected_filters="보훈", button_url="/a/b", expected_filters="보훈"
        )
    )
    assert (item.answer, item.tools, item.urls, item.expected) == (
        "3명",
        "필터: 보훈(PATRIOT)",
        "/a/b",
        "기대 조건: 보훈",
    )


def test_everything_that_was_expected_stands_together() -> None:
    (item,) = items(execution(1, expected_text="안내한다\n기대 URL: /a", expected_datakeys="K1", ground_truth="3"))
    assert item.expected == "안내한다\n기대 URL: /a\n기대 datakey: K1\n정답 수치: 3"


def test_query_of_many_rounds_takes_as_much_text_for_each_of_them_as_one_of_twenty() -> None:
    few, many = (items(*(execution(room, f"{room}명") for room in range(1, rooms + 1))) for rooms in (21, 500))
    assert few[0].other_answers.endswith("[21/1]\n21명")
    assert many[0].other_answers == f"{few[0].other_answers}\n\n(그 밖의 답변 479개 생략)"
    assert (many[-1].round, many[-1].answer.endswith("[20/1]\n20명\n\n(그 밖의 답변 480개 생략)")) == ("", True)
    assert many[-2].other_answers.endswith("[20/1]\n20명\n\n(그 밖의 답변 479개 생략)")


def test_rounds_show_each_other_and_are_judged_together_where_there_are_two() -> None:
    first, second, together = items(execution(1, "3명"), execution(2, "4명"))
    assert (first.other_answers, second.other_answers) == ("[2/1]\n4명", "[1/1]\n3명")
    assert (first.metrics, together.metrics, together.round) == (("accuracy",), ("consistency",), "")
    assert together.answer == "[1/1]\n3명\n\n[2/1]\n4명"
    assert [item.round for item in items(execution(1, "3명"))] == ["1/1"]


def test_execution_without_an_answer_says_why() -> None:
    failed, empty, _ = items(execution(1, error="시간 초과"), execution(2, ""))
    assert failed.answer == "(실행 실패: 시간 초과)"
    assert empty.answer == "(빈 응답: 답변 메시지와 dataUIList가 모두 비어 있음)"
