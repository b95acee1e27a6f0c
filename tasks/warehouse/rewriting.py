"""Clearing of values by rewriting days of a table, for warehouses that cannot update rows in place."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from scoring.chat.erasure import cleared

if TYPE_CHECKING:
    from tasks.warehouse import Warehouse

_ROWS_PER_FRAME = 20_000


def clear_by_rewriting(
    warehouse: Warehouse,
    table: str,
    day: date,
    schema: pa.Schema,
    columns: Collection[str],
    session_id: str | None = None,
) -> None:
    """`Warehouse.clear` by reading the day and replacing it."""
    rows = warehouse.read(table, [day])
    if rows is None:
        return
    where = pl.lit(value=True) if session_id is None else pl.col("session_id") == session_id
    frames = rows.collect_batches(chunk_size=_ROWS_PER_FRAME, maintain_order=True)
    own = written_schema(rows, schema)
    warehouse.replace_day(table, day, own, (cleared(frame, where, columns) for frame in frames))


def written_schema(rows: pl.LazyFrame, schema: pa.Schema) -> pa.Schema:
    """The schema of the rows as an earlier version may have written them, with the descriptions of `schema`."""
    written = rows.collect_schema().to_frame().to_arrow().schema
    same = {column.name: column for column in schema}
    return pa.schema([same.get(name) or pa.field(name, _plain(written.field(name).type)) for name in written.names])


def _plain(kind: pa.DataType) -> pa.DataType:
    """The Arrow types of all other tables in place of Polars' large strings and lists."""
    if pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return pa.string() if pa.types.is_large_string(kind) else kind
