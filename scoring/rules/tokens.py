"""Tokenises the GoogleSQL of a rule: words, numbers and texts with their positions."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from scoring.errors import RuleError
from scoring.rules.expressions import alternation

TokenType = Literal["string", "number", "name", "sign", "end"]
Refuse = Callable[[str, int, str], NoReturn]
"""Raises an error from a message, a character position, and the remedy."""

LONGEST_TEXT = 5_000
"""Maximum characters of one rule: engines process its parts by recursion."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>[rR]?(?:'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*"))
    |(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>[=!<>]=|<>|&&|\|\||[-=<>+*/(),\[\]])""",
    re.VERBOSE,
)
_TYPES: dict[str | None, TokenType] = {"string": "string", "number": "number", "name": "name", "sign": "sign"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_INSTEAD = {
    "==": "write =",
    "<>": "write !=",
    "&&": "write AND",
    "||": "write OR",
    "NOT": "write NOT before the whole: NOT (a IN ('x'))",
    "<": "write a > 1 AND a < 2",
    "<=": "write a >= 1 AND a <= 2",
    "LIKE": "write REGEXP_CONTAINS(column, r'pattern')",
    "BETWEEN": "write a >= 1 AND a <= 2",
    "TRUE": "leave it out: a condition is true or not",
    "FALSE": "write NOT (...)",
    "-": "to take 1 away write + -1",
    "*": "give weights instead of products",
    "/": "write SAFE_DIVIDE(a, b)",
}
_ESCAPED_SIGN = re.compile(r"\\([.?*+|(){}\[\]\\^$])")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as written, and the position of its first character, from 0."""

    type: TokenType
    text: str
    offset: int

    @property
    def word(self) -> str:
        """A name in capitals, because GoogleSQL keywords are case-insensitive; '' for other tokens."""
        return self.text.upper() if self.type == "name" else ""


def tokens_of(text: str, refuse: Refuse) -> list[Token]:
    """The tokens of a rule, followed by an end token."""
    if len(text) > LONGEST_TEXT:
        refuse(
            f"a rule of {len(text):,} characters", 0, f"write at most {LONGEST_TEXT:,}, or make columns of its parts"
        )
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if not match:
            quoted = text[place] in "'\""
            sign = text[place] if text[place].isascii() else f"{text[place]} (U+{ord(text[place]):04X})"
            refuse(
                "a text that does not end" if quoted else f"a sign that no rule has: {sign}",
                place,
                "close it in the same line with the quote that opens it"
                if quoted
                else "write 0.5 for .5, and a column without its table"
                if sign == "."
                else "write it as '"
                if text[place] in "‘’“”"
                else "leave it out",
            )
        if match.lastgroup in _TYPES:
            found.append(Token(_TYPES[match.lastgroup], match.group(), place))
        place = match.end()
    return [*found, Token("end", "", len(text))]


def text_of(token: Token, refuse: Refuse) -> str:
    """The value of a quoted text; a raw text (prefix `r`) is taken literally."""
    if token.text[0] in "rR":
        return token.text[2:-1]

    def unescaped(escape: re.Match[str]) -> str:
        if escape[1] not in _ESCAPED:
            refuse(
                f"an escape that no text has: {escape[0]}",
                token.offset + 1 + escape.start(),
                f"write r{token.text[0]}...{token.text[0]} for a pattern",
            )
        return _ESCAPED[escape[1]]

    return _ESCAPE.sub(unescaped, token.text[1:-1])


def words_of(regex: str) -> tuple[str, ...]:
    """The plain words of an alternation; () if the regex is more than that."""
    words = tuple(_ESCAPED_SIGN.sub(r"\1", part) for part in re.findall(r"(?:[^|\\]|\\.)+", regex, re.DOTALL))
    return words if alternation(words) == regex else ()


class ConditionError(RuleError):
    """A text is not a rule: what was expected, and the position (character from 0) of the error."""

    def __init__(self, what: str, text: str, offset: int, fix: str) -> None:
        line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
        super().__init__(what, where=f"line {line}, column {column}", fix=fix)
        self.offset = offset


class TokenReader:
    """The tokens of a text and the position of the next one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.tokens = tokens_of(text, self.refuse)
        self.place = 0

    @property
    def next(self) -> Token:
        """The next token; the end token at the end."""
        return self.tokens[self.place]

    def next_are(self, *expected: str) -> bool:
        """Whether the next tokens are these signs, names and types."""
        following = self.tokens[self.place : self.place + len(expected)]
        return len(following) == len(expected) and all(
            one in (token.type, token.text, token.word) for one, token in zip(expected, following, strict=True)
        )

    def advance(self) -> Token:
        """Consumes a token."""
        self.place += 1
        return self.tokens[self.place - 1]

    def accept(self, expected: str) -> bool:
        """Consumes a sign or a word if it is the next token, and returns whether it was."""
        if expected not in (self.next.text, self.next.word):
            return False
        self.advance()
        return True

    def expect(self, *expected: str) -> None:
        """Consumes these signs and words, or refuses the text."""
        for one in expected:
            if not self.accept(one):
                self.unexpected(one)

    def unexpected(self, expected: str) -> NoReturn:
        """Refuses the text at its next token."""
        token = self.next
        found = token.text[:40] or "the end"
        fix = _INSTEAD.get(token.word or token.text) or f"write {expected} here"
        self.refuse(f"expected {expected}, found {found}", token.offset, fix)

    def refuse(self, what: str, offset: int, fix: str) -> NoReturn:
        """Refuses the text at a character position, from 0."""
        raise ConditionError(what, self._text, offset, fix)
