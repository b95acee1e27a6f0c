"""Slack's Block Kit: a message's blocks as Slack reads them, and back.

Everything is `rich_text` and `plain_text`, nothing is `mrkdwn`: in rich text bold, links and mentions are elements of
their own, so that `*`, backticks or `<!channel>` inside a text element are only characters.

A message is split at the limits of Slack, the narrowest channel: 50 blocks a message, 150 characters a header, 3,000 a
section. Slack also refuses messages whose blocks are too long in total (`msg_blocks_too_long`, observed above about
11,000 characters of text), an undocumented limit.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

from scoring.alerting.blocks import MAX_HEADER, Block, Line, Span, header, plain
from scoring.markdown import MARKING_UNDERSCORE, shortened

MAX_BLOCKS = 48  # Slack takes 50: two are left for mentions, and for a note that it repeats itself
_MAX_MESSAGE_BYTES = 12_000

# In plain text `<` and `&` could be read as escapes; their full-width twins cannot.
_PLAIN = str.maketrans("<>&", "＜＞＆")
# The fallback is read as mrkdwn wherever blocks are not shown.
_FALLBACK = str.maketrans("<>&*~`@", "＜＞＆＊～｀＠")


def fallback_text(text: str) -> str:
    """The text of a notification, in which nothing is markup."""
    return MARKING_UNDERSCORE.sub("＿", text.translate(_FALLBACK))


def plain_text(text: str) -> dict[str, Any]:
    """A text of a header or of the small print."""
    return {"type": "plain_text", "text": text.translate(_PLAIN), "emoji": False}


def block_kit(block: Block) -> dict[str, Any]:
    """A block as Slack reads it."""
    match block["type"]:
        case "header":
            return {"type": "header", "text": plain_text(block["text"])}
        case "context":
            return {"type": "context", "elements": [plain_text(block["text"])]}
        case "paragraph":
            first, *others = block["lines"]
            return _rich_text(_section([*first, *chain.from_iterable((plain("\n"), *line) for line in others)]))
        case "bullets":
            items = list(map(_section, block["items"]))
            return _rich_text({"type": "rich_text_list", "style": "bullet", "elements": items})


def _rich_text(element: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [element]}


def _section(line: Line) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(map(_element, line))}


def _element(span: Span) -> dict[str, Any]:
    text = span["text"]
    match span["type"]:
        case "text":
            return {"type": "text", "text": text}
        case "link":
            return {"type": "link", "url": span["url"], "text": text}
        case "mention":
            return _mention(text.removeprefix("@"))
        case style:
            return {"type": "text", "text": text, "style": {style: True}}


def _mention(name: str) -> dict[str, Any]:
    """`U1` and `W1` are people, `S1` a group, `here` and `channel` everybody who is there."""
    match name[:1]:
        case "U" | "W":
            return {"type": "user", "user_id": name}
        case "S":
            return {"type": "usergroup", "usergroup_id": name}
        case _:
            return {"type": "broadcast", "range": name}


def split(blocks: Sequence[Block]) -> list[list[Block]]:
    """Splits the blocks of one message into as few messages as Slack accepts. Every part repeats the header with its
    number.

    The first block is the header.
    """
    title, *rest = blocks
    assert title["type"] == "header"
    parts: list[list[Block]] = [[]]
    size = room = _MAX_MESSAGE_BYTES - _size(header("＿" * MAX_HEADER))
    for block in rest:
        size -= _size(block)
        if parts[-1] and (size < 0 or len(parts[-1]) == MAX_BLOCKS - 1):
            parts.append([])
            size = room - _size(block)
        parts[-1].append(block)
    if len(parts) == 1:
        return [[title, *rest]]
    name = shortened(title["text"], MAX_HEADER - len(f" ({len(parts)}/{len(parts)})"))
    return [[header(f"{name} ({i}/{len(parts)})"), *part] for i, part in enumerate(parts, 1)]


def _size(block: Block) -> int:
    """The bytes of a block in Slack's format, including the following comma."""
    return len(json.dumps(block_kit(block), ensure_ascii=False).encode()) + len(",")


def neutral_blocks(blocks: Sequence[dict[str, Any]]) -> list[Block]:
    """The blocks of a kept message: earlier versions kept Block Kit."""
    return list(map(_neutral, blocks))


def _neutral(block: Any) -> Block:
    match block:
        case {"type": "header", "text": {"text": text}}:
            return {"type": "header", "text": text}
        case {"type": "context", "elements": [{"text": text}]}:
            return {"type": "context", "text": text}
        case {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": line}]}:
            return {"type": "paragraph", "lines": [list(map(_span, line))]}
        case {"type": "rich_text", "elements": [{"elements": items}]}:
            return {"type": "bullets", "items": [list(map(_span, item["elements"])) for item in items]}
        case _:
            return block  # type: ignore[no-any-return]


def _span(element: Any) -> Span:
    match element:
        case {"type": "link", "url": url, "text": text}:
            return {"type": "link", "url": url, "text": text}
        case {"type": "text", "text": text, "style": {"bold": True}}:
            return {"type": "bold", "text": text}
        case {"type": "text", "text": text, "style": {"code": True}}:
            return {"type": "code", "text": text}
        case {"type": "text", "text": text}:
            return plain(text)
        case {"user_id": name} | {"usergroup_id": name} | {"range": name}:
            return {"type": "mention", "text": f"@{name}"}
    raise AssertionError(f"no earlier version wrote {element['type']}")
