"""Delivery against a Slack that refuses, stumbles, hangs and is away: nothing lost, nothing twice without saying so."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from scoring.alerting.messages import NEVER_TRIED, OutboxMessage
from tasks.alerts.channel import Channel
from tasks.alerts.channels.slack import SlackBot, SlackWebhook
from tasks.alerts.delivery import Deliveries, deliver
from tasks.alerts.outbox import Outbox
from tests.builders.state import set_message_leases
from tests.fakes.slack_server import CHANNEL, TOKEN, FakeSlack, Fault
from tests.tasks.alerts.conftest import IMPATIENT_S, NIGHT, PATIENT_S, Hands, message

Send = Callable[..., Deliveries]
REPEATED = "다시 보냄"


@pytest.fixture
def channels(slack: FakeSlack) -> dict[str, Channel]:
    return {"qa": SlackWebhook(slack.webhook()), "bot": SlackBot(TOKEN, CHANNEL, slack.api_url)}


@pytest.fixture
def send(outbox: Outbox, channels: dict[str, Channel], hands: Hands) -> Send:
    """One delivery, holding nothing back unless told."""

    def run(held: Callable[[OutboxMessage], bool] = lambda message: False, limit_s: float = PATIENT_S) -> Deliveries:
        limited = {}
        for route, channel in channels.items():
            assert isinstance(channel, SlackWebhook | SlackBot)
            post = replace(channel.post, timeout_s=limit_s, sleep=lambda seconds: None)
            limited[route] = replace(channel, post=post)
        return deliver(outbox, limited, held, hands.clock)

    return run


def limit_s(fault: Fault) -> float:
    return IMPATIENT_S if fault.startswith("hang") else PATIENT_S


def put(outbox: Outbox, *keys: str, route: str = "qa", thread: str = "") -> None:
    outbox.put(route, thread, [message(key) for key in keys], NIGHT)


def test_message_arrives_once_and_later_deliveries_send_nothing(outbox: Outbox, slack: FakeSlack, send: Send) -> None:
    put(outbox, "a")
    assert [one.kind for one in send().sent] == ["digest"]
    assert send().sent == []
    assert slack.texts() == ["소식 a"]
    assert outbox.waiting() == []


def test_webhook_whose_address_is_a_secret_is_in_no_log(
    outbox: Outbox, slack: FakeSlack, send: Send, caplog: pytest.LogCaptureFixture
) -> None:
    put(outbox, "a")
    with caplog.at_level(logging.INFO):
        send()
    assert slack.texts() == ["소식 a"]
    assert urlsplit(slack.webhook()).path not in caplog.text


def test_messages_to_one_webhook_are_a_second_apart_and_other_places_do_not_wait(
    outbox: Outbox, slack: FakeSlack, channels: dict[str, Channel], send: Send, hands: Hands
) -> None:
    channels["same"] = SlackWebhook(slack.webhook())
    channels["other"] = SlackWebhook(slack.webhook("other"))
    put(outbox, "a", "b")
    put(outbox, "c", route="same")
    put(outbox, "d", route="other")
    send()
    assert slack.texts() == ["소식 a", "소식 b", "소식 c", "소식 d"]
    assert hands.slept == [1.0, 1.0]


@pytest.mark.parametrize("fault", ["rate_limited", "server_error"])
@pytest.mark.parametrize("route", ["qa", "bot"])
def test_moment_of_trouble_is_waited_out(
    outbox: Outbox, slack: FakeSlack, send: Send, route: str, fault: Fault
) -> None:
    slack.faults += [fault, fault]
    put(outbox, "a", route=route)
    assert len(send().sent) == 1
    assert slack.texts() == ["소식 a"]
    assert REPEATED not in slack.posted[0].shown
    assert len(slack.requests) == 3


@pytest.mark.parametrize("fault", ["rate_limited", "slow_rate_limit", "server_error", "hang", "drop"])
@pytest.mark.parametrize("route", ["qa", "bot"])
def test_slack_that_is_down_for_a_day_gets_everything_the_day_after(
    outbox: Outbox, slack: FakeSlack, send: Send, hands: Hands, route: str, fault: Fault
) -> None:
    put(outbox, "a", "b", route=route)
    slack.down = fault
    stopped = send(limit_s=limit_s(fault)).stopped
    assert list(stopped) == [route]
    assert [one.attempts for one in outbox.waiting()] == [1, 0]  # the second would have fared no better
    slack.down = None
    hands.pass_(days=1)
    send()
    assert slack.texts() == ["소식 a", "소식 b"]


def test_connection_that_is_refused_waits_for_the_next_run(
    outbox: Outbox, slack: FakeSlack, channels: dict[str, Channel], send: Send
) -> None:
    there = channels["qa"]
    assert isinstance(there, SlackWebhook)
    channels["qa"] = replace(there, address="http://127.0.0.1:9/services/T/B/secret")
    put(outbox, "a")
    assert send().stopped == {"qa": "Slack cannot be reached: Connection refused"}
    channels["qa"] = there
    send()
    assert slack.texts() == ["소식 a"]
    assert REPEATED not in slack.posted[0].shown


def test_wait_of_an_hour_is_left_to_the_next_run(outbox: Outbox, slack: FakeSlack, send: Send) -> None:
    slack.faults.append("slow_rate_limit")
    put(outbox, "a")
    assert send().stopped == {"qa": "HTTP 429"}
    assert len(slack.requests) == 1


@pytest.mark.parametrize("fault", ["hang_after_posting", "drop_after_posting"])
def test_webhook_message_that_may_have_arrived_says_so_when_it_comes_again(
    outbox: Outbox, slack: FakeSlack, send: Send, fault: Fault
) -> None:
    slack.faults.append(fault)
    put(outbox, "a")
    assert "may have arrived" in send(limit_s=limit_s(fault)).stopped["qa"]
    send()
    assert [REPEATED in one.shown for one in slack.posted] == [False, True]
    assert slack.refused == []
    assert send().sent == []


@pytest.mark.parametrize("thread", ["", "2026-02-13"])
@pytest.mark.parametrize("fault", ["hang_after_posting", "drop_after_posting"])
def test_bot_looks_whether_a_message_has_arrived_before_it_posts_it_again(
    outbox: Outbox, slack: FakeSlack, send: Send, hands: Hands, thread: str, fault: Fault
) -> None:
    put(outbox, "first", route="bot", thread=thread)
    send()
    slack.faults.append(fault)
    put(outbox, "a", route="bot", thread=thread)
    assert list(send(limit_s=limit_s(fault)).stopped) == ["bot"]
    for number in range(5):  # what others have written meanwhile fills the first pages
        slack.posted.append(type(slack.posted[0])(CHANNEL, f"{number}", [], f"{4_100_000_000 + number}.0", None))
    hands.pass_(days=1)
    assert [one.ts for one in send().sent] == [None]
    assert slack.texts().count("소식 a") == 1
    assert outbox.waiting() == []


def test_bot_that_may_not_look_marks_what_it_posts_again(outbox: Outbox, slack: FakeSlack, send: Send) -> None:
    slack.faults += ["drop_after_posting", "may_not_look"]
    put(outbox, "a", route="bot")
    send()
    send()
    assert [REPEATED in one.shown for one in slack.posted] == [False, True]


def test_bot_posts_what_did_not_arrive_without_a_mark(outbox: Outbox, slack: FakeSlack, send: Send) -> None:
    slack.faults.append("drop")
    put(outbox, "a", route="bot")
    send()
    send()
    assert [REPEATED in one.shown for one in slack.posted] == [False]


@pytest.mark.parametrize("route", ["qa", "bot"])
def test_invalid_payload_is_kept_aside_and_does_not_stop_the_others(
    outbox: Outbox, slack: FakeSlack, send: Send, route: str
) -> None:
    slack.faults.append("invalid_payload")
    put(outbox, "a", "b", route=route)
    delivered = send()
    assert [one.text for one in delivered.refused] == ["소식 a"]
    assert slack.texts() == ["소식 b"]
    assert [one.last_error for one in outbox.given_up()] == ["invalid_payload" if route == "qa" else "invalid_blocks"]
    assert send().sent == []


@pytest.mark.parametrize(
    ("route", "fault", "said"),
    [
        (
            "qa",
            "no_such_webhook",
            "HTTP 404 no_service: Slack knows no webhook at this address; make a new one and set it",
        ),
        ("qa", "archived", "HTTP 410 channel_is_archived"),
        ("bot", "not_in_channel", "not_in_channel"),
    ],
)
def test_what_a_person_can_fix_is_named_and_tried_again(
    outbox: Outbox, slack: FakeSlack, send: Send, route: str, fault: Fault, said: str
) -> None:
    slack.faults.append(fault)
    put(outbox, "a", route=route)
    assert send().stopped == {route: said}
    send()
    assert slack.texts() == ["소식 a"]


def test_after_three_days_a_message_is_a_dead_letter_until_somebody_revives_it(
    outbox: Outbox, slack: FakeSlack, send: Send, hands: Hands
) -> None:
    slack.down = "server_error"
    put(outbox, "a")
    send()
    hands.pass_(days=3, seconds=-1)
    send()
    assert outbox.given_up() == []
    hands.pass_(seconds=1)
    slack.down = None
    assert send().sent == []
    assert [(one.text, one.last_error) for one in outbox.given_up()] == [("소식 a", "HTTP 500 server_error")]
    put(outbox, "a")
    assert outbox.waiting() == []  # a rerun does not bring it back
    assert outbox.requeue(hands.now) == 1
    send()
    assert slack.texts() == ["소식 a"]


def test_dead_letter_that_retention_has_emptied_is_not_revived(
    outbox: Outbox, slack: FakeSlack, send: Send, hands: Hands
) -> None:
    slack.down = "server_error"
    put(outbox, "a")
    hands.pass_(days=3)
    send()
    assert outbox.forget_before(hands.now, dry_run=False) == 1
    slack.down = None
    assert outbox.requeue(hands.now) == 0
    assert (send().refused, slack.texts()) == ([], [])


def test_message_that_a_run_is_sending_is_no_dead_letter(outbox: Outbox, hands: Hands) -> None:
    put(outbox, "a")
    hands.pass_(days=3)
    (message,) = outbox.waiting()
    assert outbox.claim(message)
    assert outbox.expire(hands.now) == []
    assert outbox.given_up() == []


def test_message_that_expires_untried_says_so(outbox: Outbox, hands: Hands) -> None:
    put(outbox, "a")
    hands.pass_(days=3)
    outbox.expire(hands.now)
    assert [one.last_error for one in outbox.given_up()] == [NEVER_TRIED]
    assert [len(outbox.given_up(since=hands.now - timedelta(days=days))) for days in (1, 0)] == [1, 0]


def test_webhook_that_answers_as_slack_never_does_says_where_to_look(
    outbox: Outbox, slack: FakeSlack, send: Send
) -> None:
    put(outbox, "a")
    slack.faults += ["login_page"]
    reported = send().stopped["qa"]
    assert reported.startswith('HTTP 200 without the "ok" of a Slack webhook: check the address that its webhook_env')
    assert 'format = "json"' in reported and "Log in" not in reported
    send()
    assert slack.texts() == ["소식 a"]


def test_first_message_of_a_thread_opens_it_and_only_critical_replies_show_in_the_channel(
    outbox: Outbox, slack: FakeSlack, send: Send
) -> None:
    put(outbox, "a", "b", route="bot", thread="2026-02-13")
    outbox.put("bot", "2026-02-13", [message("c", "critical")], NIGHT)
    put(outbox, "d", route="bot", thread="2026-02-14")
    send()
    first = slack.posted[0].ts
    assert [(one.thread_ts, one.broadcast) for one in slack.posted] == [
        (None, False),
        (first, False),
        (first, True),
        (None, False),
    ]


@pytest.mark.parametrize("route", ["qa", "bot"])
def test_what_a_gateway_may_have_let_through_is_looked_up_or_marked(
    outbox: Outbox, slack: FakeSlack, send: Send, route: str
) -> None:
    slack.faults += ["gateway_after_posting"]
    put(outbox, "a", route=route)
    assert send().sent == []
    send()
    assert [REPEATED in one.shown for one in slack.posted] == ([False, True] if route == "qa" else [False])
    assert outbox.waiting() == []


def test_thread_that_takes_no_replies_holds_no_message_back(outbox: Outbox, slack: FakeSlack, send: Send) -> None:
    put(outbox, "a", route="bot", thread="2026-02-13")
    send()
    slack.locked_threads = True
    put(outbox, "b", route="bot", thread="2026-02-13")
    put(outbox, "c", route="bot", thread="2026-02-14")
    assert [one.text for one in send().sent] == ["소식 b", "소식 c"]
    assert [one.thread_ts for one in slack.posted] == [None, None, None]


def test_what_is_held_waits_and_lets_the_others_pass(outbox: Outbox, slack: FakeSlack, send: Send) -> None:
    put(outbox, "a")
    outbox.put("qa", "", [message("b", "critical")], NIGHT)
    send(lambda message: message.level != "critical")
    assert slack.texts() == ["소식 b"]
    send()
    assert slack.texts() == ["소식 b", "소식 a"]


def test_message_that_another_run_is_sending_is_left_alone_until_its_lease_ends(
    outbox: Outbox, slack: FakeSlack, send: Send, state_url: str
) -> None:
    put(outbox, "a", "b")
    assert outbox.claim(outbox.waiting()[0])
    send()
    assert slack.texts() == ["소식 b"]
    set_message_leases(state_url)
    send()
    assert slack.texts() == ["소식 b", "소식 a"]
    assert REPEATED in slack.posted[1].shown  # the other run may have sent it before it died


@pytest.mark.parametrize("hours", [-2, 2])
def test_message_that_a_host_is_sending_is_left_alone_by_a_host_with_another_clock(
    outbox: Outbox, slack: FakeSlack, send: Send, hands: Hands, hours: int
) -> None:
    put(outbox, "a")
    assert outbox.claim(outbox.waiting()[0])
    hands.pass_(hours=hours)
    send()
    assert slack.texts() == []


def test_message_that_a_killed_run_was_sending_by_a_wrong_clock_is_sent(
    outbox: Outbox, slack: FakeSlack, send: Send, state_url: str
) -> None:
    put(outbox, "a")
    assert outbox.claim(outbox.waiting()[0])
    set_message_leases(state_url, "'2999-01-01 00:00:00.000000'")
    send()
    assert slack.texts() == ["소식 a"]


def test_bot_of_a_host_whose_clock_is_ahead_finds_the_message_that_has_arrived(
    outbox: Outbox, slack: FakeSlack, send: Send, hands: Hands
) -> None:
    slack.tells_time = True
    hands.now = datetime.now(UTC) + timedelta(hours=1)
    outbox.put("bot", "", [message("a")], hands.now)
    slack.faults += ["gateway_after_posting"]
    assert send().sent == []
    send()
    assert slack.texts() == ["소식 a"]
    assert outbox.waiting() == []


def test_neither_logs_nor_errors_nor_reprs_hold_the_secret(
    outbox: Outbox, slack: FakeSlack, send: Send, channels: dict[str, Channel], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    put(outbox, "a")
    put(outbox, "a", route="bot")
    slack.faults += ["server_error", "drop"]
    seen = str(send()) + str(channels) + str(outbox.waiting()) + caplog.text
    slack.down = "no_such_webhook"
    seen += str(send()) + str(outbox.waiting()) + caplog.text
    assert urlsplit(slack.webhook()).path not in seen
    assert "secret" not in seen
