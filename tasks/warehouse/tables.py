"""Table names that several subjects use, rows of an earlier version, and rows of a service."""

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from scoring.rules.arrow_types import empty_frame, field

SCORES, REJECTED, ALERTS, RUNS = "monitoring_scores", "rejected", "alerts", "runs"
ANCHORS, AUDITS, SWITCHES = "anchors", "judge_audits", "judge_switches"


def shaped(rows: pl.LazyFrame, schema: pa.Schema) -> pl.LazyFrame:
    """Rows in the columns and types of `schema`: missing columns are NULL, additional ones are dropped."""
    found = rows.collect_schema()
    wanted = empty_frame(schema).schema
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in wanted.items() if name not in found]
    changed = [pl.col(name).cast(dtype) for name, dtype in wanted.items() if found.get(name, dtype) != dtype]
    return rows.with_columns(*lacking, *changed).select(wanted.names())


SERVICE = "service"
"""The last column of rows of a service that has a name; other rows have NULL or no such column."""


def schema_of_service(schema: pa.Schema, service: str | None) -> pa.Schema:
    """The columns of a table as stored for a service; None is one without a name."""
    return schema if service is None else schema.append(field(SERVICE, pa.string(), "서비스"))


def rows_of_service(frames: Iterable[pl.DataFrame], service: str | None) -> Iterable[pl.DataFrame]:
    """Rows as they are stored for a service."""
    return frames if service is None else (frame.with_columns(pl.lit(service).alias(SERVICE)) for frame in frames)
