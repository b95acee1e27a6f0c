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
    missing = pl.repeat(None, len(lines), dtype=pl.String, eager=True)
    parsed = [
        *(ParsedColumn(texts[name], {}) for name in TEXTS),
        *(numbers(name, texts[name]) for name in TOKENS),
        ParsedColumn(times.microseconds.cast(pl.Datetime("us", "UTC")), times.problems),
        ParsedColumn(texts.get("tenant_id", missing), {}),
        ParsedColumn(texts["session_id"], {})
        if "session_id" in texts
        else cells_column(
            "session_id", [value_in(text, ["session_id"]) for text in texts.get("request_metadata", missing)]
        ),
        ParsedColumn(texts.get("source_id", missing), {}),
        ParsedColumn(lines, {}),
    ]
    return row_batch(file, parsed, times, window)
