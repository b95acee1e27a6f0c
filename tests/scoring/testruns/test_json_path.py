"""Literal paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.testruns.checks import JsonPath


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("error", ("error",)),
        ("dataUIList[*].uiValue.value.dataKey", ("dataUIList", None, "uiValue", "value", "dataKey")),
        ("dataUIList[0].uiValue", ("dataUIList", 0, "uiValue")),
        ("$.a['b.c'][\"d\"]", ("a", "b.c", "d")),
        ("$[0]", (0,)),
        (" a.한글 ", ("a", "한글")),
    ],
)
def test_paths_are_read(text: str, steps: tuple[str | int | None, ...]) -> None:
    path = JsonPath.parse(text)
    assert path is not None
    assert path.steps == steps


@pytest.mark.parametrize(
    "text", ["", " ", "$", "a..b", "a.", "a[", "a[]", "a[-1]", "a[x]", "a b", "a[0]b", "*", "a.*", "[[0]]"]
)
def test_what_is_no_path_is_none(text: str) -> None:
    assert JsonPath.parse(text) is None


@given(st.text(max_size=30) | st.text(alphabet="ab.[]*0'\"$ ", max_size=20))
def test_path_is_read_back_from_its_own_text(text: str) -> None:
    path = JsonPath.parse(text)
    if path is not None and not any(isinstance(step, str) and set(step) & set(".[]*'\" $") for step in path.steps):
        assert JsonPath.parse(str(path)) == path


def test_path_leads_to_every_match_in_order() -> None:
    path = JsonPath.parse("a[*].b")
    assert path is not None
    assert path.find({"a": [{"b": 1}, {"c": 2}, {"b": None}, 5]}) == [1, None]
