"""Texts of data as people may read them: on one line, and escaped for Markdown."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from scoring.stats.exact import exact, rounded

# Control characters (a terminal obeys them), marks that turn the reading direction, halves of a character.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

MOST_DIGITS = 4
"""The most digits of a percentage, that of a row in a million, and of a mean."""

_ESCAPED = str.maketrans({mark: f"\\{mark}" for mark in r"\`*[]<>|#~&"})
MARKING_UNDERSCORE = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
"""An underscore that may be markup. Inside a word it is none, and codes read better as they are."""


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table; cells are escaped, None is a dash."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def cell(value: object) -> str:
    """One value on one line, without any meaning to markdown or HTML."""
    if value is None:
        return "–"
    escaped = one_line(str(value)).translate(_ESCAPED)
    return MARKING_UNDERSCORE.sub(r"\\_", escaped) if "_" in escaped else escaped


def one_line(text: str) -> str:
    """A text with blanks for all white space, and without characters that are obeyed instead of seen."""
    return _UNSEEN.sub("", " ".join(text.split()))


def shortened(text: str, length: int) -> str:
    """At most `length` characters, with an ellipsis where something was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def examples(names: Sequence[str], shown: int = 3) -> str:
    """The first few names and how many more there are (Korean)."""
    return " · ".join(names[:shown]) + (f" 외 {len(names) - shown:,}개" if len(names) > shown else "")


def percent(rate: float | None, digits: int = 1) -> str:
    """A rate as a percentage, rounded half away from zero; None is a dash.

    A row in a million is not none, and all but one are not all: a rate has the digits that tell it from 0 and 100.
    """
    if rate is None:
        return "–"
    exactly = exact(rate) * 100
    shown = first = rounded(exactly, digits)
    while shown in (0, 100) and digits < MOST_DIGITS:
        digits += 1
        shown = rounded(exactly, digits)
    return f"{first if shown in (0, 100) else shown}%"


def score_text(value: float | None, digits: int = 2) -> str:
    """A score as people write it, rounded half away from zero (2.345 -> 2.35); None is a dash."""
    return "–" if value is None else str(rounded(exact(value), digits))


def kpi_text(value: float | None, *, is_rate: bool, digits: int = 1) -> str:
    """A KPI as people read it: a rate as a percentage, a mean as points; None is a dash."""
    return percent(value, digits) if value is None or is_rate else f"{score_text(value, digits)}점"


def exact_kpi_text(value: float, *, is_rate: bool) -> str:
    """The same with every digit that the number is written with and no other: `98.5%`, `65점`."""
    exactly = exact(value) * (100 if is_rate else 1)
    digits = next(digits for digits in count() if not exactly * 10**digits % 1)
    return f"{rounded(exactly, digits)}{'%' if is_rate else '점'}"


def signed(value: float, digits: int = 2) -> str:
    """A difference with its sign: `+0.25`, `−1.00`, `0.00`."""
    shown = score_text(abs(value), digits)
    if not float(shown):
        return shown
    return f"+{shown}" if value > 0 else f"−{shown}"


def number_text(value: float) -> str:
    """A number that may be below zero: `0.25`, `−1.00`."""
    return signed(value).removeprefix("+")


def percent_interval(low: float, high: float, digits: int = 1) -> str:
    """The interval of a rate: `3.9~6.6%`."""
    return f"{percent(low, digits).removesuffix('%')}~{percent(high, digits)}"


def interval_text(low: float | None, high: float | None, difference: Callable[[float], str] = signed) -> str:
    """The interval of a difference: `−0.67~−0.01`; a dash where there is none.

    An end beside zero keeps its sign (`−0.00`): whether zero is within is what the interval is read for.
    """
    if low is None or high is None:
        return "–"
    return f"{_beside_zero(low, difference)}~{_beside_zero(high, difference)}"


def _beside_zero(end: float, difference: Callable[[float], str]) -> str:
    shown = difference(end)
    is_zero = not any(digit in shown for digit in "123456789")
    return f"{'+' if end > 0 else '−'}{shown}" if end and is_zero else shown


def signed_percent(difference: float) -> str:
    """A difference of two rates with its sign: `+18.3%p`, `−12.6%p`, `0.0%p`."""
    shown = rounded(abs(exact(difference)) * 100, 1)
    sign = "" if not shown else "+" if difference > 0 else "−"
    return f"{sign}{shown}%p"
