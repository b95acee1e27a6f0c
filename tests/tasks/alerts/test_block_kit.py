"""Block Kit out of neutral blocks, and messages that an earlier version has left in the outbox."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from scoring.alerting.block_kit import block_kit, neutral_blocks
from scoring.alerting.blocks import Block, bold, context, link, paragraph
from scoring.alerting.messages import Message, with_mention
from tasks.alerts.channels.json import JsonWebhook
from tasks.alerts.channels.slack import SlackWebhook
from tasks.alerts.delivery import deliver
from tasks.alerts.outbox import Outbox
from tasks.state.database import StateDatabase
from tests.builders.alert_messages import MADE
from tests.builders.state import opened
from tests.fakes.json_receiver import JsonReceiver
from tests.fakes.slack_server import FakeSlack
from tests.tasks.alerts.conftest import NIGHT, Hands


def kit(blocks: list[Block]) -> list[dict[str, Any]]:
    return list(map(block_kit, blocks))


@pytest.mark.parametrize("name", MADE)
def test_neutral_blocks_of_an_earlier_message_become_the_same_block_kit(name: str) -> None:
    blocks = kit(with_mention(MADE[name](), "<@U1> <!subteam^S2> <!here>").blocks)
    assert kit(neutral_blocks(blocks)) == blocks


def test_neutral_blocks_keep_links_and_the_message_of_this_version() -> None:
    blocks: list[Block] = [*paragraph([link("https://a.example", "열기"), bold("a")]), context("끝", "0f3a")]
    assert kit(neutral_blocks(kit(blocks))) == kit(blocks)
    assert neutral_blocks(blocks) == blocks  # type: ignore[arg-type]


@pytest.fixture
def earlier(tmp_path: Path) -> tuple[str, Message]:
    """A state database in which an earlier version has left a message, and that message."""
    path, waiting = tmp_path / "earlier.db", with_mention(MADE["page"](), "<!here>")
    url = f"sqlite:///{path}"
    database = StateDatabase(url)
    Outbox(database).put("qa", "2026-03-13", [waiting], NIGHT)
    database.close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alert_messages SET blocks = ?", (json.dumps(kit(waiting.blocks)),))
    connection.commit()
    connection.close()
    return url, waiting


def test_outbox_message_of_an_earlier_version_is_sent_to_slack_unchanged(
    earlier: tuple[str, Message], slack: FakeSlack, hands: Hands
) -> None:
    url, waiting = earlier
    with opened(Outbox, url) as outbox:
        deliver(outbox, {"qa": SlackWebhook(slack.webhook())}, lambda message: False, hands.clock)
    assert [one.blocks for one in slack.posted] == [kit(waiting.blocks)]
    assert slack.refused == []


def test_outbox_message_of_an_earlier_version_is_sent_as_neutral_json(
    earlier: tuple[str, Message], hands: Hands
) -> None:
    url, waiting = earlier
    with JsonReceiver() as receiver, opened(Outbox, url) as outbox:
        deliver(outbox, {"qa": JsonWebhook(receiver.address)}, lambda message: False, hands.clock)
    (body,) = receiver.accepted
    assert body["title"] == waiting.blocks[0]["text"]  # type: ignore[typeddict-item]
    assert {block["type"] for block in body["blocks"]} <= {"header", "paragraph", "bullets", "context"}


def test_outbox_forgets_a_row_in_a_message_of_an_earlier_version(earlier: tuple[str, Message]) -> None:
    url, waiting = earlier
    (shown,) = [block for block in waiting.blocks if block["type"] == "bullets"]
    row_id = next(span["text"] for span in shown["items"][0] if span["type"] == "code")
    with opened(Outbox, url) as outbox:
        assert outbox.forget([row_id], dry_run=False) == 1
        (left,) = outbox.waiting()
    assert row_id not in json.dumps(left.blocks)
