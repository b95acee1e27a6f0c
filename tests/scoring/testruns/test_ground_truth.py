"""What meets a ground truth: words that there is none."""

import pytest

from scoring.testruns.ground_truth import says_none

AMERICANS = "미국 국적 지원자 수 알려줘"
BY_GENDER = "남녀 지원자 수 알려줘"


@pytest.mark.parametrize(
    "answer",
    [
        "없습니다.",
        "없어요",
        "현재 기준 없습니다",
        "미국 국적은 없습니다",
        "미국인은 없습니다",
        "미국 국적 지원자는 1명도 없습니다",
        "미국 국적 지원자는 단 한 명도 없습니다",
        "미국 국적 지원자 : 없음",
        "미국 국적 지원자는\n없습니다",
        "미국 국적 지원자가\r\n\r\n존재하지 않습니다",
        "미국 국적 지원자는    없습니다",
        "미국\u00a0국적\u202f지원자는\u00a0없습니다",
        "해당사항 없음",
        "일치하는 항목이 없습니다",
        "지원자분은 안 계세요",
        "미국 국적 지원자가 나오지 않았습니다",
        "미국 국적 지원자는 없는 걸로 조회돼요",
        "전체 21,960명 중 미국 국적은 없습니다.",
        "미국 국적 지원자는 없습니다. 전체 지원자는 21,960명입니다.",
        "공고 3개를 조회했으나 미국 국적 지원자는 없습니다",
        "2개 공고 모두 미국 국적 지원자가 없습니다",
        "진행 중인 공고는 있으나 미국 국적 지원자는 없습니다",
        "지원자는 있지만 미국 국적 지원자는 없습니다",
        "조회 권한이 있는 공고 기준으로 미국 국적 지원자는 없습니다",
        "미국 국적 지원자는 없습니다. 비율은 계산할 수 없습니다.",
        "미국 국적 지원자는 없습니다. 다른 조건이 필요하시면 말씀해 주세요.",
        "미국 국적 지원자가 없습니다. 공고명을 정확히 알려주시면 다시 확인하겠습니다.",
        "미국 국적 지원자가 없습니다. 오류가 있으면 문의해 주세요.",
        "오류 없이 조회되었으며 미국 국적 지원자는 없습니다",
        "권한이 없는 공고는 제외했습니다. 미국 국적 지원자는 없습니다",
        "미국 국적 지원자가 없어 표시할 목록이 없습니다",
        "미국 국적 지원자를 찾을 수가 없었습니다",
    ],
)
def test_clear_statement_that_there_is_none_says_0(answer: str) -> None:
    assert says_none(answer, query=AMERICANS, truth="0")


@pytest.mark.parametrize(
    "answer",
    [
        "시스템 오류로 지원자가 조회되지 않았습니다",
        "조회에 실패하여 결과가 확인되지 않았습니다",
        "시간 초과로 데이터가 조회되지 않았습니다.",
        "결과를 찾는 데 문제가 있어 데이터가 없습니다",
        "조회할 지원자가 없습니다. 권한을 확인해 주세요",
        "접근 가능한 데이터가 없습니다",
        "국적 필터가 없어 지원자를 찾을 수 없습니다",
        "일치하는 공고가 없습니다. 정확한 공고명을 알려주세요.",
        "선택된 공고가 없습니다",
        "입력하신 공고와 일치하는 결과가 없습니다",
        "공고를 찾지 못해 지원자가 조회되지 않았습니다",
        "지원자가 없다고 단정할 수 없습니다",
        "지원자가 없다면 기간을 바꿔 보세요",
        "지원자가 없습니까?",
        "지원자가 없어서 그런 것이 아닙니다",
        "지원자가 없는 것으로 보이지는 않습니다",
        "제외된 지원자는 없습니다",
        "그 외 조건에 맞는 지원자는 없습니다",
        "미국 국적 지원자가 있으나 합격자는 없습니다",
        "특이사항은 없습니다",
        "확인할 수 없습니다",
    ],
)
def test_error_precondition_doubt_and_what_others_are_missing_do_not_say_0(answer: str) -> None:
    assert not says_none(answer, query=AMERICANS, truth="0")


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("마감된 공고 수", "마감된 공고가 없습니다"),
        ("오류 지원서 수", "오류 지원서는 없습니다"),
        ("중복 지원자 수", "중복 지원자는 없습니다"),
    ],
)
def test_what_the_query_asks_for_is_neither_error_nor_precondition(query: str, answer: str) -> None:
    assert says_none(answer, query=query, truth="0")


@pytest.mark.parametrize(
    ("answer", "none"),
    [
        ("여성 3명, 남성 지원자는 없습니다", True),
        ("남성은 없고 여성은 3명(100%)입니다", True),
        ("여성 3명, 기타 2명, 남성은 없습니다. 총 5명입니다.", True),
        ("전체 20명 중 여성 3명, 기타 2명이고 남성은 없습니다", True),
        ("여성 3명, 기타 2명, 남성 4명이며 미제출 지원자는 없습니다", False),
        ("여성 3명, 기타 2명, 남성 4명, 그 외 데이터가 없습니다", False),
    ],
)
def test_zero_beside_other_numbers_is_not_said_beside_a_number_that_contradicts_it(answer: str, none: bool) -> None:
    assert says_none(answer, query=BY_GENDER, truth="남 0, 여 3, 기타 2") is none


def test_number_of_all_is_no_0_where_the_query_asks_for_all() -> None:
    answer = "보훈 대상자는 없습니다. 전체 지원자는 120명입니다."
    assert says_none(answer, query="보훈 대상자 수", truth="0")
    assert not says_none(answer, query="보훈 대상자와 전체 지원자 수", truth="0")


def test_rest_without_any_is_a_0_beside_the_other_numbers() -> None:
    assert says_none("A 공고 10명, 나머지 공고에는 지원자가 없습니다", query="공고별 지원자 수", truth="10, 0")
