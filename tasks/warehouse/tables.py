"""Names of tables that more than one subject uses, and rows of an earlier version in the columns of this one."""

import polars as pl
import pyarrow as pa

from scoring.rules.arrow_types import empty_frame

SCORES, REJECTED, ALERTS, RUNS = "monitoring_scores", "rejected", "alerts", "runs"
ANCHORS, AUDITS, SWITCHES = "anchors", "judge_audits", "judge_switches"


def shaped(rows: pl.LazyFrame, schema: pa.Schema) -> pl.LazyFrame:
    """Rows in the columns and types of `schema`: NULL where they have no such column, without columns it has not."""
    found = rows.collect_schema()
    wanted = empty_frame(schema).schema
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in wanted.items() if name not in found]
    changed = [pl.col(name).cast(dtype) for name, dtype in wanted.items() if found.get(name, dtype) != dtype]
    return rows.with_columns(*lacking, *changed).select(wanted.names())
