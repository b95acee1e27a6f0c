"""Connections to PostgreSQL that end in time, whatever becomes of the server, the network or another host.

A server that does not answer, a network that drops packets, and a host that stops within a transaction and keeps its
locks would each be waited for without end.
"""

from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa

from scoring.errors import StorageError

LOCK_WAIT_S = 30
SILENCE_S = 60
"""How long an answer is waited for. A lock is given up earlier, so that the server says for which one it waited."""

_T = TypeVar("_T")

_REACHED = {
    "client_encoding": "UTF8",  # whatever PGCLIENTENCODING says
    "prepare_threshold": None,  # a pooler may give each transaction another session
    "connect_timeout": 10,
    # A connection that a network has forgotten ends within half a minute, before a lease that is renewed over it.
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""How a server is reached, as far as the URL does not say it."""

_TRANSACTION = {"lock_timeout": f"{LOCK_WAIT_S}s", "idle_in_transaction_session_timeout": f"{SILENCE_S}s"}
"""What bounds a transaction where the server has no bound: a host that died or was frozen within one gives its locks
back. Set in each, because a pooler takes no such parameter with a connection.
"""
_SET_BOUNDS = "SELECT " + ", ".join(
    f"CASE current_setting('{name}') WHEN '0' THEN set_config('{name}', '{value}', true) END"
    for name, value in _TRANSACTION.items()
)


def listen(engine: sa.Engine, shown_url: str) -> None:
    """Has an engine connect in this way, and refuse a database that does not keep every text.

    `shown_url` names the database in errors.
    """

    def connect(dialect: object, record: object, arguments: list[Any], options: dict[str, Any]) -> _BoundedConnection:
        return _BoundedConnection.connect(*arguments, **(_REACHED | options))

    def refuse_other_encodings(connection: psycopg.Connection[Any], record: object) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()  # nobody else knows of it yet
            raise StorageError(
                f"the state database keeps texts in {encoding}, not in UTF8",
                where=shown_url,
                fix="make one with `createdb --template template0 --encoding UTF8` (docs/operate.md)",
            )

    sa.event.listen(engine, "do_connect", connect)
    sa.event.listen(engine, "connect", refuse_other_encodings, insert=True)  # before SQLAlchemy asks anything
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(_SET_BOUNDS))


class _BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server is silent for too long: what it was asked may still be done."""

    def wait(self, gen: Generator[Any, Any, _T], *arguments: Any, **options: Any) -> _T:
        """Waits as `psycopg.Connection` does, but not without end."""
        return super().wait(self._unless_silent(gen), *arguments, **options)

    def _unless_silent(self, gen: Generator[Any, Any, _T]) -> Generator[Any, Any, _T]:
        ends_at = monotonic() + SILENCE_S
        try:
            wanted = next(gen)
            while True:
                if ready := (yield wanted):  # 0 while there is nothing to read or write
                    ends_at = monotonic() + SILENCE_S
                elif monotonic() > ends_at:
                    self.pgconn.finish()
                    raise psycopg.errors.ConnectionFailure(f"the server has not answered for {SILENCE_S} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: _T = end.value
            return result
