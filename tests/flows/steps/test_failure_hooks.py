"""What goes wrong with a run itself is reported, whatever it was that broke."""

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Cancelled, Cancelling, Crashed, Failed
from prefect.types import DateTime
from pydantic import SecretStr

from flows.backfill import backfill
from flows.nightly import nightly
from flows.runtime.clock import now
from flows.steps.failure_hooks import notify_flow_end, notify_without_flow
from flows.steps.site import build_site
from flows.test_runs import IncompleteInboxError, score_inbox
from scoring.alerting.all_clear import Unfinished, without_all_clear
from scoring.days import day_text
from scoring.errors import AqbError, InputError, StorageError, UsageError
from tasks.alerts.outbox import Outbox
from tasks.config.alerts import Route
from tasks.config.judge import JudgeSettings
from tasks.config.settings import MonitoringSettings, Settings
from tasks.config.testruns import InboxSettings
from tasks.state.database import StateDatabase
from tasks.state.leases import Leases
from tasks.state.run_ledger import RunLedger
from tasks.warehouse import open_warehouse
from tests.builders import flows as plain_flows
from tests.builders.chat_rows import DAY, best, write_rows
from tests.builders.nights import night
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import Command, alerts_to

pytestmark = pytest.mark.usefixtures("prefect_server")
HOUR = timedelta(hours=1)


@pytest.fixture
def settings(tmp_path: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A source with a row, a route that hears everything, and a temporary folder of its own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    write_rows(tmp_path / "source" / "a.jsonl", [best(0)])
    return settings_in(tmp_path, alerts=alerts_to(slack))


@pytest.fixture
def runs_without_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are made up have no step that Prefect's server would still hear of."""
    monkeypatch.setattr("flows.steps.failure_hooks._PATIENCE_S", 0.0)


def test_failed_flow_says_why_and_is_reported_with_its_error_step_and_command(
    settings: Settings, slack: FakeSlack
) -> None:
    nowhere = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    state: State[Any] = nightly(nowhere, DAY, return_state=True)
    assert state.is_failed()
    assert "nothing to read" in str(state.message)
    (failure,) = slack.posted
    assert "InputError" in failure.shown
    assert f"extract {DAY}" in failure.shown
    assert f"aqb nightly --date {DAY}" in failure.shown
    assert "check the path" in failure.shown


def test_command_that_repeats_a_run_names_its_service_and_options(settings: Settings, slack: FakeSlack) -> None:
    named = settings.model_copy(update={"service": "support bot", "monitoring": MonitoringSettings(source="nowhere")})
    assert backfill(DAY, DAY, allow_shrink=True, settings=named, return_state=True).is_failed()
    (failure,) = slack.posted
    assert f"aqb --service 'support bot' backfill --from {DAY} --to {DAY} --allow-shrink" in failure.shown


def test_flow_with_a_wrong_parameter_is_reported_and_shown_with_its_name_and_what_it_takes(
    settings: Settings, slack: FakeSlack
) -> None:
    state: State[Any] = backfill("yesterday", DAY, settings=settings, return_state=True)
    reason = "parameter first: Input should be a valid date"
    (failure,) = slack.posted
    assert reason in failure.shown
    assert "aqb backfill --help" in failure.shown
    assert state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        shown = client.read_flow_run(state.state_details.flow_run_id).state
    assert shown
    assert shown.is_failed()
    assert str(shown.message).startswith(reason)


def test_backfill_that_meets_one_of_the_same_days_fails_and_wakes_nobody(settings: Settings, slack: FakeSlack) -> None:
    with open_warehouse(settings.warehouse).staging(f"backfill-{DAY}-{DAY}"):
        state: State[Any] = backfill(DAY, DAY, settings=settings, return_state=True)
    assert state.is_failed()
    assert f"another run is working on 'backfill-{DAY}-{DAY}'" in str(state.message)
    assert slack.posted == []


@pytest.mark.parametrize("is_alive", [True, False])
def test_night_that_meets_the_same_night_of_another_host_wakes_somebody_only_if_that_host_is_gone(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch, is_alive: bool
) -> None:
    monkeypatch.setattr("flows.steps.day._TAKEN_DAY_PATIENCE_S", 0.0)
    with StateDatabase(settings.state_url) as state, ExitStack() as other:
        other.enter_context(open_warehouse(settings.warehouse).staging(f"monitoring-{DAY}"))
        RunLedger(state).save(run := night(DAY, "running"))
        if is_alive:
            other.enter_context(Leases(state).held(run.run_id))
        ended: State[Any] = nightly(settings, DAY, return_state=True)
    assert f"another run is working on 'monitoring-{DAY}'" in str(ended.message)
    assert len(slack.posted) == (0 if is_alive else 1)


@pytest.mark.usefixtures("runs_without_steps")
@pytest.mark.parametrize(
    ("state", "reported"),
    [
        (Cancelling(message="by hand"), f"Warning · nightly {DAY} 취소"),
        (Cancelled(message="by hand"), f"Warning · nightly {DAY} 취소"),
        (Crashed(message="the worker is gone"), f"Critical · {day_text(DAY)} 야간 실행 비정상 종료"),
        (Failed(message="no rows"), f"Critical · {day_text(DAY)} 야간 실행 실패"),
    ],
)
def test_tell_of_end_tells_once_of_a_state_that_another_process_reports(
    settings: Settings, slack: FakeSlack, state: State, reported: str
) -> None:
    # A worker knows a run by the name that it had before it began.
    run = FlowRun(flow_id=uuid4(), name="lurking-jackdaw", parameters={"settings": settings, "day": str(DAY)})
    for _ in range(2):  # a worker may see a cancellation twice
        notify_flow_end(nightly, run, state)
    (message,) = slack.posted
    assert reported in message.text
    assert str(state.message) in message.shown


def test_failed_night_that_is_fixed_is_called_off_once_to_whom_it_was_reported(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Route(name="warnings", webhook_env="SLACK_WEBHOOK_OTHER", levels=("warning",))
    monkeypatch.setenv("SLACK_WEBHOOK_OTHER", slack.webhook("other"))
    alerts = settings.alerts.model_copy(update={"route": (*settings.alerts.route, other)})
    settings = settings.model_copy(update={"alerts": alerts})
    nowhere = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    nightly(nowhere, DAY, return_state=True)
    with pytest.raises(InputError):
        plain_flows.nightly(nowhere, DAY)
    assert len(slack.posted) == 1
    for _ in range(2):
        assert plain_flows.nightly(settings, DAY).problems == ()
    assert slack.texts("other") == []
    assert slack.texts("qa")[1:] == ["🟢 해소 · 2월 13일(금) 야간 실행"]


def flow_run(parameters: dict[str, object], scheduled: DateTime | None = None) -> FlowRun:
    return FlowRun(flow_id=uuid4(), name="a run", parameters=parameters, expected_start_time=scheduled)


@pytest.mark.usefixtures("runs_without_steps")
@pytest.mark.parametrize(
    ("flow", "parameters", "name", "work"),
    [
        (
            nightly,
            {"day": "2026-03-12"},
            "nightly 2026-03-12",
            Unfinished("nightly", date(2026, 3, 12), date(2026, 3, 12), ""),
        ),
        (nightly, {}, "nightly 2026-03-13", Unfinished("nightly", date(2026, 3, 13), date(2026, 3, 13), "")),
        (
            nightly,
            {"kind": "intraday"},
            "intraday 2026-03-14",
            Unfinished("intraday", date(2026, 3, 14), date(2026, 3, 14), "intraday 2026-03-14"),
        ),
        (score_inbox, {}, "test runs", Unfinished("test-runs", None, None, "")),
        (
            backfill,
            {"first": "2026-03-01", "last": "2026-03-09"},
            "backfill 2026-03-01 to 2026-03-09",
            Unfinished("backfill", date(2026, 3, 1), date(2026, 3, 9), ""),
        ),
    ],
)
def test_failure_keeps_what_has_to_be_done_for_it_to_be_over_and_a_cancellation_nothing(
    settings: Settings, slack: FakeSlack, flow: Any, parameters: dict[str, object], name: str, work: Unfinished
) -> None:
    scheduled = DateTime(2026, 3, 13, 16, 0, tzinfo=UTC)  # one o'clock on the 14th in Seoul
    run = flow_run({"settings": settings, **parameters}, scheduled)
    notify_flow_end(flow, run, Cancelled(message="by hand"))
    with opened(Outbox, settings.state_url) as outbox:
        assert without_all_clear(outbox.known_keys("qa")) == {}
        notify_flow_end(flow, run, Failed(message="gone"))
        (left,) = without_all_clear(outbox.known_keys("qa"))
    assert replace(left, name="") == replace(work, name="")
    assert left.name.startswith(work.name or "1 ")
    cancelled, failed = (text.replace("～", "~") for text in slack.texts())
    assert f" · {name} 취소 " in cancelled and f" · {work.title} 실패 " in failed  # as its all-clear calls it


@pytest.mark.usefixtures("runs_without_steps")
def test_failure_that_is_repeated_is_reported_once_a_day_until_it_is_done(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reason: str, day: date = DAY) -> int:
        notify_flow_end(nightly, flow_run({"settings": settings, "day": str(day)}), Failed(message=reason))
        return len(slack.posted)

    assert [fail("no answer"), fail("no answer"), fail("no answer")] == [1, 1, 1]
    assert "같은 오류로 다시 실패해도" in slack.posted[0].shown
    assert fail("no space left") == 2  # another cause
    assert fail("no answer", DAY - timedelta(1)) == 3  # another day
    assert plain_flows.nightly(settings, DAY - timedelta(1)).problems == ()
    assert plain_flows.nightly(settings, DAY).problems == ()
    assert " ".join(slack.texts()[3:]).count("해소") == len(slack.posted) - 3
    assert fail("no answer") == len(slack.posted)
    assert "실패" in slack.texts()[-1]  # it was done in between
    two_days_later = now() + timedelta(days=2)
    monkeypatch.setattr("flows.steps.failure_hooks.now", lambda: two_days_later)
    count = len(slack.posted)
    assert fail("no answer") == count + 1


@pytest.mark.usefixtures("runs_without_steps")
def test_failure_of_two_hosts_at_the_same_moment_is_reported_once(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Outbox, "known_keys", lambda outbox, route: {})  # each read them before the other wrote
    for _ in range(2):
        notify_flow_end(nightly, flow_run({"settings": settings, "day": str(DAY)}), Failed(message="no answer"))
    assert len(slack.posted) == 1


@pytest.mark.usefixtures("runs_without_steps")
def test_failure_of_an_intraday_run_is_reported_once_a_day(settings: Settings, slack: FakeSlack) -> None:
    for hour in (16, 17, 18):  # in UTC: a new day begins in Seoul at 15
        scheduled = DateTime(2026, 3, 13, hour, 5, tzinfo=UTC)
        run = flow_run({"settings": settings, "kind": "intraday"}, scheduled)
        notify_flow_end(nightly, run, Failed(message="no answer"))
    assert len(slack.posted) == 1


@pytest.mark.usefixtures("runs_without_steps")
def test_failed_inbox_is_called_off_once_by_a_look_without_failures(settings: Settings, slack: FakeSlack) -> None:
    notify_flow_end(score_inbox, flow_run({"settings": settings}), Failed(message="a judge is away"))
    (inbox := Path(settings.warehouse).parent / "inbox").mkdir()
    write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row(**{"기대 필터": "보훈"})])
    settings = settings.model_copy(update={"test_runs": InboxSettings(inbox=str(inbox), quiet_s=0)})
    with FakeOpenAI(Behaviour(api_key="sk-another")) as server, pytest.raises(IncompleteInboxError):
        judge = JudgeSettings(enabled=True, base_url=server.url, api_key=SecretStr("sk-a-key"))
        plain_flows.score_inbox(settings.model_copy(update={"judge": judge}), DAY)
    assert not any("해소" in text for text in slack.texts())
    for _ in range(2):
        assert plain_flows.score_inbox(settings, DAY).problems == ()
    assert [text for text in slack.texts() if "해소" in text] == ["🟢 해소 · 테스트 결과 채점"]


def test_failed_flow_is_reported_once_although_prefect_keeps_no_password_of_the_state_database(
    settings: Settings, slack: FakeSlack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_url = f"sqlite:///file:{tmp_path / 'state.db'}?uri=true&password=hunter2"
    monkeypatch.setenv("AQB_STATE_URL", state_url)
    nowhere = {"state_url": state_url, "monitoring": MonitoringSettings(source="nowhere")}
    nightly(settings.model_copy(update=nowhere), DAY, return_state=True)
    assert len(slack.posted) == 1
    with opened(Outbox, state_url) as outbox:
        assert {key.partition("|")[0] for key in outbox.known_keys("qa")} == {"open"}


def test_flow_that_dies_of_its_settings_tells_the_default_webhook(
    slack: FakeSlack, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook("default"))
    (folder / "aqb.toml").write_text("warehous = 1\n")
    nightly(day=DAY, return_state=True)
    (failure,) = slack.posted
    assert "default" in failure.place
    assert "warehous" in failure.shown


def test_flow_that_dies_of_its_state_database_is_reported_without_it(
    settings: Settings, slack: FakeSlack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_site.task, "retry_delay_seconds", [0, 0])
    (tmp_path / "state.db").write_bytes(b"no database at all" * 100)
    nightly(settings, DAY, return_state=True)
    (failure,) = slack.posted
    assert "StorageError" in failure.shown
    assert f"Critical · {day_text(DAY)} 야간 실행 실패" in failure.shown, "as where it can be stored"


@pytest.mark.usefixtures("runs_without_steps")
def test_state_database_that_cannot_be_used_is_reported_once_a_day_and_not_each_hour(
    settings: Settings, slack: FakeSlack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_at(hour: int, kind: str = "intraday", error: type[AqbError] = StorageError, day: date = DAY) -> int:
        monkeypatch.setattr("flows.steps.failure_hooks.now", lambda: datetime(2026, 3, 2, tzinfo=UTC) + hour * HOUR)
        run = FlowRun(flow_id=uuid4(), parameters={"settings": settings, "day": str(day), "kind": kind})
        notify_flow_end(nightly, run, Failed(data=error(f"cannot write {uuid4()}")))
        return len(slack.posted)

    (tmp_path / "state.db").write_bytes(b"no database at all" * 100)
    assert [fails_at(hour) for hour in range(4)] == [1, 1, 1, 1]
    assert "해소" not in slack.posted[0].shown  # nothing remembers what would be over
    assert fails_at(3, "nightly") == 2
    assert fails_at(3, error=InputError) == 3
    assert [fails_at(hour) for hour in (23, 24, 25)] == [3, 4, 4]
    assert fails_at(26, "nightly", day=DAY + timedelta(days=1)) == 5  # the next night
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    assert [fails_at(hour) for hour in (26, 27)] == [6, 7]


def test_nights_that_fail_outside_of_a_flow_are_each_reported_without_the_state_database(
    settings: Settings, slack: FakeSlack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state.db").write_bytes(b"no database at all" * 100)
    for seconds in (0, 60, 86_395):  # twice in the first night, and a little earlier in the next
        instant = datetime(2026, 3, 2, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        monkeypatch.setattr("flows.steps.failure_hooks.now", lambda instant=instant: instant)
        notify_without_flow(StorageError("no space left"), settings)
    assert len(slack.posted) == 2


def test_flow_that_dies_of_a_wrong_database_address_is_reported_too(settings: Settings, slack: FakeSlack) -> None:
    nightly(settings.model_copy(update={"state_url": "nonsense://here"}), DAY, return_state=True)
    (failure,) = slack.posted
    assert "state_url" in failure.shown


@pytest.mark.long
def test_prefect_server_that_is_gone_is_reported_where_nobody_sits_at_a_terminal(
    installed_aqb: Command, folder: Path, slack: FakeSlack
) -> None:
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(0)])
    gone = {"PREFECT_API_URL": "http://127.0.0.1:1/api", "SLACK_WEBHOOK_URL": slack.webhook()}
    assert installed_aqb("nightly", "--date", str(DAY), **gone).exit_code == 1
    (failure,) = slack.posted
    assert "Prefect server cannot be reached" in failure.shown


@pytest.mark.long
def test_home_folder_that_prefect_cannot_have_is_reported_where_nobody_sits_at_a_terminal(
    installed_aqb: Command, folder: Path, slack: FakeSlack
) -> None:
    (folder / "full").touch()
    home = {"PREFECT_HOME": str(folder / "full" / "prefect"), "SLACK_WEBHOOK_URL": slack.webhook()}
    for _ in range(2):
        assert installed_aqb("nightly", "--date", str(DAY), **home).exit_code == 1
    (failure,) = slack.posted
    assert "Prefect's home folder cannot be used" in failure.shown


def test_wrong_file_of_settings_is_reported_once_a_day(
    slack: FakeSlack, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook())
    for _ in range(2):
        notify_without_flow(UsageError("settings are wrong: warehous"))
    (failure,) = slack.posted
    assert "settings are wrong: warehous" in failure.shown
