"""Converts the tables of a rubric file that define points to expressions of the rule language."""

from collections.abc import Mapping, Sequence
from typing import Literal

from scoring.errors import RuleError
from scoring.rubric_files.reading import RubricText
from scoring.rubric_files.shape import Given, GradeTable
from scoring.rules import expressions as ex
from scoring.rules.bands import Bands, Number
from scoring.rules.kinds import Kind, Kinds, kind_of
from scoring.rules.parser import parse, parse_condition


class FileExpressions:
    """The expressions of a file over its columns: `kinds`, which grows as columns are added, and their `titles`.

    Every method takes the keys that lead to its input. UsageError names the line and column of an error.
    """

    def __init__(self, text: RubricText, kinds: Kinds, titles: Mapping[str, str]) -> None:
        self._text = text
        self.kinds: dict[str, Kind] = dict(kinds)
        self._titles = titles

    def expression(self, text: str | None, *path: str | int) -> ex.Expression:
        """The expression of a text."""
        with self._text.at(*path):
            return parse(text or "", self.kinds)

    def condition(self, text: str | None, *path: str | int, columns: Kinds | None = None) -> ex.Expression:
        """The condition of a text; `columns` replaces the default columns."""
        with self._text.at(*path):
            return parse_condition(text or "", self.kinds if columns is None else columns)

    def summed(self, terms: Sequence[str | Given], *path: str | int) -> ex.Sum:
        """The sum of these parts."""
        return ex.Sum(
            tuple(
                self.expression(term, *path, "sum", at) if isinstance(term, str) else self.given(term, *path, "sum", at)
                for at, term in enumerate(terms)
            )
        )

    def given(self, given: Given, *path: str | int) -> ex.Case:
        """Points or codes from one condition, from the first true one of several, or from the band of a number."""
        match given.way:
            case "when":
                branch = ex.When(self.condition(given.when, *path, "when"), ex.Value(given.gives), given.label)
                return ex.Case((branch,), ex.Value(_nothing([given.gives])))
            case "first":
                branches = tuple(
                    ex.When(self.condition(one.when, *path, "first", at, "when"), ex.Value(one.gives), one.label)
                    for at, one in enumerate(given.first)
                )
                nothing = _nothing([one.gives for one in given.first])
                otherwise = nothing if given.otherwise is None else given.otherwise
                return ex.Case(branches, ex.Value(otherwise), given.otherwise_label)
            case edge:
                assert given.of
                number = self.expression(given.of, *path, "of")
                cuts = given.at_least or given.at_most
                with self._text.at(*path, edge):
                    bands = Bands("at_least" if given.at_least else "at_most", cuts, given.beyond)
                    refuse_out_of_reach(kind_of(number, self.kinds), bands.edge, *(cut for cut, _ in cuts))
                return ex.banded(number, bands, given.called or self._called(given.of))

    def graded(self, grades: tuple[GradeTable, ...], score: str) -> ex.Case:
        """The grade of a score, from best to worst."""
        cuts = tuple((one.at_least, one.code) for one in grades if one.at_least is not None)
        refuse_out_of_reach(kind_of(ex.Column(score), self.kinds), "at_least", *(cut for cut, _ in cuts))
        return ex.banded(ex.Column(score), Bands("at_least", cuts, grades[-1].code), self._called(score))

    def _called(self, column: str) -> str:
        return self._titles.get(column, column)


def refuse_out_of_reach(kind: Kind, edge: Literal["at_least", "at_most"], *cuts: Number) -> None:
    """Refuses a number that no value of a kind can reach: most often a different unit, 80 instead of 0.8.

    Raises:
        RuleError: states the range of the values.
    """
    for cut in cuts:
        if cut > kind.high if edge == "at_least" else cut < kind.low:
            what = f"no value is {edge.replace('_', ' ')} {cut:g}: they go from {kind.low:g} to {kind.high:g}"
            raise RuleError(what, fix="give a number that they reach")


def _nothing(given: list[int | str | None]) -> int | None:
    """The default if no condition is true: no points, or no code."""
    return None if any(isinstance(one, str) for one in given) else 0
