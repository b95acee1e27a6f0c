"""Explains one row: which rules fired and how many points each gave. The rules are evaluated in plain Python, except
for regular expressions: RE2 and Rust's regex do not backtrack, so that no pattern of a rubric file can hang an
explanation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import polars as pl

from scoring.rules import expressions as ex
from scoring.rules.arrow_types import matches

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """One rule of one column: what was found (Korean) and its points; 0 for a rule that is not met."""

    column: str
    label: str
    points: int | str


@dataclass(frozen=True)
class Explanation:
    """All columns of one row, and the findings behind its points in the order of the rubric."""

    values: dict[str, Any]
    findings: tuple[Finding, ...]


def explain(definitions: Sequence[ex.Definition], row: Row) -> Explanation:
    """Every column of one scored row and the rules behind it. `row` holds the input columns; None is NULL."""
    values = dict(row)
    found: list[Finding] = []
    for definition in definitions:
        values[definition.name] = evaluate(definition.expression, values)
        found.extend(findings(definition.name, definition.expression, values))
    return Explanation(values, tuple(found))


def evaluate(expression: ex.Expression, row: Row) -> Any:
    """The value of an expression for one row; None is NULL."""
    match expression:
        case ex.Column(name):
            return row[name]
        case ex.Value(value):
            return value
        case ex.Length(text) | ex.Count(text) | ex.Matches(text) | ex.ContainsAny(text):
            found = evaluate(text, row)
            return None if found is None else _of_text(expression, found)
        case ex.Ratio(numerator, denominator):
            return _ratio(evaluate(numerator, row), evaluate(denominator, row))
        case ex.Compare(left, operator, right):
            pair = evaluate(left, row), evaluate(right, row)
            return None if None in pair else ex.OPERATORS[operator](*pair)
        case ex.IsIn(value, options):
            found = evaluate(value, row)
            return None if found is None else found in options
        case ex.IsNull(value):
            return evaluate(value, row) is None
        case ex.AllOf(terms):
            truths = [evaluate(term, row) for term in terms]
            return False if False in truths else None if None in truths else True
        case ex.AnyOf(terms):
            truths = [evaluate(term, row) for term in terms]
            return True if True in truths else None if None in truths else False
        case ex.Not(term):
            truth = evaluate(term, row)
            return None if truth is None else not truth
        case ex.Sum(terms):
            return sum(evaluate(term, row) for term in terms)
        case ex.Case(_, otherwise):
            taken = _taken(expression, row)
            return evaluate(expression.branches[taken].value if taken is not None else otherwise, row)
        case ex.WeightedScore(weighted):
            return (sum(weight * row[score.name] for weight, score in weighted) + 5) // 10 / 10
        case ex.Tenths(score):
            return round(row[score.name] * 10)
        case ex.MostLost(components):
            return max(components, key=lambda component: component[1] - row[component[0]])[0]
        case ex.Fired(rules):
            return [rule for rule, condition in rules if evaluate(condition, row) is True]


def _of_text(expression: ex.Length | ex.Count | ex.Matches | ex.ContainsAny, text: str) -> int | bool:
    match expression:
        case ex.Length():
            return len(text)
        case ex.Count(_, pattern):
            # Arrow counts in the rest of the text after each match, where `^` matches again at the start.
            return int(pl.Series([text], dtype=pl.String).str.count_matches(pattern.regex)[0])
        case ex.Matches(_, pattern):
            return matches(pattern.regex, text)
        case ex.ContainsAny(_, words):
            return any(word in text for word in words)


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    if numerator is None or not denominator:
        return None
    try:
        quotient = numerator / denominator
    except OverflowError:
        return None
    return quotient if isfinite(quotient) else None


def _taken(case: ex.Case, row: Row) -> int | None:
    """The index of the first branch whose condition is true; None for the ELSE."""
    for position, branch in enumerate(case.branches):
        if evaluate(branch.condition, row) is True:
            return position
    return None


def findings(column: str, expression: ex.Expression, row: Row) -> list[Finding]:
    """The labelled rules of a column: each term of a sum, and the branch of a case whose condition is true.

    `row` contains every earlier column.
    """
    if isinstance(expression, ex.Sum):
        return [finding for term in expression.terms for finding in findings(column, term, row)]
    if not isinstance(expression, ex.Case):
        return []
    taken = _taken(expression, row)
    if taken is not None:
        branch = expression.branches[taken]
        return [Finding(column, branch.label, evaluate(branch.value, row))] if branch.label else []
    label = expression.otherwise_label or " / ".join(branch.label for branch in expression.branches)
    return [Finding(column, label, evaluate(expression.otherwise, row))] if label else []
