"""What a rule's GoogleSQL says is what the engines do, and what is none of the language is refused with its place."""

import os
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.errors import RuleError
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.evaluation_order import columns_of
from scoring.rules.explain import evaluate
from scoring.rules.expressions import Column, Compare, Count, Expression, Length, Pattern, Value
from scoring.rules.googlesql_backend import to_sql
from scoring.rules.kinds import Kind, kind_of, with_kinds
from scoring.rules.parser import parse, parse_condition
from scoring.rules.polars_backend import to_polars
from scoring.rules.tokens import ConditionError
from tests.builders.rule_expressions import COLUMNS, ROWS, expressions
from tests.fakes.googlesql import answers_over

GENERATED = int(os.environ.get("RULE_EXPRESSIONS", settings().max_examples))
TYPES = {"text": pa.string(), "number": pa.float64(), "score": pa.float64(), "whole": pa.int64(), "truth": pa.bool_()}
SCHEMA = pa.schema([(name, TYPES[kind.type]) for name, kind in COLUMNS.items()])
INPUTS = {name: kind for name, kind in COLUMNS.items() if name.endswith(("_input", "_response", "_tokens"))}


def here(expression: Expression) -> list[Any]:
    """What Polars gives for each of the rows."""
    found = pl.DataFrame(pa.Table.from_pylist(ROWS, SCHEMA)).select(to_polars(expression).alias("found"))
    return found["found"].to_list()


@settings(max_examples=GENERATED)
@given(expressions())
def test_parser_reads_back_what_is_printed_and_both_local_engines_do_it(expression: Expression) -> None:
    parsed = parse(to_sql(expression), COLUMNS)
    assert parsed == expression
    assert here(parsed) == [evaluate(parsed, row) for row in ROWS]


@pytest.mark.long
@settings(max_examples=max(1, GENERATED // 10))
@given(st.lists(expressions(), min_size=10, max_size=10))
def test_parser_reads_what_googlesql_reads(generated: list[Expression]) -> None:
    sql = ", ".join(f"{to_sql(expression)} AS c{place}" for place, expression in enumerate(generated))
    there = answers_over(f"SELECT {sql} FROM rows_of_test", {"rows_of_test": (SCHEMA, ROWS)})
    for place, expression in enumerate(generated):
        assert [row[f"c{place}"] for row in there] == here(expression), to_sql(expression)


def test_parser_reads_every_rule_of_the_rubric_that_is_shipped() -> None:
    columns = with_kinds(RUBRIC.definitions, INPUTS)
    for definition in RUBRIC.definitions:
        printed = to_sql(definition.expression)
        assert to_sql(parse(printed, columns)) == printed
        assert kind_of(parse(printed, columns), columns) == columns[definition.name]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("q_score>=5 and q_score<=7", "q_score >= 5 AND q_score <= 7"),
        ("not asked_well or asked_well", "NOT (asked_well) OR asked_well"),
        ('regexp_contains(user_input, r"it\'s|b+")', r"REGEXP_CONTAINS(user_input, 'it\'s|b+')"),
        ("tenant_id IN ('kb')", "tenant_id = 'kb'"),
        ("tenant_id IS NOT NULL", "NOT (tenant_id IS NULL)"),
        ("(asked_well\n AND (q_score = 1))", "asked_well AND q_score = 1"),
        ("q_score + -1 > 0", "q_score + -1 > 0"),
    ],
)
def test_parser_takes_a_rule_as_people_write_it(written: str, meant: str) -> None:
    assert to_sql(parse(written, COLUMNS)) == meant


@pytest.mark.parametrize(
    ("text", "place", "what", "fix"),
    [
        ("q_score == 1", "line 1, column 9", "expected", "write ="),
        ("q_score = 1 &&\nasked_well", "line 1, column 13", "expected the end", "write AND"),
        ("asked_well AND\n  q_scor > 1", "line 2, column 3", "no column q_scor", "did you mean q_score?"),
        ("user_input LIKE 'a%'", "line 1, column 12", "found LIKE", "REGEXP_CONTAINS"),
        ("input_tokens > .5", "line 1, column 16", "a sign that no rule has: .", "0.5 for .5"),
        ("input_tokens IN (0, 1)", "line 1, column 18", "IN with a number", "write a = 1 OR a = 2"),
        ("tenant_id NOT IN ('a')", "line 1, column 11", "found NOT", "NOT (a IN ('x'))"),
        ("0 < input_tokens < 5", "line 1, column 18", "found <", "write a > 1 AND a < 2"),
        ("LENGTH(LOWER(user_input)) > 5", "line 1, column 8", "found the function LOWER", "name a column"),
        ("user_input = 'a", "line 1, column 14", "does not end", "close it"),
        ("user_input = 1", "line 1, column 1", "cannot be told", "texts with texts"),
        ("tenant_id = NULL", "line 1, column 1", "cannot be told", "IS NULL"),
        ("output_tokens + 1 > 2", "line 1, column 1", "expected a whole number", ""),
        ("output_tokens - 1 > 2", "line 1, column 15", "found -", "write + -1"),
        ("REGEXP_CONTAINS(user_input, r'\\d')", "line 1, column 1", "\\d", "[0-9]"),
        ("REGEXP_CONTAINS(user_input, '\\d')", "line 1, column 30", "an escape", "r'...'"),
        ("REGEXP_CONTAINS(user_input, r'(a{1000}){1000}')", "line 1, column 1", "not every engine", ""),
        ("REGEXP_CONTAINS(user_input, r'a{1001}')", "line 1, column 1", "more than 1,000 times", ""),
        ("ARRAY_LENGTH(REGEXP_EXTRACT_ALL(user_input, r'a*')) > 1", "line 1, column 1", "an empty text", "+"),
        ("UPPER(user_input) = 'A'", "line 1, column 1", "found UPPER", "[Rr]efund"),
        ("CASE WHEN asked_well THEN 1 END", "line 1, column 29", "expected ELSE", "ELSE"),
        ("CASE WHEN asked_well THEN 1 ELSE 'b' END", "line 1, column 1", "one of both", ""),
        ("DIV((120 * q_score + -20 * a_score + 5), 10) / 10", "line 1, column 1", "a weight of -20 %", "from 1"),
        ("DIV((25 * q_score + 75 * a_score + 6), 10) / 10", "line 1, column 36", "expected 5", ""),
        ("SAFE_DIVIDE(q_score, CAST('inf' AS FLOAT64)) > 1", "line 1, column 1", "infinite", ""),
        ("q_score = " + "1" * 31, "line 1, column 11", "31 signs", "round"),
        ("q_score = 9007199254740993", "line 1, column 11", "too large", ""),
        ("1 = 1", "line 1, column 1", "no column", ""),
        ("", "line 1, column 1", "expected a column", ""),
        ("q_score = 1; DROP TABLE x", "line 1, column 12", "a sign that no rule has: ;", ""),
        ("q_scоre = 1", "line 1, column 5", "(U+043E)", ""),
        ("(" * 41 + "asked_well" + ")" * 41, "line 1, column 42", "more than 40 levels", "a column"),
        (" OR ".join(["asked_well"] * 201), "line 1, column", "more than 200 parts", "columns"),
        ("asked_well" + " " * 5_000, "line 1, column 1", "5,010 characters", ""),
    ],
)
def test_parser_refuses_with_place_and_remedy(text: str, place: str, what: str, fix: str) -> None:
    with pytest.raises(ConditionError) as refused:
        parse(text, COLUMNS)
    assert place in refused.value.where
    assert what in refused.value.what
    assert fix in refused.value.fix


def test_parser_of_a_condition_refuses_a_value() -> None:
    assert parse_condition("LENGTH(user_input) <= 10", COLUMNS) == Compare(
        Length(Column("user_input")), "<=", Value(10)
    )
    with pytest.raises(ConditionError, match="expected a condition"):
        parse_condition("LENGTH(user_input)", COLUMNS)


@pytest.mark.parametrize("regex", ["a*", "a?", "", "(a|)", "^"])
def test_count_refuses_a_pattern_that_matches_nothing(regex: str) -> None:
    """`a*` is found three times in "baa" by Rust and four times by Python."""
    with pytest.raises(RuleError, match="empty text"):
        Count(Column("user_input"), Pattern(regex))


@pytest.mark.parametrize(
    ("regex", "printed", "counts"),
    [
        (r"(^|\n)#", r"(^|\n)#", [2, 0, 0]),
        (r"(^|\n)(-|\*) ", r"(?:^|\n)(?:-|\*) ", [0, 2, 0]),
        (r"(\()([(])|(b)", r"(?:\()(?:[(])|(?:b)", [0, 0, 2]),
    ],
)
def test_every_engine_counts_a_pattern_alike(regex: str, printed: str, counts: list[int]) -> None:
    """`^` holds at the start of the text alone, and GoogleSQL extracts nothing where several groups capture."""
    columns, texts = {"answer": Kind("text")}, ["## Title\n# Part", "- - one\n* two", "((b"]
    rows = [{"answer": text} for text in texts]
    rule = parse(f'ARRAY_LENGTH(REGEXP_EXTRACT_ALL(answer, r"{regex}"))', columns)
    sql = f"SELECT {to_sql(rule)} AS found FROM answers"
    there = answers_over(sql, {"answers": (pa.schema([("answer", pa.string())]), rows)})
    assert f"r'{printed}'" in sql
    assert [row["found"] for row in there] == counts
    assert pl.DataFrame(rows).select(to_polars(rule).alias("found"))["found"].to_list() == counts
    assert [evaluate(rule, row) for row in rows] == counts


def test_count_in_python_has_one_group_that_captures() -> None:
    with pytest.raises(RuleError, match="several groups that capture"):
        Count(Column("user_input"), Pattern("(a)(b)"))


def test_kinds_know_which_columns_a_rule_may_use() -> None:
    kinds = with_kinds(RUBRIC.definitions, INPUTS)
    assert set(columns_of(RUBRIC.definitions)) <= set(kinds)
    assert kinds["failure_type"] == Kind("text", True, codes=frozenset(RUBRIC.failure.titles))
    assert kinds["final_score"] == Kind("score", low=0, high=100)
