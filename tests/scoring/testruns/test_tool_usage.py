"""What an execution used: data keys, filters, columns, pages."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.testruns.executions import Execution, Round, parse_execution
from scoring.testruns.tool_usage import ToolUsage, button_url, listed_datakeys, same_page, tool_usage_of


def used(*ui_values: object, **fields: Any) -> ToolUsage:
    raw = json.dumps({"assistantMessage": "가", "dataUIList": [{"uiValue": value} for value in ui_values]})
    return tool_usage_of(
        parse_execution(Execution(**{"query_id": "Q", "round": Round(1, 1), "raw_json": raw, **fields}))
    )


def grid_url(*filters: str, columns: tuple[str, ...] = ("name",)) -> str:
    condition = quote(json.dumps([{"filterType": name} for name in filters]))
    return f"/agent/grid/applicant?viewMode=X&columnVisibility={quote(json.dumps(columns))}&condition={condition}"


def test_data_key_is_found_at_any_depth() -> None:
    assert used({"value": {"nodeDataSet": {"dataKey": "A"}}}, {"dataKey": "B"}).datakeys == {"A", "B"}


def test_option_may_carry_a_data_key() -> None:
    options = [
        {"optionValue": "A", "optionValueFieldName": "dataKey"},
        {"optionValue": "4101", "optionValueFieldName": "nodeId"},
    ]
    assert used({"formType": "SELECT", "selectOptionList": options}).datakeys == {"A"}


def test_data_key_may_stand_in_the_url() -> None:
    assert used({"buttonUrl": "/plan/5?dataKey=A%5FB&x=1"}).datakeys == {"A_B"}


def test_filters_come_from_the_url_the_ui_value_and_the_column() -> None:
    found = used(
        {"buttonUrl": grid_url("PATRIOT", "RESUME_PERIOD")},
        {"setting": [{"filterType": "LICENSE"}]},
        detected_filters="NATIONALITY,국적(미국), 경력 기간",
    )
    assert found.filters == {"PATRIOT", "RESUME_PERIOD", "LICENSE", "NATIONALITY", "CAREER_PERIOD"}


def test_detected_filter_without_a_code_stays_as_it_is_written() -> None:
    assert used(detected_filters="['LICENSE', '별자리']").filters == {"LICENSE", "별자리"}


@pytest.mark.parametrize("detected", ["", "-", "nan", "[]"])
def test_no_detected_filters_are_none(detected: str) -> None:
    assert used(detected_filters=detected).filters == frozenset()


def test_columns_come_from_the_url() -> None:
    assert used({"buttonUrl": grid_url(columns=("age", "name"))}).columns == {"age", "name"}


@pytest.mark.parametrize(
    "cell", ["/a?dataKey=X\n/b?dataKey=Y", "/a?dataKey=X, /b?dataKey=Y", '["https://h/a?dataKey=X", "/b?dataKey=Y"]']
)
def test_cell_may_list_the_urls_of_several_buttons(cell: str) -> None:
    found = used(raw_json="", answer_text="가", button_url=cell)
    assert found.datakeys == {"X", "Y"}
    assert found.url_paths == ("/a", "/b")


def test_url_that_is_not_encoded_stays_whole() -> None:
    url = '/a?condition=[{"filterType": "PATRIOT"}, {"filterType": "LICENSE"}]'
    assert used(raw_json="", answer_text="가", button_url=url).filters == {"PATRIOT", "LICENSE"}


def test_numbered_url_cell_counts_like_the_response() -> None:
    found = used(raw_json="", answer_text="가", button_url=grid_url("PATRIOT"))
    assert found.filters == {"PATRIOT"}
    assert found.url_paths == ("/agent/grid/applicant",)


def test_paths_lose_host_and_parameters_and_repeats() -> None:
    found = used({"buttonUrl": "https://h.example/plan/5?x=1#a"}, {"buttonUrl": "/plan/5"}, {"buttonUrl": "/%EA%B0%80"})
    assert found.url_paths == ("/plan/5", "/가")


@pytest.mark.parametrize(
    "url",
    ["", "?", "//[", "http://[::1", "/a?condition=%5B", "/a?condition=5", "/a?condition=%ZZ", "/a?condition=[[[1]]]",
     "/a?condition=" + "[" * 100_000, "/a?condition={}", '/a?condition=["x", null, {"filterType": 5}]',
     "\ud800?\ud800"],
)  # fmt: skip
def test_broken_url_names_no_filters(url: str) -> None:
    assert button_url(url).filters == frozenset()


def test_condition_encoded_twice_is_read() -> None:
    assert button_url("/a?condition=" + quote(quote('[{"filterType": "LICENSE"}]'))).filters == {"LICENSE"}


@given(st.text(max_size=80))
def test_any_url_is_read(url: str) -> None:
    button_url(url)


def test_deep_nesting_does_not_overflow() -> None:
    deep: object = {"dataKey": "A"}
    for place in range(800):
        deep = [deep] if place % 2 else {"value": deep}
    assert used({"value": deep}).datakeys == {"A"}


@pytest.mark.parametrize(
    ("expected", "actual", "agrees"),
    [
        ("/plan/{planId}/edit", "/plan/7750/edit", True),
        ("/plan/:planId/edit", "/plan/7750/edit", True),
        ("/plan/${planId}/edit", "/plan/7750/edit", True),
        ("/plan/{planId}", "/plan/7750/edit", False),
        ("/plan/{planId}/edit", "/plan//edit", False),
        ("/plan/5", "https://h.example/plan/5/?a=1", True),
        ("plan/5", "/plan/5", True),
        ("/plan/5", "/plan/6", False),
        ("/plan/{planId}", "/other/5", False),
    ],
)
def test_pages_agree_part_by_part(expected: str, actual: str, agrees: bool) -> None:
    assert same_page(expected, actual) is agrees


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("A_B", {"A_B"}),
        ("A_B, C_D + E", {"A_B", "C_D", "E"}),
        ("A_B (합격자 결정)\nC_D", {"A_B", "C_D"}),
        ("A_B (1차 면접, 역량별 1Depth)", {"A_B"}),
        ("dataKey=A_B", {"A_B"}),
        ('{"dataKey": "A_B"}', {"A_B"}),
        ("1) A_B\n2. C_D", {"A_B", "C_D"}),
        ("- A_B: 면접 1차 설정\n- C_D -> E.F:G-H", {"A_B", "C_D", "E.F:G-H"}),
        ("6127, 6128", {"6127", "6128"}),
        ("-", set()),
        ("N/A", set()),
        ("", set()),
    ],
)
def test_expected_data_keys_are_split(text: str, keys: set[str]) -> None:
    assert set(listed_datakeys(text)) == keys
