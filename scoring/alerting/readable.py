"""A message as lines of text, for terminals and tests: what its blocks show, in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scoring.alerting.block_kit import Block, Inline


def readable(blocks: Sequence[Block]) -> str:
    """The blocks from top to bottom, an empty line between them. People who are called stand as `@U123`."""
    return "\n\n".join(_block(block) for block in blocks)


def _block(block: Block) -> str:
    match block["type"]:
        case "header":
            return str(block["text"]["text"])
        case "context":
            return "\n".join(f"({element['text']})" for element in block["elements"])
        case _:
            return "\n".join(line for element in block["elements"] for line in _lines(element))


def _lines(element: Block) -> Iterator[str]:
    if element["type"] == "rich_text_section":
        yield _joined(element["elements"])
        return
    for item in element["elements"]:
        yield "- " + _joined(item["elements"]).replace("\n", "\n  ")


def _joined(inlines: Sequence[Inline]) -> str:
    return "".join(_shown(inline) for inline in inlines)


def _shown(inline: Inline) -> str:
    match inline["type"]:
        case "text":
            return f"`{inline['text']}`" if inline.get("style", {}).get("code") else str(inline["text"])
        case "link":
            return f"{inline['text']} <{inline['url']}>"
        case "broadcast":
            return f"@{inline['range']}"
        case _:
            return f"@{inline.get('user_id') or inline['usergroup_id']}"
