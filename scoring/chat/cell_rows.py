"""Chat rows from columns of cells, each of which is text in bytes.

An empty cell of the two texts is the empty text, in other columns NULL. Source: SPEC 1.1.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from scoring.chat import cells
from scoring.chat.arrow_rows import row_batch
from scoring.chat.reading import value_in
from scoring.chat.row_ids import TEXTS, TOKENS
from scoring.chat.rows import RowBatch
from scoring.chat.text_columns import ParsedColumn, cells_column, instants, numbers
from scoring.days import Window


def cell_rows(
    file: str, columns: Mapping[str, Sequence[bytes]], lines: pl.Series, window: Window | None, naive_zone: str
) -> RowBatch | None:
    """The rows of columns by name; None if a cell is invalid UTF-8 or a row may be a blank line."""
    try:
        found = {name: pl.Series(values, dtype=pl.Binary).cast(pl.String) for name, values in columns.items()}
    except pl.exceptions.PolarsError:
        return None
    texts = {name: column if name in TEXTS else column.set(column == "", None) for name, column in found.items()}
    times = instants(texts["timestamp"], cells.other_zone(naive_zone))
    if times.microseconds.null_count() > len(times.problems):
        return None

    def column(name: str) -> ParsedColumn:
        if name in TOKENS:
            return numbers(name, texts[name])
        if name == "session_id" and name not in texts and "request_metadata" in texts:
            return cells_column(name, [value_in(text, [name]) for text in texts["request_metadata"]])
        missing = pl.repeat(None, len(lines), dtype=pl.String, eager=True)
        return ParsedColumn(texts.get(name, missing), {})

    return row_batch(file, column, times, lines, window)
