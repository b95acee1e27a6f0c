"""Finds the positions of values in a TOML text: `tomllib` returns the values, not their positions.

`tomllib` has already accepted the text, so that only delimiters are parsed.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MOST_PARTS = 20
"""Of a key with dots: a rubric needs four."""

Path = tuple[str | int, ...]
"""The keys and positions that lead to a value."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!"")|""(?!"))*"{3,5}'
    + r"|'''(?:[^']|'(?!'')|''(?!'))*'{3,5}"
    + r'|"(?:[^"\\\n]|\\.)*"'
    + r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]*[^,\]}#\n \t]")
_ESCAPE = re.compile(r"\\(?:u.{4}|U.{8}|[ \t]*\n[ \t\n]*|.)", re.DOTALL)


class TextSpan(NamedTuple):
    """The positions of the first character, from 0, and of the one after the last."""

    start: int
    end: int


def spans_of(text: str) -> dict[Path, TextSpan]:
    """The position of every value of a TOML text; the position of a table is its header.

    Line ends are `\n`, as `tomllib` normalises them.

    Raises:
        ValueError: a key has too many parts; ends with its position, as errors of `tomllib` do.
    """
    return _Scanner(text).document()


def nearest(spans: dict[Path, TextSpan], path: Sequence[str | int]) -> Path:
    """The path, or the longest prefix of it that the text has; unknown keys are skipped."""
    found: Path = ()
    for part in path:
        if (*found, part) in spans:
            found = (*found, part)
    return found


def line_and_column(text: str, offset: int) -> str:
    """`line 3, column 7`: both from 1."""
    return f"line {text.count(chr(10), 0, offset) + 1}, column {offset - text.rfind(chr(10), 0, offset)}"


def place_in_string(text: str, string: TextSpan, offset: int) -> int:
    """The position in the text of a character in a string's value; `offset` is its position in the value."""
    quotes = 3 if text.startswith(('"""', "'''"), string.start) else 1
    at = string.start + quotes
    if quotes == 3 and text.startswith("\n", at):
        at += 1
    if text[string.start] == "'":
        return at + offset
    while True:
        escape = _ESCAPE.match(text, at)
        is_joint = escape is not None and "\n" in escape.group()  # gives nothing
        if not offset and not is_joint:
            return at
        offset -= not is_joint
        at = escape.end() if escape else at + 1


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._spans: dict[Path, TextSpan] = {(): TextSpan(0, 0)}
        self._tables: Counter[Path] = Counter()

    def document(self) -> dict[Path, TextSpan]:
        table: Path = ()
        self._take(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._take(_BLANK)
        return self._spans

    def _header(self) -> Path:
        start = self._at
        is_array = self._text.startswith("[[", start)
        self._at += 2 if is_array else 1
        keys = self._keys()
        self._at += 2 if is_array else 1
        table = self._resolved(keys[:-1]) + keys[-1:]
        span = TextSpan(start, self._at)
        for depth in range(1, len(table) + 1):
            self._spans.setdefault(table[:depth], span)
        if is_array:
            table = (*table, self._tables[table])
            self._tables[table[:-1]] += 1
        elif self._tables[table]:
            table = (*table, self._tables[table] - 1)
        self._spans[table] = span
        return table

    def _resolved(self, keys: Path) -> Path:
        """The path of a table whose parents may be arrays of tables: the last element of each."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if self._tables[path]:
                path = (*path, self._tables[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        start = self._at
        keys = self._keys()
        for depth in range(1, len(keys)):
            self._spans.setdefault((*table, *keys[:depth]), TextSpan(start, self._at))
        self._at += 1  # the equals sign
        self._take(_BLANK)
        self._value((*table, *keys))

    def _keys(self) -> Path:
        keys: list[str] = []
        while True:
            self._take(_BLANK)
            written = self._take(_STRING, _BARE_KEY)
            keys.append(next(iter(tomllib.loads(f"{written}=0"))))
            self._take(_BLANK)
            if self._text[self._at] != ".":
                return tuple(keys)
            if len(keys) == MOST_PARTS:
                place = line_and_column(self._text, self._at)
                raise ValueError(f"a key of more than {MOST_PARTS} parts (at {place})")
            self._at += 1

    def _value(self, path: Path) -> None:
        start = self._at
        if self._text[start] == "[":
            self._at += 1
            number = 0
            while self._goes_on("]"):
                self._value((*path, number))
                number += 1
        elif self._text[start] == "{":
            self._at += 1
            while self._goes_on("}"):
                self._pair(path)
        else:
            self._take(_STRING, _BARE_VALUE)
        self._spans[path] = TextSpan(start, self._at)

    def _goes_on(self, closing: str) -> bool:
        """Consumes the comma or the closing sign; returns whether another part follows."""
        self._take(_BLANK)
        if self._text[self._at] == ",":
            self._at += 1
            self._take(_BLANK)
        if self._text[self._at] != closing:
            return True
        self._at += 1
        return False

    def _take(self, *patterns: re.Pattern[str]) -> str:
        """Consumes what the first of these patterns matches that matches at all; one of them does."""
        found = next(filter(None, (pattern.match(self._text, self._at) for pattern in patterns)))
        self._at = found.end()
        return found.group()
