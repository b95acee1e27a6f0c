"""The closed vocabulary of row rules: texts, lengths, counts, ratios, comparisons, cases, sums.

A rule is a value built from these nodes and nothing else, so that each backend (`polars_backend`, `googlesql_backend`,
`explain`) can translate it completely. NULL behaves as in BigQuery: any NULL operand gives NULL, a comparison
with NULL is not true, and a CASE then falls through to its ELSE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal

from scoring.errors import RuleError
from scoring.rules.bands import Bands

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
OPERATORS: Mapping[Operator, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
LiteralValue = str | int | float | None

OR_NO_VALUE = " 또는 값 없음"
"""Suffix of the label of a band that also includes unknown values (Korean)."""

# RE2, Rust and Python agree on these escapes; \d \s \w \b are ASCII in RE2 and Unicode elsewhere; \< \> are literals in
# RE2 and Python, and word boundaries in Rust.
_PORTABLE_ESCAPES = frozenset("ntrf")
_SET = re.compile(r"\[\^?\]?([^\]]*)\]")
# $, flags and look-arounds, a repetition without a lower bound, possessive repetitions.
_NOT_PORTABLE = re.compile(r"\$|\(\?(?!:)|\{,|[*+?}]\+")
# Nested and named sets, and the set operators of Rust and of future Python.
_NOT_PORTABLE_IN_SET = re.compile(r"\[|&&|--|~~|\|\|")
_REPETITION = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
_MOST_REPEATED = 1_000  # RE2's maximum


@dataclass(frozen=True)
class Pattern:
    """A regular expression that RE2, Rust's regex and Python's re read alike.

    Raises:
        RuleError: it uses a class, an anchor or a group that the engines read differently.
    """

    regex: str

    def __post_init__(self) -> None:
        for escape in re.findall(r"\\(.)", self.regex, flags=re.DOTALL):
            if (escape.isalnum() or escape in "<>") and escape not in _PORTABLE_ESCAPES:
                raise RuleError(
                    f"regex {self.regex!r} uses \\{escape}, which engines read differently",
                    fix=r"write it out: [0-9] for \d, [\t\n\f\r ] for \s, [0-9A-Za-z_] for \w, (^|[^a-z]) for \b",
                )
        unescaped = re.sub(r"\\.", "_", self.regex, flags=re.DOTALL)
        sets = _SET.findall(unescaped)
        outside_sets = _SET.sub("", unescaped)
        if _NOT_PORTABLE.search(outside_sets) or any(_NOT_PORTABLE_IN_SET.search(chars) for chars in sets):
            raise RuleError(
                f"regex {self.regex!r} has a part that engines read differently",
                fix="leave out $, flags, look-arounds and sets within sets; for (?i)a write [Aa]",
            )
        counts = [count for found in _REPETITION.findall(outside_sets) for count in found if count]
        if any(len(count) > 4 or int(count) > _MOST_REPEATED for count in counts):
            raise RuleError(
                f"regex {self.regex[:80]!r} repeats a part more than {_MOST_REPEATED:,} times", fix="repeat it less"
            )
        try:
            re.compile(self.regex)
        except re.error as error:
            raise RuleError(f"regex {self.regex!r} is none: {error}", fix="correct it") from error


@dataclass(frozen=True)
class Column:
    """An input column, or a column defined earlier in the same rubric."""

    name: str


@dataclass(frozen=True)
class Value:
    """A constant."""

    value: LiteralValue


@dataclass(frozen=True)
class Length:
    """Unicode code points of a text."""

    text: Column


@dataclass(frozen=True)
class Count:
    """The number of non-overlapping matches of a pattern in a text.

    Raises:
        RuleError: the pattern matches an empty text, which engines count differently; it has several capturing groups,
            which GoogleSQL cannot extract.
    """

    text: Column
    pattern: Pattern

    def __post_init__(self) -> None:
        if re.match(self.pattern.regex, ""):
            raise RuleError(
                f"regex {self.pattern.regex!r} matches an empty text, which engines count differently",
                fix="write + in place of *, or leave the optional part out",
            )
        if re.compile(self.pattern.regex).groups > 1:
            raise RuleError(f"regex {self.pattern.regex!r} has several groups that capture", fix="write (?: for (")


@dataclass(frozen=True)
class Matches:
    """Whether a pattern occurs in a text."""

    text: Column
    pattern: Pattern


@dataclass(frozen=True)
class ContainsAny:
    """Whether one of some literal words occurs in a text."""

    text: Column
    words: tuple[str, ...]


@dataclass(frozen=True)
class Ratio:
    """`SAFE_DIVIDE`: NULL where the denominator is 0, an operand is NULL, or the quotient overflows."""

    numerator: Expression
    denominator: Expression


@dataclass(frozen=True)
class Sum:
    """Whole-number sum of terms that are never NULL."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Compare:
    """A comparison; NULL when a side is NULL."""

    left: Expression
    operator: Operator
    right: Expression


@dataclass(frozen=True)
class IsIn:
    """Whether a value is one of some constants."""

    value: Expression
    options: tuple[str, ...]


@dataclass(frozen=True)
class IsNull:
    """Whether a value is NULL; never NULL itself."""

    value: Expression


@dataclass(frozen=True)
class AllOf:
    """Three-valued AND."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class AnyOf:
    """Three-valued OR."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Not:
    """Three-valued NOT."""

    term: Expression


@dataclass(frozen=True)
class When:
    """One branch of a CASE. `label` (Korean) describes what was found if the branch applies."""

    condition: Expression
    value: Expression
    label: str = ""


@dataclass(frozen=True)
class Case:
    """The first branch whose condition is true, else `otherwise`."""

    branches: tuple[When, ...]
    otherwise: Expression
    otherwise_label: str = ""


@dataclass(frozen=True)
class WeightedScore:
    """Weighted mean of whole-number scores with one decimal, rounded half away from zero.

    Weights are integer percents above 0 that add up to 100; the arithmetic is done in integers, because binary floats
    round 61.25 to 61.2. Scores must not be negative.
    """

    terms: tuple[tuple[int, Column], ...]

    def __post_init__(self) -> None:
        total = sum(weight for weight, _ in self.terms)
        if least := [weight for weight, _ in self.terms if weight <= 0]:
            raise RuleError(f"a weight of {least[0]} % is none", fix="give weights from 1 to 100 %")
        if total != 100:
            raise RuleError(f"weights must add up to 100 %, these add up to {total} %", fix="change some of them")


@dataclass(frozen=True)
class Tenths:
    """A score with one decimal as a whole number of tenths, so that sums are exact on every engine."""

    score: Column


@dataclass(frozen=True)
class MostLost:
    """The name of the component furthest below its maximum; the earlier one in a tie."""

    components: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Fired:
    """The ids of the conditions that are true, in order; an empty list if there are none."""

    rules: tuple[tuple[str, Expression], ...]


Expression = (
    Column
    | Value
    | Length
    | Count
    | Matches
    | ContainsAny
    | Ratio
    | Sum
    | Compare
    | IsIn
    | IsNull
    | AllOf
    | AnyOf
    | Not
    | Case
    | WeightedScore
    | Tenths
    | MostLost
    | Fired
)


@dataclass(frozen=True)
class Definition:
    """A named output column: its expression, its description (Korean), and its source clause."""

    name: str
    expression: Expression
    title: str
    source: str


def points(earned: int, when: Expression, label: str) -> Case:
    """`earned` points if the condition is true, else 0."""
    return Case((When(when, Value(earned), label),), Value(0))


def banded(number: Expression, bands: Bands[int] | Bands[str], name: str) -> Case:
    """A CASE over the cuts of `bands`; a NULL number reaches no cut and gets the points beyond the last."""
    operator: Operator = ">=" if bands.edge == "at_least" else "<="
    sign = "≥" if bands.edge == "at_least" else "≤"
    branches = tuple(
        When(Compare(number, operator, Value(cut)), Value(earned), f"{name} {sign} {cut}") for cut, earned in bands.cuts
    )
    last, beyond = bands.cuts[-1][0], "<" if bands.edge == "at_least" else ">"
    return Case(branches, Value(bands.beyond), f"{name} {beyond} {last}{OR_NO_VALUE}")


def alternation(words: tuple[str, ...]) -> str:
    """A regex that finds any of these words, character by character."""
    return "|".join(re.sub(r"([.?*+|(){}\[\]\\^$])", r"\\\1", word) for word in words)
