"""What is taken away of years: some rows at a time, so that a night or a page can write in between."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from scoring.alerting.messages import Message
from tasks.alerts.outbox import Outbox
from tasks.state import database
from tasks.state.audit_log import AccessRecord, AuditLog
from tests.builders.state import opened

NOON = datetime(2026, 2, 13, 12, tzinfo=UTC)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The rows that each transaction has changed."""
    found: list[int] = []
    monkeypatch.setattr(database, "_CHANGED_AT_ONCE", 10)

    def note(_: object, cursor: sa.engine.interfaces.DBAPICursor, statement: str, *__: object) -> None:
        if statement.startswith("BEGIN"):
            found.append(0)
        elif statement.startswith(("UPDATE", "DELETE")):
            found[-1] += cursor.rowcount

    sa.event.listen(sa.Engine, "after_cursor_execute", note)
    yield found
    sa.event.remove(sa.Engine, "after_cursor_execute", note)


def test_old_accesses_are_removed_in_several_transactions(tmp_path: Path, transactions: list[int]) -> None:
    with opened(AuditLog, f"sqlite:///{tmp_path / 'state.db'}") as log:
        for number in range(37):
            log.add(AccessRecord(NOON + timedelta(days=number), "kim", "127.0.0.1", "행", "/rows"))
        assert log.forget_before(NOON + timedelta(days=35), dry_run=True) == 35
        assert log.forget_before(NOON + timedelta(days=35), dry_run=False) == 35
        assert len(log.latest(99)) == 2
    assert [count for count in transactions if count] == [10, 10, 10, 5]


def test_old_messages_are_emptied_in_several_transactions(tmp_path: Path, transactions: list[int]) -> None:
    with opened(Outbox, f"sqlite:///{tmp_path / 'state.db'}") as outbox:
        outbox.put("qa", "", [Message("digest", "warning", (f"k{n}",), "글", []) for n in range(25)], NOON)
        outbox.expire(NOON + timedelta(days=9))
        transactions.clear()
        assert outbox.forget_before(NOON + timedelta(days=9), dry_run=False) == 25
        assert outbox.forget_before(NOON + timedelta(days=9), dry_run=False) == 0
    assert [count for count in transactions if count] == [10, 10, 5]
