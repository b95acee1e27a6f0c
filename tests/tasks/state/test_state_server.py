"""A PostgreSQL server as others set it up: its encodings, its bounds, and a pooler before it."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from scoring.errors import StorageError
from tasks.state.audit_log import AccessRecord, AuditLog
from tasks.state.database import StateDatabase
from tests.builders.state import opened

pytestmark = pytest.mark.slow

ACCESS = AccessRecord(datetime(2026, 3, 14, tzinfo=UTC), "김하나", "127.0.0.1", "rows", "살까 😀 뷁")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "EUC_KR"])
def test_database_that_cannot_keep_every_text_is_refused_with_what_to_do(postgresql: str, encoding: str) -> None:
    name = f"in_{encoding.lower()}"
    server = sa.create_engine(f"{postgresql}/postgres", isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        made = f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        connection.exec_driver_sql(made)
    server.dispose()
    with (
        StateDatabase(f"{postgresql}/{name}") as state,
        pytest.raises(StorageError, match=f"keeps texts in {encoding}, not in UTF8") as refused,
    ):
        AuditLog(state)
    assert "--encoding UTF8" in refused.value.fix


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "EUC_KR"])
def test_texts_come_back_whatever_the_environment_says_of_encodings(
    postgresql: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    with opened(AuditLog, f"{postgresql}/postgres") as log:
        log.add(ACCESS)
        assert log.latest(1) == [ACCESS]


def test_nothing_is_kept_in_a_session_that_a_pooler_may_give_to_another(postgresql: str) -> None:
    with StateDatabase(f"{postgresql}/postgres") as state, state.transaction() as connection:
        for _ in range(20):
            connection.exec_driver_sql("SELECT 1")
        kept = connection.exec_driver_sql("SELECT COUNT(*) FROM pg_prepared_statements").scalar_one()
    assert kept == 0


BOUNDS = "SELECT current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')"


def test_host_that_stops_within_a_transaction_gives_its_locks_back(postgresql: str) -> None:
    """Others wait for a lock for half a minute, and the server ends what has said nothing for a minute."""
    with StateDatabase(f"{postgresql}/postgres") as state, state.transaction() as connection:
        assert connection.exec_driver_sql(BOUNDS).one() == ("30s", "1min")


def test_bounds_of_the_server_stay_as_they_are(postgresql: str) -> None:
    own = "-clock_timeout%3D5s%20-cidle_in_transaction_session_timeout%3D2min"
    with StateDatabase(f"{postgresql}/postgres?options={own}") as state, state.transaction() as connection:
        assert connection.exec_driver_sql(BOUNDS).one() == ("5s", "2min")


def test_lock_that_another_host_does_not_give_back_is_named_as_such(postgresql: str) -> None:
    with StateDatabase(f"{postgresql}/postgres?options=-clock_timeout%3D100ms") as state:
        log = AuditLog(state)
        with state.transaction() as connection, pytest.raises(StorageError, match="lock timeout") as refused:
            connection.exec_driver_sql("LOCK TABLE web_audit")
            log.add(ACCESS)
    assert "pg_stat_activity" in refused.value.fix
