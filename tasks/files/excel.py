"""What people open in Excel: cells that it can hold and show, and CSV files in which no text becomes a formula."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import normalize

from scoring.testruns.cells import cut_mark

LONGEST_CELL = 32_767
# XML has no such characters, and Excel refuses the whole workbook for one of them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def excel_csv(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a file, UTF-8 with the mark by which Excel knows it; None is an empty cell."""
    yield "\ufeff"
    for row in rows:
        line = io.StringIO()
        csv.writer(line).writerow([_csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
        yield line.getvalue()


def _csv_cell(text: str) -> str:
    """A text without what a terminal would obey and no table shows, and no formula."""
    return no_formula(_FORBIDDEN.sub("", text))


def no_formula(cell: str) -> str:
    """A text that a spreadsheet would take for a formula, with an apostrophe in front; any other as it is."""
    return f"'{cell}" if cell[:1] in ("\t", "\r") or formula_like(cell) else cell


def unguarded(cell: str) -> str:
    """The text that `no_formula` has put an apostrophe in front of; any other as it is."""
    return cell[1:] if no_formula(cell[1:]) == cell else cell


def formula_like(text: str) -> bool:
    """Whether a spreadsheet may calculate a text: behind invisible characters it begins with a sign of a formula.

    Full-width signs (`＝`) are signs too: Excel in East Asian languages takes them for the plain ones.
    """
    first = next((sign for sign in text if sign.isprintable() and not sign.isspace()), "")
    return normalize("NFKC", first) in ("=", "+", "-", "@")


def fits_cell(text: str) -> bool:
    """Whether a cell holds the whole text. Excel counts UTF-16 units: an emoji is two."""
    return len(text) * 2 <= LONGEST_CELL or len(text.encode("utf-16-le", "replace")) // 2 <= LONGEST_CELL


def shown_text(text: str) -> str:
    """A text as a cell can hold it: no control characters, and cut with a mark where it is too long for Excel."""
    text = _FORBIDDEN.sub("", text)
    if not fits_cell(text):
        mark = cut_mark(len(text))
        text = text.encode("utf-16-le")[: 2 * (LONGEST_CELL - len(mark))].decode("utf-16-le", "ignore") + mark
    return text


def display_width(text: str) -> int:
    """Columns that a line takes, two for a Hangul character, which is three bytes long."""
    return (len(text) + len(text.encode(errors="replace"))) // 2
