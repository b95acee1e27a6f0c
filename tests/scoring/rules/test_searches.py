import re

import polars as pl
import pytest

from scoring.rules.evaluation_order import steps
from scoring.rules.explain import evaluate
from scoring.rules.expressions import (
    AllOf,
    AnyOf,
    Case,
    Column,
    Compare,
    ContainsAny,
    Definition,
    Expression,
    Length,
    Matches,
    Not,
    Pattern,
    Sum,
    Value,
    When,
    points,
)
from scoring.rules.polars_backend import to_polars, with_definitions
from scoring.rules.searches import shortest, with_searches

TEXT = Column("text")
DATE, MONTH = Matches(TEXT, Pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}")), Matches(TEXT, Pattern("[0-9]{4}-[0-9]{2}"))
SORRY = ContainsAny(TEXT, ("sorry",))
ROWS: list[dict[str, object]] = [
    {"text": text, "n": n}
    for text in ("", "sorry", "2026-02", "on 2026-02-13, sorry", "2026-2 and 2026-02-1", None)
    for n in (0, 1, None)
]


def definition(name: str, expression: Expression) -> Definition:
    return Definition(name, expression, "제목", "source")


def scored(*definitions: Definition) -> pl.DataFrame:
    schema = {"text": pl.String, "n": pl.Int64}
    return with_definitions(pl.DataFrame(ROWS, schema=schema), definitions)


def searches_of(*definitions: Definition) -> list[object]:
    """What is searched for, each as often as it is."""
    return [one.expression for one in with_searches(definitions) if not isinstance(one.expression, (Sum, Not))]


def test_what_several_definitions_look_for_is_looked_for_once() -> None:
    twice = definition("a", Not(SORRY)), definition("b", Sum((points(1, SORRY, ""), points(2, SORRY, ""))))
    assert searches_of(*twice) == [SORRY]
    assert scored(*twice).columns == ["text", "n", "a", "b"]


def test_search_that_is_a_definition_serves_others_wherever_it_stands() -> None:
    definitions = definition("a", Not(SORRY)), definition("found", SORRY)
    assert [one.name for one in with_searches(definitions)] == ["found", "a"]
    assert [[one.name for one in step] for step in steps(with_searches(definitions))] == [["found"], ["a"]]


def test_search_in_a_text_that_a_definition_gives_stands_behind_it() -> None:
    """Alerts and columns that look into a failure type: each was refused as a column that is used too early."""
    kind = definition("kind", Case((When(SORRY, Value("refused_rudely")),), Value("other")))
    refused, rudely = (Matches(Column("kind"), Pattern(regex)) for regex in ("^refused", "^refused_r"))
    definitions = kind, definition("refused", refused), definition("both", AllOf((Not(refused), rudely)))
    assert scored(*definitions)["refused"].to_list() == ["sorry" in str(row["text"]) for row in ROWS]
    assert not scored(*definitions)["both"].any()


def test_two_definitions_of_one_search_are_two_columns() -> None:
    found = scored(definition("a", SORRY), definition("b", SORRY))
    assert found["a"].to_list() == found["b"].to_list() == [evaluate(SORRY, row) for row in ROWS]


def test_search_that_another_one_implies_is_made_where_that_one_finds_nothing() -> None:
    planned = {
        one.name: one.expression for one in with_searches((definition("month", MONTH), definition("date", DATE)))
    }
    assert planned == {"date": DATE, "month": AnyOf((Column("date"), MONTH))}


@pytest.mark.parametrize(
    ("short", "long"), [("ab", "ab?"), ("ab", "ab*c"), ("a", "a{0}b"), ("a", "ab|c"), ("a", "ba"), ("a", "a")]
)
def test_regex_that_need_not_hold_the_other_one_implies_nothing(short: str, long: str) -> None:
    both = definition("a", Matches(TEXT, Pattern(short))), definition("b", Matches(TEXT, Pattern(long)))
    assert not any(isinstance(one.expression, AnyOf) for one in with_searches(both))


@pytest.mark.parametrize(
    "expression",
    [
        *(MONTH, DATE, SORRY, Length(TEXT)),
        *(
            all_or_any((Compare(Column("n"), "=", Value(1)), one))
            for all_or_any in (AllOf, AnyOf)
            for one in (SORRY, DATE)
        ),
        *(all_or_any((SORRY, DATE, Compare(Column("n"), "=", Value(0)))) for all_or_any in (AllOf, AnyOf)),
        AnyOf((AllOf((DATE, SORRY)), AllOf((Compare(Value(1), "=", Value(1)), SORRY)))),
    ],
)
def test_every_row_has_the_value_that_the_rule_has_alone(expression: Expression) -> None:
    found = scored(definition("it", expression), definition("date", DATE), definition("month", MONTH))
    assert found["it"].to_list() == [evaluate(expression, row) for row in ROWS]
    assert found["month"].to_list() == [evaluate(MONTH, row) for row in ROWS]
    assert with_definitions(found.clear().select("text", "n"), (definition("it", expression),)).height == 0


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        ("[0-9]{1,3}(,[0-9]{3})+", "[0-9]{1}(,[0-9]{3})"),
        ("[가-힣]{2,8}(주|전자)", "[가-힣]{2}(주|전자)"),
        ("[ab]{2,}", "[ab]{2}"),
        ("[ab]{0,2}c", "[ab]{0}c"),
        ("[ab]{2,3}c|d+", "[ab]{2}c|d"),
        ("[ab]{2,3}?c", "[ab]{2,3}?c"),
        ("[]a]{2,3}b", "[]a]{2}b"),
        (r"[a\]]{2,3}b", r"[a\]]{2}b"),
        (r"[a\]{1,3}]b", r"[a\]{1,3}]b"),
        ("[^]{1,3}]b", "[^]{1,3}]b"),
        (r"a\+", r"a\+"),
        ("a[+]", "a[+]"),
        ("ca{2,3}", "ca{2,3}"),
    ],
)
def test_shortest_regex_is_found_in_the_same_texts(regex: str, expected: str) -> None:
    Pattern(regex)
    assert shortest(regex) == expected
    texts = [
        "",
        "a",
        "aa",
        "aab",
        "aaabc",
        "abab",
        "c",
        "d",
        "]",
        "a]b",
        "]]b",
        "1,234",
        "12,345,678",
        "1234,56",
        "1,23",
    ]
    texts += ["가주", "삼성전자", "a+", "+", "caa", "ca", "dd", r"\]b", "aac", "ac", ",b", "3b"]
    assert [bool(re.search(shortest(regex), text)) for text in texts] == [
        bool(re.search(regex, text)) for text in texts
    ]


@pytest.mark.parametrize("all_or_any", [AllOf, AnyOf])
def test_rule_is_summed_by_group_and_filters_rows_as_it_scores_them(all_or_any: type[AllOf] | type[AnyOf]) -> None:
    rule = all_or_any((Compare(Column("n"), "=", Value(1)), SORRY, DATE))
    true = [row for row in ROWS if evaluate(rule, row)]
    rows = pl.DataFrame(ROWS, schema={"text": pl.String, "n": pl.Int64})
    sums = dict(rows.group_by("n").agg(rows=to_polars(rule).sum()).iter_rows())
    assert sums == {n: sum(row["n"] == n for row in true) for n in (0, 1, None)}
    assert rows.lazy().filter(to_polars(rule)).collect().to_dicts() == true
