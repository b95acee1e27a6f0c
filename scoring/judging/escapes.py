"""The escapes of URLs, HTML and JSON in a text, also where it was escaped twice. Linear in the length of the text."""

import re
from html.entities import html5

_ESCAPE = re.compile(
    r"%(?:25){0,2}(?P<byte>[2-7][0-9a-f])|(?P<bytes>(?:%[89a-f][0-9a-f])++)"
    r"|&(?:amp;){0,2}(?:#(?P<decimal>[0-9]{1,7}+);?|#x(?P<hex>[0-9a-f]{1,6}+);?|(?P<name>[a-z]{2,24}[0-9]{0,2});)"
    r"|\\{1,4}(?:u(?P<unit>[0-9a-f]{4})|(?P<short>[nrt/]))",
    re.IGNORECASE,
)
_LAST_CODE = 0x10FFFF
_SHORT = {"n": "\n", "r": "\n", "t": "\t", "/": "/"}


def unescaped(text: str) -> tuple[str, range | list[int]]:
    """The text with the signs that its escapes stand for, and the original position of each, and of its end."""
    if not _ESCAPE.search(text):
        return text, range(len(text) + 1)
    pieces, origins, done = list[str](), list[int](), 0
    for escape in _ESCAPE.finditer(text):
        if signs := _signs_of(escape):
            pieces += [text[done : escape.start()], signs]
            origins += [*range(done, escape.start()), *[escape.start()] * len(signs)]
            done = escape.end()
    return "".join([*pieces, text[done:]]), [*origins, *range(done, len(text) + 1)]


def _signs_of(escape: re.Match[str]) -> str:
    """What an escape stands for; '' where it is none."""
    kind, written = str(escape.lastgroup), escape[str(escape.lastgroup)]
    if kind == "bytes":
        return bytes.fromhex(written.replace("%", "")).decode(errors="replace")
    if kind == "name":
        return html5.get(f"{written};", "")
    if kind == "short":
        return _SHORT[written.lower()]
    code = int(written, 10 if kind == "decimal" else 16)
    sign = chr(code) if code <= _LAST_CODE else ""
    # A percent sign stands behind a number more often than before a letter.
    return "" if kind == "byte" and sign.isalnum() else sign
