"""Block Kit blocks in which no text can do anything, cut and split at Slack's limits.

Everything is `rich_text` and `plain_text`, nothing is `mrkdwn`: in rich text bold, links and mentions are elements of
their own, so that `*`, backticks or `<!channel>` inside a text element are only signs, and no escape can be forgotten
or applied twice. What is left to do is what readers could be deceived by: signs that show nothing or turn the reading
direction, line breaks, and addresses that a client might make clickable.

Limits: 50 blocks a message, 150 characters a header, 3,000 a section. Slack also refuses messages whose blocks
together are too long (`msg_blocks_too_long`, seen above about 11,000 characters of text), which it documents nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from scoring.judging.masking import is_invisible, masked
from scoring.markdown import shortened

Block = dict[str, Any]
Inline = dict[str, Any]
Line = Sequence[Inline]

MAX_BLOCKS = 48  # Slack takes 50: two are left for whom a sender calls, and for a note that it repeats itself
MAX_MESSAGE_BYTES = 12_000
MAX_HEADER = 150
MAX_RICH_TEXT = 2_000  # three bytes a Hangul syllable: a block of it is half a message, and below a section's 3,000
MAX_FALLBACK = 1_000  # Slack recommends 4,000 at most; a notification shows a line or two
MAX_TEXT = 1_000

EMPTY = "(빈 텍스트)"
# In plain text `<` and `&` could be read as escapes; their full-width twins cannot.
_PLAIN = str.maketrans("<>&", "＜＞＆")
# The fallback is read as mrkdwn wherever blocks are not shown.
_FALLBACK = str.maketrans("<>&*~`@", "＜＞＆＊～｀＠")
_MARKING_UNDERSCORE = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")


def inert(text: str, length: int = MAX_TEXT) -> str:
    """A text on one line, every sign of it visible, without a clickable address, cut after `length` characters."""
    one_line = " ".join(text.split())
    visible = "".join(char for char in one_line if not is_invisible(char)).strip()
    unlinked = visible.replace("://", ":／／")
    if len(unlinked) <= length:
        return unlinked
    return f"{unlinked[:length].rstrip()}… 외 {len(unlinked) - length:,}자"


def masked_text(text: str, length: int = MAX_TEXT) -> str:
    """What people or machines wrote, for people to read: without personal data, inert, never empty."""
    return inert(masked(text), length) or EMPTY


def plain(text: str) -> Inline:
    """A piece of text."""
    return {"type": "text", "text": text}


def bold(text: str) -> Inline:
    """A piece of bold text."""
    return {"type": "text", "text": text, "style": {"bold": True}}


def code(text: str) -> Inline:
    """A piece of text to copy: an id, a path, a command."""
    return {"type": "text", "text": text, "style": {"code": True}}


def link(url: str, text: str) -> Inline:
    """A link; `url` comes from settings, never from data."""
    return {"type": "link", "url": url, "text": text}


def header(text: str) -> Block:
    """The first line of a message."""
    return {"type": "header", "text": _plain_text(shortened(text, MAX_HEADER))}


def context(text: str) -> Block:
    """The small print."""
    return {"type": "context", "elements": [_plain_text(text)]}


def paragraph(*lines: Line) -> list[Block]:
    """Lines below each other."""
    return [
        _rich_text({"type": "rich_text_section", "elements": _joined(group)})
        for group in _groups(lines, separator_length=1)
    ]


def bullets(items: Sequence[Line]) -> list[Block]:
    """A list; lines within an item are divided by `plain("\\n")`."""
    return [
        _rich_text(
            {
                "type": "rich_text_list",
                "style": "bullet",
                "elements": [{"type": "rich_text_section", "elements": list(item)} for item in group],
            }
        )
        for group in _groups(items, separator_length=0)
    ]


def fallback(*texts: str) -> str:
    """The text of notifications: it formats nothing, links nowhere and calls nobody."""
    text = " · ".join(inert(text, MAX_FALLBACK) for text in texts)
    return shortened(_MARKING_UNDERSCORE.sub("＿", text.translate(_FALLBACK)), MAX_FALLBACK)


def split(blocks: Sequence[Block]) -> list[list[Block]]:
    """The messages that the blocks of one become: as few as Slack takes. Every part repeats the header with its number.

    The first block is the header.
    """
    title, *rest = blocks
    parts: list[list[Block]] = [[]]
    size = room = MAX_MESSAGE_BYTES - _size(header("＿" * MAX_HEADER))
    for block in rest:
        size -= _size(block)
        if parts[-1] and (size < 0 or len(parts[-1]) == MAX_BLOCKS - 1):
            parts.append([])
            size = room - _size(block)
        parts[-1].append(block)
    if len(parts) == 1:
        return [[title, *rest]]
    name = shortened(title["text"]["text"], MAX_HEADER - len(f" ({len(parts)}/{len(parts)})"))
    return [[header(f"{name} ({i}/{len(parts)})"), *part] for i, part in enumerate(parts, 1)]


def _plain_text(text: str) -> Block:
    return {"type": "plain_text", "text": text.translate(_PLAIN), "emoji": False}


def _rich_text(element: Block) -> Block:
    return {"type": "rich_text", "elements": [element]}


def _joined(lines: Sequence[Line]) -> list[Inline]:
    """The pieces of lines with breaks between them."""
    first, *others = lines
    return [*first, *chain.from_iterable((plain("\n"), *line) for line in others)]


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
    """A line in pieces short enough for a block; a single piece is at most `MAX_TEXT` and a little."""
    piece: list[Inline] = []
    for inline in line:
        if piece and _length(piece) + _length([inline]) > MAX_RICH_TEXT - 1:
            yield piece
            piece = []
        piece.append(inline)
    yield piece


def _length(line: Line) -> int:
    return sum(len(inline["text"]) for inline in line)


def _size(block: Block) -> int:
    return len(json.dumps(block, ensure_ascii=False).encode()) + 1
