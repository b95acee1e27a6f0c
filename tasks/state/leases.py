"""Leases: names that one owner at a time holds, also across machines.

A folder warehouse has the kernel's file locks, which end with their owner. Elsewhere a name is a row of the state
database that its owner renews from a thread; when the owner dies, the lease expires and the next one takes it over. A
run also holds its own id, so that others can tell whether it is alive. Times are those of the database, so that the
clocks of the machines need not agree. A lease that ends far ahead was written while the clock of the database was
wrong, and has ended: its owner, if it is alive, has renewed it since.
"""

import threading
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from scoring.errors import StorageError, TakenError
from tasks.state.database import STATE_TABLES, StateDatabase
from tasks.waiting import LONGEST_PAUSE_S, attempts

LEASE_S = 60.0
_RENEWALS_PER_LEASE = 4
FAR_AHEAD_S = 3_600.0
"""A lease that ends later than this from now was written by a clock that was wrong; no lease is as long."""

_leases = sa.Table(
    "leases",
    STATE_TABLES,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("ends_at", sa.Float, nullable=False),  # seconds since 1970
)


class Leases:
    """Leases in the state database, each valid for `lease_s` seconds after its last renewal.

    Raises:
        StorageError: the database cannot be reached, read or written; any method may raise it.
    """

    def __init__(self, database: StateDatabase, lease_s: float = LEASE_S) -> None:
        database.create_tables(_leases)
        self._database = database
        self._lease_s = lease_s
        self._now = database.clock
        self._insert: Any = (sqlite if database.is_sqlite else postgresql).insert(_leases)
        self._is_held = _leases.c.ends_at.between(self._now, self._now + FAR_AHEAD_S)

    @contextmanager
    def held(self, name: str, wait_s: float | None = None) -> Iterator[None]:
        """Holds a name and renews it until the block ends; waits for its holder for at most `wait_s` seconds.

        The default is long enough for the lease of a dead holder to expire.

        Raises:
            TakenError: another owner still holds the name.
            StorageError: the lease was lost before the end of the block.
        """
        owner, ended = uuid.uuid4().hex, threading.Event()
        for _ in attempts(name, self._lease_s + LONGEST_PAUSE_S if wait_s is None else wait_s):
            if self._taken(name, owner):
                break
        else:
            raise TakenError(
                f"another run is working on '{name}'",
                where="state database",
                fix="wait for it to end, then run again",
            )
        mine = (_leases.c.name == name) & (_leases.c.owner == owner)
        renewing = threading.Thread(target=self._renew, args=(mine, ended), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()
            kept = self._database.change(sa.delete(_leases).where(mine))
        if not kept:
            raise StorageError(
                f"somebody else took over '{name}' while this run could not renew its lease",
                where="state database",
                fix="run it again: what the two wrote may be mixed",
            )

    def alive(self, names: Collection[str]) -> set[str]:
        """Those of the names that are held."""
        query = sa.select(_leases.c.name).where(_leases.c.name.in_(list(names)), self._is_held)
        return {name for (name,) in self._database.rows(query)}

    def _taken(self, name: str, owner: str) -> bool:
        values = {"owner": owner, "ends_at": self._now + self._lease_s}
        take = self._insert.values(name=name, **values).on_conflict_do_update(
            index_elements=["name"], set_=values, where=sa.not_(self._is_held)
        )
        with self._database.transaction() as connection:
            connection.execute(take)
            holder = connection.execute(sa.select(_leases.c.owner).where(_leases.c.name == name)).scalar_one()
        return bool(holder == owner)

    def _renew(self, mine: sa.ColumnElement[bool], ended: threading.Event) -> None:
        renew = sa.update(_leases).where(mine).values(ends_at=self._now + self._lease_s)
        pause_s = usual_s = self._lease_s / _RENEWALS_PER_LEASE
        while not ended.wait(pause_s):
            try:
                self._database.change(renew)
                pause_s = usual_s
            except StorageError:  # the lease outlives some failures
                pause_s = min(usual_s, LONGEST_PAUSE_S)
