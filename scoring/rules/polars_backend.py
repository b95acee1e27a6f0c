"""Translates row rules to Polars expressions: the local engine."""

from collections.abc import Sequence
from functools import cache, reduce
from operator import add, and_, or_

import polars as pl
import polars.selectors as cs

from scoring.rules import expressions as ex
from scoring.rules.evaluation_order import steps
from scoring.rules.searches import SEARCH_PREFIX, shortest, with_searches


def with_definitions(rows: pl.DataFrame, definitions: tuple[ex.Definition, ...]) -> pl.DataFrame:
    """`rows` with one more column per definition, computed in the order of their dependencies."""
    for columns in _translated(definitions):
        rows = rows.with_columns(columns)
    return rows.drop(cs.starts_with(SEARCH_PREFIX))


@cache
def _translated(definitions: tuple[ex.Definition, ...]) -> list[list[pl.Expr]]:
    """The expressions of each step, cached: translation takes longer than scoring a small batch."""
    return [[to_polars(one.expression).alias(one.name) for one in step] for step in steps(with_searches(definitions))]


def to_polars(expression: ex.Expression) -> pl.Expr:
    """The Polars expression with BigQuery's semantics. INT64 columns are Int64, points included."""
    match expression:
        case ex.Column(name):
            return pl.col(name)
        case ex.Value(None):
            return pl.lit(None)
        case ex.Value(value):
            return pl.lit(value, dtype=pl.Int64 if isinstance(value, int) else None)
        case ex.Length(text):
            return to_polars(text).str.len_chars().cast(pl.Int64)
        case ex.Count(text, pattern):
            return to_polars(text).str.count_matches(pattern.regex).cast(pl.Int64)
        case ex.Matches(text) | ex.ContainsAny(text):
            return _search(to_polars(text), expression)
        case ex.Ratio(numerator, denominator):
            # Polars multiplies by the reciprocal of a constant that is the same for all rows, which can round the other
            # way.
            divisor = to_polars(denominator) + pl.int_range(pl.len()) * 0
            quotient = to_polars(numerator).cast(pl.Float64) / pl.when(divisor != 0).then(divisor)
            return pl.when(quotient.is_finite()).then(quotient)
        case ex.Compare(left, operator, right):
            compared: pl.Expr = ex.OPERATORS[operator](to_polars(left), to_polars(right))
            return compared
        case ex.IsIn(value, options):
            # A few comparisons take a sixth of the time of `is_in`.
            return reduce(or_, (to_polars(value) == option for option in options))
        case ex.IsNull(value):
            return to_polars(value).is_null()
        case ex.AllOf(terms):
            first = to_polars(terms[0])
            return reduce(and_, (_where_undecided(first, term) for term in terms[1:]), first)
        case ex.AnyOf(terms):
            first = to_polars(terms[0])
            return reduce(or_, (_where_undecided(~first, term) for term in terms[1:]), first)
        case ex.Not(term):
            return ~to_polars(term)
        case ex.Sum(terms):
            return reduce(add, map(to_polars, terms))
        case ex.Case():
            return _case(expression)
        case ex.WeightedScore(weighted):
            hundredths = reduce(add, (pl.col(score.name) * weight for weight, score in weighted))
            # Polars divides by multiplying with a reciprocal, so 0.3 can come out as 0.30000000000000004.
            return ((hundredths + 5) // 10 / 10).round(1)
        case ex.Tenths(score):
            return (to_polars(score) * 10).round(0).cast(pl.Int64)
        case ex.MostLost(components):
            names, lost = zip(*((name, maximum - pl.col(name)) for name, maximum in components), strict=True)
            worst = pl.max_horizontal(lost)
            return _first_true_text(names, [points == worst for points in lost[:-1]])
        case ex.Fired(rules):
            return _fired(rules)


def _search(text: pl.Expr, search: ex.Matches | ex.ContainsAny) -> pl.Expr:
    """Several words are searched fastest by an alternation, one word or several single characters by Aho-Corasick.

    One word as a literal takes as long, but uses one of the 32 regexes that Polars keeps compiled: if a rubric has more
    than those, Polars compiles every one of them again for every batch.
    """
    if isinstance(search, ex.Matches):
        return text.str.contains(shortest(search.pattern.regex))
    if len(search.words) == 1 or all(len(word) == 1 for word in search.words):
        return text.str.contains_any(list(search.words))
    return text.str.contains(ex.alternation(search.words))


def _where_undecided(undecided: pl.Expr, term: ex.Expression) -> pl.Expr:
    """A term of an AND or an OR, NULL where the first term already decides: there no text is searched."""
    match term:
        case ex.Matches(column) | ex.ContainsAny(column):
            text = to_polars(column)
            searched = text.is_not_null() & undecided.fill_null(value=True)
            # Replacing texts would copy all of them.
            place = pl.when(searched).then(searched.cum_sum() - 1)
            return _search(text.filter(searched), term).gather(place)
        case _:
            return to_polars(term)


def _case(case: ex.Case) -> pl.Expr:
    conditions = [to_polars(branch.condition) for branch in case.branches]
    values = [*(branch.value for branch in case.branches), case.otherwise]
    texts = [value.value for value in values if isinstance(value, ex.Value) and isinstance(value.value, str | None)]
    if len(texts) == len(values):
        return _first_true_text(texts, conditions)
    return _first_true(conditions, [*map(to_polars, values)])


def _first_true_text(texts: Sequence[str | None], conditions: Sequence[pl.Expr]) -> pl.Expr:
    """The text of the first true condition, else the last text; selecting by its index takes a third of the time."""
    places = [pl.lit(place, dtype=pl.UInt32) for place in range(len(texts))]
    return pl.lit(pl.Series(texts, dtype=pl.String)).gather(_first_true(conditions, places))


def _first_true(conditions: Sequence[pl.Expr], values: Sequence[pl.Expr]) -> pl.Expr:
    """The value of the first true condition, else the last one."""
    result = values[-1]
    for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
        result = pl.when(condition).then(value).otherwise(result)
    return result


def _fired(rules: tuple[tuple[str, ex.Expression], ...]) -> pl.Expr:
    """The true rules as a bit mask that indexes a list of all combinations: much faster than a list built per row."""
    combinations = [
        [rule for bit, (rule, _) in enumerate(rules) if number >> bit & 1] for number in range(2 ** len(rules))
    ]
    bits = [
        pl.when(to_polars(condition)).then(2**bit).otherwise(0).cast(pl.UInt32)
        for bit, (_, condition) in enumerate(rules)
    ]
    return pl.lit(pl.Series(combinations, dtype=pl.List(pl.String))).gather(reduce(add, bits))
