"""Chat rows from CSV and TSV: cells by the names in the header, in any order."""

from collections.abc import Iterator
from pathlib import Path

from scoring.chat.row_ids import TEXTS
from scoring.chat.rows import READ_COLUMNS, RowBatch, RowBuilder, refuse_wrong_columns
from scoring.days import Window
from scoring.inputs import BrokenRow
from tasks.files.csv_reader import DelimitedText


def read_delimited(path: Path, window: Window | None) -> Iterator[RowBatch]:
    """Batches of the rows of `path`, split at commas, or at tabs when its name ends in `.tsv`.

    An empty cell of the two texts is the empty text, elsewhere NULL; a row of empty cells is a blank line, and no row.
    A flat `session_id` stands above `request_metadata`, which holds JSON here. Raises InputError for a file without
    header or required columns.

    Source: SPEC 1.1.
    """
    table = DelimitedText(path, "\t" if path.suffix.lower() == ".tsv" else ",")
    refuse_wrong_columns(str(path), table.columns)
    places = [(name, table.columns.index(name), name in TEXTS) for name in READ_COLUMNS if name in table.columns]
    builder = RowBuilder(str(path), window)
    for row in table.rows():
        if isinstance(row, BrokenRow):
            builder.reject(row.line, row.code, row.reason)
        elif not row.is_blank:
            cells = row.cells
            builder.add(
                row.line, {name: cells[place] if is_text else cells[place] or None for name, place, is_text in places}
            )
        if builder.full:
            yield builder.take()
    yield builder.take()
