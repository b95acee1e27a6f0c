"""The outbox in the state database: messages to send and those sent, each stored before it is sent.

Two tables: `alert_messages`, one row a message and route; `alert_keys`, the facts that messages to a route have
reported.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from scoring.alerting.all_clear import KEYS_OF_WORK
from scoring.alerting.block_kit import neutral_blocks
from scoring.alerting.messages import NEVER_TRIED, KnownKey, Message, OutboxMessage
from scoring.text_search import TextSearch
from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.state.database import STATE_TABLES, StateDatabase, UtcDateTime
from tasks.state.leases import FAR_AHEAD_S

LEASE = timedelta(minutes=5)
"""How long one attempt may take, retries included; after that its process is dead and another run may try."""

LIFETIME = timedelta(days=3)
"""How long a message is tried before it expires."""

_SERVICE = "service="
"""How the keys of a service begin that has a name."""

_READ_AT_ONCE = 1_000

_messages = sa.Table(
    "alert_messages",
    STATE_TABLES,
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
    sa.Column("service", sa.String),
)
_keys = sa.Table(
    "alert_keys",
    STATE_TABLES,
    sa.Column("route", sa.String, primary_key=True),
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("message_id", sa.ForeignKey("alert_messages.id"), nullable=False),
)
_waiting = sa.and_(_messages.c.sent_at.is_(None), _messages.c.dead_at.is_(None))
_given_up = _messages.c.dead_at.is_not(None)
sa.Index("alert_messages_waiting", _messages.c.id, sqlite_where=_waiting, postgresql_where=_waiting)
sa.Index("alert_messages_given_up", _messages.c.id, sqlite_where=_given_up, postgresql_where=_given_up)
sa.Index("alert_messages_by_thread", _messages.c.route, _messages.c.thread)
sa.Index("alert_messages_by_time", _messages.c.route, _messages.c.created_at)
sa.Index("alert_keys_by_message", _keys.c.message_id)


class Outbox:
    """The alert part of the state database. Every method may raise StorageError, and is one transaction; those that
    forget are several, so that others can write in between.

    Keys belong to the database's service and are stored with its name, which callers do not see. All services share one
    queue of messages.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_messages, _keys)
        self._database = database
        self._prefix = "" if database.service is None else f"{_SERVICE}{database.service}|"

    def known_keys(self, route: str) -> dict[str, KnownKey]:
        """The keys of all messages to this route, sent or not."""
        mine = _keys.c.key.startswith(self._prefix) if self._prefix else sa.not_(_keys.c.key.startswith(_SERVICE))
        return self._known(route, mine)

    def keys_of_work(self, route: str) -> dict[str, KnownKey]:
        """Those of missing work and of its all-clears: a few of the keys of years."""
        return self._known(route, sa.or_(*(_keys.c.key.startswith(self._prefix + one) for one in KEYS_OF_WORK)))

    def _known(self, route: str, mine: sa.ColumnElement[bool]) -> dict[str, KnownKey]:
        query = (
            sa.select(_keys.c.key, _messages.c.created_at, _messages.c.kind, _messages.c.service)
            .join(_messages)
            .where(_keys.c.route == route, mine)
        )
        rows = self._database.rows(query)
        return {key.removeprefix(self._prefix): KnownKey(at, kind, service or "") for key, at, kind, service in rows}

    def has_news(self, route: str, since: datetime) -> bool:
        """Whether a message other than the weekly ones has been stored for a route since then."""
        news = (
            _messages.c.route == route,
            _messages.c.created_at > since,
            _messages.c.kind.not_in(("quiet", "weekly")),
        )
        return bool(self._database.rows(sa.select(_messages.c.id).where(*news).limit(1)))

    def put(self, route: str, thread: str, messages: Sequence[Message], now: datetime) -> int:
        """Stores the messages that have a key which no earlier message to the route has; returns their number."""
        written = 0
        with self._database.transaction(alone_in=_keys) as connection:
            for message in messages:
                keys = [self._prefix + key for key in dict.fromkeys(message.keys)]
                mine = sa.select(_keys.c.key).where(_keys.c.route == route, _keys.c.key.in_(keys))
                known = set(connection.execute(mine).scalars())
                if not (new := [key for key in keys if key not in known]):
                    continue
                place = {"route": route, "thread": thread, "service": message.service or None}
                row = {**place, "kind": message.kind, "level": message.level}
                content = {"text": message.text, "blocks": list(message.blocks), "created_at": now}
                insert = sa.insert(_messages).values(**row, **content).returning(_messages.c.id)
                message_id = connection.execute(insert).scalar_one()
                connection.execute(
                    sa.insert(_keys), [{"route": route, "key": key, "message_id": message_id} for key in new]
                )
                written += 1
        return written

    def to_send(self, message: OutboxMessage) -> OutboxMessage | None:
        """A waiting message as it is stored by now, with its keys and Slack's id of the first message of its thread,
        None if it starts the thread; None if it no longer waits, or another run is sending it.
        """
        stored = sa.select(_messages).where(_messages.c.id == message.id, _waiting)
        keys = sa.select(_keys.c.key).where(_keys.c.message_id == message.id).order_by(_keys.c.key)
        thread = {_messages.c[name]: getattr(message, name) for name in ("route", "thread", "service")}
        same = (column == value for column, value in thread.items())
        first = (
            sa.select(_messages.c.ts)
            .where(*same, _messages.c.ts.is_not(None))
            .order_by(_messages.c.sent_at, _messages.c.id)
            .limit(1)
        )
        with self._database.transaction() as connection:
            found = next(iter(_read(connection.execute(stored))), None)
            if found is None or _is_being_sent(found, self._clock(connection)):
                return None
            return replace(
                found,
                keys=tuple(connection.execute(keys).scalars()),
                thread_ts=connection.execute(first).scalar() if message.thread else None,
            )

    def claim(self, message: OutboxMessage) -> bool:
        """Claims a message for sending; False if another run has claimed or changed it since it was read.

        Until the outcome is recorded, the message counts as one that may have arrived.
        """
        unchanged = (_messages.c.id == message.id, _messages.c.attempts == message.attempts, _waiting)
        with self._database.transaction() as connection:
            at = self._clock(connection)
            claimed = {
                "attempts": message.attempts + 1,
                "lease_until": at + LEASE,
                "unsure_since": message.unsure_since or at,
            }
            return connection.execute(sa.update(_messages).where(*unchanged).values(**claimed)).rowcount == 1

    def record(self, message: OutboxMessage, delivery: Delivery, now: datetime) -> None:
        """Records the outcome of an attempt: sent, refused for good, or waiting for the next run.

        One that is deferred or refused may have arrived only if an earlier attempt was unconfirmed. If another run has
        taken the message over meanwhile, only that it was sent is recorded.
        """
        changes: dict[DeliveryStatus, dict[str, Any]] = {
            DeliveryStatus.SENT: {"sent_at": now, "ts": delivery.ts, "unsure_since": None},
            DeliveryStatus.DEFERRED: {"unsure_since": message.unsure_since},
            DeliveryStatus.REFUSED: {"dead_at": now, "unsure_since": message.unsure_since},
            DeliveryStatus.UNCONFIRMED: {},
        }
        settled = {"lease_until": None, "last_error": delivery.error or None, **changes[delivery.status]}
        change = sa.update(_messages).where(_messages.c.id == message.id).values(**settled)
        if delivery.status is not DeliveryStatus.SENT:
            change = change.where(_messages.c.attempts == message.attempts + 1, _waiting)
        self._database.change(change)

    def expire(self, now: datetime) -> list[OutboxMessage]:
        """Expires the messages that have waited too long, unless a run is sending them; returns them."""
        query = sa.select(_messages).where(_waiting, _messages.c.created_at <= now - LIFETIME)
        with self._database.transaction() as connection:
            old = _read(connection.execute(query.with_for_update(skip_locked=True)))
            at = self._clock(connection)
            expired = [
                replace(one, last_error=one.last_error or NEVER_TRIED) for one in old if not _is_being_sent(one, at)
            ]
            for one in expired:
                change = {"dead_at": now, "last_error": one.last_error, "lease_until": None}
                connection.execute(sa.update(_messages).where(_messages.c.id == one.id).values(**change))
        return expired

    def waiting(self) -> list[OutboxMessage]:
        """The messages that have not been sent yet, oldest first."""
        return _read(self._database.rows(sa.select(_messages).where(_waiting).order_by(_messages.c.id)))

    def given_up(self, since: datetime | None = None) -> list[OutboxMessage]:
        """The messages that have expired or were refused for good, `since` a moment if one is given, oldest first."""
        ended = _messages.c.dead_at > since if since else _given_up
        return _read(self._database.rows(sa.select(_messages).where(ended).order_by(_messages.c.id)))

    def latest(self, count: int) -> list[OutboxMessage]:
        """The messages that were stored last, whatever their outcome, latest first."""
        return _read(self._database.rows(sa.select(_messages).order_by(_messages.c.id.desc()).limit(count)))

    def requeue(self, now: datetime) -> int:
        """Queues all messages that were given up again, as new ones, except for emptied ones; returns their number."""
        alive = {"dead_at": None, "created_at": now}
        return self._database.change(sa.update(_messages).where(_given_up, _messages.c.text != "").values(**alive))

    def forget_before(self, before: datetime, *, dry_run: bool) -> int:
        """Empties the messages that were stored earlier and do not wait; returns their number. Their keys stay."""
        old = (_messages.c.created_at < before, sa.not_(_waiting), _messages.c.text != "")
        return self._database.take_away(sa.update(_messages).where(*old).values(text="", blocks=[]), dry_run=dry_run)

    def forget(self, texts: Sequence[str], *, dry_run: bool) -> int:
        """Removes the blocks that contain one of these texts, such as row ids, from all messages; returns how many
        messages had one.
        """
        found, wanted = 0, TextSearch(json.dumps(text)[1:-1] for text in texts)
        as_text = sa.cast(_messages.c.blocks, sa.Text)  # most have none, and need not be parsed
        last = self._database.value(sa.select(sa.func.max(_messages.c.id))) or 0
        for start in range(1, last + 1, _READ_AT_ONCE):  # between which others can write
            some = _messages.c.id.between(start, start + _READ_AT_ONCE - 1)
            with self._database.transaction() as connection:
                for message_id, stored in connection.execute(sa.select(_messages.c.id, as_text).where(some)):
                    if not wanted.is_in(stored):
                        continue
                    blocks = neutral_blocks(json.loads(stored))
                    kept = [block for block in blocks if not wanted.is_in(json.dumps(block))]
                    if len(kept) == len(blocks):
                        continue
                    found += 1
                    if not dry_run:
                        connection.execute(sa.update(_messages).where(_messages.c.id == message_id).values(blocks=kept))
        return found

    def _clock(self, connection: sa.Connection) -> datetime:
        """The time of the database, by which all hosts take leases: their clocks need not agree."""
        return datetime.fromtimestamp(connection.execute(sa.select(self._database.clock)).scalar_one(), UTC)


def _read(rows: Iterable[sa.Row[Any]]) -> list[OutboxMessage]:
    return [OutboxMessage(**{**row._mapping, "blocks": neutral_blocks(row.blocks)}) for row in rows]


def _is_being_sent(message: OutboxMessage, now: datetime) -> bool:
    return message.lease_until is not None and now < message.lease_until <= now + timedelta(seconds=FAR_AHEAD_S)
