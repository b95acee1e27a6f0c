"""Sessions whose people asked to be forgotten: kept as hashes, and taken out of every row that is written."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from contextlib import closing
from datetime import datetime

import polars as pl
import sqlalchemy as sa

from tasks.state_database import StateDatabase, UtcDateTime

PERSONAL_COLUMNS = ("session_id", "user_input", "llm_response")

_metadata = sa.MetaData()
_erased = sa.Table(
    "erased_sessions",
    _metadata,
    sa.Column("session_hash", sa.String(64), primary_key=True),
    sa.Column("erased_at", UtcDateTime, nullable=False),
)


def session_hash(session_id: str) -> str:
    """What is kept of an erased session."""
    return hashlib.sha256(session_id.encode()).hexdigest()


def erased_sessions(state_url: str) -> frozenset[str]:
    """The hashes of all erased sessions.

    Raises:
        StorageError: the state database cannot be read.
    """
    with closing(StateDatabase(state_url, _metadata)) as database, database.transaction() as connection:
        return frozenset(connection.execute(sa.select(_erased.c.session_hash)).scalars())


def remember_erased(state_url: str, session_id: str, now: datetime) -> None:
    """Makes every later run leave this session out. Once is enough.

    Raises:
        StorageError: the state database cannot be written.
    """
    found = session_hash(session_id)
    with closing(StateDatabase(state_url, _metadata)) as database, database.transaction() as connection:
        if not connection.execute(sa.select(_erased).where(_erased.c.session_hash == found)).first():
            connection.execute(sa.insert(_erased).values(session_hash=found, erased_at=now))


def without_sessions(rows: pl.DataFrame, erased: Collection[str]) -> pl.DataFrame:
    """The same rows; those of erased sessions without their session id and texts. Scores and row ids stay."""
    if not erased:
        return rows
    gone = [one for one in rows["session_id"].drop_nulls().unique() if session_hash(one) in erased]
    return cleared(rows, pl.col("session_id").is_in(gone), PERSONAL_COLUMNS) if gone else rows


def cleared(rows: pl.DataFrame, where: pl.Expr, columns: Collection[str]) -> pl.DataFrame:
    """The same rows; those that meet a condition with NULL in these columns."""
    met = where.fill_null(value=False)
    return rows.with_columns(pl.when(~met).then(pl.col(name)).alias(name) for name in columns if name in rows.columns)
