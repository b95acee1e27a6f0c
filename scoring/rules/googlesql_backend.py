"""Translates row rules to GoogleSQL expressions; `sql_scores` and `sql_tables` of chat rows build queries from them.

Constants come from rubrics only, never from data.
"""

import math
from collections.abc import Iterable

from scoring.rules import expressions as ex

_CONDITIONS = (ex.Compare, ex.IsIn, ex.IsNull, ex.AllOf, ex.AnyOf, ex.Not)


def to_sql(expression: ex.Expression) -> str:
    """The GoogleSQL text of an expression."""
    match expression:
        case ex.Column(name):
            return name
        case ex.Value(value):
            return literal(value)
        case ex.Length(text):
            return f"LENGTH({to_sql(text)})"
        case ex.Count(text, pattern):
            return f"ARRAY_LENGTH(REGEXP_EXTRACT_ALL({to_sql(text)}, {_regex(pattern.regex)}))"
        case ex.Matches(text, pattern):
            return f"REGEXP_CONTAINS({to_sql(text)}, {_regex(pattern.regex)})"
        case ex.ContainsAny(text, words):
            return f"REGEXP_CONTAINS({to_sql(text)}, {_regex(ex.alternation(words))})"
        case ex.Ratio(numerator, denominator):
            return f"SAFE_DIVIDE({to_sql(numerator)}, {to_sql(denominator)})"
        case ex.Compare(left, operator, right):
            return f"{to_sql(left)} {operator} {to_sql(right)}"
        case ex.IsIn(value, options):
            if len(options) == 1:
                return f"{to_sql(value)} = {literal(options[0])}"
            return f"{to_sql(value)} IN ({', '.join(map(literal, options))})"
        case ex.IsNull(value):
            return f"{_operand(value, *_CONDITIONS)} IS NULL"
        case ex.AllOf(terms):
            return " AND ".join(_operand(term, ex.AllOf, ex.AnyOf) for term in terms)
        case ex.AnyOf(terms):
            return " OR ".join(_operand(term, ex.AllOf, ex.AnyOf) for term in terms)
        case ex.Not(term):
            return f"NOT ({to_sql(term)})"
        case ex.Sum(terms):
            plain = all(isinstance(term, (ex.Column, ex.Value, ex.Count)) for term in terms)
            return (" + " if plain else "\n  + ").join(_operand(term, ex.Sum) for term in terms)
        case ex.Case(branches, otherwise):
            whens = [f"WHEN {to_sql(branch.condition)} THEN {to_sql(branch.value)}" for branch in branches]
            if len(whens) == 1:
                return f"CASE {whens[0]} ELSE {to_sql(otherwise)} END"
            return "CASE\n    " + "\n    ".join(whens) + f"\n    ELSE {to_sql(otherwise)} END"
        case ex.WeightedScore(weighted):
            hundredths = " + ".join(f"{weight} * {score.name}" for weight, score in weighted)
            # Double parentheses: local emulators of BigQuery drop single ones when they write DIV as an operator.
            return f"DIV(({hundredths} + 5), 10) / 10"
        case ex.Tenths(score):
            return f"CAST(ROUND({to_sql(score)} * 10) AS INT64)"
        case ex.MostLost(components):
            lost = [(name, f"{maximum} - {name}") for name, maximum in components]
            worst = f"GREATEST({', '.join(points for _, points in lost)})"
            whens = [f"WHEN {points} = {worst} THEN {literal(name)}" for name, points in lost]
            return "CASE\n    " + "\n    ".join(whens) + " END"
        case ex.Fired(rules):
            ids = [f"IF({to_sql(condition)}, [{literal(rule)}], [])" for rule, condition in rules]
            return "ARRAY_CONCAT(\n    " + ",\n    ".join(ids) + ")"


def literal(value: ex.LiteralValue) -> str:
    """A constant as a GoogleSQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
        return f"'{escaped}'"
    if isinstance(value, float) and math.isinf(value):
        return f"CAST('{value}' AS FLOAT64)"
    return repr(value)


def column_list(names: Iterable[str]) -> str:
    """A comma-separated list of columns in backquotes: a name may be a GoogleSQL keyword."""
    return ", ".join(f"`{name}`" for name in names)


def _regex(regex: str) -> str:
    """A raw string literal, as in the seed; a Pattern excludes what RE2 would read differently."""
    ex.Pattern(regex)
    if {"'", "\n", "\r"} & set(regex):
        return literal(regex)
    return f"r'{regex}'"


def _operand(term: ex.Expression, *bracketed: type[object]) -> str:
    """An operand, in parentheses if it is one of these expressions."""
    return f"({to_sql(term)})" if isinstance(term, bracketed) else to_sql(term)
