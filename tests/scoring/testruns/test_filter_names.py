"""Filter names as test authors write them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.testruns.filter_names import COMMON_FILTERS, FILTER_CODES, ExpectedFilters, FilterNames, split_names


def filters(*codes: str) -> ExpectedFilters:
    return ExpectedFilters(frozenset(codes), frozenset(), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("보훈", filters("PATRIOT")),
        ("전형유형 + 전형 결과", filters("SCREENING_TYPE", "SCREENING_RESULT")),
        ("전형유형,전형결과", filters("SCREENING_TYPE", "SCREENING_RESULT")),
        ("역량 종합 등수(분야내)", filters("ACC_TEST_RESULT_RANK_GROUP")),
        ("역량종합등수 (분야 내)", filters("ACC_TEST_RESULT_RANK_GROUP")),
        ("역량 종합 등수", filters("ACC_TEST_RESULT_RANK_TOTAL")),
        ("응답 신뢰성(NCS)", filters("NCS_RESPONSE_RELIABILITY")),
        ("응답 신뢰성 (ncs)", filters("NCS_RESPONSE_RELIABILITY")),
        ("응답 신뢰성", filters("ACC_TEST_RESPONSE_RELIABILITY")),
        ("국적 (미국)", filters("NATIONALITY")),
        ("국적 (nationality)", filters("NATIONALITY")),
        ("PATRIOT", filters("PATRIOT")),
        ("보훈 대상 (PATRIOT)", filters("PATRIOT")),
        ("기간(최근 1년, 제출일 기준) + 보훈", filters("RESUME_PERIOD", "PATRIOT")),
        ("보훈＋국적", filters("PATRIOT", "NATIONALITY")),
        ("보훈; 국적", filters("PATRIOT", "NATIONALITY")),
        ("PATRIOT|NATIONALITY", filters("PATRIOT", "NATIONALITY")),
        (unicodedata.normalize("NFD", "전형 결과"), filters("SCREENING_RESULT")),
        ("보훈 + 보훈", filters("PATRIOT")),
    ],
)
def test_names_become_codes(text: str, expected: ExpectedFilters) -> None:
    assert COMMON_FILTERS.expected(text) == expected


@pytest.mark.parametrize("text", ["", " ", "-", "nan", "None"])
def test_blank_cell_expects_nothing(text: str) -> None:
    assert COMMON_FILTERS.expected(text) == filters()


def test_ascii_name_in_parentheses_is_a_column() -> None:
    assert COMMON_FILTERS.expected("성별 (genderFlag)") == ExpectedFilters(frozenset(), frozenset({"genderFlag"}), ())


def test_name_that_nobody_knows_is_reported_beside_the_others() -> None:
    found = COMMON_FILTERS.expected("보훈 + 별자리 + 성별(genderFlag)")
    assert found == ExpectedFilters(frozenset({"PATRIOT"}), frozenset({"genderFlag"}), ("별자리",))


def test_korean_remark_makes_no_column() -> None:
    assert COMMON_FILTERS.expected("별자리 (양력)").unmapped == ("별자리 (양력)",)


@pytest.mark.parametrize("name", FILTER_CODES)
def test_every_name_of_the_table_is_found(name: str) -> None:
    assert COMMON_FILTERS.expected(name) == filters(FILTER_CODES[name])


def test_every_code_looks_like_a_code() -> None:
    assert all(code.isascii() and code == code.upper() and " " not in code for code in FILTER_CODES.values())


@given(st.text(max_size=60))
def test_any_text_maps_or_is_reported(text: str) -> None:
    found = COMMON_FILTERS.expected(text)
    assert bool(split_names(text)) == bool(found.filters or found.columns or found.unmapped)


def test_names_of_a_team_come_before_those_of_the_table() -> None:
    names = FilterNames({"외국어 시험": "FOREIGN_EXAM", "학교명": "SCHOOL"})
    assert names.expected("외국어시험 + 학교명 + 보훈") == filters("FOREIGN_EXAM", "SCHOOL", "PATRIOT")
    assert names.code("FOREIGN_EXAM") == "FOREIGN_EXAM"
