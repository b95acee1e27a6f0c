"""Row rules as Polars expressions: the local engine."""

from functools import cache, reduce
from operator import add, and_, eq, ge, gt, le, lt, ne, or_

import polars as pl

from scoring.rules import expressions as ex
from scoring.rules.evaluation_order import steps

_OPERATORS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def with_definitions(rows: pl.LazyFrame, definitions: tuple[ex.Definition, ...]) -> pl.LazyFrame:
    """`rows` with one more column per definition, in the order of their dependencies."""
    for columns in _translated(definitions):
        rows = rows.with_columns(columns)
    return rows


@cache
def _translated(definitions: tuple[ex.Definition, ...]) -> list[list[pl.Expr]]:
    """The expressions of each step. Translating takes longer than scoring a small batch, so it is done once."""
    return [[to_polars(one.expression).alias(one.name) for one in step] for step in steps(definitions)]


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
        case ex.Matches(text, pattern):
            return to_polars(text).str.contains(pattern.regex)
        case ex.ContainsAny(text, words):
            return _contains_any(to_polars(text), words)
        case ex.Ratio(numerator, denominator):
            # One value for all rows of a batch would be multiplied by its reciprocal, which can round the other way.
            divisor = to_polars(denominator) + pl.int_range(pl.len()) * 0
            quotient = to_polars(numerator).cast(pl.Float64) / pl.when(divisor != 0).then(divisor)
            return pl.when(quotient.is_finite()).then(quotient)
        case ex.Compare(left, operator, right):
            compared: pl.Expr = _OPERATORS[operator](to_polars(left), to_polars(right))
            return compared
        case ex.IsIn(value, options):
            # A few comparisons cost a sixth of `is_in`.
            return reduce(or_, (to_polars(value) == option for option in options))
        case ex.IsNull(value):
            return to_polars(value).is_null()
        case ex.AllOf(terms):
            first = to_polars(terms[0])
            return reduce(and_, (_where(first, term) for term in terms[1:]), first)
        case ex.AnyOf(terms):
            return reduce(or_, map(to_polars, terms))
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
            lost = [(name, pl.lit(maximum) - pl.col(name)) for name, maximum in components]
            worst = pl.max_horizontal([points for _, points in lost])
            named = [pl.when(points == worst).then(pl.lit(name)) for name, points in lost]
            return pl.coalesce(named)
        case ex.Fired(rules):
            return _fired(rules)


def _contains_any(text: pl.Expr, words: tuple[str, ...]) -> pl.Expr:
    """Several words are found fastest by an alternation, one word or several signs by an automaton.

    One word as a literal costs the same, but a place among the 32 regexes that Polars keeps compiled: with more than
    those in a rubric it compiles every one of them again for every batch.
    """
    if len(words) == 1 or all(len(word) == 1 for word in words):
        return text.str.contains_any(list(words))
    return text.str.contains(ex.alternation(words))


def _where(condition: pl.Expr, term: ex.Expression) -> pl.Expr:
    """A term of an AND as it matters: where `condition` is false the AND is, and its text need not be searched."""
    match term:
        case ex.ContainsAny(text, words):
            searched = pl.when(~condition).then(pl.lit("")).otherwise(to_polars(text))
            return _contains_any(searched, words)
        case _:
            return to_polars(term)


def _case(case: ex.Case) -> pl.Expr:
    result = to_polars(case.otherwise)
    for branch in reversed(case.branches):
        result = pl.when(to_polars(branch.condition)).then(to_polars(branch.value)).otherwise(result)
    return result


def _fired(rules: tuple[tuple[str, ex.Expression], ...]) -> pl.Expr:
    """Which rules are true as the bits of a number, which finds its list: far cheaper than a list built per row."""
    combinations = [
        [rule for bit, (rule, _) in enumerate(rules) if number >> bit & 1] for number in range(2 ** len(rules))
    ]
    bits = [
        pl.when(to_polars(condition)).then(2**bit).otherwise(0).cast(pl.UInt32)
        for bit, (_, condition) in enumerate(rules)
    ]
    return pl.lit(pl.Series(combinations, dtype=pl.List(pl.String))).gather(reduce(add, bits))
