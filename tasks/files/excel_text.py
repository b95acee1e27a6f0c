"""Texts as a cell of Excel can hold and show them."""

import re

LONGEST_CELL = 32_767

# XML has no such characters, and Excel refuses the whole workbook for one of them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def shown_text(text: str) -> str:
    """A text as a cell can hold it: no control characters, and cut with a mark where it is too long for Excel."""
    text = _FORBIDDEN.sub("", text)
    # Excel counts UTF-16 units: an emoji is two.
    if len(text) * 2 > LONGEST_CELL and len(text.encode("utf-16-le")) // 2 > LONGEST_CELL:
        mark = f"…(잘림: 전체 {len(text):,}자)"
        text = text.encode("utf-16-le")[: 2 * (LONGEST_CELL - len(mark))].decode("utf-16-le", "ignore") + mark
    return text


def display_width(text: str) -> int:
    """Columns that a line takes, two for a Hangul character, which is three bytes long."""
    return (len(text) + len(text.encode(errors="replace"))) // 2
