"""The kind of value that an expression gives, so that a rule on which engines would disagree is refused before it runs.

Polars compares a text with a number in its own way and GoogleSQL not at all; engines differ in a sum of a NULL, in the
division of a negative score, and in numbers beyond INT64. None of these has a kind.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isinf
from typing import Literal

from scoring.errors import RuleError
from scoring.rules import expressions as ex

Type = Literal["text", "whole", "score", "number", "truth", "list", "time", "null"]

TYPE_TITLES: dict[Type, str] = {
    "text": "a text",
    "whole": "a whole number",
    "score": "a score with one decimal",
    "number": "a number",
    "truth": "a condition",
    "list": "a list",
    "time": "a time",
    "null": "NULL",
}
LARGEST_WHOLE = 2**53
"""Beyond it FLOAT64 cannot represent every whole number, and sums of sums approach the limit of INT64."""

MOST_RULES = 12
"""Maximum number of rules in one `Fired`: its local backend holds a list for every combination."""

_LONGEST_TEXT = 2**31
_NUMERIC: tuple[Type, ...] = ("whole", "score", "number")


@dataclass(frozen=True)
class Kind:
    """The type of a value, whether it may be NULL, the bounds of numbers, and the possible values of codes.

    `codes` is empty for an arbitrary text.
    """

    type: Type
    nullable: bool = False
    low: float = float("-inf")
    high: float = float("inf")
    codes: frozenset[str] = frozenset()


TRUTH, COUNT = Kind("truth"), Kind("whole", low=0, high=_LONGEST_TEXT)
Kinds = Mapping[str, Kind]
"""The columns that a rule may use, by name."""


def kind_of(expression: ex.Expression, columns: Kinds) -> Kind:
    """The kind of the value that an expression gives.

    Raises:
        RuleError: a column does not exist, or engines would disagree on an operand.
    """
    match expression:
        case ex.Column(name):
            return _column(name, columns)
        case ex.Value(value):
            return _constant(value)
        case ex.Length(text) | ex.Count(text):
            return replace(COUNT, nullable=_of_type(text, columns, "text").nullable)
        case ex.Matches(text) | ex.ContainsAny(text):
            return replace(TRUTH, nullable=_of_type(text, columns, "text").nullable)
        case ex.Ratio(numerator, denominator):
            for part in (numerator, denominator):
                _of_type(part, columns, *_NUMERIC)
                if isinstance(part, ex.Value) and isinstance(part.value, float) and isinf(part.value):
                    raise RuleError("a ratio of what is infinite", fix="compare it, or leave it out")
            return Kind("number", nullable=True)
        case ex.Compare(left, operator, right):
            return _comparison(kind_of(left, columns), operator, kind_of(right, columns))
        case ex.IsIn(value, options):
            kind = _of_type(value, columns, "text")
            for option in options:
                _refuse_no_code(kind, _constant(option))
            return replace(TRUTH, nullable=kind.nullable)
        case ex.IsNull(value):
            kind_of(value, columns)
            return TRUTH
        case ex.AllOf(terms) | ex.AnyOf(terms):
            return replace(TRUTH, nullable=any(_of_type(term, columns, "truth").nullable for term in terms))
        case ex.Not(term):
            return _of_type(term, columns, "truth")
        case ex.Sum(terms):
            return _sum(_known(term, columns, "whole") for term in terms)
        case ex.Case():
            return _case(expression, columns)
        case ex.WeightedScore(weighted):
            for _, score in weighted:
                kind = _known(score, columns, "whole")
                if kind.low < 0 or kind.high > 100:
                    reach = f"{score.name} goes from {kind.low:g} to {kind.high:g}"
                    raise RuleError(reach, fix="a score that is weighted goes from 0 to 100")
            return Kind("score", low=0, high=100)
        case ex.Tenths(score):
            kind = _known(score, columns, "score")
            return Kind("whole", low=kind.low * 10, high=kind.high * 10)
        case ex.MostLost(components):
            for name, _ in components:
                _known(ex.Column(name), columns, "whole")
            return Kind("text", codes=frozenset(name for name, _ in components))
        case ex.Fired(rules):
            if len(rules) > MOST_RULES:
                raise RuleError(f"{len(rules)} rules stand in one list", fix=f"keep the {MOST_RULES} that matter most")
            for _, condition in rules:
                _of_type(condition, columns, "truth")
            return Kind("list")


def with_kinds(definitions: Iterable[ex.Definition], columns: Kinds) -> dict[str, Kind]:
    """The columns and those that the definitions add, in order.

    Raises:
        RuleError: as `kind_of`.
    """
    known = dict(columns)
    for definition in definitions:
        known[definition.name] = kind_of(definition.expression, known)
    return known


def _column(name: str, columns: Kinds) -> Kind:
    try:
        return columns[name]
    except KeyError:
        near = get_close_matches(name, columns, n=1)
        hint = f"did you mean {near[0]}?" if near else f"those that are there: {', '.join(sorted(columns))}"
        raise RuleError(f"there is no column {name} here", fix=hint) from None


def _constant(value: ex.LiteralValue) -> Kind:
    if value is None:
        return Kind("null", nullable=True)
    if isinstance(value, str):
        return Kind("text", codes=frozenset({value}))
    if isinstance(value, float):
        return Kind("number", low=value, high=value)
    if abs(value) > LARGEST_WHOLE:
        raise RuleError(f"{str(value)[:20]} is too large", fix=f"use a number up to {LARGEST_WHOLE:,}")
    return Kind("whole", low=value, high=value)


def _of_type(expression: ex.Expression, columns: Kinds, *types: Type) -> Kind:
    kind = kind_of(expression, columns)
    if kind.type not in types:
        expected = TYPE_TITLES[types[-1]]
        fix = f"write {expected} here"
        if types == ("whole",) and kind.type == "number":
            fix = "give points for it: by its bands, or CASE WHEN ... THEN ... ELSE ... END"
        raise RuleError(f"expected {expected}, found {TYPE_TITLES[kind.type]}", fix=fix)
    return kind


def _known(expression: ex.Expression, columns: Kinds, of_type: Type) -> Kind:
    kind = _of_type(expression, columns, of_type)
    if kind.nullable:
        raise RuleError(
            f"expected {TYPE_TITLES[of_type]} that is never NULL, found one that may be",
            fix="say what NULL earns: CASE WHEN ... THEN ... ELSE 0 END",
        )
    return kind


def _comparison(left: Kind, operator: str, right: Kind) -> Kind:
    texts, numbers = (left.type == right.type == "text"), (left.type in _NUMERIC and right.type in _NUMERIC)
    if not texts and not numbers:
        fix = "write IS NULL" if "null" in (left.type, right.type) else "compare texts with texts, numbers with numbers"
        raise RuleError(f"{TYPE_TITLES[left.type]} {operator} {TYPE_TITLES[right.type]} cannot be told", fix=fix)
    _refuse_no_code(left, right)
    return replace(TRUTH, nullable=left.nullable or right.nullable)


def _refuse_no_code(left: Kind, right: Kind) -> None:
    """Refuses a comparison with a text or codes that the other side can never have: most often a typing error that
    makes the rule never true.
    """
    if not left.codes or not right.codes or left.codes & right.codes:
        return
    known, found = sorted((left.codes, right.codes), key=len, reverse=True)
    near = [match for code in sorted(found) for match in get_close_matches(code, known, n=1)]
    fix = f"did you mean {near[0]}?" if near else f"those that there are: {', '.join(map(repr, sorted(known)))}"
    raise RuleError(f"there is no code {', '.join(sorted(found))} here", fix=fix)


def _sum(terms: Iterable[Kind]) -> Kind:
    kinds = list(terms)
    low, high = sum(kind.low for kind in kinds), sum(kind.high for kind in kinds)
    if max(-low, high) > LARGEST_WHOLE:
        raise RuleError("this sum can grow too large", fix=f"keep it within {LARGEST_WHOLE:,}")
    return Kind("whole", low=low, high=high)


def _case(case: ex.Case, columns: Kinds) -> Kind:
    for branch in case.branches:
        _of_type(branch.condition, columns, "truth")
    kinds = [kind_of(value, columns) for value in (*(branch.value for branch in case.branches), case.otherwise)]
    given = [kind for kind in kinds if kind.type != "null"]
    if not given or given[0].type not in ("text", "whole") or any(kind.type != given[0].type for kind in given):
        found = ", ".join(sorted({TYPE_TITLES[kind.type] for kind in kinds}))
        raise RuleError(
            f"a CASE gives texts or whole numbers, one of both; this one gives {found}", fix="give the same everywhere"
        )
    return Kind(
        given[0].type,
        nullable=any(kind.nullable for kind in kinds),
        low=min(kind.low for kind in given),
        high=max(kind.high for kind in given),
        codes=frozenset().union(*(kind.codes for kind in given)) if all(kind.codes for kind in given) else frozenset(),
    )
