"""Chat rows from CSV and TSV: cells by the names in the header, in any order."""

from collections.abc import Iterator
from pathlib import Path

from scoring.chat.cells import session_in
from scoring.chat.rows import READ_COLUMNS, Cells, RowBatch, RowBuilder, refuse_wrong_columns
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
    at = {name: table.columns.index(name) for name in READ_COLUMNS if name in table.columns}
    builder = RowBuilder(str(path), window)
    for row in table.rows():
        if isinstance(row, BrokenRow):
            builder.reject(row.line, row.code, row.reason)
        elif not row.is_blank:
            builder.add(row.line, _cells_of(row.cells, at))
        if builder.full:
            yield builder.take()
    yield builder.take()


def _cells_of(record: list[str], at: dict[str, int]) -> Cells:
    return Cells(
        record[at["user_input"]],
        record[at["llm_response"]],
        record[at["input_tokens"]],
        record[at["output_tokens"]],
        record[at["timestamp"]],
        _optional(record, at.get("tenant_id")),
        _optional(record, at["session_id"])
        if "session_id" in at
        else session_in(_optional(record, at.get("request_metadata"))),
    )


def _optional(record: list[str], position: int | None) -> str | None:
    return (record[position] or None) if position is not None else None
