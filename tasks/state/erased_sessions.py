"""The register of erased sessions: their hashes in the state database."""

from datetime import datetime

import sqlalchemy as sa

from scoring.chat.erasure import session_hash
from tasks.state.database import STATE_TABLES, StateDatabase, UtcDateTime

_erased = sa.Table(
    "erased_sessions",
    STATE_TABLES,
    sa.Column("session_hash", sa.String(64), primary_key=True),
    sa.Column("erased_at", UtcDateTime, nullable=False),
)


def erased_sessions(database: StateDatabase) -> frozenset[str]:
    """The hashes of all erased sessions.

    Raises:
        StorageError: the state database cannot be read.
    """
    database.create_tables(_erased)
    return frozenset(found for (found,) in database.rows(sa.select(_erased.c.session_hash)))


def remember_erased(database: StateDatabase, session_id: str, now: datetime) -> None:
    """Registers a session, which all later runs leave out. Repeating it has no effect.

    Raises:
        StorageError: the state database cannot be written.
    """
    found = session_hash(session_id)
    database.create_tables(_erased)
    with database.transaction() as connection:
        if not connection.execute(sa.select(_erased).where(_erased.c.session_hash == found)).first():
            connection.execute(sa.insert(_erased).values(session_hash=found, erased_at=now))
