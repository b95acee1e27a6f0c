"""Dates, times, ordinals, list markers, periods and offers: digits of an answer that state no quantity."""

import pytest

from scoring.testruns.numbers import number_text, numbers_in, quantities_in


def stated(text: str) -> list[str]:
    return [number_text(number) for number in numbers_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-03", "2026.02.03", "2026. 2. 3.", "2026/2/3", "26.02.03", "26/2/3", "20260203", "2026년 2월 3일",
        "2026년 2월", "2026년", "1999년", "2026년도", "26년 2월 3일", "'26년 2월", "2월 3일", "2월", "02/03", "1~3월",
        "2025년 7월~12월", "24년 상반기", "24년도", "24년 3분기", "12/15",
        "2월 3일~5일", "2025-04-01 ~ 2025-09-30", "2025-04-01~09-30", "2023~2025년", "2026-02", "2026.02",
        "2026-02-03T14:30:00",
        "2026-02-03T14:30:00.123456Z",
        "2025.7.1 ~ 12.31", "2025.7.1~12.31까지", "2026-02-03 - 02.09",
    ],
)  # fmt: skip
def test_dates_are_no_numbers(text: str) -> None:
    assert stated(f"{text} 지원자는 7명") == ["7"]
    assert stated(f"7명({text})") == ["7"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2월 - 5.2%", ["5.2"]),
        ("- 2024년 - 3.8점\n- 2025년 - 3.5점", ["3.8", "3.5"]),
        ("2026-02-13 - 5.2 %", ["5.2"]),
        ("1월 - 10.5명, 2월 - 12.5명", ["10.5", "12.5"]),
    ],
)
def test_value_behind_a_date_and_a_dash_is_no_end_of_a_period(text: str, numbers: list[str]) -> None:
    assert stated(text) == numbers


@pytest.mark.parametrize(
    "text", ["14:30", "9:05:30", "오후 3시", "오전 10시 30분", "14시 30분 5초", "9~18시", "09시~18시"]
)
def test_times_of_day_are_no_numbers(text: str) -> None:
    assert stated(f"{text}에 7명") == ["7"]


@pytest.mark.parametrize(
    "text",
    [
        "1차",
        "제3회",
        "제 3회",
        "2번째",
        "3째",
        "2회차",
        "1~2차",
        "1,2차",
        "1위",
        "2순위",
        "3분기",
        "4학년",
        "2단계",
        "3등급",
        "1st",
    ],
)
def test_ordinals_are_no_numbers(text: str) -> None:
    assert stated(f"{text} 면접 7명") == ["7"]


def test_thousands_group_is_no_list_of_ordinals() -> None:
    assert stated("총 1,047, 2차 전형") == ["1,047"]


@pytest.mark.parametrize("marker", ["1.", "1)", "(1)", "12.", "- 1)", "  3.", "## 2.", "1.**가**"])
def test_list_markers_are_no_numbers(marker: str) -> None:
    assert stated(f"목록\n{marker} 지원자 7명\n끝") == ["7"]


def test_marker_inside_a_line_is_no_number() -> None:
    assert stated("구분: 1) 서류 7명 2) 면접 8명") == ["7", "8"]


@pytest.mark.parametrize(
    "period",
    [
        "최근 365일", "최근 365일(2025-01-15 ~ 2026-01-15) 기준", "최근 1년(365일) 기준", "최근 1년(최근 365일)",
        "지난 2주", "지난 3개월간",
        "최근 1.5년", "최근 1~3개월", "최근 1개월~3개월", "365일 기준", "3개월 이내", "30일 동안", "2주간 동안",
        "5년(접수일 기준) 동안",
        "최근 365일(접수일 기준) 동안", "최근 약 3개월", "최근3개월", "365일(1년) 기준",
        "1년 기준(365일)", "최근 1년 기준(365일)", "기본 기간(1년) 기준",
        "1년간", "12개월간", "직전 1년", "과거 1년", "1년 내", "오늘부터 1년 전까지", "조회 기간 1년,",
        "조회기간(12개월)", "기간 필터(1년)를 적용해", "최근 24시간", "24시간 이내", "최근 12달", "12달 동안",
    ],
)  # fmt: skip
def test_periods_are_no_numbers(period: str) -> None:
    assert stated(f"{period} 지원자는 **7명**입니다.") == ["7"]


def test_parenthesis_behind_a_period_loses_only_what_restates_it() -> None:
    assert stated("최근 1년(365일, 전체 1,200명) 7명") == ["1,200", "7"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("평균 15일 걸렸고 경력은 3년입니다.", ["15", "3"]),
        ("평균 14일간 진행했고 3명이 합격했습니다.", ["14", "3"]),
        ("14일간 진행했습니다.", ["14"]),
        ("채용 소요 기간은 14일입니다.", ["14"]),
        ("3시간 걸렸습니다.", ["3"]),
    ],
)
def test_length_of_time_that_is_no_period_is_a_number(text: str, numbers: list[str]) -> None:
    assert stated(text) == numbers


@pytest.mark.parametrize(("truth", "numbers"), [("14일", [14, 9]), ("9명", [9]), ("", [9])])
def test_duration_is_a_number_where_the_ground_truth_is_one(truth: str, numbers: list[int]) -> None:
    assert list(numbers_in("14일간 진행해 9명이 합격했습니다.", truth=truth)) == numbers


@pytest.mark.parametrize(
    "offer",
    [
        "상위 10개도 확인해드릴까요?", "**10개**로 볼까요?", "10개로 볼까요? 😀", "10개로 볼까요.",
        "4.3/100점 기준으로도 볼까요？",
        "상위 10명 명단도 보여드릴까요?", "10명씩 나눠 볼까요?", "상위 3개 공고도 원하시나요?",
        "3개 공고별로도 필요하신가요?", "3개 공고별 현황도 안내해 드릴 수 있습니다.", "상위 10명 명단도 보여드릴게요.",
        "3개월로 다시 확인해 보시겠어요?", "10명씩 보시겠어요?", "다음 3가지 중 선택해 주세요.",
        "30초 후에 다시 시도해 주세요.",
        "예를 들어 12명처럼 입력해 주세요.", "학점 4.0 만점 기준으로 다시 볼까요?",
    ],
)  # fmt: skip
def test_closing_offers_are_no_numbers(offer: str) -> None:
    assert stated(f"지원자는 7명입니다. {offer}") == ["7"]
    assert stated(f"지원자는 7명입니다.\n\n{offer}") == ["7"]


@pytest.mark.parametrize(
    "result", ["7명이며, ", "7명인데 ", "7명으로 집계되었는데, ", "7명이 확인됐으며, ", "7명이에요, ", "7명이지만, "]
)
def test_offer_leaves_the_result_before_it_in_the_sentence(result: str) -> None:
    assert stated(f"지원자는 {result}최근 3개월로 상위 10개도 볼까요?") == ["7"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("기타/미입력 138명(1.41%)도 함께 확인할까요?", ["138", "1.41"]),
        ("조회된 2만 917명의 명단을 보여드릴까요?", ["20,917"]),
        ("상위 10명 명단도 보여드릴까요?", []),
        ("10명을 더 보여드릴까요?", []),
        ("12건 더 볼까요?", []),
        ("10명만 보여드릴까요?", []),
        *((f"지원자가 10명 {limit}인 공고도 볼까요?", []) for limit in ("이상", "이하", "이내", "미만", "초과")),
        ("최대 10명의 명단을 볼까요?", []),
    ],
)
def test_people_whom_an_offer_mentions_may_meet_a_ground_truth(text: str, numbers: list[str]) -> None:
    """A real answer gave the last number of its result in the sentence of its offer; rooms offer this and that."""
    assert [number_text(one.value) for one in quantities_in(text, offers_count=True)] == numbers
    assert stated(text) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("총 3명이 지원했고, 명단도 볼까요?", ["3"]),
        ("지원자 3명이 있으며, 최근 6개월로 상위 10개도 볼까요?", ["3"]),
        ("3명입니다😊 명단도 보여드릴까요?", ["3"]),
        ("3명이 아니라 5명인데 명단도 볼까요?", ["5"]),
        ("52.1%입니다 더 볼까요?", ["52.1"]),
        ("지원자는 12명이니 확인해 주세요.", ["12"]),
        ("공고 12개가 있는데 목록도 볼까요?", ["12"]),
        ("총 12개의 공고가 있으니 선택해 주세요.", ["12"]),
        ("평균은 3.5점으로, 다른 조건도 볼까요?", ["3.5"]),
    ],
)
def test_result_before_an_offer_in_its_sentence_is_a_number(text: str, numbers: list[str]) -> None:
    assert stated(text) == numbers


@pytest.mark.parametrize("text", ["총 12개 공고를 확인할 수 있습니다.", "안녕하세요, 12건입니다.", "12개가 맞나요"])
def test_statement_is_no_offer(text: str) -> None:
    assert stated(text) == ["12"]


def test_offer_in_parentheses_leaves_its_sentence() -> None:
    assert stated("7명입니다(8명도 볼까요?)") == ["7"]


def test_decimal_point_ends_no_sentence() -> None:
    assert stated("비율은 2.34%입니다. 더 볼까요?") == ["2.34"]
