"""What Slack refuses, as far as it is documented or known: its own models, and the limits that they do not check."""

import json
from collections.abc import Iterator
from typing import Any

from slack_sdk.models.blocks import Block, RichTextBlock

from scoring.alerting.block_kit import block_kit, fallback_text
from scoring.alerting.blocks import Span
from scoring.alerting.messages import Message

# Measured by others: blocks of 15,561 characters of JSON were taken, 17,694 were `msg_blocks_too_long`.
MAX_JSON = 15_000


def slack_blocks(message: Message) -> list[dict[str, Any]]:
    """The blocks as Slack gets them."""
    return list(map(block_kit, message.blocks))


def assert_taken_by_slack(message: Message) -> None:
    """Every rule of Block Kit that a message can break."""
    blocks = slack_blocks(message)
    assert 1 <= len(blocks) <= 50
    assert 1 <= len(fallback_text(message.text)) <= 4_000
    assert len(json.dumps(blocks, ensure_ascii=False)) <= MAX_JSON
    parsed = Block.parse_all(blocks)
    assert [block.to_dict() for block in parsed] == blocks, "the models know every field"
    for block in parsed:
        block.validate_json()
        if isinstance(block, RichTextBlock):
            for element in block.elements:
                element.validate_json()
    for inline in inlines(message):
        assert 1 <= len(inline["text"]) <= 3_000, "no text element may be empty"
    json.dumps(blocks).encode("utf-8")


def inlines(message: Message) -> Iterator[Span]:
    """Every span of paragraphs and lists, in order."""
    for block in message.blocks:
        if block["type"] == "paragraph" or block["type"] == "bullets":
            for line in block["lines"] if block["type"] == "paragraph" else block["items"]:
                yield from line


def types(value: Any) -> Iterator[str]:
    """Every `type` within a payload."""
    if isinstance(value, dict):
        if "type" in value:
            yield value["type"]
        for inner in value.values():
            yield from types(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from types(inner)
