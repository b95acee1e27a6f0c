"""The audit log of `aqb web`: who saw and changed what, in the table `web_audit` of the state database, a row an
access.
"""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote_plus

import sqlalchemy as sa

from tasks.state.database import STATE_TABLES, StateDatabase, columns_for, columns_of


@dataclass(frozen=True)
class AccessRecord:
    """One access: when, who, from which address, which action (`rows`, `row`, `export` ...), on what."""

    at: datetime
    who: str
    address: str
    action: str
    target: str


_audit = sa.Table(
    "web_audit",
    STATE_TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    *columns_for(AccessRecord),
    sa.Index("ix_web_audit_at", "at"),
)


class AuditLog:
    """The record of accesses. Every method is one transaction.

    Raises:
        StorageError: the state database cannot be used; any method may raise it.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_audit)
        self._database = database

    def add(self, access: AccessRecord) -> None:
        """Stores an access; it is durable when this returns."""
        self._database.change(sa.insert(_audit).values(**vars(access)))

    def latest(self, count: int) -> list[AccessRecord]:
        """The last accesses, latest first."""
        query = sa.select(*columns_of(_audit, AccessRecord)).order_by(_audit.c.id.desc()).limit(count)
        return [AccessRecord(*row) for row in self._database.rows(query)]

    def forget_text(self, text: str, *, dry_run: bool) -> int:
        """Clears the target of accesses that contain this text, as it is written in URLs; returns how many did."""
        having = _audit.c.target.contains(quote_plus(text), autoescape=True)
        return self._database.take_away(sa.update(_audit).where(having).values(target=""), dry_run=dry_run)

    def forget_before(self, moment: datetime, *, dry_run: bool) -> int:
        """Removes the accesses before a moment; returns their number. With `dry_run` they are only counted."""
        return self._database.take_away(sa.delete(_audit).where(_audit.c.at < moment), dry_run=dry_run)
