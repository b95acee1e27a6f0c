"""What Slack refuses, as far as it is documented or known: its own models, and the limits that they do not check."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from slack_sdk.models.blocks import Block, RichTextBlock

from scoring.alerting.messages import Message

# Measured by others: blocks of 15,561 characters of JSON were taken, 17,694 were `msg_blocks_too_long`.
MAX_JSON = 15_000


def assert_taken_by_slack(message: Message) -> None:
    """Every rule of Block Kit that a message can break."""
    assert 1 <= len(message.blocks) <= 50
    assert 1 <= len(message.text) <= 4_000
    assert len(json.dumps(message.blocks, ensure_ascii=False)) <= MAX_JSON
    parsed = Block.parse_all(message.blocks)
    assert [block.to_dict() for block in parsed] == message.blocks, "the models know every field"
    for block in parsed:
        block.validate_json()
        if isinstance(block, RichTextBlock):
            for element in block.elements:
                element.validate_json()
    for inline in inlines(message):
        assert 1 <= len(inline["text"]) <= 3_000, "no text element may be empty"
    json.dumps(message.blocks).encode("utf-8")


def inlines(message: Message) -> Iterator[dict[str, Any]]:
    """Every element that holds text in rich text, in order."""
    for block in message.blocks:
        if block["type"] == "rich_text":
            for element in block["elements"]:
                sections = [element] if element["type"] == "rich_text_section" else element["elements"]
                for section in sections:
                    yield from section["elements"]


def plain_texts(message: Message) -> Iterator[str]:
    """The texts of headers and small print."""
    for block in message.blocks:
        if block["type"] == "header":
            yield block["text"]["text"]
        elif block["type"] == "context":
            yield from (element["text"] for element in block["elements"])


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
