"""CSV files that people open in Excel: Korean is read as it is, and no text becomes a formula."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


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
