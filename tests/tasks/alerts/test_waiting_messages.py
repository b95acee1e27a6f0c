"""Many messages that wait: each is read a few times however many there are, and goes out as it is stored by then."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from scoring.alerting.block_kit import neutral_blocks
from scoring.alerting.messages import OutboxMessage
from tasks.alerts.channel import Channel, Delivery, DeliveryStatus
from tasks.alerts.delivery import deliver
from tasks.alerts.outbox import Outbox
from tests.tasks.alerts.conftest import NIGHT, Hands, message


@dataclass
class Receiver:
    """A channel that takes everything, and erases the row `r2` from all messages with the first one."""

    outbox: Outbox
    address: str
    taken: list[str] = field(default_factory=list)
    problem: str = ""

    def send(self, sent: OutboxMessage) -> Delivery:
        if not self.taken:
            self.outbox.forget(["소식 r2"], dry_run=False)
        self.taken.append(str(sent.blocks))
        return Delivery(DeliveryStatus.SENT)

    def payload(self, sent: OutboxMessage) -> dict[str, Any]:
        return {"text": sent.text}


def test_each_of_many_waiting_messages_is_read_a_few_times(
    outbox: Outbox, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = [f"team{number}" for number in range(60)]
    for route in routes:
        outbox.put(route, "", [message(f"of {route}")], NIGHT)
    read: list[object] = []

    def counted(blocks: Sequence[Any]) -> Sequence[Any]:
        read.append(blocks)
        return neutral_blocks(blocks)

    monkeypatch.setattr("tasks.alerts.outbox.neutral_blocks", counted)
    channels: dict[str, Channel] = {route: Receiver(outbox, route, ["one before"]) for route in routes}
    assert len(deliver(outbox, channels, lambda one: False, hands.clock).sent) == 60
    assert len(read) <= 3 * 60


def test_message_leaves_without_a_row_that_is_erased_while_others_are_sent(outbox: Outbox, hands: Hands) -> None:
    outbox.put("qa", "", [message("r1"), message("r2")], NIGHT)
    receiver = Receiver(outbox, "qa")
    assert len(deliver(outbox, {"qa": receiver}, lambda one: False, hands.clock).sent) == 2
    assert "소식 r1" in receiver.taken[0]
    assert "소식 r2" not in receiver.taken[1]
