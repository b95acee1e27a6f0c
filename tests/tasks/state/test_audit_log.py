"""Who saw what: kept in order, taken away when it is old."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tasks.state.audit_log import AccessRecord, AuditLog
from tasks.web.asked import href
from tests.builders.state import opened

NOON = datetime(2026, 2, 13, 12, tzinfo=UTC)
ACCESSES = [AccessRecord(NOON + timedelta(days=n), "kim", "127.0.0.1", "행 목록", f"/rows?page={n}") for n in range(4)]


def test_audit_log_gives_back_what_was_added_the_latest_first(tmp_path: Path) -> None:
    with opened(AuditLog, f"sqlite:///{tmp_path / 'state.db'}") as log:
        for access in ACCESSES:
            log.add(access)
        assert log.latest(3) == ACCESSES[:0:-1]


def test_audit_log_forgets_who_was_looked_for(tmp_path: Path) -> None:
    session = "kim's 100%_a/b"
    with opened(AuditLog, f"sqlite:///{tmp_path / 'state.db'}") as log:
        for address in (href("/rows", [("session", session)]), href("/rows", [("session", "kim's 100xxa/b")])):
            log.add(replace(ACCESSES[0], target=address))
        assert log.forget_text(session, dry_run=True) == 1
        assert log.forget_text(session, dry_run=False) == 1
        assert [one.target for one in log.latest(9)] == ["/rows?session=kim%27s+100xxa%2Fb", ""]


def test_audit_log_forgets_what_is_older_than_a_moment_and_nothing_else(tmp_path: Path) -> None:
    with opened(AuditLog, f"sqlite:///{tmp_path / 'state.db'}") as log:
        for access in ACCESSES:
            log.add(access)
        assert log.forget_before(ACCESSES[2].at, dry_run=True) == 2
        assert log.latest(9) == ACCESSES[::-1]
        assert log.forget_before(ACCESSES[2].at, dry_run=False) == 2
        assert log.latest(9) == ACCESSES[:1:-1]
