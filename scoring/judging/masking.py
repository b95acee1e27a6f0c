"""Korean personal data in texts, replaced by its kind before a text leaves the machine. Source: SPEC 7 and 8.

Masking prefers one mask too many: a text that has lost a number can still be judged, a number that has left the
machine cannot be called back.
"""

import re
import unicodedata
from collections.abc import Iterator

_LABELS = {
    "mail": "[이메일]",
    "resident": "[주민등록번호]",
    "foreigner": "[외국인등록번호]",
    "card": "[카드번호]",
    "bare_card": "[카드번호]",
    "phone": "[전화번호]",
    "account": "[계좌번호]",
    "named_account": "[계좌번호]",
    "passport": "[여권번호]",
}
_BIRTHDAY = "[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_GAP = r"[ \t]?[-.)/]?[ \t]?"
_COUNTRY = r"(?:\+?82[ -]?\(?0?\)?[ -]?|0)"
_AREA = "(?:1[016-9]|2|3[1-3]|4[1-4]|5[1-5]|6[1-4]|70|50[2-8]?)"  # mobile, landline, internet and personal numbers
_BANK = "(?:계좌|은행|뱅크|농협|신협|수협|새마을금고|우체국)"
_DAY = "(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-[0-3][0-9]"
# Linear in the length: a kind of any length begins only where a run of its signs does, the others are bounded.
_PERSONAL = re.compile(
    rf"""
      (?<![a-z0-9._%+-])(?P<mail>[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+)
    | (?<![0-9])(?P<resident>{_BIRTHDAY}[ ]?-?[ ]?[1-4][0-9*]{{6}})(?![0-9])
    | (?<![0-9])(?P<foreigner>{_BIRTHDAY}[ ]?-?[ ]?[5-8][0-9*]{{6}})(?![0-9])
    | (?<![0-9])(?P<card>[3-69][0-9]{{3}}(?:[ ][0-9]{{4}}){{3}}|[3-69][0-9]{{3}}(?:-[0-9]{{4}}){{3}}
        |3[47][0-9]{{2}}[ -][0-9]{{6}}[ -][0-9]{{5}})(?![0-9])
    | (?<![0-9])(?P<bare_card>[2-69][0-9]{{14,15}})(?![0-9])
    | (?<![0-9.,])(?P<phone>{_COUNTRY}{_AREA}{_GAP}[0-9]{{3,4}}{_GAP}[0-9]{{4}})(?![0-9])
    | (?<![0-9a-z-])(?!{_DAY})(?=(?:[0-9]-?){{10,14}}(?![0-9-]))
        (?P<account>[0-9]{{2,6}}(?:-[0-9]{{1,7}}){{2,3}})(?![0-9a-z])
    | {_BANK}[^0-9\n]{{0,15}}(?P<named_account>[0-9]{{10,14}})(?![0-9])
    | (?<![0-9a-z])(?P<passport>[msrodg](?:[0-9]{{8}}|[0-9]{{3}}[a-z][0-9]{{4}}))(?![0-9a-z])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WORTH_A_LOOK = re.compile(r"[\d@＠]")  # no kind of personal data has neither
_DISGUISE = re.compile(r"[^\x00-\x7f가-힣ㄱ-ㅎㅏ-ㅣ]")  # signs that may be a digit, a dash or nothing in disguise
_INVISIBLE_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
_FULL_WIDTH = range(0xFF01, 0xFF5F)


def masked(text: str) -> str:
    """`text` with its personal data replaced by labels such as `[전화번호]`; everything else stays as it is.

    Full-width digits, other dashes and invisible signs between digits hide nothing.
    """
    if not _WORTH_A_LOOK.search(text):
        return text
    plain, origins = _undisguised(text)
    pieces, end = [], 0
    for kind, first, last in _found(plain):
        pieces += [text[end : origins[first]], _LABELS[kind]]
        end = origins[last - 1] + 1
    return "".join([*pieces, text[end:]])


def is_invisible(char: str) -> bool:
    """Whether a sign shows nothing and yet is there: format controls, fillers, variation selectors, tags."""
    return (
        unicodedata.category(char) in ("Cf", "Cc", "Cs", "Zl", "Zp")
        or char in _INVISIBLE_LETTERS
        or "\ufe00" <= char <= "\ufe0d"  # FE0E and FE0F stand in ordinary emoji
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _found(plain: str) -> Iterator[tuple[str, int, int]]:
    for match in _PERSONAL.finditer(plain):
        kind = match.lastgroup
        assert kind is not None
        if kind != "bare_card" or _luhn(match.group()):
            yield kind, *match.span(kind)


def _luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(int(digit) for digit in digits[-1::-2])) % 10 == 0


def _undisguised(text: str) -> tuple[str, range | list[int]]:
    """The text in plain signs, and for each of them where it stands in the original."""
    if not _DISGUISE.search(text):
        return text, range(len(text))
    signs = [(plain, place) for place, char in enumerate(text) if (plain := _plain(char))]
    return "".join(plain for plain, _ in signs), [place for _, place in signs]


def _plain(char: str) -> str:
    if char.isascii():
        return char
    if ord(char) in _FULL_WIDTH:
        return chr(ord(char) - 0xFEE0)
    if (digit := unicodedata.decimal(char, None)) is not None:
        return str(digit)
    category = unicodedata.category(char)
    if category == "Pd" or char == "\N{MINUS SIGN}":
        return "-"
    if category == "Zs":
        return " "
    return "" if is_invisible(char) else char
