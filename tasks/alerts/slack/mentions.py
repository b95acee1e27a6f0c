"""Calling people from a Critical message: whom, the settings say; nothing that was scored can call anybody."""

from __future__ import annotations

import re
from dataclasses import replace

from scoring.alerting.block_kit import Block, Inline
from scoring.alerting.messages import Message

_LATER_PART = re.compile(r"#(?!1/)[0-9]+/")


def with_mention(message: Message, mention: str) -> Message:
    """A Critical message with those in `mention` called right below its header; any other message as it is.

    Of a message in several parts only the first one calls.
    """
    if not mention or message.level != "critical" or _LATER_PART.search(message.keys[0]):
        return message
    header, *rest = message.blocks
    return replace(message, blocks=[header, _calling(mention.split()), *rest])


def _calling(mentions: list[str]) -> Block:
    elements: list[Inline] = []
    for mention in mentions:
        elements += [_called(mention.strip("<>")), {"type": "text", "text": " "}]
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements[:-1]}]}


def _called(name: str) -> Inline:
    """`@U1` is a person, `!subteam^S1` a group, `!here` whoever is there."""
    if name.startswith("@"):
        return {"type": "user", "user_id": name[1:]}
    if name.startswith("!subteam^"):
        return {"type": "usergroup", "usergroup_id": name.removeprefix("!subteam^")}
    return {"type": "broadcast", "range": name[1:]}
