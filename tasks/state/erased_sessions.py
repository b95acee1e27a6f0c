"""The register of erased sessions in the state database: their hashes, and how many scored rows of a day they had.

Every function may raise StorageError: the state database cannot be used.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime

import sqlalchemy as sa

from scoring.chat.erasure import session_hash
from tasks.state.database import STATE_TABLES, StateDatabase, UtcDateTime

_erased = sa.Table(
    "erased_sessions",
    STATE_TABLES,
    sa.Column("session_hash", sa.String(64), primary_key=True),
    sa.Column("erased_at", UtcDateTime, nullable=False),
)

_erased_rows = sa.Table(
    "erased_rows",
    STATE_TABLES,
    sa.Column("session_hash", sa.String(64), primary_key=True),
    sa.Column("service", sa.String, primary_key=True),
    sa.Column("score_date", sa.Date, primary_key=True),
    sa.Column("rows", sa.JSON, nullable=False),  # pairs of tenant and count: JSON has no NULL as a name
)


def erased_sessions(database: StateDatabase) -> frozenset[str]:
    """The hashes of all erased sessions."""
    database.create_tables(_erased)
    return frozenset(found for (found,) in database.rows(sa.select(_erased.c.session_hash)))


def remember_erased(database: StateDatabase, session_id: str, now: datetime) -> None:
    """Registers a session, which all later runs leave out. Repeating it has no effect."""
    found = session_hash(session_id)
    database.create_tables(_erased)
    with database.transaction(alone_in=_erased) as connection:
        if not connection.execute(sa.select(_erased).where(_erased.c.session_hash == found)).first():
            connection.execute(sa.insert(_erased).values(session_hash=found, erased_at=now))


def remember_rows(
    database: StateDatabase, session_id: str, day: date, rows_by_tenant: Mapping[str | None, int]
) -> None:
    """Registers how many scored rows of a day, by tenant, an erased session has. Repeating it has no effect."""
    key = {"session_hash": session_hash(session_id), "service": database.service or "", "score_date": day}
    database.create_tables(_erased_rows)
    with database.transaction() as connection:
        connection.execute(sa.delete(_erased_rows).filter_by(**key))
        connection.execute(sa.insert(_erased_rows).values(**key, rows=list(rows_by_tenant.items())))


def erased_rows(database: StateDatabase, days: Sequence[date]) -> dict[date, Counter[str | None]]:
    """The scored rows of erased sessions by day and tenant; days without any are missing."""
    database.create_tables(_erased_rows)
    found: dict[date, Counter[str | None]] = defaultdict(Counter)
    mine = _erased_rows.c.service == (database.service or "")
    for row in database.rows(sa.select(_erased_rows).where(mine, _erased_rows.c.score_date.in_(days))):
        found[row.score_date].update(dict(row.rows))
    return dict(found)
