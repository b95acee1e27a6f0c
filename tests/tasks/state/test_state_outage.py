"""A PostgreSQL server that starts again in the middle of a run."""

import pytest

from scoring.errors import StorageError
from tasks.state.database import StateDatabase
from tasks.state.run_ledger import RunLedger
from tests.builders.chat_rows import DAY
from tests.builders.nights import night
from tests.fakes.cuttable_proxy import CuttableProxy

pytestmark = pytest.mark.slow


def through(proxy: CuttableProxy) -> str:
    return f"postgresql+psycopg://aqb@{proxy.url.removeprefix('http://')}/postgres?sslmode=disable"


def test_ledger_goes_on_after_a_server_was_away_and_loses_nothing(postgresql: str) -> None:
    server = postgresql.partition("@")[2]
    with CuttableProxy(f"http://{server}") as proxy, StateDatabase(through(proxy)) as state:
        ledger = RunLedger(state)
        ledger.save(night(DAY))
        proxy.interrupt(refused=5)
        ledger.save(night(DAY, start="02:00"))
        assert len(ledger.of_day(DAY)) == 2
        with state.transaction() as connection:
            connection.exec_driver_sql("DROP TABLE runs, run_steps")


def test_server_that_has_answered_this_process_is_waited_for_when_it_is_opened_anew(postgresql: str) -> None:
    """A night opens the database for a run, its days and its locks."""
    server = postgresql.partition("@")[2]
    with CuttableProxy(f"http://{server}") as proxy:
        with StateDatabase(through(proxy)) as state:
            RunLedger(state).save(night(DAY))
        proxy.interrupt(refused=5)
        with StateDatabase(through(proxy)) as state:
            assert len(RunLedger(state).of_day(DAY)) == 1
            with state.transaction() as connection:
                connection.exec_driver_sql("DROP TABLE runs, run_steps")


def test_server_that_has_never_answered_is_not_waited_for(postgresql: str) -> None:
    server = postgresql.partition("@")[2]
    with CuttableProxy(f"http://{server}") as proxy:
        proxy.interrupt(refused=1_000)
        with StateDatabase(through(proxy)) as state, pytest.raises(StorageError, match="cannot be used"):
            RunLedger(state)
