"""The numbers that a Korean answer states, exactly, and how two sets of numbers compare.

Numbers: `1,234`, `12.5`, `52.1%` (52.1), `2만 917` (20,917), `1만 2천`, `1.2억`, with a sign where one
stands alone; a hyphen between digits is a range. Full-width digits and signs count like ASCII ones, and
markdown around a number does not matter.

Source: seed 000, 2.2 (일관성), 2.3 and 3.3 (결과 정확도).
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

ONE_PERCENT = Fraction(1, 100)

_ASCII = str.maketrans("０１２３４５６７８９．，％＋－−（）：／～∼〜", "0123456789.,%+--():/~~~")
_EMPHASIS_IN_NUMBER = re.compile(r"(?<=[0-9])(?:\*\*|__|`)(?=[0-9])")
_EMPHASIS = re.compile(r"\*\*|__|`")
# A scale is no scale in 만점 (full marks) and 만큼 (as much as). No quantity has more than 15 digits:
# those are ids.
_TERM = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,15}(?![0-9]))(?:\.[0-9]{1,30}(?![0-9]))?"
_SCALE = r"(?:천만|백만|십만|천억|백억|십억|억|만(?![점큼])|천|백)"
_NUMBER = re.compile(
    rf"(?=[0-9])(?<![0-9A-Za-z_])(?<![A-Za-z_]-)(?<![0-9]\.)(?P<first>{_TERM})(?:[ ]?(?P<scale>{_SCALE})"
    rf"(?P<rest>(?:[ ]?{_TERM}[ ]?{_SCALE}){{0,4}}(?:[ ]?{_TERM}(?![ ]?{_SCALE}))?))?"
)
_REST = re.compile(rf"({_TERM})[ ]?({_SCALE})?")
_ID = re.compile(r"(?<![0-9.])[0-9]{16,}")
_MINUS = re.compile(r"(?:^|[^0-9A-Za-z가-힣)%\]])-$")
_RANGE = re.compile(r"[0-9] *-$")
_DIGIT = re.compile(r"[0-9]")
_SCALES = {
    "백": 10**2, "천": 10**3, "만": 10**4, "십만": 10**5, "백만": 10**6, "천만": 10**7,
    "억": 10**8, "십억": 10**9, "백억": 10**10, "천억": 10**11,
}  # fmt: skip
# What is counted, when it stands right behind a number: `3년` of the question is not `3명` of the answer.
_COUNTER = re.compile(r"[ ]?(개월|시간|명|건|개|점|세|살|년|월|일|주|회|번|곳|원|시|분|초|인|장|부|종|배|%)")

# Digits that state no quantity. Every pattern is bounded, so that time grows with the length of the text only.
_BLANK = " # "  # a sign between the neighbours, lest `3, 4` become a thousand or `2만` meet a stranger
_DASH = r"[ ]{0,2}[~–-][ ]{0,2}"
_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_CLOCK = r"(?:2[0-4]|[01]?[0-9]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?Z?"
_UNTIL = rf"(?:{_DASH}(?:{_MONTH}[-./]{_DAY}(?![0-9])|{_MONTH}월(?:[ ]?{_DAY}일)?|{_DAY}일))?"
_SMALL_LIST = r"[0-9]{1,3}(?:[ ]?[~·/,-][0-9]{1,3}){0,4}"
_LINKS = r"\]\([^()\s]{1,4000}\)|https?://[^\s)]{1,4000}"
_DATES_TIMES_ORDINALS = (
    # 2026-02-03, 2026. 2. 3., with a clock time, up to a second date
    rf"{_YEAR}[ ]?[-./][ ]?{_MONTH}[ ]?[-./][ ]?{_DAY}(?![0-9])(?:T{_CLOCK})?{_UNTIL}",
    # 26/2/3; 26.02.03 and version numbers
    rf"[0-9]{{2}}/{_MONTH}/{_DAY}(?![0-9])|[0-9]{{1,4}}(?:\.[0-9]{{1,4}}){{2,4}}(?![0-9])",
    # 2026년 2월 3일, 26년 2월, 2026년
    rf"(?:{_YEAR}|[0-9]{{2}}(?=년[ ]?{_MONTH}월))년도?(?:[ ]?{_MONTH}월(?:[ ]?{_DAY}일)?)?{_UNTIL}",
    # 2023~2025년, 2026-02, 2026.02, 20260203
    rf"{_YEAR}{_DASH}{_YEAR}(?![0-9])년?|{_YEAR}(?:[-/]{_MONTH}|\.(?:0[1-9]|1[0-2]))(?![0-9.,])",
    rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?![0-9])",
    # 2월 3일, 1~3월; 02/03 (but 3/5명 counts people)
    rf"(?:{_MONTH}{_DASH})?{_MONTH}월(?:[ ]?{_DAY}일)?{_UNTIL}",
    rf"{_MONTH}/{_DAY}(?![0-9/.,]|[ ]?(?:명|건|개|점|%)){_UNTIL}",
    # 14:30; 오후 3시, 9~18시 30분 (3시간 is a duration)
    rf"{_CLOCK}(?![0-9:])",
    rf"(?:[0-9]{{1,2}}{_DASH})?[0-9]{{1,2}}시(?!간)(?:[ ]?[0-9]{{1,2}}분(?:[ ]?[0-9]{{1,2}}초)?)?",
    # 1차, 1~2차, 2번째, 3회차, 1위, 2분기, 3학년, 2단계
    rf"{_SMALL_LIST}[ ]?(?:차(?![이례])|번째|째|회차|순위|위(?!원)|분기|학년|학기|등급|단계)",
    r"[0-9]{1,4}(?:st|nd|rd|th)(?![a-z])",
)
# A day of the week, a word or a sign may stand in front; half a number may not.
_NO_QUANTITY = re.compile(
    rf"(?=[0-9제\]h])(?:{_LINKS}|(?<![가-힣])제[ ]?[0-9]{{1,4}}[ ]?(?:회|차|기|호|조|항|장|번|부)"
    rf"|(?<![0-9A-Za-z])(?<![0-9][.,])(?:{'|'.join(_DATES_TIMES_ORDINALS)}))"
)
_MARKER_AT_LINE_START = re.compile(
    r"^([ \t]{0,20}(?:[-*•·▪>#|]{1,6}[ \t]{1,4})?)\(?[0-9]{1,2}(?:\)|\.(?![0-9]))(?=[ \t]{0,20}\S)",
    re.MULTILINE,
)
_MARKER_INSIDE = re.compile(r"(\([^()\n]{0,400}\))|(?<![^\s])[0-9]{1,2}\)(?=\s)")
_OFFER_IN_PARENTHESES = re.compile(r"\([^()\n]{0,400}까요\s?[?？]?\s?\)")
_SENTENCE_END = re.compile(r"(?<=[.!?？。])(?![0-9])|\n")
_OFFER = re.compile(r"까요[^0-9가-힣A-Za-z]*$")
_COUNT = r"[0-9]{1,6}(?:\.[0-9]{1,2})?"
_UNIT = r"(?:일|주일?|개월|년)"
_LENGTH = rf"{_COUNT}(?:(?:[ ]?{_UNIT})?{_DASH}{_COUNT})?[ ]?{_UNIT}(?:간|치|여)?"
_PERIOD = re.compile(
    rf"(?=[0-9최지])(?:(?P<lead>(?:최근|지난)[ ]?(?:약[ ]?)?){_LENGTH}(?P<restated>[ ]?\([^()\n]{{0,400}}\))?"
    rf"|(?<![0-9.,]){_LENGTH}(?P<between>[ ]?(?:\([^()\n]{{0,400}}\))?[ ]?)(?=기준|이내|동안))"
)
_LENGTH_INSIDE = re.compile(rf"(?<![0-9.,]){_LENGTH}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it stands in a text: its exact value and the counter behind it (`명`, `%`, ...), else ''."""

    value: Fraction
    counter: str


@dataclass(frozen=True, slots=True)
class NumbersComparison:
    """How an answer's numbers meet the expected ones. `missing`: those without an exact equal, in order."""

    grade: Literal["exact", "within", "wrong"]
    missing: tuple[Fraction, ...]


@lru_cache(maxsize=64)  # accuracy and consistency look at the same answer
def numbers_in(text: str, *, query: str = "") -> tuple[Fraction, ...]:
    """The numbers that `text` states, in order, repeats kept.

    Not numbers: dates, times, ordinals, list markers, periods (최근 365일), closing offers (…까요?), digits
    of names and links, and what only echoes `query`: the same value, unless both texts count different things
    with it.

    Source: seed 000, 2.2 and 2.3.
    """
    if not _DIGIT.search(text := text.translate(_ASCII)):
        return ()
    quantities = _quantities(_without_periods(_without_offers(_without_times_and_labels(_plain(text)))))
    echoes = _query_quantities(query)
    return tuple(quantity.value for quantity in quantities if not any(_echoes(quantity, asked) for asked in echoes))


def compare_numbers(
    expected: Collection[Fraction], actual: Collection[Fraction], tolerance: Fraction = ONE_PERCENT
) -> NumbersComparison:
    """`exact`: every expected number is among the actual ones, whatever the order; `within`: each has one
    within `tolerance`, relative to the expected number (upper bound included); else `wrong`. Further
    actual numbers do no harm.

    Source: seed 000, 3.3.
    """
    found = set(actual)
    missing = tuple(number for number in dict.fromkeys(expected) if number not in found)
    if not missing:
        return NumbersComparison("exact", ())
    within = all(any(abs(other - number) <= tolerance * abs(number) for other in found) for number in missing)
    return NumbersComparison("within" if within else "wrong", missing)


def spread_within(sets: Sequence[Collection[Fraction]], tolerance: Fraction = ONE_PERCENT) -> bool:
    """Whether the sets, sorted and paired, differ in each number by at most `tolerance` of its smallest magnitude.

    Sets of different sizes cannot be paired. Source: seed 000, 3.2 (허용 오차 범위).
    """
    rows = [sorted(set(numbers)) for numbers in sets]
    if len({len(row) for row in rows}) > 1:
        return False
    return all(max(pair) - min(pair) <= tolerance * min(map(abs, pair)) for pair in zip(*rows, strict=True))


def number_text(number: Fraction) -> str:
    """A number as people write it: `20,917`, `-12.5`. A fraction without a finite decimal is cut after 6 places."""
    places = next((n for n in range(16) if 10**n % number.denominator == 0), 6)
    whole, fraction = divmod(abs(number.numerator) * 10**places // number.denominator, 10**places)
    decimals = f".{fraction:0{places}d}".rstrip("0") if fraction else ""
    return f"{'-' if number < 0 else ''}{whole:,}{decimals}"


def _plain(text: str) -> str:
    return _EMPHASIS.sub("", _EMPHASIS_IN_NUMBER.sub(" ", text))


@lru_cache(maxsize=1024)  # every execution of a query asks the same
def _query_quantities(query: str) -> tuple[Quantity, ...]:
    """The question's own numbers, its periods included: `90일` in an answer repeats its `최근 90일`."""
    if not _DIGIT.search(query := query.translate(_ASCII)):
        return ()
    return tuple(_quantities(_without_times_and_labels(_plain(query))))


def _echoes(quantity: Quantity, asked: Quantity) -> bool:
    counts_another_thing = quantity.counter and asked.counter and quantity.counter != asked.counter
    return quantity.value == asked.value and not counts_another_thing


def _quantities(text: str) -> Iterator[Quantity]:
    text = _ID.sub(" ", text)
    end = 0
    while match := _NUMBER.search(text, end):
        value, end = _value(match["first"], match["scale"]), match.end()
        if match["rest"]:
            value, used = _with_rest(value, match["scale"], match["rest"])
            end = match.start("rest") + used
        counter = _COUNTER.match(text, end)
        negative = _is_negative(text[max(0, match.start() - 12) : match.start()])
        yield Quantity(-value if negative else value, counter.group(1) if counter else "")


def _is_negative(before: str) -> bool:
    """Whether a number with `before` in front carries a minus. A hyphen behind a digit or a word makes a range."""
    return "-" in before and bool(_MINUS.search(before)) and not _RANGE.search(before)


def _value(digits: str, scale: str | None) -> Fraction:
    digits, unit = digits.replace(",", ""), _SCALES[scale] if scale else 1
    return Fraction(Decimal(digits)) * unit if "." in digits else Fraction(int(digits) * unit)


def _with_rest(value: Fraction, scale: str, rest: str) -> tuple[Fraction, int]:
    """`value` plus the terms of `rest` that belong to it, and how many characters they take: each term is
    smaller than the scale before it (`1만 2천` is one number, `1만 20,000` are two)."""
    used, limit = 0, _SCALES[scale]
    for term in _REST.finditer(rest):
        part = _value(term.group(1), term.group(2))
        if part >= limit:
            break
        value, used = value + part, term.end()
        limit = _SCALES[term.group(2)] if term.group(2) else 0
    return value, used


def _without_times_and_labels(text: str) -> str:
    """Without dates, times of day, ordinals (1차), list markers, links."""
    text = _NO_QUANTITY.sub(_BLANK, text)
    text = _MARKER_AT_LINE_START.sub(r"\1 ", text)
    return _MARKER_INSIDE.sub(lambda match: match.group(1) or _BLANK, text)


def _without_offers(text: str) -> str:
    """Without sentences that offer a next step ("…까요?"), and offers in parentheses."""
    if "까요" not in text:
        return text
    text = _OFFER_IN_PARENTHESES.sub(" ", text)
    return "\n".join(sentence for sentence in _SENTENCE_END.split(text) if not _OFFER.search(sentence))


def _without_periods(text: str) -> str:
    """Without lengths of time after 최근 or 지난, or before 기준, 이내 or 동안, and parentheses that restate them."""
    return _PERIOD.sub(_blanked_period, text)


def _blanked_period(match: re.Match[str]) -> str:
    around = "".join(match[name] or "" for name in ("lead", "restated", "between"))
    return f"{_BLANK}{_LENGTH_INSIDE.sub(_BLANK, around)}"
