"""The watch over the nights: each late night is reported once to each route, and once that it is over."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from flows.steps.status import status_of
from flows.steps.watch import WatchReport, watch_services
from scoring.alerting.all_clear import Unfinished
from scoring.alerting.messages import Message
from scoring.days import day_text
from tasks.alerts.delivery import Clock
from tasks.alerts.outbox import Outbox
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.state.leases import Leases
from tasks.state.run_ledger import RunLedger
from tests.builders.nights import at, night
from tests.fakes.slack_server import CHANNEL, FakeSlack
from tests.flows.conftest import BOT, QA, Command

DAY = date(2026, 3, 13)
DIED = f"🔴 Critical · {day_text(DAY)} 야간 실행 비정상 종료 · ProcessGone"
MORNING = DAY + timedelta(days=1)
ROUTES = (
    Route(name="qa", webhook_env=QA, levels=("critical",), quiet_hours="06:00-07:30"),
    Route(name="bot", bot_token_env=BOT, channel=CHANNEL, mention="<!here>"),
    Route(name="later", webhook_env=QA, levels=("warning",)),
)


@pytest.fixture
def context(tmp_path: Path, slack: FakeSlack) -> Iterator[Context]:
    alerts = AlertsSettings(route=ROUTES, api_url=slack.api_url)
    with Context(Settings(state_url=f"sqlite:///{tmp_path / 'state.db'}", alerts=alerts)) as opened:
        RunLedger(opened.state).save(night(DAY - timedelta(days=1)))
        yield opened


def look(context: Context, now: datetime) -> WatchReport:
    (report,) = watch_services(context, Clock(lambda: now, sleep=lambda seconds: None))
    return report


def test_late_night_is_reported_once_a_route_that_hears_critical_and_called_off_once(
    context: Context, slack: FakeSlack
) -> None:
    assert look(context, at(MORNING, "06:55")).late is None
    for minute in ("07:00", "07:10", "07:20"):
        report = look(context, at(MORNING, minute))
        assert report.late
        assert report.delivery.problems == ()
    assert slack.texts() == ["🔴 Critical · 3월 14일(토) 07:00까지 끝난 야간 실행이 없음"] * 2
    assert '"range": "here"' in slack.posted[1].shown
    assert '"aqb nightly"' in slack.posted[0].shown  # which does the nights before it that are missing, too
    RunLedger(context.state).save(night(DAY, start="09:00"))
    for minute in ("09:10", "09:20"):
        assert look(context, at(MORNING, minute)).late is None
    assert slack.texts()[2:] == ["🟢 해소 · 3월 13일(금) 야간 실행 지연"] * 2
    assert '"range"' not in slack.posted[3].shown
    assert slack.refused == []


def test_watch_takes_no_day_for_done_that_a_clock_ahead_has_scored(context: Context, slack: FakeSlack) -> None:
    RunLedger(context.state).save(night(DAY))
    assert look(context, at(DAY, "12:00")).late is None
    assert look(context, at(MORNING, "07:00")).late
    assert len(slack.texts()) == 2


def test_late_night_is_reported_once_although_slack_is_down_at_first(context: Context, slack: FakeSlack) -> None:
    slack.down = "slow_rate_limit"
    assert "for the next run" in look(context, at(MORNING, "07:00")).delivery.problems[0]
    slack.down = None
    look(context, at(MORNING, "07:10"))
    look(context, at(MORNING, "07:20"))
    assert len(slack.posted) == 2


def test_watch_tells_without_prefect_and_leaves_its_secrets_to_runs(context: Context, slack: FakeSlack) -> None:
    kept = Route(name="block", webhook_secret_block="slack-webhook-qa")
    settings = context.settings.model_copy(
        update={"alerts": AlertsSettings(route=(*ROUTES[:1], kept), api_url=slack.api_url)}
    )
    with Context(settings) as with_block:
        report = look(with_block, at(MORNING, "07:00"))
    assert len(slack.posted) == 1
    assert report.delivery.problems == (
        "alerts: route block: Prefect Secret block slack-webhook-qa is read by runs alone; 1 message for the next run",
    )


def test_run_whose_process_is_gone_is_reported_once_and_called_off_when_its_day_is_done(
    context: Context, slack: FakeSlack
) -> None:
    ledger = RunLedger(context.state)
    ledger.save(night(DAY, "running"))
    with Leases(context.state).held(night(DAY).run_id):
        assert look(context, at(MORNING, "01:02")).dead == ()
    for minute in ("01:04", "01:06"):
        (left,) = look(context, at(MORNING, minute)).dead
        assert (left.work, left.first) == ("nightly", DAY)
    assert slack.texts() == [DIED] * 2  # to each of the two routes
    assert f"aqb nightly --date {DAY}" in slack.posted[0].shown
    ledger.save(night(DAY, start="01:30"))
    assert look(context, at(MORNING, "01:40")).dead == ()
    assert slack.texts()[2:] == ["🟢 해소 · 3월 13일(금) 야간 실행"] * 2


def test_night_that_died_between_scoring_and_telling_is_reported_and_called_off_when_a_run_has_reported(
    context: Context, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = RunLedger(context.state)
    scored = replace(night(DAY), rows_in=535, finished_at=at(MORNING, "01:10"))
    ledger.save(scored)
    assert look(context, at(MORNING, "01:30")).dead == ()  # it may still be telling
    with Leases(context.state).held("another"):
        catching_up = replace(night(DAY - timedelta(days=1), "running"), run_id="another")
        ledger.save(replace(catching_up, started_at=at(MORNING, "01:40")))
        assert look(context, at(MORNING, "01:45")).dead == ()  # it catches up, and tells at its end
    ledger.save(replace(night(DAY - timedelta(days=1)), run_id="another"))
    (left,) = look(context, at(MORNING, "01:45")).dead
    assert (left.work, left.first) == ("nightly", DAY)
    assert slack.texts() == [DIED] * 2
    assert "채점한 뒤 알리기 전에 프로세스가 소식 없이 사라졌습니다." in slack.posted[0].shown
    monkeypatch.setattr("flows.steps.status.now", lambda: at(MORNING, "01:50"))
    assert (
        f"nights: {left.title} has notified nobody; `aqb nightly --date {DAY}` does"
        in status_of(context.settings).problems
    )
    again = replace(night(DAY, start="02:00"), run_id="again", rows_in=535)
    ledger.save(again)
    ledger.mark_reported([scored.run_id, again.run_id], at(MORNING, "02:01"))
    assert look(context, at(MORNING, "03:00")).dead == ()
    assert slack.texts()[2:] == ["🟢 해소 · 3월 13일(금) 야간 실행"] * 2


def test_night_without_a_route_owes_nobody_anything(tmp_path: Path) -> None:
    with Context(Settings(state_url=f"sqlite:///{tmp_path / 'state.db'}")) as context:
        RunLedger(context.state).save(replace(night(DAY), rows_in=535, finished_at=at(MORNING, "01:10")))
        assert look(context, at(MORNING, "07:00")).dead == ()


def test_run_whose_death_its_flow_has_reported_is_not_reported_again(context: Context, slack: FakeSlack) -> None:
    RunLedger(context.state).save(night(DAY, "running"))
    reported = Unfinished("nightly", DAY, DAY, "flow-run")
    for route in ROUTES:
        message = Message("failure", "critical", (reported.key,), "reported", [])
        Outbox(context.state).put(route.name, "", [message], at(MORNING, "01:01"))
    look(context, at(MORNING, "01:04"))
    assert "비정상 종료" not in " ".join(slack.texts())


@pytest.mark.long
def test_watch_status_and_a_finished_night_never_import_prefect() -> None:
    modules = (
        "flows.cli.app, flows.cli.finished_night, flows.steps.nothing_to_do, flows.steps.status, flows.steps.watch"
    )
    program = f"import {modules}, sys; sys.exit('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_watch_ends_with_1_while_the_night_is_late_and_with_0_when_it_is_done(
    aqb: Command, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = aqb("watch")
    assert (late.exit_code, late.out) == (1, "late\n")
    assert re.search(r"it had no run; `aqb nightly --date \d{4}-\d\d-\d\d` does it", late.err)
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook())
    assert "sent: 🔴 Critical" in aqb("watch").out
    Path("data").mkdir(exist_ok=True)
    with Context(Settings()) as context:
        for days in (0, 1, 2):  # whatever the hour is
            RunLedger(context.state).save(night(date.today() - timedelta(days=days)))
    done = aqb("watch")
    assert (done.exit_code, done.err) == (0, "")
    assert "the last night is done" in done.out
    assert [text.split(" ")[0] for text in slack.texts()] == ["🔴", "🟢"]
