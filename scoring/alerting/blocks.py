"""The blocks of a message: its content as plain values, which every channel renders in its own markup.

A text is plain: it formats nothing, links nowhere and mentions no one, because bold, links and mentions are separate
spans. A channel escapes its own markup. Content that could deceive readers is removed here: invisible characters and
those that change the reading direction, line breaks, and clickable addresses.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, NotRequired, TypedDict

from scoring.judging.masking import SHOWN, is_invisible, masked
from scoring.markdown import shortened


class Span(TypedDict):
    """A piece of a line. `url` is the address of a link; a mention is `@` and the id of a person or group."""

    type: Literal["text", "bold", "code", "link", "mention"]
    text: str
    url: NotRequired[str]


Line = Sequence[Span]


class Header(TypedDict):
    """The first line of a message."""

    type: Literal["header"]
    text: str


class Paragraph(TypedDict):
    """Lines below each other."""

    type: Literal["paragraph"]
    lines: list[Line]


class Bullets(TypedDict):
    """A list; a line break within an item is a line break in a text."""

    type: Literal["bullets"]
    items: list[Line]


class ContextBlock(TypedDict):
    """The small print: the rubric that scored, and the run."""

    type: Literal["context"]
    text: str
    run_id: NotRequired[str]


Block = Header | Paragraph | Bullets | ContextBlock

MAX_HEADER = 150
MAX_RICH_TEXT = 2_000  # three bytes a Hangul syllable: a block of it is half a message, and below a section's 3,000
MAX_FALLBACK = 1_000  # Slack recommends 4,000 at most; a notification shows a line or two
MAX_TEXT = 1_000

EMPTY = "(빈 텍스트)"


def inert(text: str, length: int = MAX_TEXT, unread: int = 0) -> str:
    """A text on one line with only visible characters and no clickable address, cut after `length` characters.

    `unread` is the number of further characters that were not read; they count as cut.
    """
    one_line = " ".join(text.split())
    visible = " ".join("".join(char for char in one_line if not is_invisible(char)).split())
    unlinked = visible.replace("://", ":／／")
    cut = max(0, len(unlinked) - length) + unread
    return f"{unlinked[:length].rstrip()}… 외 {cut:,}자" if cut else unlinked


def masked_text(text: str, length: int = MAX_TEXT) -> str:
    """A text of people or machines for display: without personal data, inert, never empty."""
    return inert(masked(text, end=SHOWN), length, unread=max(0, len(text) - SHOWN)) or EMPTY


def plain(text: str) -> Span:
    """A piece of text."""
    return {"type": "text", "text": text}


def bold(text: str) -> Span:
    """A piece of bold text."""
    return {"type": "bold", "text": text}


def code(text: str) -> Span:
    """A piece of text to copy: an id, a path, a command."""
    return {"type": "code", "text": text}


def link(url: str, text: str) -> Span:
    """A link; `url` comes from settings, never from data."""
    return {"type": "link", "url": url, "text": text}


def header(text: str) -> Header:
    """The first line of a message."""
    return {"type": "header", "text": shortened(text, MAX_HEADER)}


def context(text: str, run_id: str) -> ContextBlock:
    """The small print, with the run that found what the message says."""
    return {"type": "context", "text": f"{text} · 실행 {run_id}", "run_id": run_id}


def paragraph(*lines: Line) -> list[Block]:
    """Lines below each other, in as many blocks as needed; no block without lines."""
    return [{"type": "paragraph", "lines": group} for group in _groups(lines, separator_length=1)]


def bullets(items: Sequence[Line]) -> list[Block]:
    """A list, in as many blocks as needed, none without items; lines of an item are separated by `plain("\\n")`."""
    return [{"type": "bullets", "items": group} for group in _groups(items, separator_length=0)]


def fallback(*texts: str) -> str:
    """The text of notifications, on one line."""
    return shortened(" · ".join(inert(text, MAX_FALLBACK) for text in texts), MAX_FALLBACK)


def _groups(lines: Sequence[Line], separator_length: int) -> Iterator[list[Line]]:
    """Lines in groups of at most `MAX_RICH_TEXT` characters, a longer line broken into several."""
    group: list[Line] = []
    length = 0
    for line in chain.from_iterable(map(_broken, lines)):
        own = _length(line) + separator_length
        if group and length + own > MAX_RICH_TEXT:
            yield group
            group, length = [], 0
        group.append(line)
        length += own
    if group:
        yield group


def _broken(line: Line) -> Iterator[Line]:
    """A line in pieces short enough for a block; a single piece may exceed `MAX_TEXT` slightly."""
    piece: list[Span] = []
    for inline in line:
        if piece and _length(piece) + _length([inline]) > MAX_RICH_TEXT - 1:
            yield piece
            piece = []
        piece.append(inline)
    yield piece


def _length(line: Line) -> int:
    return sum(len(inline["text"]) for inline in line)


def readable(blocks: Sequence[Block]) -> str:
    """The blocks as lines of text, with an empty line between blocks. Mentioned people appear as `@U123`."""
    return "\n\n".join(map(_readable_block, blocks))


def _readable_block(block: Block) -> str:
    match block["type"]:
        case "header":
            return block["text"]
        case "context":
            return f"({block['text']})"
        case "paragraph":
            return "\n".join(map(_readable_line, block["lines"]))
        case "bullets":
            return "\n".join("- " + _readable_line(item).replace("\n", "\n  ") for item in block["items"])


def _readable_line(line: Line) -> str:
    return "".join(map(_readable_span, line))


def _readable_span(span: Span) -> str:
    match span["type"]:
        case "code":
            return f"`{span['text']}`"
        case "link":
            return f"{span['text']} <{span['url']}>"
        case _:
            return span["text"]
