"""A PostgreSQL server that starts again or falls silent in the middle of a run."""

import pytest
import sqlalchemy as sa

from scoring.errors import StorageError
from tasks.state import postgresql as bounds
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


def test_statement_that_is_never_answered_ends_with_what_is_wrong(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SILENCE_S", 0.3)
    server = postgresql.partition("@")[2]
    with CuttableProxy(f"http://{server}") as proxy, StateDatabase(through(proxy)) as state:
        with (
            pytest.raises(StorageError, match=r"(?s)has not answered for 0\.3 s.*the network to it"),
            state.transaction() as connection,
            proxy.silent(),
        ):
            connection.exec_driver_sql("SELECT 1")
        assert state.value(sa.select(sa.literal(1))) == 1


def test_long_answer_is_read_to_its_end(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SILENCE_S", 0.5)
    slow = "SELECT pg_sleep(0.01), repeat('a', 10000) FROM generate_series(1, 100)"
    with StateDatabase(f"{postgresql}/postgres") as state, state.transaction() as connection:
        assert len(connection.exec_driver_sql(slow).all()) == 100
