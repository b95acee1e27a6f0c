"""A message as lines of text, for terminals: what its reader would see, without Slack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scoring.alerting.block_kit import Block


def readable(blocks: Sequence[Block]) -> str:
    """The lines of a message. Lists have dashes; people who are called stand as `@U123`."""
    return "\n".join(line for block in blocks for line in _lines(block))


def _lines(block: Mapping[str, Any]) -> Iterator[str]:
    if block["type"] == "header":
        yield f"[{block['text']['text']}]"
    elif block["type"] == "context":
        yield from (f"({element['text']})" for element in block["elements"])
    else:
        for element in block["elements"]:
            yield from _rich_lines(element)


def _rich_lines(element: Mapping[str, Any]) -> Iterator[str]:
    if element["type"] == "rich_text_list":
        for item in element["elements"]:
            first, *others = "\n".join(_rich_lines(item)).splitlines()
            yield f"- {first}"
            yield from (f"  {other}" for other in others)
    else:
        yield from "".join(map(_inline, element["elements"])).splitlines()


def _inline(inline: Mapping[str, Any]) -> str:
    match inline["type"]:
        case "link":
            return f"{inline['text']} <{inline['url']}>"
        case "text":
            return str(inline["text"])
        case "broadcast":
            return f"@{inline['range']}"
        case _:
            return f"@{inline.get('user_id') or inline['usergroup_id']}"
