"""People and cases that an answer counts in words: `두 명` is 2, `한 명도 없습니다` none."""

import pytest

from scoring.testruns.ground_truth import says_none
from scoring.testruns.numbers import quantities_in, quantity_text


def stated(text: str, query: str = "") -> list[str]:
    return [quantity_text(quantity) for quantity in quantities_in(text, query=query)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("지원자는 한 명입니다.", ["1명"]),
        ("지원자 한명, 면접 두건", ["1명", "2건"]),
        ("총 다섯명이며, 이 중 두명이 합격했습니다", ["5명", "2명"]),
        ("**세 명**의 지원자", ["3명"]),
        ("열 명", ["10명"]),
        ("열두 명", ["12명"]),
        ("스무 명", ["20명"]),
        ("확인이 필요한 건은 두 건", ["2건"]),
        ("한 명이 아니라 3명", ["3명"]),
    ],
)
def test_words_of_people_and_cases_are_numbers(text: str, numbers: list[str]) -> None:
    assert stated(text) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "한두 명",
        "여러 명",
        "스물두 명",
        "한 번 더 확인했습니다",
        "두 공고",
        "세명대학교",
        "조회한 건 없습니다",
        "한 명도 합격하지 못했습니다",
    ],
)
def test_other_words_are_no_numbers(text: str) -> None:
    assert stated(text) == []


def test_number_of_the_question_in_words_is_an_echo() -> None:
    assert stated("요청하신 두 명은 5번째 줄에 있습니다. 면접은 3건입니다.", query="2명을 찾아줘") == ["3건"]


@pytest.mark.parametrize(
    "answer",
    [
        "해당 지원자는 하나도 없습니다.",
        "해당 지원자는 한 명도 존재하지 않습니다",
        "해당 지원자를 한 명도 찾을 수 없었습니다",
        "해당 지원자는 따로 없습니다",
    ],
)
def test_words_that_there_is_not_even_one_say_0(answer: str) -> None:
    assert says_none(answer, query="미국 국적 지원자 수 알려줘", truth="0")
