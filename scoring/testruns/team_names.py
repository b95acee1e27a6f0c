"""A team's names of columns and filters in its test runs, in addition to the common ones."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from scoring.headers import bare_name, folded_name
from scoring.testruns.column_names import our_headers
from scoring.testruns.filter_names import FilterNames

_NUMBER = "{n}"


@dataclass(frozen=True)
class TeamNames:
    """`columns`: our header -> the team's, with `{n}` for the number of `N차`. `filters`: name -> code."""

    columns: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def filter_names(self) -> FilterNames:
        """The team's filters, then the common ones."""
        return FilterNames(self.filters)

    def headers(self, cells: Iterable[str]) -> tuple[str, ...]:
        """Header cells by our names, regardless of case, width and blanks."""
        return our_headers([self._header(name) for name in written_headers(cells)])

    def _header(self, name: str) -> str:
        for ours, pattern in self._patterns:
            if match := pattern.fullmatch(folded_name(name)):
                return ours.replace("N차", f"{match[1]}차", 1) if match.groups() else ours
        return name

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        number = re.escape(_NUMBER)
        return [
            (ours, re.compile(re.escape(folded_name(theirs)).replace(number, "([1-9][0-9]?)", 1)))
            for ours, theirs in self.columns.items()
        ]


def written_headers(cells: Iterable[str]) -> tuple[str, ...]:
    """Header cells as in a file, without invisible characters around them.

    Blanks and line breaks within a header become a single blank: people break long headers in Excel.
    """
    return tuple(" ".join(bare_name(cell).split()) for cell in cells)


COMMON_NAMES = TeamNames()
