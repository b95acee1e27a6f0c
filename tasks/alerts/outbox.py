"""Messages that wait to be sent, and what was said before, in the state database: written before anything is sent.

Two tables: `alert_messages`, one row a message and route; `alert_keys`, the facts that a route has been told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from scoring.alerting.block_kit import Block
from scoring.alerting.messages import Message
from tasks.state.database import StateDatabase, UtcDateTime

LEASE = timedelta(minutes=5)
"""How long one attempt may take, retries included; after that its sender is dead and another run may try."""

LIFETIME = timedelta(days=3)
"""How long a message is tried before it is a dead letter."""

NEVER_TRIED = "it was never tried"
"""The error of a letter that waited behind one which Slack did not take."""

_metadata = sa.MetaData()
_messages = sa.Table(
    "alert_messages",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True),  # ascending: messages go out in the order they were written
    sa.Column("route", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("level", sa.String, nullable=False),
    sa.Column("thread", sa.String, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("blocks", sa.JSON, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("lease_until", UtcDateTime),
    sa.Column("unsure_since", UtcDateTime),
    sa.Column("last_error", sa.String),
    sa.Column("sent_at", UtcDateTime),
    sa.Column("ts", sa.String),
    sa.Column("dead_at", UtcDateTime),
)
_keys = sa.Table(
    "alert_keys",
    _metadata,
    sa.Column("route", sa.String, primary_key=True),
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("message_id", sa.ForeignKey("alert_messages.id"), nullable=False),
)
_waiting = sa.and_(_messages.c.sent_at.is_(None), _messages.c.dead_at.is_(None))


@dataclass(frozen=True)
class OutboxMessage:
    """A message on its way to one route, as Slack will get it.

    `unsure_since` is when an attempt began whose outcome nobody has heard: it may have arrived. `ts` is Slack's id of
    a message that a bot has sent.
    """

    id: int
    route: str
    kind: str
    level: str
    thread: str
    text: str
    blocks: Sequence[Block]
    created_at: datetime
    attempts: int = 0
    lease_until: datetime | None = None
    unsure_since: datetime | None = None
    last_error: str | None = None
    sent_at: datetime | None = None
    ts: str | None = None
    dead_at: datetime | None = None


class Outbox:
    """The alert part of the state database. Every method is one transaction and may raise StorageError."""

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_metadata)
        self._database = database

    def told(self, route: str) -> set[str]:
        """The keys of all messages to this route, whatever became of them."""
        query = sa.select(_keys.c.key).where(_keys.c.route == route)
        with self._database.transaction() as connection:
            return set(connection.execute(query).scalars())

    def has_said(self, route: str, since: datetime) -> bool:
        """Whether anything but "all is quiet" was written to a route since then."""
        news = (_messages.c.route == route, _messages.c.created_at > since, _messages.c.kind != "quiet")
        query = sa.select(_messages.c.id).where(*news).limit(1)
        with self._database.transaction() as connection:
            return connection.execute(query).first() is not None

    def put(self, route: str, thread: str, messages: Sequence[Message], now: datetime) -> int:
        """Writes the messages that say something new to a route; returns how many that were.

        A message whose keys the route has all been told is dropped; the keys of the others are told from now on.
        """
        written = 0
        with self._database.transaction() as connection:
            if not self._database.is_sqlite:  # SQLite has locked everything already
                connection.execute(sa.text("LOCK TABLE alert_keys IN EXCLUSIVE MODE"))
            for message in messages:
                mine = sa.select(_keys.c.key).where(_keys.c.route == route, _keys.c.key.in_(message.keys))
                known = set(connection.execute(mine).scalars())
                if not (new := [key for key in dict.fromkeys(message.keys) if key not in known]):
                    continue
                row = {"route": route, "kind": message.kind, "level": message.level, "thread": thread}
                content = {"text": message.text, "blocks": list(message.blocks), "created_at": now}
                insert = sa.insert(_messages).values(**row, **content).returning(_messages.c.id)
                message_id = connection.execute(insert).scalar_one()
                connection.execute(
                    sa.insert(_keys), [{"route": route, "key": key, "message_id": message_id} for key in new]
                )
                written += 1
        return written

    def next(self, now: datetime, wanted: Callable[[OutboxMessage], bool]) -> OutboxMessage | None:
        """The oldest waiting letter that is wanted and that no other run is sending; None when there is none."""
        free = (one for one in self.waiting() if not (one.lease_until and one.lease_until > now))
        return next(filter(wanted, free), None)

    def claim(self, letter: OutboxMessage, now: datetime) -> bool:
        """Takes a letter as it was found, to send it at once; False if another run was faster.

        From here on the letter counts as one that may have arrived, until it is noted what became of it.
        """
        unchanged = (_messages.c.id == letter.id, _messages.c.attempts == letter.attempts, _waiting)
        claimed = {
            "attempts": letter.attempts + 1,
            "lease_until": now + LEASE,
            "unsure_since": letter.unsure_since or now,
        }
        with self._database.transaction() as connection:
            return connection.execute(sa.update(_messages).where(*unchanged).values(**claimed)).rowcount == 1

    def sent(self, letter: OutboxMessage, now: datetime, ts: str) -> None:
        """Notes that Slack has taken a letter."""
        self._settle(letter, sent_at=now, ts=ts, unsure_since=None, last_error=None)

    def mark_deferred(self, letter: OutboxMessage, error: str) -> None:
        """Notes that Slack has not taken a letter this time; it waits for the next run."""
        self._settle(letter, unsure_since=letter.unsure_since, last_error=error)

    def mark_unconfirmed(self, letter: OutboxMessage, error: str) -> None:
        """Notes that nobody heard what became of a letter; it waits for the next run as one that may have arrived."""
        self._settle(letter, last_error=error)

    def refused(self, letter: OutboxMessage, now: datetime, error: str) -> None:
        """Notes that Slack will never take a letter as it is."""
        with self._database.transaction() as connection:
            self._bury(connection, letter, now, error)

    def expire_old(self, now: datetime) -> list[OutboxMessage]:
        """Makes dead letters of those that have waited too long, unless somebody is sending them; returns them."""
        query = sa.select(_messages).where(_waiting, _messages.c.created_at <= now - LIFETIME)
        with self._database.transaction() as connection:
            old = self._letters(connection, query.with_for_update(skip_locked=True))
            dead = [one for one in old if not one.lease_until or one.lease_until <= now]
            buried = [replace(one, last_error=one.last_error or NEVER_TRIED) for one in dead]
            for letter in buried:
                self._bury(connection, letter, now, letter.last_error or NEVER_TRIED)
        return buried

    def waiting(self) -> list[OutboxMessage]:
        """What has not been sent yet, oldest first."""
        with self._database.transaction() as connection:
            return self._letters(connection, sa.select(_messages).where(_waiting).order_by(_messages.c.id))

    def dead(self) -> list[OutboxMessage]:
        """The dead letters, oldest first."""
        query = sa.select(_messages).where(_messages.c.dead_at.is_not(None)).order_by(_messages.c.id)
        with self._database.transaction() as connection:
            return self._letters(connection, query)

    def requeue(self, now: datetime) -> int:
        """Makes waiting letters of all dead ones, as if they were new; returns how many."""
        alive = {"dead_at": None, "created_at": now}
        with self._database.transaction() as connection:
            return connection.execute(
                sa.update(_messages).where(_messages.c.dead_at.is_not(None)).values(**alive)
            ).rowcount

    def thread_ts(self, letter: OutboxMessage) -> str | None:
        """Slack's id of the first message that was sent in the letter's thread; None if it opens the thread."""
        same = (_messages.c.route == letter.route, _messages.c.thread == letter.thread, _messages.c.ts.is_not(None))
        query = sa.select(_messages.c.ts).where(*same).order_by(_messages.c.sent_at, _messages.c.id).limit(1)
        if not letter.thread:
            return None
        with self._database.transaction() as connection:
            return connection.execute(query).scalar()

    def forget_before(self, before: datetime, *, dry_run: bool) -> int:
        """Empties the messages that were written earlier and no longer wait; returns how many. Their keys stay told."""
        old = (_messages.c.created_at < before, sa.not_(_waiting), _messages.c.text != "")
        with self._database.transaction() as connection:
            if not dry_run:
                return connection.execute(sa.update(_messages).where(*old).values(text="", blocks=[])).rowcount
            return int(connection.execute(sa.select(sa.func.count()).where(*old)).scalar_one())

    def forget_rows(self, row_ids: Sequence[str], *, dry_run: bool) -> int:
        """Takes the blocks that show one of these rows out of every message; returns how many messages had one."""
        found = 0
        with self._database.transaction() as connection:
            for letter in self._letters(connection, sa.select(_messages)):
                kept = [block for block in letter.blocks if not _shows(block, row_ids)]
                if len(kept) == len(letter.blocks):
                    continue
                found += 1
                if not dry_run:
                    connection.execute(sa.update(_messages).where(_messages.c.id == letter.id).values(blocks=kept))
        return found

    def _settle(self, letter: OutboxMessage, **change: Any) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                sa.update(_messages).where(_messages.c.id == letter.id).values(lease_until=None, **change)
            )

    def _bury(self, connection: sa.Connection, letter: OutboxMessage, now: datetime, error: str) -> None:
        change = {"dead_at": now, "last_error": error, "lease_until": None}
        connection.execute(sa.update(_messages).where(_messages.c.id == letter.id).values(**change))

    def _letters(self, connection: sa.Connection, query: sa.Select[Any]) -> list[OutboxMessage]:
        return [OutboxMessage(**row) for row in connection.execute(query).mappings()]


def _shows(block: Block, row_ids: Sequence[str]) -> bool:
    content = json.dumps(block, ensure_ascii=False)
    return any(row_id in content for row_id in row_ids)
