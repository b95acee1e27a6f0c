import pytest

from scoring.errors import RuleError
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.evaluation_order import steps
from scoring.rules.expressions import Column, Compare, Definition, MostLost, Sum, Value, points


def definition(name: str, *used: str) -> Definition:
    return Definition(name, Sum(tuple(map(Column, used))), "제목", "source")


def names(*definitions: Definition) -> list[list[str]]:
    return [[one.name for one in step] for step in steps(definitions)]


def test_what_uses_inputs_only_is_computed_together() -> None:
    assert names(definition("a", "input"), definition("b", "input", "other")) == [["a", "b"]]


def test_what_uses_a_column_waits_for_it_and_what_nobody_needs_yet_waits_too() -> None:
    assert names(definition("a", "x"), definition("b", "a"), definition("c", "x"), definition("d", "b", "c")) == [
        ["a"],
        ["b", "c"],
        ["d"],
    ]


def test_columns_are_found_at_any_depth() -> None:
    deep = Definition("deep", points(1, Compare(Column("a"), "=", Value(1)), ""), "제목", "source")
    lost = Definition("lost", MostLost((("deep", 3),)), "제목", "source")
    assert names(definition("a", "x"), deep, lost) == [["a"], ["deep"], ["lost"]]


def test_no_definitions_make_no_steps() -> None:
    assert names() == []


def test_using_a_later_column_is_refused() -> None:
    with pytest.raises(RuleError, match=r"b uses \['c'\] before it is defined"):
        names(definition("a", "x"), definition("b", "c"), definition("c", "a"))


def test_using_itself_is_refused() -> None:
    with pytest.raises(RuleError, match="before it is defined"):
        names(definition("a", "a"))


def test_defining_a_column_twice_is_refused() -> None:
    with pytest.raises(RuleError, match=r"twice: \['a'\]"):
        names(definition("a", "x"), definition("b", "x"), definition("a", "x"))


def test_no_step_uses_a_column_of_its_own_step() -> None:
    position = {one.name: number for number, step in enumerate(steps(RUBRIC.definitions)) for one in step}
    assert position["question_length"] < position["q_length"] < position["q_score"] < position["q_tier"]
    assert position["q_tier"] < position["i_match"] < position["i_score"] < position["final_score"]
    assert position["final_score"] < position["final_grade"] < position["cause"]
    assert sorted(position) == sorted(one.name for one in RUBRIC.definitions)
