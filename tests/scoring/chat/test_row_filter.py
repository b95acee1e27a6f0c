"""What an address asks for: read into a filter and written back, and refused where it cannot be."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.row_filter import RowFilter, parse_filter
from scoring.errors import UsageError
from tests.builders.chat_rows import RUBRIC

FIRST, LAST = date(2026, 2, 1), date(2026, 2, 7)
# An address carries no blanks at the ends of what is typed.
TYPED = st.text(min_size=1, max_size=20).map(str.strip).filter(bool)
OF_ROWS = st.text(min_size=1, max_size=20) | st.sampled_from([" 7", "7 "])
TENANTS = st.sampled_from([None, "", "-", "-=", "*"]) | OF_ROWS


def codes(values: list[str]) -> st.SearchStrategy[tuple[str | None, ...]]:
    return st.lists(st.sampled_from([None, *values]), min_size=1, max_size=3, unique=True).map(tuple)


FILTERS = st.builds(
    RowFilter,
    first=st.just(FIRST),
    last=st.dates(FIRST, LAST),
    tenants=st.lists(TENANTS, max_size=2, unique=True).map(tuple),
    codes=st.fixed_dictionaries({}, optional={one.column: codes([*one.titles]) for one in RUBRIC.coded_columns}),
    rules=st.lists(st.sampled_from([rule.id for rule in RUBRIC.alert_rules]), max_size=2, unique=True).map(tuple),
    kpi=st.sampled_from(["", *RUBRIC.rates]),
    hours=st.lists(st.integers(0, 23), max_size=3, unique=True).map(tuple),
    lowest=st.none() | st.integers(0, 1000).map(lambda tenths: tenths / 10),
    highest=st.none() | st.integers(0, 1000).map(lambda tenths: tenths / 10),
    text=st.just("") | TYPED,
    template=st.just("") | OF_ROWS,
    session=st.just("") | OF_ROWS,
)


@given(FILTERS)
def test_row_filter_is_the_same_after_an_address_has_carried_it(wanted: RowFilter) -> None:
    assert parse_filter(wanted.pairs(), RUBRIC, FIRST, FIRST, "UTC") == wanted


def test_row_filter_takes_the_usual_days_and_passes_over_what_forms_send_empty() -> None:
    empty = [("text", " "), ("lowest", ""), ("tenant", ""), ("page", "3"), ("no such name", "1")]
    assert parse_filter(empty, RUBRIC, FIRST, LAST, "UTC") == RowFilter(FIRST, LAST)


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("2026-01-10", date(2026, 1, 4)),
        (str(FIRST), FIRST),
        ("2026-02-05", FIRST),
        ("0001-01-02", date.min),
    ],
)
def test_row_filter_takes_the_days_before_a_last_one_where_no_first_is_named(last: str, first: date) -> None:
    found = parse_filter([("first", ""), ("last", last)], RUBRIC, FIRST, LAST, "UTC")
    assert found == RowFilter(first, date.fromisoformat(last))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("first", "gestern", "날짜"),
        ("first", "2026-02-30", "날짜"),
        ("first", "2026-02-08", "늦습니다"),
        ("first", "1990-01-01", "400일"),
        ("lowest", "nan", "숫자"),
        ("highest", "1e999", "숫자"),
        ("final_grade", "F' OR 1=1 --", "그런 값은 없습니다"),
        ("alert", "no_such_rule", "알림 규칙"),
        ("kpi", "mean_final_score", "지표"),
        ("hour", "24", "0~23"),
        ("hour", "09", "0~23"),
        ("text", "가" * 301, "300자"),
    ],
)
def test_row_filter_refuses_what_cannot_be_in_words_of_people(name: str, value: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_filter([(name, value)], RUBRIC, FIRST, LAST, "UTC")


def test_row_filter_knows_the_codes_of_a_rubric_by_their_titles() -> None:
    titles: dict[str, Any] = {one.column: one.titles for one in RUBRIC.coded_columns}
    assert titles["final_grade"]["F"] == "F 실패"
    assert titles["failure_type"]["blocked"] == "LLM 호출 차단(거절 문구 없음)"
    assert titles["alert_level"] == {"critical": "Critical", "warning": "Warning"}
