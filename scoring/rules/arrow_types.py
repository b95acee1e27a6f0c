"""Arrow schemas of score tables, derived from the rules that fill them."""

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from scoring.errors import RuleError
from scoring.rules import expressions as ex

TIMESTAMP = pa.timestamp("us", tz="UTC")


def field(name: str, data_type: pa.DataType, description: str) -> pa.Field:
    """A nullable column with its description, which every warehouse shows."""
    return pa.field(name, data_type, metadata={"description": description})


def definition_fields(definitions: Iterable[ex.Definition]) -> list[pa.Field]:
    """A column per definition."""
    return [
        field(definition.name, arrow_type(definition.expression), f"{definition.title} ({definition.source})")
        for definition in definitions
    ]


def arrow_type(expression: ex.Expression) -> pa.DataType:
    """The type of the column that an expression fills.

    Raises:
        RuleError: the expression is of a kind that is no column of its own.
    """
    match expression:
        case ex.Length() | ex.Count() | ex.Sum():
            return pa.int64()
        case ex.Matches():
            return pa.bool_()
        case ex.Ratio() | ex.WeightedScore():
            return pa.float64()
        case ex.Fired():
            return pa.list_(pa.string())
        case ex.MostLost():
            return pa.string()
        case ex.Case(branches):
            first = branches[0].value
            if not isinstance(first, ex.Value):
                return arrow_type(first)
            return pa.string() if isinstance(first.value, str) else pa.int64()
        case _:
            raise RuleError(f"a column cannot be filled by {type(expression).__name__} alone")


def empty_frame(schema: pa.Schema) -> pl.DataFrame:
    """No rows in the columns of an Arrow schema."""
    return pl.DataFrame(no_rows(schema))


def no_rows(schema: pa.Schema) -> pa.Table:
    """No rows in the columns of an Arrow schema, as Arrow."""
    # `schema.empty_table()` says the same and imports pandas, a second of CPU, to do so.
    return pa.Table.from_batches([], schema)
