"""Conversion between pandas, Polars and Arrow tables: column names, Arrow data, and results of the same kind."""

from collections.abc import Callable, Collection
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from scoring.errors import InputError, UsageError

FRAME = "frame"
"""Used instead of a file name in rejected rows and errors."""

_UNLIKE_ARROW = (
    *(pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException),
    *(TypeError, ValueError, OverflowError),
)


def columns_of(frame: object) -> list[str]:
    """The names of the columns of a table, in order, followed by the named levels of a pandas index, as in Parquet.

    Raises:
        UsageError: the table is of no supported kind.
    """
    match frame:
        case pa.Table():
            return [str(name) for name in frame.column_names]
        case pl.DataFrame():
            return frame.columns
        case pl.LazyFrame():
            return frame.collect_schema().names()
        case _ if _is_pandas(frame):
            return [str(name) for name in (*frame.columns, *_index_names(frame))]  # type: ignore[attr-defined]
    raise UsageError(
        f"expected a table of pandas, Polars or Arrow, found {type(frame).__name__}",
        fix="give a pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table",
    )


def arrow_table(frame: Any, names: Collection[str], unread: Collection[str] = ()) -> pa.Table:
    """The columns of a table that are among `names`, in the table's order.

    Columns among `unread` are NULL if Arrow cannot hold them.

    Raises:
        InputError: a column that Arrow cannot hold, such as one with values of several types.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.select(name for name in columns_of(frame) if name in names).collect()
    arrays, found = [], []
    for place, name in enumerate(columns_of(frame)):
        if name not in names:
            continue
        found.append(name)
        try:
            arrays.append(_arrow_column(frame, place))
        except (UnicodeEncodeError, *_UNLIKE_ARROW) as problem:
            if name not in unread:
                # Arrow's own message quotes a cell, which may be a person's text.
                raise _unreadable(name, problem, frame, place) from None
            arrays.append(pa.nulls(len(frame)))
    return pa.Table.from_arrays(arrays, names=found)


def maker_like(frame: object) -> Callable[[pl.DataFrame, pa.Schema], Any]:
    """A function that converts rows with a schema to a table of the same kind as `frame`."""

    def made(rows: pl.DataFrame, schema: pa.Schema) -> Any:
        table = rows.select(schema.names).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)
        match frame:
            case pa.Table():
                return table
            case pl.LazyFrame():
                return pl.DataFrame(table).lazy()
            case pl.DataFrame():
                return pl.DataFrame(table)
            case _:
                return table.to_pandas()

    return made


def _is_pandas(frame: object) -> bool:
    """Whether it is a pandas table, determined without importing pandas."""
    kinds = type(frame).__mro__
    return any(kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas" for kind in kinds)


def _arrow_column(frame: Any, place: int) -> Any:
    match frame:
        case pa.Table():
            column = frame.column(place)
        case pl.DataFrame():
            column = frame.to_series(place).to_arrow(compat_level=pl.CompatLevel.oldest())
        case _:
            column = pa.Array.from_pandas(_pandas_column(frame, place))
    # Categories of numbers and times; Parquet does not keep them either.
    of_numbers = types.is_dictionary(column.type) and types.is_primitive(column.type.value_type)
    return pc.dictionary_decode(column) if of_numbers else column


def _index_names(frame: Any) -> list[Any]:
    """The names of the pandas index levels that are not also columns."""
    return [name for name in frame.index.names if name is not None and name not in frame.columns]


def _pandas_column(frame: Any, place: int) -> Any:
    columns = len(frame.columns)
    if place < columns:
        return frame.iloc[:, place]
    return frame.index.get_level_values(_index_names(frame)[place - columns])


def _unreadable(name: str, problem: BaseException, frame: Any, place: int) -> InputError:
    if isinstance(problem, UnicodeEncodeError):
        return InputError(
            f"the column {name} cannot be read: it has text with half of a surrogate pair, which UTF-8 cannot hold",
            where=FRAME,
            fix='take it away: value.encode("utf-8", "ignore").decode("utf-8")',
        )
    return InputError(
        f"the column {name} cannot be read: it holds {_held(frame, place)}",
        where=FRAME,
        fix="give its values one type, such as text; objects as JSON text",
    )


def _held(frame: Any, place: int) -> str:
    """The type of a column that Arrow cannot hold; for object columns the types of the values."""
    column = frame.to_series(place) if isinstance(frame, pl.DataFrame) else _pandas_column(frame, place)
    if column.dtype == object:
        return ", ".join(sorted({type(value).__name__ for value in column}))
    return str(column.dtype)
