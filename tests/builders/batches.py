"""Rows of a test as the batch that the engine scores."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from scoring.chat.rows import CHAT_ROW_SCHEMA
from scoring.chat.scorer import ScoredBatch, score_batch
from scoring.rubrics.ola_monitoring import RUBRIC

NOON = datetime(2026, 2, 13, 3, tzinfo=UTC)


def batch(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A batch as the readers give it; a row is at noon in Seoul unless it says otherwise."""
    return pl.DataFrame(
        [{"timestamp": NOON, "line": line, **row} for line, row in enumerate(rows, start=1)],
        schema=CHAT_ROW_SCHEMA,
        orient="row",
    )


def scored(rows: Sequence[Mapping[str, Any]]) -> ScoredBatch:
    """These rows scored in Seoul."""
    return score_batch(RUBRIC, batch(rows), "Asia/Seoul")
