"""What goes wrong with a run itself is told, whatever it was that broke."""

from pathlib import Path
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Cancelled, Cancelling, Crashed, Failed

from flows.nightly import nightly
from flows.steps.failure_hooks import notify_flow_end, notify_without_flow
from scoring.errors import UsageError
from tasks.alerts.outbox import Outbox
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.settings import MonitoringSettings, Settings
from tests.builders.chat_rows import DAY, best, write_rows
from tests.builders.state import opened
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import QA, Command

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture
def settings(tmp_path: Path, slack: FakeSlack) -> Settings:
    """A source with a row, and a route that hears everything."""
    write_rows(tmp_path / "source" / "a.jsonl", [best(0)])
    return Settings(
        warehouse=str(tmp_path / "warehouse"),
        reports=str(tmp_path / "reports"),
        state_url=f"sqlite:///{tmp_path / 'state.db'}",
        monitoring=MonitoringSettings(source=str(tmp_path / "source")),
        alerts=AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url),
    )


def test_a_failed_flow_is_told_with_its_error_step_and_command(settings: Settings, slack: FakeSlack) -> None:
    nowhere = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    nightly(nowhere, DAY, return_state=True)
    (failure,) = slack.posted
    assert "InputError" in failure.shown
    assert f"extract {DAY}" in failure.shown
    assert f"aqb nightly --date {DAY}" in failure.shown
    assert "check the path" in failure.shown


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (Cancelling(message="by hand"), "Warning · a night 취소"),
        (Cancelled(message="by hand"), "Warning · a night 취소"),
        (Crashed(message="the worker is gone"), "Critical · a night 비정상 종료"),
        (Failed(message="no rows"), "Critical · a night 실패"),
    ],
)
def test_tell_of_end_tells_once_of_a_state_that_another_process_reports(
    settings: Settings, slack: FakeSlack, state: State, told: str
) -> None:
    run = FlowRun(flow_id=uuid4(), name="a night", parameters={"settings": settings, "day": str(DAY)})
    for _ in range(2):  # a worker may see a cancellation twice
        notify_flow_end(nightly, run, state)
    (message,) = slack.posted
    assert told in message.text
    assert str(state.message) in message.shown


def test_a_failed_flow_is_told_once_although_prefect_keeps_no_password_of_the_state_database(
    settings: Settings, slack: FakeSlack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_url = f"sqlite:///file:{tmp_path / 'state.db'}?uri=true&password=hunter2"
    monkeypatch.setenv("AQB_STATE_URL", state_url)
    nowhere = {"state_url": state_url, "monitoring": MonitoringSettings(source="nowhere")}
    nightly(settings.model_copy(update=nowhere), DAY, return_state=True)
    assert len(slack.posted) == 1
    with opened(Outbox, state_url) as outbox:
        assert len(outbox.known_keys("qa")) == 1


def test_a_flow_that_dies_of_its_settings_tells_the_default_webhook(
    slack: FakeSlack, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook("default"))
    (folder / "aqb.toml").write_text("warehous = 1\n")
    nightly(day=DAY, return_state=True)
    (failure,) = slack.posted
    assert "default" in failure.place
    assert "warehous" in failure.shown


def test_a_flow_that_dies_of_its_state_database_is_told_without_it(
    settings: Settings, slack: FakeSlack, tmp_path: Path
) -> None:
    (tmp_path / "state.db").write_bytes(b"no database at all" * 100)
    nightly(settings, DAY, return_state=True)
    (failure,) = slack.posted
    assert "StorageError" in failure.shown


def test_a_flow_that_dies_of_a_wrong_database_address_is_told_too(settings: Settings, slack: FakeSlack) -> None:
    nightly(settings.model_copy(update={"state_url": "nonsense://here"}), DAY, return_state=True)
    (failure,) = slack.posted
    assert "state_url" in failure.shown


def test_a_prefect_server_that_is_gone_is_told_where_nobody_sits_at_a_terminal(
    installed_aqb: Command, folder: Path, slack: FakeSlack
) -> None:
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(0)])
    gone = {"PREFECT_API_URL": "http://127.0.0.1:1/api", "SLACK_WEBHOOK_URL": slack.webhook()}
    assert installed_aqb("nightly", "--date", str(DAY), **gone).exit_code == 1
    (failure,) = slack.posted
    assert "Prefect server cannot be reached" in failure.shown


def test_a_wrong_file_of_settings_is_told_once_a_day(
    slack: FakeSlack, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook())
    for _ in range(2):
        notify_without_flow("nightly", UsageError("settings are wrong: warehous"))
    (failure,) = slack.posted
    assert "settings are wrong: warehous" in failure.shown
