"""Which query of one run is which of another."""

import pytest

from scoring.stats.pairing import question_key, same_queries


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("평가 기간을 바꿔줘", "평가기간을  바꿔줘."),
        ("GPA 3.5 이상?", "gpa 3.5 이상"),
        ("'보훈' 지원자, 몇 명이야?", "보훈 지원자 몇 명이야"),
    ],
)
def test_question_may_differ_in_blanks_case_and_marks(one: str, other: str) -> None:
    assert question_key(one) == question_key(other)


@pytest.mark.parametrize(("one", "other"), [("3.5점 이상", "35점 이상"), ("C 경력자", "C++ 경력자"), ("?", "")])
def test_what_means_something_else_is_another_question(one: str, other: str) -> None:
    assert question_key(one) != question_key(other)


def test_queries_are_paired_by_what_they_ask_whatever_their_ids() -> None:
    assert same_queries({"1": "공고", "2": "면접"}, {"1": "면접", "7": "공고"}) == {"1": "7", "2": "1"}


def test_of_several_with_one_question_those_of_one_id_belong_together() -> None:
    assert same_queries({"1": "네", "2": "네", "3": "네"}, {"2": "네", "3": "네", "4": "네"}) == {
        "1": "4",
        "2": "2",
        "3": "3",
    }


def test_id_tells_where_a_file_gives_no_text() -> None:
    assert same_queries({"1": "", "2": "공고"}, {"1": "공고", "2": "", "3": ""}) == {"1": "1", "2": "2"}
