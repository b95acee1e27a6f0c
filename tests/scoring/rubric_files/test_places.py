"""Every value of a TOML text stands where it is said to."""

import tomllib
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest

from scoring.rubric_files.places import Path, line_and_column, nearest, place_in_string, spans_of

ROOT = FilePath(__file__).parents[3]
ODD = '''
top = 1 # a comment with [brackets] = "and quotes"
"quoted.key" . 'an other'.bare-1 = """
first \\"line\\" \\
    joined \\u00e9
last""" # end
[ a . "b c" ]
x = [ 1, 2.5 , # one
  ["]", ']'], { y = "}", "z.z" = [true,], 'w' = 1979-05-27 07:32:00 }, ]
literal = \'\'\'
it's ''two''\'\'\'
[[list]]
v = {}
[list.inner]
k = "a"
[[list.deep]]
k = 1
[[list]]
[[list.deep]]
k = 2
[[list.deep]]
k = -inf
[a]
later.on = 'x'
'''
TEXTS = [ODD, "", *(path.read_text("utf-8") for path in (ROOT / "pyproject.toml", ROOT / "deployments/aqb.toml"))]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, part in enumerate(value):
            yield from leaves(part, (*path, number))
    else:
        yield path, value


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_places_hold_the_values_that_tomllib_reads(text: str) -> None:
    spans = spans_of(text)
    for path, value in leaves(tomllib.loads(text)):
        start, end = spans[path]
        assert repr(tomllib.loads(f"x = {text[start:end]}")["x"]) == repr(value)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_places_in_a_string_are_those_of_its_characters(text: str) -> None:
    spans = spans_of(text)
    for path, value in leaves(tomllib.loads(text)):
        if isinstance(value, str):
            places = [place_in_string(text, spans[path], offset) for offset in range(len(value) + 1)]
            assert [text[at] for at in places[:-1] if text[at] != "\\"] == [
                sign for sign, at in zip(value, places, strict=False) if text[at] != "\\"
            ]
            assert text[places[-1]] in "'\""


def test_table_stands_where_its_header_does() -> None:
    spans = spans_of(ODD)
    assert line_and_column(ODD, spans["a", "b c"].start) == "line 7, column 1"
    assert line_and_column(ODD, spans["list", 1, "deep", 1, "k"].start) == "line 22, column 5"


def test_nearest_place_of_what_is_missing_is_its_table() -> None:
    spans = spans_of(ODD)
    assert nearest(spans, ("list", 0, "inner", "missing")) == ("list", 0, "inner")
    assert nearest(spans, ("a", "b c", "x", 3, "NameOfAClass", "y")) == ("a", "b c", "x", 3, "y")
    assert nearest(spans, ("nowhere",)) == ()
