"""Chat rows from CSV and TSV: cells by the names in the header, in any order."""

from collections.abc import Iterator
from pathlib import Path

from scoring.chat.reading import Reading, column_places, value_in
from scoring.chat.row_ids import TEXTS
from scoring.chat.rows import RowBatch, RowBuilder
from scoring.days import Window
from scoring.inputs import BrokenRow
from tasks.files.csv_reader import DelimitedText


def read_delimited(path: Path, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Batches of the rows of `path`, split at commas, or at tabs when its name ends in `.tsv`.

    An empty cell of the two texts is the empty text, elsewhere NULL; a row of empty cells is a blank line, and no row.
    A flat `session_id` stands above `request_metadata`, which holds JSON here. Raises InputError for a file without
    header or required columns.

    Source: SPEC 1.1.
    """
    table = DelimitedText(path, "\t" if path.suffix.lower() == ".tsv" else ",")
    found = column_places(str(path), table.columns, reading.names)
    places = [(name, table.columns.index(place.column), place.keys) for name, place in found.items()]
    builder = RowBuilder(str(path), window, reading.naive_zone)
    for row in table.rows():
        if isinstance(row, BrokenRow):
            builder.reject(row.line, row.code, row.reason)
        elif not row.is_blank:
            cells = row.cells
            builder.add(row.line, {name: _value(name, cells[place], keys) for name, place, keys in places})
        if builder.full:
            yield builder.take()
    yield builder.take()


def _value(name: str, cell: str, keys: tuple[str, ...]) -> object:
    if keys:
        return value_in(cell, keys)
    return cell if name in TEXTS else cell or None
