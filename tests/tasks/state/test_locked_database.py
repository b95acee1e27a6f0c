"""A SQLite database that another process keeps locked."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from scoring.errors import StorageError
from tasks.state.run_ledger import RunLedger
from tests.builders.nights import night
from tests.builders.state import opened

DAY = date(2026, 3, 12)


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another program, which is to lock the file; nobody waits in silence."""
    monkeypatch.setattr("tasks.state.database._MOMENT_S", 0)
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as connection:
        yield connection


def test_who_waits_for_a_locked_database_says_so_and_goes_on_when_it_is_free(
    other: sqlite3.Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Ending(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            other.execute("ROLLBACK")

    log, ending = logging.getLogger("tasks.state.database"), Ending()
    with opened(RunLedger, f"sqlite:///{tmp_path / 'state.db'}") as ledger:
        other.execute("BEGIN IMMEDIATE")
        log.addHandler(ending)
        try:
            ledger.save(night(DAY))
        finally:
            log.removeHandler(ending)
        assert len(ledger.of_day(DAY)) == 1
    assert caplog.messages == ["the state database is locked by another process: waiting for up to 30 s"]


def test_database_that_stays_locked_ends_in_an_error_that_says_so(
    other: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.state.database._LOCK_WAIT_S", 0)
    with opened(RunLedger, f"sqlite:///{tmp_path / 'state.db'}") as ledger:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another process has kept the state database locked") as refused:
            ledger.save(night(DAY))
    assert refused.value.where.endswith("state.db")
    assert "try again when it has ended" in refused.value.fix
