"""Delivery to a JSON webhook that refuses, hangs and is away: nothing lost, and a repetition has the same key."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scoring.alerting.blocks import bullets, code, header, paragraph, readable
from scoring.alerting.messages import OutboxMessage, with_mention, with_service
from tasks.alerts.channels.json import JsonWebhook
from tasks.alerts.delivery import Deliveries, deliver
from tasks.alerts.outbox import Outbox
from tests.builders.alert_messages import digest, page
from tests.fakes.json_receiver import Answer, JsonReceiver
from tests.tasks.alerts.conftest import IMPATIENT_S, NIGHT, PATIENT_S, Hands, message

Send = Callable[..., Deliveries]
DOCUMENT = Path(__file__).parents[3] / "docs" / "alerts-webhook.md"


@pytest.fixture
def receiver() -> Iterator[JsonReceiver]:
    with JsonReceiver() as server:
        yield server


@pytest.fixture
def channel(receiver: JsonReceiver, hands: Hands) -> JsonWebhook:
    webhook = JsonWebhook(receiver.address)
    return replace(webhook, post=replace(webhook.post, timeout_s=PATIENT_S, sleep=hands.sleep))


@pytest.fixture
def send(outbox: Outbox, channel: JsonWebhook, hands: Hands) -> Send:
    """One delivery to the route `ops`."""

    def run(limit_s: float = PATIENT_S) -> Deliveries:
        limited = replace(channel, post=replace(channel.post, timeout_s=limit_s))
        return deliver(outbox, {"ops": limited}, lambda message: False, hands.clock)

    return run


def put(outbox: Outbox, *keys: str) -> None:
    outbox.put("ops", "2026-02-13", [message(key) for key in keys], NIGHT)


def test_json_webhook_gets_a_message_with_its_day_run_and_keys(
    outbox: Outbox, receiver: JsonReceiver, send: Send
) -> None:
    sent = digest()
    outbox.put("ops", "2026-03-13", [sent], NIGHT)
    assert [one.kind for one in send().sent] == ["digest"]
    assert send().sent == []
    (body,) = receiver.accepted
    assert (body["version"], body["route"], body["kind"], body["level"]) == (1, "ops", "digest", sent.level)
    assert (body["day"], body["run_id"], body["may_have_arrived"]) == ("2026-03-13", "7c1f0a5e9b3d4c62", False)
    assert body["title"] == sent.blocks[0]["text"]  # type: ignore[typeddict-item]
    assert sorted(body["keys"]) == sorted(sent.keys)
    assert (body["text"], body["blocks"]) == (sent.text, sent.blocks)
    assert receiver.received[0].key == body["id"]


def test_json_webhook_gets_texts_as_they_are(outbox: Outbox, receiver: JsonReceiver, send: Send) -> None:
    outbox.put("ops", "", [replace(message("a"), text="<a> & *b* _c_")], NIGHT)
    send()
    assert (receiver.accepted[0]["text"], receiver.accepted[0]["day"]) == ("<a> & *b* _c_", None)


def test_json_payload_has_exactly_the_documented_fields() -> None:
    called = with_mention(page(), "<@U1>")
    payload = JsonWebhook("").payload(OutboxMessage.unsaved("ops", called, NIGHT))
    document = DOCUMENT.read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.+?)```", document, re.DOTALL)
    assert list(payload) == list(json.loads(example))
    assert list(payload) == re.findall(r"^\| `(\w+)` \|", document.partition("## Blocks")[0], re.MULTILINE)
    for block in payload["blocks"]:
        assert f'"type": "{block["type"]}"' in document


def test_json_payload_names_the_service_where_there_are_several() -> None:
    alone, one_of_several = (with_service(page(), name) for name in ("", "support"))
    payloads = [JsonWebhook("").payload(OutboxMessage.unsaved("ops", one, NIGHT)) for one in (alone, one_of_several)]
    assert [payload.get("service") for payload in payloads] == [None, "support"]
    assert payloads[1]["title"] == f"support · {payloads[0]['title']}"


def test_commands_in_a_message_of_one_of_several_services_name_it() -> None:
    shown = readable(with_service(page(), "support").blocks)
    assert "aqb --service support rows 행ID" in shown
    assert "aqb --service support alerts snooze '답변 실패' --until" in shown
    assert shown.replace("aqb --service support ", "aqb ").replace("support · ", "", 1) == readable(page().blocks)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("aqb alerts accept answer_failed", "aqb --service support alerts accept answer_failed"),
        ("aqb backfill --from A --to B", "aqb --service support backfill --from A --to B"),
        ("aqb runs --last 5", "aqb runs --last 5"),  # tells of every service
    ],
)
def test_command_in_a_message_names_the_service_where_it_would_do_all_of_them(command: str, named: str) -> None:
    for blocks in (paragraph([code(command)]), bullets([[code(command)]])):
        of_service = with_service(replace(page(), blocks=[header("제목"), *blocks]), "support")
        assert f"`{named}`" in readable(of_service.blocks)


@pytest.mark.parametrize(
    ("answer", "slept"),
    [
        (Answer(429, {"Retry-After": "7"}), [7.0, 7.0]),
        (Answer(429, {"Retry-After": "30"}), [30.0, 30.0]),
        *((Answer(status), [1.0, 2.0]) for status in (500, 502, 503, 504)),
    ],
)
def test_json_webhook_waits_out_a_short_failure(
    outbox: Outbox, receiver: JsonReceiver, send: Send, hands: Hands, answer: Answer, slept: list[float]
) -> None:
    receiver.answers += [answer, answer]
    put(outbox, "a")
    assert len(send().sent) == 1
    assert len({one.key for one in receiver.received}) == 1
    assert hands.slept == slept


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(429, {"Retry-After": "31"}), "HTTP 429"),
        (Answer(429, {"Retry-After": "3600"}), "HTTP 429"),
        (Answer(401), "HTTP 401"),
        (Answer(404), "HTTP 404"),
        (Answer(302, {"Location": "/elsewhere"}), "HTTP 302"),
        (Answer(503), "HTTP 503"),
        (Answer(hangs=True), "no answer (TimeoutError): it may have arrived"),
        (Answer(drops=True), "no answer (RemoteProtocolError): it may have arrived"),
    ],
)
def test_json_webhook_that_is_down_gets_everything_the_day_after(
    outbox: Outbox, receiver: JsonReceiver, send: Send, hands: Hands, answer: Answer, error: str
) -> None:
    put(outbox, "a", "b")
    receiver.down = answer
    assert send(IMPATIENT_S if answer.hangs else PATIENT_S).stopped == {"ops": error}
    assert [one.attempts for one in outbox.waiting()] == [1, 0]
    assert answer.status != 429 or hands.slept == []
    receiver.down = None
    hands.pass_(days=1)
    send()
    assert [body["text"] for body in receiver.accepted] == ["소식 a", "소식 b"]
    assert receiver.accepted[0]["may_have_arrived"] is error.startswith("no answer")
    assert len({one.key for one in receiver.received}) == 2


def test_json_webhook_without_a_server_waits_for_the_next_run(
    outbox: Outbox, channel: JsonWebhook, hands: Hands
) -> None:
    put(outbox, "a")
    nowhere = replace(channel, address="http://127.0.0.1:9/hooks")
    stopped = deliver(outbox, {"ops": nowhere}, lambda message: False, hands.clock).stopped
    assert stopped == {"ops": "the webhook cannot be reached: Connection refused"}
    assert len(outbox.waiting()) == 1


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_json_webhook_that_refuses_a_message_for_good_gets_the_others(
    outbox: Outbox, receiver: JsonReceiver, send: Send, hands: Hands, status: int
) -> None:
    receiver.answers.append(Answer(status))
    put(outbox, "a", "b")
    assert [one.text for one in send().refused] == ["소식 a"]
    assert [body["text"] for body in receiver.accepted] == ["소식 b"]
    assert [one.last_error for one in outbox.given_up()] == [f"HTTP {status}"]
    outbox.requeue(hands.now)
    send()
    # It was refused, so it cannot have arrived.
    assert [(body["text"], body["may_have_arrived"]) for body in receiver.accepted[1:]] == [("소식 a", False)]


def test_json_webhook_message_expires_after_three_days_and_can_be_requeued(
    outbox: Outbox, receiver: JsonReceiver, send: Send, hands: Hands
) -> None:
    receiver.down = Answer(500)
    put(outbox, "a")
    send()
    hands.pass_(days=3)
    receiver.down = None
    assert [one.last_error for one in send().expired] == ["HTTP 500"]
    assert receiver.accepted == []
    outbox.requeue(hands.now)
    assert len(send().sent) == 1


def test_json_webhook_address_is_in_no_log_error_or_repr(
    outbox: Outbox, receiver: JsonReceiver, send: Send, channel: JsonWebhook, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.answers += [Answer(503), Answer(404)]
    put(outbox, "a")
    seen = str(send()) + str(send()) + str(channel) + str(outbox.waiting()) + caplog.text
    assert "secret" not in seen


@pytest.mark.parametrize("address", ["", "hooks.example/a", "file:///etc/passwd", "http://", "http://a:b/c"])
def test_json_webhook_names_a_wrong_address(address: str) -> None:
    assert JsonWebhook(address).problem == "holds no address of a webhook"
