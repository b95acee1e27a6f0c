"""Dates, times of day and ordinals, as what they say."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.testruns.ground_truth import unmet_positions
from scoring.testruns.positions import Position, all_said, only_positions, positions_in, results_in


def said(text: str) -> list[str]:
    return [str(position) for position in positions_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-15", "2026.03.15", "2026. 3. 15.", "2026.3.15", "2026/03/15", "2026년 3월 15일", "26년 3월 15일",
        "26.03.15", "20260315", "2026.03.15(일)입니다",
    ],
)  # fmt: skip
def test_date_is_the_same_in_every_spelling(text: str) -> None:
    assert said(text) == ["2026년 3월 15일"]


@pytest.mark.parametrize("weekday", "월화수목금토일")
def test_month_and_day_before_a_weekday_are_a_date(weekday: str) -> None:
    assert said(f"3.15({weekday})") == ["3월 15일"]


@pytest.mark.parametrize("text", ["18:00", "18시", "오후 6시", "오후 6:00", "18시 00분"])
def test_time_is_the_same_in_every_spelling(text: str) -> None:
    assert said(text) == ["18시 0분"]


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("오전 12시와 오후 12시 30분", ["0시 0분", "12시 30분"]),
        ("2026.03.15 ~ 03.31", ["2026년 3월 15일", "2026년 3월 31일"]),
        ("2026년 3월 15일부터 3월 31일까지", ["2026년 3월 15일", "2026년 3월 31일"]),
        ("2월 3일~5일", ["2월 3일", "2월 5일"]),
        ("12월 3일과 4일", ["12월 3일", "12월 4일"]),
        ("12월 3~4일", ["12월 3일", "12월 4일"]),
        ("4월 1일부터 3일까지", ["4월 1일", "4월 3일"]),
        ("2026.04.01(수) ~ 04.03(금)", ["2026년 4월 1일", "2026년 4월 3일"]),
        ("2월 - 5.2%", ["2월"]),
        ("2024년 - 3.8점", ["2024년"]),
        ("24년 하반기", ["2024년 하반기"]),
        ("2026-03", ["2026년 3월"]),
        ("1, 2차 면접과 3분기", ["1차", "2차", "3분기"]),
        ("2순위", ["2위"]),
        ("3월이 아니라 5월입니다", ["5월"]),
        ("3/15", ["3월 15일"]),
        ("3/5명, 12/15 (80%)", []),
        ("공고 202603151", []),
        ("12시간, 3개월, 5일, 10-20명, 1:5, v1.2.3", []),
    ],
)
def test_text_says_its_positions(text: str, positions: list[str]) -> None:
    assert said(text) == positions


@pytest.mark.parametrize(
    ("text", "found"), [("2026-03-15(일) 마감", 1), ("2차", 1), ("2월: 10명", 0), ("1~3월", 0), ("없음", 0)]
)
def test_text_asks_for_positions_that_has_no_other_digits(text: str, found: int) -> None:
    assert len(only_positions(text)) == found


@pytest.mark.parametrize(
    "text", ["2026-02-13 기준 5월", "2026.02.13(금) 14:30 기준 5월", "2025-02-14 ~ 2026-02-13 기준으로 5월"]
)
def test_basis_of_an_answer_is_no_result(text: str) -> None:
    assert [str(position) for position in results_in(text)] == ["2026년 5월"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["1차 ", "1월 ", "2026-03-15~", "3월 15일 기준 ", "1,", "12:10 ", "1~", "오후 "])
def test_long_texts_take_time_in_proportion(unit: str) -> None:
    times = 100_000 // len(unit)
    assert len(results_in(unit * times)) <= 2 * times


PARTS = st.lists(st.tuples(st.integers(1, 3), st.sampled_from("년월일시")), min_size=1, max_size=4, unique=True)
POSITIONS = st.builds(Position, PARTS.map(tuple))


@given(st.lists(POSITIONS, max_size=5), POSITIONS)
def test_position_is_said_by_one_that_has_all_its_parts(said_by: list[Position], asked: Position) -> None:
    named = any(set(asked.parts) <= set(other.parts) for other in said_by)
    assert (frozenset(asked.parts) in all_said(said_by)) == named


def test_many_positions_take_time_in_proportion_to_their_number() -> None:
    def seconds(days: int) -> float:
        truth, answer = (
            " ".join(f"{year + day // 336}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}" for day in range(days))
            for year in (1901, 1951)
        )
        began = process_time()
        unmet_positions(truth, answer, query="")
        return process_time() - began

    seconds(100)
    assert seconds(4_000) < 30 * seconds(400)  # ten times as long; a hundred times, were it quadratic
