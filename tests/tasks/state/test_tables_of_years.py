"""What is asked of a state database again and again: each statement finds its rows by an index, not by reading all."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from scoring.alerting.messages import Message
from tasks.alerts.outbox import Outbox
from tasks.judge.verdict_store import VerdictStore
from tasks.review.label_store import KeptLabel, LabelStore
from tasks.state.database import StateDatabase
from tasks.state.run_ledger import Run, RunLedger

NOW, DAY = datetime(2026, 3, 2, 3, tzinfo=UTC), date(2026, 3, 1)
LABEL = KeptLabel(
    labelled_at=NOW,
    rubric="ola-monitoring",
    rubric_version="1",
    row_id="r1",
    metric="failure_type",
    label="blocked",
    reviewer="kim",
)
_WHOLE_TABLE = re.compile(r"SCAN (?!anon_)\w+$")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[StateDatabase]:
    """A database whose tables an earlier version made, which had no index of its own."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with StateDatabase(url) as earlier:
        _stores(earlier)
        with earlier.transaction() as connection:
            for (name,) in connection.exec_driver_sql(
                "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
            ).all():
                connection.exec_driver_sql(f"DROP INDEX {name}")
    with StateDatabase(url) as found:
        yield found


def _stores(database: StateDatabase) -> tuple[Outbox, RunLedger, LabelStore, VerdictStore]:
    return Outbox(database), RunLedger(database), LabelStore(database), VerdictStore(database)


def _plans(database: StateDatabase, asked: Callable[[], object]) -> list[str]:
    """How SQLite finds the rows of each statement that this sends."""
    sent: list[tuple[str, tuple[object, ...]]] = []

    def note(_: object, __: object, statement: str, values: tuple[object, ...], *___: object) -> None:
        if statement.startswith(("SELECT", "UPDATE", "DELETE")):
            sent.append((statement, values))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        asked()
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    with database.transaction() as connection:
        plans = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).all() for text, values in sent]
    assert sent
    return [row[-1] for plan in plans for row in plan]


def test_no_statement_of_a_night_or_a_page_goes_through_a_whole_table(database: StateDatabase) -> None:
    outbox, ledger, labels, verdicts = _stores(database)
    outbox.put("qa", str(DAY), [Message("page", "critical", ("k",), "text", [])], NOW)
    (message,) = outbox.waiting()
    asked: list[Callable[[], object]] = [
        outbox.waiting,
        lambda: outbox.given_up(since=NOW),
        lambda: outbox.has_news("qa", NOW),
        lambda: outbox.known_keys("qa"),
        lambda: outbox.keys_of_work("qa"),
        lambda: outbox.to_send(message),
        lambda: outbox.put("qa", "", [Message("page", "critical", ("other",), "text", [])], NOW),
        lambda: outbox.forget(["r1"], dry_run=True),
        lambda: ledger.of_day(DAY),
        lambda: ledger.start_of_next(DAY, NOW),
        lambda: ledger.unended_since(NOW),
        lambda: ledger.unended_of_days(date.min, date.max),
        lambda: ledger.whole_days_since(NOW),
        lambda: verdicts.usd_since(NOW),
        lambda: ledger.last(3),
        lambda: ledger.steps("run"),
        lambda: labels.add([replace(LABEL, label="too_short")]),
        lambda: labels.labels_of("ola-monitoring", "", ["r1"]),
        lambda: verdicts.found(["key"]),
        lambda: verdicts.usual_tokens_out("gpt-6-luna", 900),
    ]
    plans = [plan for one in asked for plan in _plans(database, one)]
    assert [plan for plan in plans if _WHOLE_TABLE.match(plan)] == []


def test_latest_runs_of_days_are_read_without_the_others(
    database: StateDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, read = RunLedger(database), list[int]()
    for number in range(60):
        day, at = DAY - timedelta(number % 3), NOW + timedelta(hours=number)
        outcome = "kept" if number % 20 == 19 else "completed"
        ledger.save(Run(f"run{number}", "intraday", day, "ola-monitoring", "1", "0.1.0", at, at, outcome))
    rows = database.rows

    def counted(query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        found = rows(query)
        read.append(len(found))
        return found

    monkeypatch.setattr(database, "rows", counted)
    latest, kept = ledger.latest_of_days(DAY - timedelta(2), DAY), ledger.latest_kept(DAY - timedelta(2), DAY)
    assert {run.run_id for run in latest.values()} == {"run57", "run58", "run56"}
    assert {run.run_id for run in kept.values()} == {"run19", "run39", "run59"}
    assert read == [3, 3]


def test_label_of_one_row_is_compared_with_labels_of_that_row_alone(database: StateDatabase) -> None:
    labels = LabelStore(database)
    labels.add([replace(LABEL, row_id=f"r{number}") for number in range(1_200)])
    assert labels.add([replace(LABEL, row_id=f"r{number}") for number in range(1_200)]) == 0
    assert labels.add([LABEL, replace(LABEL, reviewer="lee")]) == 1
    assert len(labels.labels_of("ola-monitoring", "", ["r1"])) == 2
