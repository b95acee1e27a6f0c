"""Escapes in the texts of a workbook: `_x000D_` is a carriage return, `_x005F_` an underscore that begins no escape."""

import re

_ESCAPE_LIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPE = re.compile("_x(00(?:0[1-9A-Fa-f]|1[0-9A-Fa-f]|5[Ff]))_")  # of characters that no XML has, and of their sign


def escaped(text: str) -> str:
    """A text that Excel shows as it is: it would read `_x0041_` as an A."""
    return _ESCAPE_LIKE.sub("_x005F_", text)


def unescaped(text: str) -> str:
    """A text of a workbook as Excel shows it; openpyxl has taken `x005F_` out of shared texts already."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
