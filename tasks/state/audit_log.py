"""Who saw and changed what in the pages of `aqb web`: the table `web_audit` of the state database, a row an access."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote_plus

import sqlalchemy as sa

from tasks.state.database import STATE_TABLES, StateDatabase, UtcDateTime

_audit = sa.Table(
    "web_audit",
    STATE_TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False, index=True),
    sa.Column("who", sa.String, nullable=False),
    sa.Column("address", sa.String, nullable=False),
    sa.Column("action", sa.String, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class AccessRecord:
    """One access: when, who, from which address, what was done (`rows`, `row`, `export` ...), and to what."""

    at: datetime
    who: str
    address: str
    action: str
    target: str


class AuditLog:
    """The record of accesses. Every method is one transaction.

    Raises:
        StorageError: the state database cannot be used; every method may find that out.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_audit)
        self._database = database

    def add(self, access: AccessRecord) -> None:
        """Keeps an access; it is on the disk when this returns."""
        self._database.change(sa.insert(_audit).values(**vars(access)))

    def latest(self, count: int) -> list[AccessRecord]:
        """The last accesses, the latest first."""
        query = sa.select(_audit).order_by(_audit.c.id.desc()).limit(count)
        rows = self._database.rows(query)
        return [AccessRecord(*(getattr(row, name) for name in AccessRecord.__dataclass_fields__)) for row in rows]

    def forget_text(self, text: str, *, dry_run: bool) -> int:
        """Empties what was asked for where it has a text, as addresses have it; returns how many accesses had it."""
        having = _audit.c.target.contains(quote_plus(text), autoescape=True)
        return self._database.take_away(sa.update(_audit).where(having).values(target=""), dry_run=dry_run)

    def forget_before(self, moment: datetime, *, dry_run: bool) -> int:
        """Removes the accesses before a moment; returns how many. With `dry_run` they are counted only."""
        return self._database.take_away(sa.delete(_audit).where(_audit.c.at < moment), dry_run=dry_run)
