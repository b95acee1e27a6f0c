"""Output for Excel: cells that it can hold and show, and CSV files in which no text becomes a formula."""

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
    """The lines of a CSV file in UTF-8 with BOM, which Excel requires; None is an empty cell."""
    yield "\ufeff"
    for row in rows:
        line = io.StringIO()
        csv.writer(line).writerow(
            [no_formula(_FORBIDDEN.sub("", cell)) if isinstance(cell, str) else cell for cell in row]
        )
        yield line.getvalue()


def no_formula(cell: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would interpret it as a formula."""
    return f"'{cell}" if cell[:1] in ("\t", "\r") or formula_like(cell) else cell


def unguarded(cell: str) -> str:
    """The inverse of `no_formula`."""
    return cell[1:] if no_formula(cell[1:]) == cell else cell


def formula_like(text: str) -> bool:
    """Whether a spreadsheet may evaluate a text: after invisible characters it begins with the sign of a formula.

    Full-width signs (`＝`) count too: Excel in East Asian languages treats them like the plain ones.
    """
    first = next((sign for sign in text if sign.isprintable() and not sign.isspace()), "")
    return normalize("NFKC", first) in ("=", "+", "-", "@")


def fits_cell(text: str) -> bool:
    """Whether the text fits into a cell. Excel counts UTF-16 units: an emoji is two."""
    return len(text) * 2 <= LONGEST_CELL or len(text.encode("utf-16-le", "replace")) // 2 <= LONGEST_CELL


def shown_text(text: str) -> str:
    """A text that fits into a cell: without control characters, with the line ends of Excel, truncated with a mark if
    it is too long.
    """
    text = _FORBIDDEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not fits_cell(text):
        mark = cut_mark(len(text))
        text = text.encode("utf-16-le")[: 2 * (LONGEST_CELL - len(mark))].decode("utf-16-le", "ignore") + mark
    return text


def display_width(text: str) -> int:
    """The width of a line in columns: two for a Hangul character, which has three bytes."""
    return (len(text) + len(text.encode(errors="replace"))) // 2
