"""Reads the GoogleSQL that rubric pages and `aqb sql` print back into expressions of the rule language.

    condition  = conjunction { OR conjunction }
    conjunction = negation { AND negation }
    negation   = NOT negation | comparison
    comparison = sum [ (= != < <= > >=) sum | IS [NOT] NULL | IN ( 'a', 'b' ) ]
    sum        = term { + term }
    term       = constant | column | ( condition ) | CASE WHEN ... THEN ... ELSE ... END | one of FUNCTIONS

Nothing else is there: no subquery, no other function, no way to code. What is read has a kind (`kinds.py`), so that it
means the same on every engine. An alternation of plain words is `ContainsAny`, `IN` with one text is `=`.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import polars as pl
import pyarrow as pa

from scoring.errors import RuleError
from scoring.rules import expressions as ex
from scoring.rules.arrow_types import matches
from scoring.rules.evaluation_order import columns_of
from scoring.rules.googlesql_backend import to_sql
from scoring.rules.kinds import Kinds, kind_of
from scoring.rules.tokens import ConditionError, Token, TokenReader, text_of, tokens_of, words_of

FUNCTIONS = (
    "LENGTH",
    "REGEXP_CONTAINS",
    "ARRAY_LENGTH(REGEXP_EXTRACT_ALL(...))",
    "SAFE_DIVIDE",
    "DIV",
    "CAST",
    "ARRAY_CONCAT",
    "CASE",
)
_INSTEAD = {
    **dict.fromkeys(("LOWER", "UPPER"), "write both letters in the pattern: r'[Rr]efund'"),
    **dict.fromkeys(("IFNULL", "COALESCE"), "write a = 0 OR a IS NULL"),
    **dict.fromkeys(("IF", "NULLIF"), "write CASE WHEN a > 1 THEN 5 ELSE 0 END"),
    **dict.fromkeys(("STRPOS", "INSTR", "CONTAINS_SUBSTR"), "write REGEXP_CONTAINS(column, r'text')"),
    **dict.fromkeys(("CHAR_LENGTH", "CHARACTER_LENGTH", "LEN"), "write LENGTH"),
    "STARTS_WITH": "write REGEXP_CONTAINS(column, r'^text')",
}
"""What to write for functions that GoogleSQL has and the rule language lacks."""

MOST_NESTED = 40
"""Nesting of brackets, NOTs and CASEs: engines process them by recursion."""

MOST_TERMS = 200
"""Elements of one sum, AND, OR, CASE or list, for the same reason."""

_MOST_DIGITS = 30
# An escape or a set, in which a bracket is a literal; else the beginning of a capturing group.
_NO_GROUP_OR_ONE = re.compile(r"(\\.|\[\^?+\]?+(?:\\.|[^\]\\])*\])|\((?!\?)", re.DOTALL)
_OPERATORS: dict[str, ex.Operator] = {one: one for one in ex.OPERATORS}
_KEYWORDS = frozenset(
    ("AND", "OR", "NOT", "IS", "IN", "NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "TRUE", "FALSE", "LIKE", "BETWEEN")
)
_Part = TypeVar("_Part")


def parse(text: str, columns: Kinds) -> ex.Expression:
    """Parses a text into an expression over these columns.

    `parse(to_sql(x))` is `x` for every expression without labels.

    Raises:
        ConditionError: the text is not in the rule language; gives line, column, what was expected and the remedy.
    """
    parser = _ConditionParser(text, columns)
    expression = parser.condition()
    parser.expect_end()
    if not any(columns_of(expression)):
        raise ConditionError("a rule that looks at no column", text, 0, "name a column in it, or leave it out")
    return expression


def parse_condition(text: str, columns: Kinds) -> ex.Expression:
    """Parses a text into a condition: it is true, false or NULL for a row.

    Raises:
        ConditionError: as `parse`, or the text gives no condition.
    """
    expression = parse(text, columns)
    if kind_of(expression, columns).type != "truth":
        raise ConditionError(
            "expected a condition, found a value", text, 0, "compare it with a number, or a text in quotes"
        )
    return expression


class _ConditionParser(TokenReader):
    """A method for each line of the grammar: parses that construct from the next token on."""

    def __init__(self, text: str, columns: Kinds) -> None:
        super().__init__(text)
        self._columns = columns
        self._depth = 0

    def condition(self) -> ex.Expression:
        return self._joined("OR", self._conjunction, ex.AnyOf)

    def expect_end(self) -> None:
        if self.next.type != "end":
            self.unexpected("the end, AND or OR")

    def _conjunction(self) -> ex.Expression:
        return self._joined("AND", self._negation, ex.AllOf)

    def _joined(
        self,
        joint: str,
        read_one: Callable[[], ex.Expression],
        join: Callable[[tuple[ex.Expression, ...]], ex.Expression],
    ) -> ex.Expression:
        start = self.next.offset
        terms = [read_one()]
        while self.accept(joint):
            terms.append(read_one())
            self._refuse_many(terms)
        return self._build(start, join, tuple(terms)) if len(terms) > 1 else terms[0]

    def _negation(self) -> ex.Expression:
        start = self.next.offset
        if not self.accept("NOT"):
            return self._comparison()
        return self._build(start, ex.Not, self._deeper(self._negation))

    def _comparison(self) -> ex.Expression:
        start = self.next.offset
        left = self._sum()
        if operator := _OPERATORS.get(self.next.text):
            self.advance()
            return self._build(start, ex.Compare, left, operator, self._sum())
        if self.accept("IS"):
            negated = self.accept("NOT")
            self.expect("NULL")
            unknown = self._build(start, ex.IsNull, left)
            return ex.Not(unknown) if negated else unknown
        if self.accept("IN"):
            if self.next_are("(", "number"):
                self.refuse("IN with a number", self.next.offset + 1, "write a = 1 OR a = 2")
            options = self._listed("(", self._string, ")")
            if len(options) == 1:
                return self._build(start, ex.Compare, left, "=", ex.Value(options[0]))
            return self._build(start, ex.IsIn, left, options)
        return left

    def _sum(self) -> ex.Expression:
        return self._joined("+", self._term, ex.Sum)

    def _term(self) -> ex.Expression:
        token = self.next
        if token.type == "string":
            return ex.Value(self._string())
        if token.type == "number" or token.text == "-":
            return self._build(token.offset, ex.Value, self._number())
        if self.accept("("):
            inner = self._deeper(self.condition)
            self.expect(")")
            return inner
        if self.accept("NULL"):
            return ex.Value(None)
        if self.accept("CASE"):
            return self._deeper(self._most_lost if self.next_are("WHEN", "number", "-") else self._case)
        if token.type != "name" or token.word in _KEYWORDS:
            self.unexpected("a column, a constant, a function or CASE")
        self.advance()
        return self._deeper(self._call) if self.next.text == "(" else self._build(token.offset, ex.Column, token.text)

    def _call(self) -> ex.Expression:
        name = self.tokens[self.place - 1]
        match name.word:
            case "LENGTH":
                return self._build(name.offset, ex.Length, *self._listed("(", self._column, ")", exactly=1))
            case "REGEXP_CONTAINS":
                return self._build(name.offset, _contains, *self._text_and_regex())
            case "ARRAY_LENGTH":
                self.expect("(", "REGEXP_EXTRACT_ALL")
                text, regex = self._text_and_regex()
                self.expect(")")
                return self._build(name.offset, _count, text, regex)
            case "SAFE_DIVIDE":
                return self._build(name.offset, ex.Ratio, *self._listed("(", self._sum, ")", exactly=2))
            case "DIV":
                return self._weighted(name)
            case "CAST":
                return self._cast(name)
            case "ARRAY_CONCAT":
                return self._build(name.offset, ex.Fired, self._listed("(", self._rule, ")"))
        fix = _INSTEAD.get(name.word) or f"the functions that there are: {', '.join(FUNCTIONS)}"
        self.refuse(f"expected a function of the rule language, found {name.text[:40]}", name.offset, fix)
        return None

    def _text_and_regex(self) -> tuple[ex.Column, str]:
        self.expect("(")
        text = self._column()
        self.expect(",")
        regex = self._string()
        self.expect(")")
        return text, regex

    def _case(self) -> ex.Expression:
        start = self.tokens[self.place - 1].offset
        branches = []
        while self.accept("WHEN"):
            condition = self.condition()
            self.expect("THEN")
            branches.append(ex.When(condition, self._sum()))
            self._refuse_many(branches)
        if not branches:
            self.unexpected("WHEN")
        self.expect("ELSE")
        otherwise = self._sum()
        self.expect("END")
        return self._build(start, ex.Case, tuple(branches), otherwise)

    def _rule(self) -> tuple[str, ex.Expression]:
        """A rule of a list: `IF(condition, ['id'], [])`."""
        self.expect("IF", "(")
        condition = self.condition()
        self.expect(",", "[")
        rule = self._string()
        self.expect("]", ",", "[", "]", ")")
        return rule, condition

    def _weighted(self, name: Token) -> ex.Expression:
        """`DIV((25 * a + 75 * b + 5), 10) / 10`."""
        self.expect("(", "(")
        weights = []
        while not self.next_are("number", ")"):
            weight = self._whole()
            self.expect("*")
            weights.append((weight, self._column()))
            self._refuse_many(weights)
            self.expect("+")
        return self._as_printed(name, self._build(name.offset, ex.WeightedScore, tuple(weights)))

    def _cast(self, name: Token) -> ex.Expression:
        """`CAST('inf' AS FLOAT64)`, or `CAST(ROUND(score * 10) AS INT64)`."""
        self.expect("(")
        if self.next.type == "string":
            return self._as_printed(name, ex.Value(-math.inf if "-" in self.next.text else math.inf))
        self.expect("ROUND", "(")
        return self._as_printed(name, self._build(name.offset, ex.Tenths, self._column()))

    def _most_lost(self) -> ex.Expression:
        """`CASE WHEN 5 - a = GREATEST(5 - a, 3 - b) THEN 'a' WHEN 3 - b = GREATEST(...) THEN 'b' END`."""
        name = self.tokens[self.place - 1]
        self.expect("WHEN")
        self._lost()
        self.expect("=", "GREATEST")
        components = self._listed("(", self._lost, ")")
        return self._as_printed(name, self._build(name.offset, ex.MostLost, components))

    def _lost(self) -> tuple[str, int]:
        maximum = self._whole()
        self.expect("-")
        return self._column().name, maximum

    def _as_printed(self, first: Token, expression: ex.Expression) -> ex.Expression:
        """The `expression` of the tokens so far; the text from `first` on must equal the printed expression."""
        self.place = self.tokens.index(first)
        for token in tokens_of(to_sql(expression), self.refuse)[:-1]:
            self.expect(token.text)
        return expression

    def _listed(
        self, opening: str, read_one: Callable[[], _Part], closing: str, *, exactly: int = 0
    ) -> tuple[_Part, ...]:
        self.expect(opening)
        parts = [read_one()]
        while len(parts) != exactly and self.accept(","):
            parts.append(read_one())
            self._refuse_many(parts)
        if len(parts) < exactly:
            self.unexpected("a comma")
        self.expect(closing)
        return tuple(parts)

    def _column(self) -> ex.Column:
        token = self.next
        if token.type != "name" or token.word in _KEYWORDS:
            self.unexpected("a column")
        self.advance()
        if self.next.text == "(":
            self.refuse(f"expected a column, found the function {token.text[:40]}", token.offset, "name a column here")
        column = ex.Column(token.text)
        self._build(token.offset, lambda: column)
        return column

    def _string(self) -> str:
        if self.next.type != "string":
            self.unexpected("a text in quotes")
        return text_of(self.advance(), self.refuse)

    def _number(self) -> int | float:
        sign = -1 if self.accept("-") else 1
        if self.next.type != "number":
            self.unexpected("a number")
        token = self.advance()
        if len(token.text) > _MOST_DIGITS:
            self.refuse(f"a number of {len(token.text)} signs", token.offset, "round it")
        number = float(token.text) if set(token.text) & set(".eE") else int(token.text)
        if math.isinf(number):
            self.refuse("a number beyond FLOAT64", token.offset, "write CAST('inf' AS FLOAT64) if that is meant")
        return sign * number

    def _whole(self) -> int:
        start, number = self.next.offset, self._number()
        if isinstance(number, float):
            self.refuse("expected a whole number", start, "leave the decimals out")
        return number

    def _deeper(self, read: Callable[[], ex.Expression]) -> ex.Expression:
        self._depth += 1
        if self._depth > MOST_NESTED:
            self.refuse(f"more than {MOST_NESTED} levels", self.next.offset, "make a column of an inner part")
        inner = read()
        self._depth -= 1
        return inner

    def _build(self, start: int, make: Callable[..., ex.Expression], *parts: object) -> ex.Expression:
        """Builds the expression of these parts; errors point to `start`."""
        try:
            expression = make(*parts)
            kind_of(expression, self._columns)
        except RuleError as error:
            self.refuse(error.what, start, error.fix)
        return expression

    def _refuse_many(self, parts: list[Any]) -> None:
        if len(parts) > MOST_TERMS:
            self.refuse(f"more than {MOST_TERMS} parts", self.next.offset, "make columns of some of them")


def _contains(text: ex.Column, regex: str) -> ex.Expression:
    words = words_of(regex)
    return ex.ContainsAny(text, words) if words else ex.Matches(text, _pattern(regex))


def _count(text: ex.Column, regex: str) -> ex.Expression:
    pattern = _pattern(regex)
    if re.compile(regex).groups > 1:  # GoogleSQL extracts one group at most; capturing does not change a count
        pattern = ex.Pattern(_NO_GROUP_OR_ONE.sub(lambda found: found[1] or "(?:", regex))
    return ex.Count(text, pattern)


def _pattern(regex: str) -> ex.Pattern:
    """A pattern that Rust's regex and RE2 accept too; they report errors only when a pattern is used.

    Raises:
        RuleError: one of them refuses it, or as `Pattern`.
    """
    pattern = ex.Pattern(regex)
    try:
        pl.select(pl.lit("").str.contains(regex))
        matches(regex, "")
    except (pl.exceptions.ComputeError, pa.ArrowInvalid):
        raise RuleError(f"regex {regex[:80]!r} is one that not every engine reads", fix="write it simpler") from None
    return pattern
