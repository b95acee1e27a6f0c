"""What a run reads once, however many files and messages it has."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.steps.announce import announce
from flows.steps.testrun_files import score_files
from scoring.alerting.run_messages import RefusedFile
from tasks.config.settings import Settings
from tasks.config.testruns import InboxSettings
from tasks.context import Context
from tasks.testruns.inbox import look_into
from tests.builders.chat_rows import DAY
from tests.builders.settings import settings_in
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import alerts_to


@pytest.fixture
def sent() -> Iterator[list[str]]:
    """The statements that the state database gets."""
    found: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        found.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


def test_unreadable_files_of_the_inbox_read_the_ledger_once(tmp_path: Path, sent: list[str]) -> None:
    (inbox := tmp_path / "inbox").mkdir()
    for number in range(5):
        (inbox / f"{number}.csv").write_text(f"no,test run\n{number},2\n")
    settings = settings_in(tmp_path, test_runs=InboxSettings(inbox=str(inbox), quiet_s=0))
    with Context(settings) as context:
        found = score_files(context, look_into(inbox, datetime.now(UTC), 0.0).new, DAY, {})
    assert [type(one) for one in found] == [RefusedFile] * 5
    assert sum("runs.message" in one and "failed" not in one and "outcome =" in one for one in sent) == 1


def test_keys_of_a_route_are_read_once_for_all_its_messages(tmp_path: Path, slack: FakeSlack, sent: list[str]) -> None:
    settings: Settings = settings_in(tmp_path, alerts=alerts_to(slack))
    with Context(settings) as context:
        announce(context, [("", lambda route, known: []) for _ in range(4)])
    assert sum("FROM alert_keys JOIN alert_messages" in " ".join(one.split()) for one in sent) == 1
