"""Rows of a test as the batch that the engine scores."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from scoring.chat.scorer import ScoredBatch, score_batch
from scoring.rubrics.ola_monitoring import RUBRIC

NOON = datetime(2026, 2, 13, 3, tzinfo=UTC)
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "user_input": pl.String,
    "llm_response": pl.String,
    "input_tokens": pl.Float64,
    "output_tokens": pl.Float64,
    "timestamp": pl.Datetime("us", "UTC"),
    "tenant_id": pl.String,
    "session_id": pl.String,
    "line": pl.Int64,
}


def batch(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A batch as the readers give it; a row is at noon in Seoul unless it says otherwise."""
    return pl.DataFrame(
        [{"timestamp": NOON, "line": line, **row} for line, row in enumerate(rows, start=1)],
        schema=_SCHEMA,
        orient="row",
    )


def scored(rows: Sequence[Mapping[str, Any]]) -> ScoredBatch:
    """These rows scored in Seoul."""
    return score_batch(RUBRIC, batch(rows), "Asia/Seoul")
