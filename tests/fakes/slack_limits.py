"""What Slack refuses in a message, by its documented limits."""

from collections.abc import Iterator
from typing import Any

_BLOCKS = {"header", "section", "context", "divider", "rich_text", "actions"}
_RICH = {"rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted"}
_INLINE = {
    "text": ("text",),
    "link": ("url",),
    "user": ("user_id",),
    "usergroup": ("usergroup_id",),
    "broadcast": ("range",),
    "emoji": ("name",),
}


def block_problems(payload: dict[str, Any]) -> list[str]:
    """Why Slack would refuse this message; empty if it would not."""
    return list(_problems(payload))


def _problems(payload: dict[str, Any]) -> Iterator[str]:
    text, blocks = payload.get("text", ""), payload.get("blocks", [])
    if not text and not blocks:
        yield "no_text"
    if len(text) > 40_000:
        yield "text of more than 40,000 characters"
    if len(blocks) > 50:
        yield f"{len(blocks)} blocks"
    for block in blocks:
        yield from _block_problems(block)


def _block_problems(block: dict[str, Any]) -> Iterator[str]:
    kind = block.get("type")
    if kind not in _BLOCKS:
        yield f"no block {kind}"
    if kind == "header":
        yield from _text_problems(block["text"], 150, "plain_text")
    if kind == "section":
        for text in [*([block["text"]] if "text" in block else []), *block.get("fields", [])]:
            yield from _text_problems(text, 3000 if text is block.get("text") else 2000)
    if kind == "context":
        if not 1 <= len(block["elements"]) <= 10:
            yield f"{len(block['elements'])} elements in a context"
        for text in block["elements"]:
            yield from _text_problems(text, 3000)
    if kind == "rich_text":
        for element in block["elements"]:
            yield from _rich_problems(element)


def _rich_problems(element: dict[str, Any]) -> Iterator[str]:
    if element.get("type") not in _RICH:
        yield f"no rich text {element.get('type')}"
        return
    for inner in element["elements"]:
        if inner.get("type") in _RICH:
            yield from _rich_problems(inner)
        elif inner.get("type") not in _INLINE:
            yield f"no element {inner.get('type')}"
        elif not all(inner.get(name) for name in _INLINE[inner["type"]]):
            yield f"an empty {inner['type']}"


def _text_problems(text: dict[str, Any], limit: int, kind: str = "") -> Iterator[str]:
    if text.get("type") not in ({kind} if kind else {"plain_text", "mrkdwn"}):
        yield f"text of type {text.get('type')}"
    if not 1 <= len(text.get("text", "")) <= limit:
        yield f"text of {len(text.get('text', ''))} characters, at most {limit}"
