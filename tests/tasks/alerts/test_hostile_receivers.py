"""Receivers that drip, flood, pack and send elsewhere: no run waits for them, and none of them has the message."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.alerts.channel import Channel
from tasks.alerts.channels.json import JsonWebhook
from tasks.alerts.channels.slack import SlackBot, SlackWebhook
from tasks.alerts.delivery import deliver
from tasks.alerts.outbox import Outbox
from tests.builders.state import opened
from tests.fakes.hostile_server import UNTRUSTED, HostileServer, Script, http, json_http, packed
from tests.fakes.slack_server import CHANNEL, TOKEN
from tests.tasks.alerts.conftest import IMPATIENT_S, NIGHT, PATIENT_S, Hands, message

pytestmark = pytest.mark.slow

CHUNKED = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"


def channel_to(kind: str, address: str, limit_s: float = PATIENT_S) -> Channel:
    """A channel of a kind that waits so long in all."""
    channel: SlackWebhook | SlackBot | JsonWebhook
    match kind:
        case "webhook":
            channel = SlackWebhook(f"{address}/services/secret")
        case "bot":
            channel = SlackBot(TOKEN, CHANNEL, f"{address}/api/")
        case _:
            channel = JsonWebhook(f"{address}/hooks/secret")
    return replace(channel, post=replace(channel.post, timeout_s=limit_s, sleep=lambda seconds: None))


def dripping(start: bytes, piece: bytes) -> Script:
    def pieces(body: bytes) -> Iterator[bytes]:
        yield start
        while True:
            time.sleep(0.05)
            yield piece

    return pieces


def always(*pieces: bytes) -> Script:
    return lambda body: pieces


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    """In one kind of database, whose kind is no matter of receivers: `test_slack_delivery` has it in each."""
    with opened(Outbox, f"sqlite:///{tmp_path}/state.db") as box:
        yield box


def outcome(
    kind: str, script: Script, outbox: Outbox, hands: Hands, limit_s: float = PATIENT_S
) -> tuple[str, HostileServer]:
    """Why a delivery of one message stopped, '' where it was sent."""
    outbox.put("qa", "", [message("a")], NIGHT)
    with HostileServer(script) as server:
        done = deliver(outbox, {"qa": channel_to(kind, server.address, limit_s)}, lambda one: False, hands.clock)
    return done.stopped.get("qa", ""), server


@pytest.mark.parametrize("kind", ["webhook", "bot", "json"])
def test_receiver_that_drips_its_headers_is_left_after_the_time_limit(kind: str, outbox: Outbox, hands: Hands) -> None:
    stopped, server = outcome(kind, dripping(b"HTTP/1.1 200 X\r\nX-A: ", b"a"), outbox, hands, IMPATIENT_S)
    assert stopped == "no answer (TimeoutError): it may have arrived"
    assert len(server.received) == 1


@pytest.mark.parametrize("kind", ["webhook", "bot"])
def test_slack_that_drips_its_answer_is_left_after_the_time_limit(kind: str, outbox: Outbox, hands: Hands) -> None:
    stopped, _ = outcome(kind, dripping(CHUNKED, b"1\r\no\r\n"), outbox, hands, IMPATIENT_S)
    assert stopped == "no answer (TimeoutError): it may have arrived"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("kind", ["webhook", "bot", "json"])
def test_receiver_that_redirects_has_not_got_the_message(kind: str, status: int, outbox: Outbox, hands: Hands) -> None:
    with HostileServer(always(http(b"ok"))) as other:
        stopped, _ = outcome(kind, always(http(b"", status, [f"Location: {other.url}"])), outbox, hands)
    assert stopped == f"HTTP {status}"
    assert other.received == []


@pytest.mark.parametrize("kind", ["webhook", "bot"])
@pytest.mark.parametrize(
    "script",
    [
        always(http(b"o" * 50_000_000)),
        always(CHUNKED, *[b"10000\r\n" + b"o" * 0x10000 + b"\r\n"] * 1_000),
        packed(),
    ],
    ids=["long", "endless", "packed"],
)
def test_slack_that_answers_without_an_end_is_read_to_the_limit(
    kind: str, script: Script, outbox: Outbox, hands: Hands
) -> None:
    stopped, server = outcome(kind, script, outbox, hands)
    assert stopped
    assert server.sent < 20_000_000  # with what the sockets hold


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'{"ok": 1}', b"[" * 50_000, b"\xff", b'{"ok": true, "ts": [1]}']
)
def test_slack_bot_survives_an_answer_of_any_shape(body: bytes, outbox: Outbox, hands: Hands) -> None:
    outcome("bot", always(http(body)), outbox, hands)
    assert [one.attempts for one in (*outbox.waiting(), *outbox.given_up())] in ([1], [])


@pytest.mark.parametrize(
    "page",
    [
        {"ok": True},
        {"ok": True, "messages": 1},
        {"ok": True, "messages": [1]},
        {"ok": True, "messages": [{"metadata": []}]},
        {"ok": True, "messages": [], "response_metadata": {"next_cursor": "again"}},
    ],
)
def test_slack_bot_that_cannot_read_its_channel_says_that_it_repeats_itself(
    page: dict[str, object], outbox: Outbox, hands: Hands
) -> None:
    posts: list[bytes] = []

    def answers(body: bytes) -> list[bytes]:
        if not body.startswith(b"{"):
            return [json_http(page)]
        posts.append(body)
        return [json_http({"ok": True, "ts": "1"})] if len(posts) > 1 else [b""]

    outbox.put("qa", "", [message("a")], NIGHT)
    with HostileServer(answers) as server:
        channel = {"qa": channel_to("bot", server.address)}
        assert "may have arrived" in deliver(outbox, channel, lambda one: False, hands.clock).stopped["qa"]
        assert len(deliver(outbox, channel, lambda one: False, hands.clock).sent) == 1
        assert len(server.received) <= 60
    assert ["다시 보냄" in post.decode() for post in posts] == [False, True]


@pytest.mark.parametrize("kind", ["webhook", "bot", "json"])
@pytest.mark.parametrize("certificate", [True, False])
def test_receiver_behind_broken_tls_cannot_be_reached(
    kind: str, certificate: bool, outbox: Outbox, hands: Hands
) -> None:
    outbox.put("qa", "", [message("a")], NIGHT)
    with HostileServer(always(http(b"ok")), UNTRUSTED if certificate else None) as server:
        channel = {"qa": channel_to(kind, server.address.replace("http:", "https:"))}
        done = deliver(outbox, channel, lambda one: False, hands.clock)
    reason = "certificate verify failed: self-signed certificate" if certificate else "EOF occurred"
    assert "cannot be reached: " in done.stopped["qa"]
    assert reason in done.stopped["qa"]
    assert not any(server.received)


@pytest.mark.parametrize("kind", ["webhook", "bot", "json"])
@pytest.mark.parametrize(("status", "reason"), [(407, "407 "), (503, "503 ")])
def test_message_that_a_proxy_lets_not_pass_has_certainly_not_arrived(
    kind: str, status: int, reason: str, outbox: Outbox, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put("qa", "", [message("a")], NIGHT)
    with HostileServer(always(http(b"", status))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        channel = {"qa": channel_to(kind, "https://receiver.invalid")}
        stopped = deliver(outbox, channel, lambda one: False, hands.clock).stopped["qa"]
    assert f"cannot be reached: {reason}" in stopped
    assert outbox.waiting()[0].unsure_since is None


@pytest.mark.parametrize("kind", ["webhook", "bot", "json"])
def test_message_waits_where_the_environment_names_a_proxy_that_cannot_be_used(
    kind: str, outbox: Outbox, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as environment:
        environment.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1080")
        stopped, server = outcome(kind, always(http(b"ok")), outbox, hands)
    assert "cannot be reached: HTTPS_PROXY names no HTTP proxy" in stopped
    assert server.received == []
    assert outbox.waiting()[0].unsure_since is None
