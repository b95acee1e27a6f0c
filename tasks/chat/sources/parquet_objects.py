"""Reads the rows of a Parquet file as objects, like those of JSON Lines."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime

import pyarrow as pa
from pyarrow import types

from tasks.chat.sources.parquet import HeldTexts, opened_parquet, rows_that_fit
from tasks.chat.sources.pieces import FilePiece, refuse_replaced

_ROWS_AT_ONCE = 64


def parquet_objects(piece: FilePiece, is_read: Callable[[str], bool]) -> Iterator[tuple[int, dict[str, object]]]:
    """Yields the number of each row, from 1, with its values in the columns that `is_read` selects.

    Times are text in ISO 8601, maps are objects, and bytes that are not UTF-8 become lone surrogates. Raises InputError
    for texts that are much larger than their file.
    """
    with opened_parquet(piece.path) as (opened, file):
        refuse_replaced(piece, opened)
        columns = [name for name in file.schema_arrow.names if is_read(name)]
        held = HeldTexts(piece.path, os.fstat(opened.fileno()).st_size)
        rows = rows_that_fit(opened, file, columns, range(file.metadata.num_row_groups))
        number = 1
        for batch in file.iter_batches(min(rows, _ROWS_AT_ONCE), columns=columns, use_threads=False):
            held.count(batch.nbytes)
            values = [_values(column) for column in batch.columns]
            for place in range(batch.num_rows):
                yield number, {name: of_column[place] for name, of_column in zip(columns, values, strict=True)}
                number += 1


def _values(column: pa.Array) -> list[object]:
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = column.cast(pa.large_binary())  # which may hold bytes that are not UTF-8
    elif types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return [_plain(value) for value in column.to_pylist(maps_as_pydicts="lossy")]


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value.isoformat() if isinstance(value, datetime) else value
