"""Leases of messages: of two hosts that send the same one, the later outcome never undoes the earlier one."""

import pytest

from scoring.alerting.messages import OutboxMessage
from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.alerts.outbox import Outbox
from tests.builders.state import set_message_leases
from tests.tasks.alerts.conftest import NIGHT, Hands, message


@pytest.fixture
def claims(outbox: Outbox, state_url: str) -> tuple[OutboxMessage, OutboxMessage]:
    """A message as a host claimed it that was frozen then, and as another host did when that lease had ended."""
    outbox.put("qa", "", [message("a")], NIGHT)
    (before,) = outbox.waiting()
    assert outbox.claim(before)
    set_message_leases(state_url)
    (taken,) = outbox.waiting()
    assert outbox.claim(taken)
    return before, taken


@pytest.mark.parametrize("status", [DeliveryStatus.REFUSED, DeliveryStatus.DEFERRED, DeliveryStatus.UNCONFIRMED])
def test_host_that_was_frozen_in_an_attempt_changes_nothing_of_the_one_that_took_the_message_over(
    outbox: Outbox, hands: Hands, claims: tuple[OutboxMessage, OutboxMessage], status: DeliveryStatus
) -> None:
    before, taken = claims
    outbox.record(before, Delivery(status, error="HTTP 500"), hands.now)
    assert outbox.to_send(before) is None  # the other host is still sending it
    outbox.record(taken, Delivery(DeliveryStatus.SENT), hands.now)
    outbox.record(before, Delivery(status, error="HTTP 500"), hands.now)
    assert (outbox.waiting(), outbox.given_up()) == ([], [])


def test_message_that_a_frozen_host_has_sent_is_sent_although_another_host_failed(
    outbox: Outbox, hands: Hands, claims: tuple[OutboxMessage, OutboxMessage]
) -> None:
    before, taken = claims
    outbox.record(before, Delivery(DeliveryStatus.SENT), hands.now)
    outbox.record(taken, Delivery(DeliveryStatus.REFUSED, error="HTTP 410"), hands.now)
    assert (outbox.waiting(), outbox.given_up()) == ([], [])
