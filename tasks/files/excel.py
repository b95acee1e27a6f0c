"""What people open in Excel: cells that it can hold and show, and CSV files in which no text becomes a formula."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

LONGEST_CELL = 32_767
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# XML has no such characters, and Excel refuses the whole workbook for one of them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def excel_csv(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a file, UTF-8 with the mark by which Excel knows it; None is an empty cell."""
    yield "\ufeff"
    for row in rows:
        line = io.StringIO()
        csv.writer(line).writerow([no_formula(cell) if isinstance(cell, str) else cell for cell in row])
        yield line.getvalue()


def no_formula(cell: str) -> str:
    """A text that Excel would take for a formula, with an apostrophe in front; any other as it is."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) or cell.lstrip().startswith(_FORMULA_STARTS[:4]) else cell


def shown_text(text: str) -> str:
    """A text as a cell can hold it: no control characters, and cut with a mark where it is too long for Excel."""
    text = _FORBIDDEN.sub("", text)
    # Excel counts UTF-16 units: an emoji is two.
    if len(text) * 2 > LONGEST_CELL and len(text.encode("utf-16-le")) // 2 > LONGEST_CELL:
        mark = f"…(잘림: 전체 {len(text):,}자)"
        text = text.encode("utf-16-le")[: 2 * (LONGEST_CELL - len(mark))].decode("utf-16-le", "ignore") + mark
    return text


def display_width(text: str) -> int:
    """Columns that a line takes, two for a Hangul character, which is three bytes long."""
    return (len(text) + len(text.encode(errors="replace"))) // 2
