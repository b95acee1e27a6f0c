"""Numbers in Korean text: what states a quantity, what only looks like it, how sets compare."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.testruns.numbers import Quantity, compare_quantities, number_text, numbers_in, quantities_in, spread_within
from tests.builders.cases import portion


def stated(text: str, query: str = "") -> list[str]:
    return [number_text(number) for number in numbers_in(text, query=query)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234명", "1,234"),
        ("12.5", "12.5"),
        ("52.1%", "52.1"),
        ("2만 917", "20,917"),
        ("2만917명", "20,917"),
        ("1만 2천", "12,000"),
        ("최근\u00a03개월 5천\u202f2백만\u00a0원", "52,000,000"),
        ("1만 2천 3백 45명", "12,345"),
        ("1.2억", "120,000,000"),
        ("3억 5천만원", "350,000,000"),
        ("1만 20,000건", "10,000 20,000"),
        ("3천만 원", "30,000,000"),
        ("-5명", "-5"),
        ("증감 -3.5%", "-3.5"),
        ("차이는 +12.34%p", "12.34"),
        ("−7점", "-7"),
        ("3-5명", "3 5"),
        ("3 - 5명", "3 5"),
        ("3 -5명", "3 5"),
        ("21세-24세", "21 24"),
        ("10%-20%", "10 20"),
        ("3~5명", "3 5"),
        ("3,500~4,000만원", "35,000,000 40,000,000"),
        ("3-4만명", "30,000 40,000"),
        ("1 ~ 2만 5천원", "10,000 25,000"),
        ("3만 5천~4만원", "35,000 40,000"),
        ("5천~6천만원", "50,000,000 60,000,000"),
        ("3천5백~4천만원", "35,000,000 40,000,000"),
        ("1~2천만원", "10,000,000 20,000,000"),
        ("1억2천~1억5천", "120,000,000 150,000,000"),
        ("3천~5만명", "3,000 50,000"),
        ("1~3천명", "1,000 3,000"),
        ("2천~5천명", "2,000 5,000"),
        ("3천만~4천만원", "30,000,000 40,000,000"),
        ("1억 2천만원", "120,000,000"),
        ("3천여만원", "30,000,000"),
        ("2000~2050만원", "20,000,000 20,500,000"),
        ("2000~2050명", "2,000 2,050"),
        ("1만여 명", "10,000"),
        ("500~1만명", "500 10,000"),
        ("남성 7,250명(72.5%)", "7,250 72.5"),
        ("0명", "0"),
        ("3명, 3명", "3 3"),
        ("총3명입니다.4명은", "3 4"),
        ("1,2,3", "1 2 3"),
        ("12,345,6789", "12,345 6,789"),
        ("0.30000000000000004", "0.3"),
        ("4.5 만점 기준", "4.5"),
        ("5만큼", "5"),
        ("3/5명", "3 5"),
        ("12/15 (80%)", "12 15 80"),
        ("정답 12/15", "12 15"),
        ("합격률은 12/15", "12 15"),
        ("5천 2백만원", "52,000,000"),
        ("5천2백30만", "52,300,000"),
        ("1억 5천 2백만", "152,000,000"),
        ("3천 20명", "3,020"),
        ("3천 5만", "3,000 50,000"),
        ("1조", "1,000,000,000,000"),
        ("1조 2천억", "1,200,000,000,000"),
        ("1,047명/2,000명", "1,047 2,000"),
        ("３명 １，２３４건 ５２．１％", "3 1,234 52.1"),
        ("1:5", "1 5"),
        ("3시간 20분", "3 20"),
        ("3개월", "3"),
        ("3차례", "3"),
        ("실제 3명, 어제 5건, 문제 2개", "3 5 2"),
        ("12.", "12"),
        ("(지원자 12) 명", "12"),
    ],
)
def test_quantity_is_a_number(text: str, numbers: str) -> None:
    assert " ".join(stated(text)) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("지원자 수: 12 조회 기준: 최근 365일", "12"),
        ("총 12 조회되었습니다", "12"),
        ("진행 중 5 만료 3", "5 3"),
        ("서울 5 천안 3", "5 3"),
        ("프론트엔드 12 백엔드 4", "12 4"),
        ("점수 12 백분위 80", "12 80"),
        ("지원자 12 만족도 4.5", "12 4.5"),
        ("지원자 12 만 30세 이상 3", "12 30 3"),
        ("합격 2만 만료 3", "20,000 3"),
        ("3 만 명", "30,000"),
        ("3 만명", "30,000"),
        ("3 만 이상", "30,000"),
        ("3 만입니다", "30,000"),
        ("3 만이 지원", "30,000"),
        ("3 만", "30,000"),
        ("| 3 만 | 2 천 |", "30,000 2,000"),
        ("5 천만원", "50,000,000"),
        ("5천만원", "50,000,000"),
        ("5천 만원", "50,000,000"),
        ("1조 2천 억 원", "1,200,000,000,000"),
        ("3백5십 명", "350"),
    ],
)
def test_scale_behind_a_blank_is_one_only_as_a_word_of_its_own(text: str, numbers: str) -> None:
    """Texts that were flattened to one line have a number and the next label side by side."""
    assert " ".join(stated(text)) == numbers


@pytest.mark.parametrize(
    "text", ["**3**명", "**3명**", "__3__명", "`3`명", "| 남성 | 3 |", "*3*명", "- **3**명", "### 3명"]
)
def test_markdown_around_a_number_does_not_matter(text: str) -> None:
    assert stated(text) == ["3"]


@pytest.mark.parametrize(
    "text", ["F-02", "A4", "v1.2", "COVID19", "https://h.example/a/12?b=3", "[이동](/agent?id=12)", "1" * 16, "1.2.3"]
)
def test_digits_of_names_links_and_ids_are_no_numbers(text: str) -> None:
    assert stated(f"{text} 지원자 7명") == ["7"]


@pytest.mark.parametrize(
    ("query", "text", "numbers"),
    [
        ("토플 90점 이상 지원자 수", "토플 90점 이상 지원자는 12명", ["12"]),
        ("21세에서 24세 사이", "21세~24세 지원자는 4,310명", ["4,310"]),
        ("학점 3.5점 이상", "학점 3.5점 이상(4.5 만점)은 2명", ["4.5", "2"]),
        ("학점 3.5 이상", "학점 3.5점 이상은 2명", ["3.5", "2"]),
        ("최근 3개월", "| 서류 | 3 |", ["3"]),
        ("최근 90일 지원자", "90일 지원자는 5명", ["5"]),
        ("1,000명 넘는 공고", "1000명 넘는 공고는 3건", ["3"]),
        ("2026년 지원자 수", "2026년 지원자는 3명", ["3"]),
        ("경력 3년 이상은?", "3년 이상은 3명", ["3"]),
        ("30대 지원자 수", "30대 지원자는 30명", ["30"]),
        ("30대 지원자 수", "30대는 12명, 40대는 3명", ["12", "40", "3"]),
        ("역량 10등 이내", "역량 등수 10등 이내는 9명", ["9"]),
        ("2급 자격증", "2급 자격증 보유자는 2명", ["2"]),
        ("1지망 지원자", "1지망 지원자는 9명", ["9"]),
        ("학점 4 이상 지원자", "학점 4.0 이상 지원자는 4명", ["4"]),
        ("30살 이상", "30세 이상은 9명", ["9"]),
        ("상위 10퍼센트 이내", "상위 10% 이내는 9명", ["9"]),
        ("경력 3~5년", "경력 3년 이상 5년 이하는 3명", ["3"]),
        ("경력 3년~5년", "경력 3~5년은 5명", ["5"]),
        ("12개 항목 등 조회", "12명 등", ["12"]),
        ("남녀 비율", "남녀 비율은 6대 4", ["6", "4"]),
        ("최근 3개월 지원자", "3명", ["3"]),
    ],
)
def test_what_echoes_the_question_is_no_number(query: str, text: str, numbers: list[str]) -> None:
    assert stated(text, query) == numbers


def test_number_of_the_truth_is_no_echo_of_the_question() -> None:
    given = {"query": "경력 3년 이상, 최근 5년", "truth": "경력 3년: 12명"}
    assert list(map(number_text, numbers_in("3년 이상은 12명, 5년은 7명", **given))) == ["3", "12", "7"]


def test_text_without_digits_states_no_numbers() -> None:
    assert stated("지원자가 없습니다. 다시 볼까요?") == []


decimals = st.builds(
    lambda whole, places: Fraction(whole, 10**places), st.integers(-(10**11), 10**11), st.integers(0, 4)
)


@given(decimals)
def test_written_number_is_read_back(number: Fraction) -> None:
    assert numbers_in(f"모두 {number_text(number)} 입니다") == (number,)


@given(st.lists(st.integers(0, 10**9)))
def test_list_of_numbers_is_read_back_in_order(numbers: list[int]) -> None:
    assert numbers_in(" 그리고 ".join(f"{number:,}명" for number in numbers)) == tuple(numbers)


@given(st.integers(0, 9999), st.integers(1, 9999))
def test_ten_thousands_add_up(rest: int, ten_thousands: int) -> None:
    assert numbers_in(f"{ten_thousands}만 {rest}명") == (Fraction(ten_thousands * 10_000 + rest),)


NOISE = st.text(alphabet="0123456789.,-+~/:()%*`만천억백차월일년시기준최근까요? \n가A제회", max_size=60)


@given(NOISE | st.text(max_size=60), NOISE)
def test_any_text_has_numbers_or_none(text: str, query: str) -> None:
    assert set(numbers_in(text, query=query)) <= set(numbers_in(text))


@given(NOISE)
def test_text_of_its_own_numbers_states_the_same_numbers(text: str) -> None:
    numbers = numbers_in(text)
    written = " ; ".join(f"{number_text(number)}명" for number in numbers)
    if all((number * 10**15).denominator == 1 and abs(number) < 10**15 for number in numbers):
        assert numbers_in(written) == numbers


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    portion(
        ["1", "1,", "1~", "3개월 (", "최근 ", "까요", "(1) ", "1.", "3년(", "1만 ", "](", "2026-", "02/", "**", "1 1시"]
    ),
)
def test_long_texts_take_time_in_proportion(unit: str) -> None:
    times = 100_000 // len(unit)  # a pattern with quadratic cost would need a minute here
    assert len(numbers_in(unit * times)) <= 2 * times


def bare(*numbers: object) -> list[Quantity]:
    return [Quantity(number) for number in fractions(*numbers)]


def fractions(*numbers: object) -> list[Fraction]:
    return [Fraction(str(number)) for number in numbers]


@pytest.mark.parametrize(
    ("expected", "actual", "grade"),
    [
        ([3, 4], [4, 3], "exact"),
        ([3, 3], [3], "exact"),
        ([3], [3, 99], "exact"),
        ([], [5], "exact"),
        ([100], [101], "within"),
        ([100], [99], "within"),
        ([100], ["101.01"], "wrong"),
        ([100], ["98.99"], "wrong"),
        ([100, 7], [100], "wrong"),
        ([100, 7], [101, 7], "within"),
        ([-100], [-101], "within"),
        ([-100], [100], "wrong"),
        ([0], ["0.001"], "wrong"),
        ([0], [0], "exact"),
        ([1], [], "wrong"),
    ],
)
def test_expected_numbers_are_met_exactly_within_one_percent_or_not(
    expected: list[object], actual: list[object], grade: str
) -> None:
    assert compare_quantities(bare(*expected), bare(*actual)).grade == grade


def test_missing_numbers_are_told() -> None:
    assert compare_quantities(bare(1, 2, 3, 2), bare(3)).missing == tuple(bare(1, 2))


def test_tolerance_can_be_chosen() -> None:
    assert compare_quantities(bare(100), bare(105), Fraction(5, 100)).grade == "within"


@pytest.mark.parametrize(
    ("expected", "answer", "grade"),
    [
        ("12명", "비율은 12%이며 지원자는 9명", "wrong"),
        ("12명", "12개월간 9명", "wrong"),
        ("12명", "12초 걸려 9명", "wrong"),
        ("12명", "12번 공고의 지원자는 9명", "wrong"),
        ("12%", "지원자는 12명이며 비율은 9%", "wrong"),
        ("3.5점", "3.5% 상승", "wrong"),
        ("100명", "100.5%, 9명", "wrong"),
        ("12명", "12건", "exact"),
        ("12명", "12개", "exact"),
        ("3회", "3건", "exact"),
        ("30세", "30살", "exact"),
        ("12명", "12분", "exact"),
        ("12명", "| 12 |", "exact"),
        ("12", "12%", "exact"),
        ("12%", "12퍼센트", "exact"),
        ("12명", "미국 12 일본 9", "exact"),
        ("12명", "미국 12 점유율 9%", "exact"),
        ("12명", "미국 12 등 3개국", "exact"),
        ("20대 10명, 30대 20명", "20대는 25명, 30대는 10명", "wrong"),
        ("20대 10명, 30대 20명", "20대는 10명, 30대는 20명", "exact"),
        ("3명", "3~5명", "exact"),
        ("3명", "3~5%", "wrong"),
        ("100명", "101건", "within"),
    ],
)
def test_numbers_that_count_different_kinds_do_not_equal(expected: str, answer: str, grade: str) -> None:
    assert compare_quantities(quantities_in(expected), quantities_in(answer)).grade == grade


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3명이 아니라 5명입니다", ["5"]),
        ("지원자는 3명이 아닌 5명", ["5"]),
        ("아니요, 3명이 아닙니다.", []),
        ("3명은 잘못된 수치이며 5명이 맞습니다", ["5"]),
        ("12명은 없습니다", []),
        ("1명도 없습니다", []),
        ("3명인지 확인할 수 없습니다", []),
        ("3명이라고 단정할 수 없습니다", []),
        ("3명으로 추정되나 정확한 수는 확인할 수 없습니다", []),
        ("0명으로 표시될 수 있습니다", []),
        ("12건의 오류가 발생하여 집계하지 못했습니다.", []),
        ("12명의 정보를 불러오지 못했습니다.", []),
        ("미국 국적이 아닌 지원자는 3명", ["3"]),
        ("3명은 안내 메일을 받았습니다", ["3"]),
        ("3명이며 비율은 집계하지 못했습니다", ["3"]),
        ("3명으로 확인되며, 비율은 계산할 수 없습니다", ["3"]),
        ("3명입니다. 비율은 조회할 수 없습니다.", ["3"]),
        ("3명이 확인되었고 나머지는 조회하지 못했습니다", ["3"]),
        ("3명(비율은 집계할 수 없음)", ["3"]),
        ("집계하지 못한 지원서는 3건입니다", ["3"]),
        ("3명이라고 나오는데, 명단은 볼 수 없습니다", ["3"]),
    ],
)
def test_number_that_is_denied_or_not_confirmed_is_none(text: str, numbers: list[str]) -> None:
    assert stated(text) == numbers


@pytest.mark.parametrize(
    ("sets", "agree"),
    [
        ([[100], [101], [100]], True),
        ([[100], ["101.01"]], False),
        ([[-100], [-101]], True),
        ([[3, 200], [201, 3]], True),
        ([[3, 3], [3]], True),
        ([[3], [3, 4]], False),
        ([[], []], True),
        ([[0], [0]], True),
        ([[0], ["0.0001"]], False),
        ([[-1], [1]], False),
        ([], True),
    ],
)
def test_sorted_and_paired_numbers_spread_by_one_percent_of_the_smallest(sets: list[list[object]], agree: bool) -> None:
    assert spread_within([fractions(*numbers) for numbers in sets]) is agree


@given(st.lists(st.lists(decimals, max_size=3), max_size=4))
def test_order_of_numbers_does_not_matter(sets: list[list[Fraction]]) -> None:
    assert spread_within(sets) == spread_within([numbers[::-1] for numbers in reversed(sets)])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (20917, "20,917"),
        ("-12.50", "-12.5"),
        (0, "0"),
        ("1/3", "0.333333"),
        ("-0.05", "-0.05"),
        ("1000.001", "1,000.001"),
    ],
)
def test_numbers_are_written_as_people_do(number: object, text: str) -> None:
    assert number_text(Fraction(str(number))) == text


@pytest.mark.parametrize(
    "text",
    [
        "12명의 나이 평균은 계산할 수 없습니다",
        "12명의 지원자 중 일부 정보는 조회할 수 없습니다",
        "총 12명으로 연락처는 조회할 수 없습니다",
        "12건의 지원서 중 일부 평가는 집계하지 못했습니다",
    ],
)
def test_number_is_stated_although_something_else_of_it_could_not_be_counted(text: str) -> None:
    assert 12 in numbers_in(text)


@pytest.mark.parametrize("text", ["12건의 오류가 발생하여 집계하지 못했습니다", "12명의 정보를 조회할 수 없습니다"])
def test_number_that_could_not_be_counted_is_not_stated(text: str) -> None:
    assert 12 not in numbers_in(text)


def test_many_numbers_are_compared_in_time_that_grows_with_them() -> None:
    def cost(count: int) -> float:
        numbers = [Quantity(Fraction(number)) for number in range(count)]
        began = time.process_time()
        assert compare_quantities(numbers, numbers).grade == "exact"
        return time.process_time() - began

    assert min(cost(8_000) for _ in range(3)) < 20 * min(cost(1_000) for _ in range(3))
