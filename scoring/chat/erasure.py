"""Removes erased sessions from rows. Only the hashes of their ids are known."""

import hashlib
from collections.abc import Collection

import polars as pl

from scoring.chat.row_ids import SOURCE_ID, TEXTS

PERSONAL_COLUMNS = ("session_id", SOURCE_ID.name, *TEXTS)


def session_hash(session_id: str) -> str:
    """The stored hash of an erased session."""
    return hashlib.sha256(session_id.encode()).hexdigest()


def without_sessions(rows: pl.DataFrame, erased: Collection[str]) -> pl.DataFrame:
    """All rows; those of erased sessions without their texts and source ids. Scores and row ids stay."""
    return cleared(rows, _is_of(rows, erased), PERSONAL_COLUMNS) if erased else rows


def not_erased(rows: pl.DataFrame, erased: Collection[str]) -> pl.DataFrame:
    """The rows without those of erased sessions."""
    return rows.remove(_is_of(rows, erased)) if erased else rows


def _is_of(rows: pl.DataFrame, erased: Collection[str]) -> pl.Expr:
    gone = [one for one in rows["session_id"].drop_nulls().unique() if session_hash(one) in erased]
    return pl.col("session_id").is_in(gone)


def cleared(rows: pl.DataFrame, where: pl.Expr, columns: Collection[str]) -> pl.DataFrame:
    """All rows, with NULL in these columns where a condition is true."""
    met = where.fill_null(value=False)
    return rows.with_columns(pl.when(~met).then(pl.col(name)).alias(name) for name in columns if name in rows.columns)
