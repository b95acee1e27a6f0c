"""From a scored day to Slack: who is notified of what, once; what happens when Slack or the settings are broken."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from pydantic import SecretStr

from flows.nightly import NightlyOutcome, nightly
from flows.steps.alerts import announce_days, preview_messages
from flows.steps.announce import announce
from flows.steps.day import score_day
from scoring.alerting.day_messages import day_messages
from scoring.alerting.messages import RouteFilter
from scoring.alerting.run_messages import quiet_message
from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.alerts.day_messages import digest_of
from tasks.alerts.outbox import Outbox
from tasks.chat.tables import write_alerts
from tasks.config.alerts import AlertsSettings, Destination, Route
from tasks.config.settings import Settings
from tasks.config.testruns import InboxSettings
from tasks.state.run_ledger import NIGHTLY, RunLedger
from tasks.warehouse import open_warehouse
from tests.builders import flows as plain_flows
from tests.builders.chat_rows import DAY, REFUSAL, RUBRIC, best, plain, refused, write_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.settings import settings_in
from tests.builders.state import in_context, opened
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv
from tests.builders.web import browser, opened_page
from tests.fakes.slack_server import CHANNEL, TOKEN, FakeSlack
from tests.flows.conftest import BOT, QA, Command, alerts_to
from tests.flows.prefect_server import ended_task_runs

NEXT_DAY = DAY + timedelta(days=1)


@pytest.fixture
def settings(tmp_path: Path, slack: FakeSlack) -> Settings:
    """A source with a day of refusals and one without rows after it, and a route that hears everything."""
    rows = [best(0), refused(1, user_input="010-1234-5678 로 전화 주세요"), plain(2, llm_response=None), plain(3)]
    write_rows(tmp_path / "source" / "a.jsonl", rows)
    return settings_in(
        tmp_path,
        test_runs=InboxSettings(inbox=str(tmp_path / "inbox"), quiet_s=0),
        alerts=alerts_to(slack),
    )


def with_routes(settings: Settings, *routes: Route, **alerts: Any) -> Settings:
    changed = settings.alerts.model_copy(update={"route": routes, **alerts})
    return settings.model_copy(update={"alerts": changed})


def run(settings: Settings, day: date = DAY, kind: Literal["nightly", "intraday"] = "nightly") -> NightlyOutcome:
    return plain_flows.nightly(settings, day, kind)


def unreported(settings: Settings) -> list[date]:
    """The days that nightly runs have scored without telling anybody: `aqb watch` calls for help about them."""
    with opened(RunLedger, settings.state_url) as ledger:
        return [one.score_date for one in ledger.unreported(NIGHTLY, DAY)]


def test_day_is_reported_once_and_reruns_are_silent(settings: Settings, slack: FakeSlack) -> None:
    assert run(settings).problems == ()
    (digest,) = slack.posted
    assert "2월 13일" in digest.text
    assert "답변 실패" in digest.shown
    run(settings)
    assert len(slack.posted) == 1
    assert slack.refused == []


def test_day_whose_run_died_before_it_notified_anybody_is_reported_by_the_next_night(
    settings: Settings, slack: FakeSlack
) -> None:
    in_context(score_day, settings, DAY, "nightly")
    assert slack.posted == []
    assert unreported(settings) == [DAY]
    run(settings, NEXT_DAY)
    assert unreported(settings) == []
    reported = [message.text for message in slack.posted]
    assert "2월 13일" in reported[0]
    run(settings, NEXT_DAY)
    assert [message.text for message in slack.posted] == reported


def test_nothing_personal_leaves_the_machine(settings: Settings, slack: FakeSlack) -> None:
    run(settings)
    shown = slack.posted[0].shown
    assert "[전화번호] 로 전화 주세요" in shown
    assert REFUSAL in shown
    assert [part for part in ("010-", "-1234", "-5678") if part in shown] == []


def test_slack_that_is_down_fails_no_run_and_hears_everything_from_the_next(
    settings: Settings, slack: FakeSlack
) -> None:
    slack.down = "slow_rate_limit"
    outcome = run(settings)
    assert outcome.problems == ("alerts: route qa: HTTP 429; 1 message for the next run",)
    slack.down = None
    run(settings, NEXT_DAY)
    assert [text.partition(" ")[0] for text in slack.texts()] == ["🔴", "🔴"]
    assert "행이 하나도 없음" in slack.texts()[1]


def test_backfills_send_nothing_unless_asked(settings: Settings, slack: FakeSlack) -> None:
    plain_flows.backfill(DAY, DAY, settings=settings)
    assert slack.posted == []
    plain_flows.backfill(DAY, DAY, force=True, alerts=True, settings=settings)
    assert len(slack.posted) == 1


def test_intraday_run_tells_no_digest(settings: Settings, slack: FakeSlack) -> None:
    run(settings, kind="intraday")
    assert slack.posted == []


def test_test_run_with_flagged_queries_is_reported_with_its_review_list(settings: Settings, slack: FakeSlack) -> None:
    inbox = Path(settings.test_runs.inbox)
    inbox.mkdir()
    write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row(**{"기대 필터": "없는 필터"})])
    web = settings.web.model_copy(update={"url": "https://aqb.example.com"})
    plain_flows.score_inbox(settings.model_copy(update={"web": web}), DAY)
    (review,) = slack.posted
    assert "수기 확인할 질의 1개" in review.text
    assert "review.csv" in review.shown
    with browser(settings) as client:
        (place,) = re.findall('"https://aqb.example.com(/test-runs/[^"]+)"', review.shown)
        assert opened_page(client, place).title == "resume_agent_1.csv · AQB"
    plain_flows.score_inbox(settings, DAY)
    assert len(slack.posted) == 1


def test_test_run_of_which_nobody_was_notified_is_reported_by_the_next_look_into_the_inbox(
    settings: Settings, slack: FakeSlack
) -> None:
    inbox = Path(settings.test_runs.inbox)
    inbox.mkdir()
    write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row(**{"기대 필터": "없는 필터"})])
    plain_flows.score_inbox(settings.model_copy(update={"alerts": AlertsSettings()}), DAY)
    assert slack.posted == []
    plain_flows.score_inbox(settings, NEXT_DAY)
    assert ["수기 확인할 질의 1개" in review.text for review in slack.posted] == [True]


@pytest.mark.usefixtures("prefect_server")
def test_prefect_keeps_neither_webhook_nor_token(settings: Settings, slack: FakeSlack) -> None:
    routed = with_routes(
        settings,
        Route(name="qa", webhook_env=QA),
        Route(name="bot", bot_token_env=BOT, channel=CHANNEL),
    )
    slack.down = "no_such_webhook"
    state: State[Any] = nightly(routed, DAY, return_state=True)
    assert state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        kept = str(client.read_flow_run(state.state_details.flow_run_id)) + str(state)
    assert QA in kept
    assert "secret-of" not in kept
    assert TOKEN not in kept


@pytest.mark.usefixtures("prefect_server", "slack")
def test_prefect_shows_the_days_that_people_are_notified_of(settings: Settings) -> None:
    in_context(score_day, settings, DAY, "nightly")
    state: State[Any] = nightly(settings, NEXT_DAY, return_state=True)
    assert state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        names = [task.name for task in ended_task_runs(client, state.state_details.flow_run_id, 6)]
    assert [name for name in names if name.startswith("tell")] == [f"tell {DAY} to {NEXT_DAY}"]


@pytest.mark.usefixtures("prefect_server")
def test_prefect_secret_block_may_hold_the_webhook(settings: Settings, slack: FakeSlack) -> None:
    Secret(value=SecretStr(slack.webhook("block"))).save("slack-webhook-qa", overwrite=True)
    blocks = with_routes(
        settings,
        Route(name="qa", webhook_secret_block="slack-webhook-qa"),
        Route(name="other", webhook_secret_block="not-there"),
    )
    assert run(blocks).problems == (
        "alerts: route other: Prefect Secret block not-there holds no address of a webhook; 1 message for the next run",
    )
    (digest,) = slack.posted
    assert "block" in digest.place


def scored(settings: Settings, *days: date) -> None:
    """Scores days without telling anybody."""
    warehouse = open_warehouse(settings.warehouse)
    for day in days:
        outcome, _ = write_scored_day(warehouse, day, settings.monitoring.source)
        write_alerts(warehouse, day, RUBRIC, outcome.counts.rejected)


def test_every_subscriber_hears_what_it_asked_for_and_the_default_the_rest(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(settings, DAY)
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook("default"))
    monkeypatch.setenv("SLACK_WEBHOOK_OPS", slack.webhook("ops"))
    routed = with_routes(
        settings,
        Route(name="qa", webhook_env=QA, levels=("critical",)),
        Route(name="ops", webhook_env="SLACK_WEBHOOK_OPS", levels=("critical",), mention="<!subteam^S1>"),
        Route(name="other", bot_token_env=BOT, channel=CHANNEL, rubrics=("plan-agent",)),
    )
    in_context(announce_days, routed, [DAY])
    assert [one.place.rpartition("-")[2] for one in slack.posted] == ["qa", "ops", "default"]
    critical, same, rest = (one.shown for one in slack.posted)
    assert "답변 실패" in critical
    assert "실패율 목표" not in critical
    assert same == critical  # a digest, which calls nobody
    assert "새로 볼 것" in rest
    assert "실패율 목표" not in rest  # two rows decide nothing


def test_quiet_hours_hold_warnings_and_let_critical_pass(settings: Settings, slack: FakeSlack) -> None:
    scored(settings, DAY)
    now = datetime.now(UTC)
    hours = f"{now - timedelta(hours=2):%H:00}-{now + timedelta(hours=2):%H:00}"
    quiet = with_routes(
        settings.model_copy(update={"time_zone": "UTC"}),
        Route(name="warnings", webhook_env=QA, levels=("warning",), quiet_hours=hours),
        Route(name="all", webhook_env=QA, levels=("critical",), quiet_hours=hours),
    )
    reported = in_context(announce_days, quiet, [DAY])
    assert (len(reported.sent), reported.waiting, reported.problems) == (1, 1, ())
    loud = with_routes(quiet, *(one.model_copy(update={"quiet_hours": ""}) for one in quiet.alerts.route))
    assert len(in_context(announce, loud, []).sent) == 1


def test_messages_of_a_day_stand_in_one_thread_of_a_bot(settings: Settings, slack: FakeSlack) -> None:
    scored(settings, DAY, NEXT_DAY)
    bot = with_routes(settings, Route(name="bot", bot_token_env=BOT, channel=CHANNEL, levels=("critical",)))
    in_context(announce_days, bot, [DAY, NEXT_DAY])
    first, next_day = slack.posted
    assert (first.thread_ts, next_day.thread_ts) == (None, None)
    more = with_routes(bot, bot.alerts.route[0].model_copy(update={"levels": ()}))
    in_context(announce_days, more, [DAY])
    assert slack.posted[2].thread_ts == first.ts


def test_dry_run_writes_and_sends_nothing(settings: Settings, slack: FakeSlack) -> None:
    dry = with_routes(settings, *settings.alerts.route, dry_run=True)
    scored(settings, DAY)
    assert in_context(announce_days, dry, [DAY]).sent == ()
    assert slack.posted == []
    assert len(in_context(announce_days, settings, [DAY]).sent) == 1


def test_dead_letters_are_reported_once(settings: Settings, slack: FakeSlack) -> None:
    with opened(Outbox, settings.state_url) as outbox:
        outbox.put("qa", "", quiet_message(DAY, DAY, 1, 1), datetime.now(UTC) - timedelta(days=3))
    assert "given up: it was never tried" in in_context(announce, settings, []).problems[0]
    assert len(slack.posted) == 1
    assert "까닭: 앞선 알림이 막혀 보내지 못함" in slack.posted[0].shown
    assert "포기한 알림 1건" in slack.texts()[0]
    assert in_context(announce, settings, []).sent == ()


def test_dead_letter_notice_that_is_refused_is_a_problem_of_the_run(settings: Settings, slack: FakeSlack) -> None:
    with opened(Outbox, settings.state_url) as outbox:
        outbox.put("qa", "", quiet_message(DAY, DAY, 1, 1), datetime.now(UTC) - timedelta(days=3))
    slack.faults.append("invalid_payload")
    told = "alerts: route qa: Slack refused a message for good"
    assert told in in_context(announce, settings, []).problems


def test_route_without_its_secret_keeps_messages_and_is_named(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(QA, "not-an-address-but-secret")
    reported = in_context(announce, settings, [("", lambda route, known: quiet_message(DAY, DAY, 1, 1))])
    assert reported.waiting == 1
    assert reported.problems == (
        f"alerts: route qa: environment variable {QA} holds no address of a webhook; 1 message for the next run",
    )
    monkeypatch.setenv(QA, slack.webhook())
    assert len(in_context(announce, settings, []).sent) == 1


def test_quiet_week_is_reported_on_its_sunday_once(settings: Settings, slack: FakeSlack) -> None:
    sunday = date(2026, 2, 15)
    scored(settings, DAY)
    with opened(Outbox, settings.state_url) as outbox:  # the day's facts were reported long ago
        long_ago = datetime(2026, 1, 1, tzinfo=UTC)
        outbox.put("qa", "", day_messages(in_context(digest_of, settings, DAY), RouteFilter()), long_ago)
        for message in outbox.waiting():
            outbox.record(message, Delivery(DeliveryStatus.SENT), long_ago)
    write_rows(Path(settings.monitoring.source) / "b.jsonl", [refused(2 * 24 * 60), best(2 * 24 * 60)])
    scored(settings, sunday - timedelta(days=1), sunday)  # Saturday has no rows
    weekly = with_routes(settings, *settings.alerts.route, all_quiet_weekly=True, weekly=False)
    previewed = in_context(preview_messages, weekly, [sunday])
    in_context(announce_days, weekly, [sunday])
    assert [message.kind for message, _ in previewed] == ["quiet"]
    in_context(announce_days, weekly, [sunday])
    assert in_context(preview_messages, weekly, [sunday]) == []
    assert [("새로 알릴 일 없음" in text) for text in slack.texts()] == [True]
    assert "채점한 날 2일, 행 6건." in slack.posted[0].shown


@pytest.mark.usefixtures("site_is_built")
def test_row_ids_of_a_message_lead_to_places_that_the_page_of_the_day_has(settings: Settings, slack: FakeSlack) -> None:
    served = with_routes(settings, *settings.alerts.route, reports_url="https://aqb.example.com/r")
    run(served)
    (digest,) = slack.posted
    links = re.findall(
        r'"url": "https://aqb.example.com/r/monitoring/2026-02-13.html#(row-[0-9a-f]{32})"', digest.shown
    )
    page = (Path(settings.reports) / "monitoring" / "2026-02-13.html").read_text("utf-8")
    assert links
    assert all(f'id="{place}"' in page for place in links)


@pytest.mark.usefixtures("site_is_built")
def test_week_is_reported_once_by_the_run_of_its_sunday(settings: Settings, slack: FakeSlack) -> None:
    sunday = date(2026, 2, 15)
    write_rows(Path(settings.monitoring.source) / "b.jsonl", [best(2 * 24 * 60 + minute) for minute in range(40)])
    scored(settings, DAY)
    for _ in range(2):
        run(settings, sunday)
    (week,) = (one for one in slack.posted if "주간 요약" in one.text)
    assert "2월 15일(일) 주간 요약" in week.text
    assert "채점 43건(2일), 앞 주는 없음" in week.shown
    page = Path(settings.reports) / "monitoring" / "week-2026-02-09.html"
    assert page.exists()
    assert str(page) in week.shown  # where the reports are served its address
    in_context(
        announce_days,
        with_routes(settings, settings.alerts.route[0].model_copy(update={"name": "new"}), weekly=False),
        [sunday],
    )
    assert sum("주간 요약" in text for text in slack.texts()) == 1


def test_command_shows_exactly_what_it_then_sends(
    aqb: Command, folder: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(0), refused(1)])
    aqb("nightly", "--date", DAY)
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook())
    shown = json.loads(aqb("alerts", "--date", DAY, "--dry-run", "--json").out)
    assert slack.posted == []
    readable = aqb("alerts", "--date", DAY, "--dry-run").out
    assert "route default: digest, critical" in readable
    assert "답변 실패" in readable
    assert "payload" not in readable
    assert '"type"' not in readable
    slack.down = "slow_rate_limit"
    down = aqb("alerts", "--date", DAY)
    assert (down.exit_code, "HTTP 429" in down.err) == (1, True)
    assert "messages: 1 waiting, 0 given up" in aqb("alerts", "--pending").out
    slack.down = None
    assert "1 message sent, 0 waiting" in aqb("alerts").out
    assert [{"text": one.text, "blocks": one.blocks} for one in slack.posted] == [shown[0]["payload"]]
    assert "nothing new" in aqb("alerts", "--date", DAY, "--dry-run").out
    previewed = aqb("alerts", "--preview", "30d").out
    assert "메시지 1건(요약 1건)" in previewed
    assert "주간 요약은 빼고" in previewed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dry-run"], "needs a day"),
        (["--preview", "month"], "no number of days"),
        (["--pending", "--preview", "3d"], "exclude"),
        (["--date", "2026-02-13"], "has not been scored"),
        (["--preview", "3d"], "no day has been scored"),
    ],
)
def test_wrong_uses_say_what_is_wrong(aqb: Command, slack: FakeSlack, arguments: list[str], said: str) -> None:
    finished = aqb("alerts", *arguments)
    assert finished.exit_code in (1, 2)
    assert said in finished.err


def test_settings_that_hold_a_secret_are_refused_without_repeating_it() -> None:
    with pytest.raises(ValueError, match="name of an environment variable") as refused_setting:
        Destination(webhook_env="https://hooks.example/secret")
    assert all("hooks" not in error["msg"] for error in refused_setting.value.errors())  # type: ignore[attr-defined]
