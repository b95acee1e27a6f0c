"""A message as lines of text, for terminals and tests: what its blocks show, in the same order."""

from collections.abc import Sequence

from scoring.alerting.blocks import Block, Line, Span


def readable(blocks: Sequence[Block]) -> str:
    """The blocks from top to bottom, an empty line between them. People who are called stand as `@U123`."""
    return "\n\n".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block["type"]:
        case "header":
            return block["text"]
        case "context":
            return f"({block['text']})"
        case "paragraph":
            return "\n".join(map(_line, block["lines"]))
        case "bullets":
            return "\n".join("- " + _line(item).replace("\n", "\n  ") for item in block["items"])


def _line(line: Line) -> str:
    return "".join(map(_span, line))


def _span(span: Span) -> str:
    match span["type"]:
        case "code":
            return f"`{span['text']}`"
        case "link":
            return f"{span['text']} <{span['url']}>"
        case _:
            return span["text"]
