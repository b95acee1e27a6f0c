"""Scores a batch of rows by a row rubric: each row is rejected, excluded or scored.

Batches are independent of one another; the caller handles what needs all rows (row order, duplicate row keys, sums).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import polars as pl

from scoring.chat.day_content import local_day
from scoring.chat.row_ids import TEXTS, TOKENS, row_keys
from scoring.chat.rows import RowBatch
from scoring.chat.rubric import RowRubric
from scoring.rules.expressions import Expression, Length
from scoring.rules.polars_backend import to_polars, with_definitions

KeepText = Literal["flagged", "all", "none"]
REJECTED_COLUMNS = {
    "file": pl.String,
    "line": pl.Int64,
    "column": pl.String,
    "code": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True)
class ScoredBatch:
    """The rows of a batch by outcome; together they are the whole batch.

    `scored`: input columns, `score_date`, `row_key` and every defined column, a row per scored row, in input order.
    `excluded`: the same without scores, with `reason`. `rejected`: `line`, `column`, `code`, `reason`.
    """

    scored: pl.DataFrame
    excluded: pl.DataFrame
    rejected: pl.DataFrame


def score_batch(rubric: RowRubric, rows: pl.DataFrame, time_zone: str) -> ScoredBatch:
    """Rejects, excludes and scores the rows of one batch. NaN tokens are NULL.

    `rows` has the columns of the chat-row schema and `line`. Source: SPEC 1.1, 1.2.
    """
    rows = rows.with_columns(pl.col(TOKENS).fill_nan(None), score_date=local_day(time_zone))
    conditions = (*(rule.condition for rule in rubric.rejects), *(rule.condition for rule in rubric.exclusions))
    rows = rows.with_columns(_unscored_by=_first_true(conditions))
    unscored_by = pl.col("_unscored_by")
    rejected = rows.filter(unscored_by < len(rubric.rejects))
    excluded = rows.filter(unscored_by >= len(rubric.rejects))
    scorable = rows.filter(unscored_by.is_null()) if rejected.height or excluded.height else rows
    scored = with_definitions(scorable.drop("_unscored_by", "line"), rubric.definitions)
    lengths = {one.expression.text.name: one.name for one in rubric.definitions if isinstance(one.expression, Length)}
    return ScoredBatch(
        scored=scored.with_columns(row_keys(scored, lengths)),
        excluded=_excluded(rubric, excluded),
        rejected=_rejected(rubric, rejected),
    )


def with_kept_texts(rubric: RowRubric, scored: pl.DataFrame, keep_text: KeepText) -> pl.DataFrame:
    """The scored rows with both texts for the rows that keep them and NULL for the others (SPEC 1.3)."""
    if keep_text == "all":
        return scored
    kept = to_polars(rubric.flagged) if keep_text == "flagged" else pl.lit(value=False)
    return scored.with_columns(copied(pl.when(kept).then(pl.col(text))).alias(text) for text in TEXTS)


def copied(text: pl.Expr) -> pl.Expr:
    """The same texts in newly allocated memory: a selection from a frame keeps all of the frame's memory."""
    return pl.concat_str(text, pl.lit(""))


def excluded_rows(rubric: RowRubric, excluded: pl.DataFrame) -> pl.DataFrame:
    """The columns of the excluded table, in the order of time."""
    names = rubric.excluded_schema.names
    return excluded.select(names).sort(names[1:-2], nulls_last=False)


def score_together(rubric: RowRubric, batches: Sequence[RowBatch], time_zone: str) -> ScoredBatch:
    """Scores the rows of several batches as one batch: its steps take as long for a few rows as for thousands.

    `rejected` has `REJECTED_COLUMNS`: the unreadable rows and those rejected by a rule, file by file in the order of
    their lines. So the order of all rejects of a file does not depend on its batches.
    """
    rows = pl.concat([batch.rows for batch in batches])
    stood = pl.concat([batch.rows.select(pl.lit(batch.file).alias("file"), "line") for batch in batches])
    outcome = score_batch(rubric, rows.with_columns(line=pl.int_range(pl.len())), time_zone)
    refused = stood[outcome.rejected["line"]].hstack(outcome.rejected.drop("line"))
    unread = pl.DataFrame(
        [
            (reject.file, reject.line, reject.column, reject.code, reject.reason)
            for batch in batches
            for reject in batch.rejects
        ],
        schema=REJECTED_COLUMNS,
        orient="row",
    )
    files = pl.Enum([*dict.fromkeys(batch.file for batch in batches)])  # sorts in the order of reading
    rejected = pl.concat([unread, refused]).sort(pl.col("file").cast(files), "line", maintain_order=True)
    return replace(outcome, rejected=rejected)


@cache
def _first_true(conditions: tuple[Expression, ...]) -> pl.Expr:
    """The index of the first true condition; NULL if there is none."""
    return pl.coalesce(
        *(
            pl.when(to_polars(condition)).then(pl.lit(position, dtype=pl.UInt8))
            for position, condition in enumerate(conditions)
        )
    )


def _excluded(rubric: RowRubric, rows: pl.DataFrame) -> pl.DataFrame:
    codes = pl.Series([rule.code for rule in rubric.exclusions], dtype=pl.String)
    reasons = codes.gather(rows["_unscored_by"] - len(rubric.rejects))
    return with_definitions(rows, rubric.excluded_definitions).with_columns(reason=reasons)


def _rejected(rubric: RowRubric, rows: pl.DataFrame) -> pl.DataFrame:
    rules = [(rule.column, rule.code, rule.reason) for rule in rubric.rejects]
    reasons = pl.DataFrame(rules, schema=dict.fromkeys(("column", "code", "reason"), pl.String), orient="row")
    return rows.select("line").hstack(reasons[rows["_unscored_by"]])
