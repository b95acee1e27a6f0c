"""Stores of a state database and contexts of settings, each opened and closed on its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from tasks.config.settings import Settings
from tasks.context import Context
from tasks.state.database import StateDatabase

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def opened(store: Callable[[StateDatabase], T], url: str) -> Iterator[T]:
    """A store such as `RunLedger` in the database at a URL, which is closed when the block ends."""
    with StateDatabase(url) as state:
        yield store(state)


def in_context(work: Callable[Concatenate[Context, P], T], settings: Settings, *args: P.args, **options: P.kwargs) -> T:
    """What `work` returns in a context of these settings, which is closed then."""
    with Context(settings) as context:
        return work(context, *args, **options)


def set_message_leases(url: str, moment: str = "created_at") -> None:
    """Has the leases of all messages that are being sent end at a moment, in SQL; long ago if none is given.

    They are by the clock of the database, which no test sets.
    """
    with StateDatabase(url) as state, state.transaction() as connection:
        if "alert_messages" in sa.inspect(connection).get_table_names():
            leased = "lease_until IS NOT NULL"
            connection.exec_driver_sql(f"UPDATE alert_messages SET lease_until = {moment} WHERE {leased}")
