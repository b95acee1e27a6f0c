"""Arrow schemas of score tables, derived from the rules that fill them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scoring.errors import RuleError
from scoring.rules import expressions as ex
from scoring.rules.kinds import TYPE_TITLES, Kind, Kinds, Type, with_kinds

TIMESTAMP = pa.timestamp("us", tz="UTC")

_TYPES: dict[Type, pa.DataType] = {
    "text": pa.string(),
    "whole": pa.int64(),
    "score": pa.float64(),
    "number": pa.float64(),
    "truth": pa.bool_(),
    "list": pa.list_(pa.string()),
}


@lru_cache(maxsize=2)  # a row's question and answer, the input of each of its rules
def _arrow_text(text: str) -> pa.Array:
    """One text, converted by Polars: a conversion by Arrow itself makes Arrow import pandas, 0.3 s of CPU."""
    return pl.Series([text], dtype=pl.String).to_arrow()


def matches(pattern: str, text: str) -> bool:
    """Whether an RE2 pattern occurs anywhere in `text`. RE2 runs in linear time, so that no pattern can hang a run; it
    has no look-arounds and no back references.

    Raises:
        ValueError: the text is no RE2 pattern.
    """
    return bool(pc.match_substring_regex(_arrow_text(text), pattern=pattern)[0].as_py())


def field(name: str, data_type: pa.DataType, description: str) -> pa.Field:
    """A nullable column with its description, which every warehouse shows."""
    return pa.field(name, data_type, metadata={"description": description})


def described(title: str, source: str) -> str:
    """A column's description, and its source clause if it has one."""
    return f"{title} ({source})" if source else title


def definition_fields(definitions: Iterable[ex.Definition], columns: Kinds) -> list[pa.Field]:
    """A column per definition; `columns` are the input columns that definitions may use.

    Raises:
        RuleError: as `with_kinds`, or a value's kind cannot be stored in a column.
    """
    definitions = list(definitions)
    kinds = with_kinds(definitions, columns)
    return [field(one.name, arrow_type(kinds[one.name]), described(one.title, one.source)) for one in definitions]


def arrow_type(kind: Kind) -> pa.DataType:
    """The Arrow type of a column with values of a kind.

    Raises:
        RuleError: the kind cannot be stored in a score table.
    """
    if kind.type not in _TYPES:
        raise RuleError(f"{TYPE_TITLES[kind.type]} fills no column", fix="give a text, a number or a condition")
    return _TYPES[kind.type]


def empty_frame(schema: pa.Schema) -> pl.DataFrame:
    """An empty frame with the columns of an Arrow schema."""
    return pl.DataFrame(no_rows(schema))


def frame_of(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A frame of these rows with the columns of an Arrow schema."""
    return pl.DataFrame(rows, schema=empty_frame(schema).schema)


def no_rows(schema: pa.Schema) -> pa.Table:
    """An empty Arrow table with the columns of an Arrow schema."""
    # `schema.empty_table()` does the same, but imports pandas, a second of CPU.
    return pa.Table.from_batches([], schema)
