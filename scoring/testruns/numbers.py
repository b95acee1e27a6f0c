"""Extracts the numbers of a Korean answer, exactly, and compares two sets of numbers.

Numbers: `1,234`, `12.5`, `52.1%` (52.1), `2만 917` (20,917), `1만 2천`, `5천 2백만`, `1.2억`, `1조`, with an isolated
sign; a hyphen between digits is a range, whose scale may stand once (`3,500~4,000만`). `한 명` to `스무 명`, and as
many `건`, are numbers, too. Full-width digits and signs equal ASCII ones, and markdown around a number is ignored.

Source: seed 000, 2.2 (일관성), 2.3 and 3.3 (결과 정확도).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from scoring.testruns.no_quantities import BLANK, without_offers, without_periods, without_times_and_labels
from scoring.testruns.none_statements import DENIED

ONE_PERCENT = Fraction(1, 100)

_ASCII = str.maketrans("０１２３４５６７８９．，％＋－−（）：／～∼〜", "0123456789.,%+--():/~~~")
_ASCII |= str.maketrans("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " " * 8)  # no-break, thin, wide
_EMPHASIS_IN_NUMBER = re.compile(r"(?<=[0-9])(?:\*\*|__|`)(?=[0-9])")
_EMPHASIS = re.compile(r"\*\*|__|`")
_ONES = ("한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉")
_NUMBER_WORDS = {word: number for number, word in enumerate(_ONES, 1)} | {"스무": 20}
_NUMBER_WORDS |= {"열": 10} | {f"열{word}": 10 + number for number, word in enumerate(_ONES, 1)}
# 한 명, 두 건입니다; neither 세명대학교 nor 조회를 한 건지
_COUNTED_IN_WORDS = re.compile(
    rf"(?<![가-힣])({'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})(?=[ ]?[명건]"
    r"(?:$|[^가-힣]|입니|이[에었며고]|인데|으로|뿐|씩|[이가은는을를의도만과와](?![가-힣])))"
)
# No quantity has more than 15 digits: those are ids.
_TERM = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,15}(?![0-9]))(?:\.[0-9]{1,30}(?![0-9]))?"
# A scale is no scale in 만점 (full marks), 만큼 (as much as) and 만 30세 (30 full years).
_LARGE = r"(?:조(?![각직건])|억|만(?![점큼]|[ ]?[0-9]{1,3}(?:\.[0-9])?[ ]?[세살]))"
# Behind a blank a scale is a word of its own, with at most a counter or a particle: 3 만 명, but not 5 만료.
_WORD_ENDS = (
    r"(?=$|[^가-힣]|명|건|개|원|여|정도|이상|이하|이내|미만|초과|입니|이[에었며고]|인데|으로|에서|까지|부터"
    r"|[이가은는을를의에도로과와](?![가-힣]))"
)
_SCALE_WORD = rf"(?:(?:천|백|십)?여?{_LARGE}|(?:천|백|십)[ ]{_LARGE}{_WORD_ENDS}|천|백|십)"
_SCALE = rf"(?:{_SCALE_WORD}|[ ]{_SCALE_WORD}{_WORD_ENDS})"
_NUMBER = re.compile(
    rf"(?=[0-9])(?<![0-9A-Za-z_])(?<![A-Za-z_]-)(?<![0-9]\.)(?P<first>{_TERM})(?:(?P<scale>{_SCALE})"
    rf"(?P<rest>(?:[ ]?{_TERM}{_SCALE}){{0,4}}(?:[ ]?{_TERM}(?!{_SCALE}))?))?"
)
_RANGE_END = re.compile(rf"[ ]?[~–-][ ]?({_TERM})({_SCALE})")
_REST = re.compile(rf"({_TERM})({_SCALE})?")
_ID = re.compile(r"(?<![0-9.])[0-9]{16,}")
_MINUS = re.compile(r"(?:^|[^0-9A-Za-z가-힣)%\]])-$")
_RANGE = re.compile(r"[0-9] *-$")
_DIGIT = re.compile(r"[0-9]")
_SMALL_SCALES = {"십": 10, "백": 10**2, "천": 10**3}
_LARGE_SCALES = {"만": 10**4, "억": 10**8, "조": 10**12}
# What is counted, when it stands right behind a number: `3년` of the question is not `3명` of the answer.
_COUNTERS = "개월|시간|퍼센트|명|건|개|점|세|살|년|월|일|주|회|번|곳|원|시|분|초|인|장|부|종|배|%"
_COUNTER = re.compile(
    rf"여?(?:(?P<near>{_COUNTERS})|[ ](?P<apart>{_COUNTERS})(?:씩|간|당|쯤|{_WORD_ENDS}))"
    rf"|(?P<class>대|등|급|지망){_WORD_ENDS}|(?=[ ]?(?P<limit>이상|이하|미만|초과|이내))"
)
_SAME_COUNTERS = {"살": "세", "퍼센트": "%"}
_DURATIONS = ("년", "개월", "주", "일", "시간")
_TO = re.compile(r"[ ]?[~–-][ ]?")
# Counters of one kind may stand for each other (3건 for 3명); a counter without a kind (분: minutes or people) for all.
_KINDS = {
    **dict.fromkeys(("명", "인", "개", "곳", "장", "부", "종"), ("things",)),
    "건": ("things", "times"),
    **dict.fromkeys(("회", "번"), ("times",)),
    **{unit: (unit,) for unit in ("년", "개월", "주", "일", "시간", "초", "점", "원", "배", "월", "시", "%", "세")},
    **{unit: (unit,) for unit in ("대", "등", "급", "지망")},
}
# 경력 3년 이상, 90점 미만
_LIMITED, _AS_LIMIT = r"(?=[0-9])(?<![0-9.,])[0-9][0-9,.]{0,20}", r"[ ]?[가-힣%]{0,4}[ ]?(?:이상|이하|미만|초과)"
_LIMIT = re.compile(rf"{_LIMITED}{_AS_LIMIT}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a text: its exact value and the counter after it (`명`, `%`, ...), else ''."""

    value: Fraction
    counter: str = ""

    def may_equal(self, other: "Quantity") -> bool:
        """Whether the two may count the same: not `12%` and `12명`, but `3건` and `3명`, and a bare 12 and all."""
        ours, theirs = _KINDS.get(self.counter, ()), _KINDS.get(other.counter, ())
        return not ours or not theirs or bool(set(ours) & set(theirs))


@dataclass(frozen=True, slots=True)
class NumbersComparison:
    """How an answer's numbers compare with the expected ones, of which `missing` have no exact equal, in order."""

    grade: Literal["exact", "within", "wrong"]
    missing: tuple[Quantity, ...]


def numbers_in(text: str, *, query: str = "", truth: str = "") -> tuple[Fraction, ...]:
    """The values of `quantities_in`."""
    return tuple(quantity.value for quantity in quantities_in(text, query=query, truth=truth))


@lru_cache(maxsize=64)  # accuracy and consistency look at the same answer
def quantities_in(text: str, *, query: str = "", truth: str = "", offers_count: bool = False) -> tuple[Quantity, ...]:
    """The numbers of `text`, in order, with repetitions.

    These are not numbers: dates, times, ordinals, list markers, periods (최근 365일), digits of names and links, and
    offers (…까요?); with `offers_count` the people and cases that an offer mentions are. Nor are numbers that the text
    denies (`3명이 아니라`) or cannot confirm. In an answer to `query`, a number of the query with the same counter
    (`3년`, not `3명`) is an echo and left out, unless `truth`, the expected answer, has that number with that counter.
    If a truth consists only of digits of this kind (`1~3월`), those were asked for, and are numbers in the answer, too.

    Source: seed 000, 2.2 and 2.3; SPEC 3.3.
    """
    if not _DIGIT.search(text := plain(text)):
        return ()
    asked_for = text if _has_no_other_numbers(truth) else without_times_and_labels(text)
    expected = _all_quantities(truth)
    is_duration = any(quantity.counter in _DURATIONS for quantity in expected)
    text = _ID.sub(" ", without_periods(without_offers(asked_for, but_counted=offers_count), asked_for=is_duration))
    echoes = _all_quantities(query) - expected if query else frozenset()
    found = (quantity for quantity, end in _quantities(text) if not DENIED.match(text, end))
    return tuple(quantity for quantity in found if quantity not in echoes)


@lru_cache(maxsize=1024)
def _has_no_other_numbers(truth: str) -> bool:
    """Whether all digits of a ground truth belong to dates, times, ordinals and the like."""
    return bool(_DIGIT.search(plain(truth))) and not numbers_in(truth)


def confirmed_quantities(text: str) -> tuple[Quantity, ...]:
    """The numbers of an answer that has only numbers of its query: `네, 3명입니다`.

    A limit, as in `경력 3년 이상 지원자는 없습니다`, repeats the search condition and confirms nothing.
    """
    return quantities_in(_LIMIT.sub(BLANK, plain(text)))


def compare_quantities(
    expected: Collection[Quantity], actual: Collection[Quantity], tolerance: Fraction = ONE_PERCENT
) -> NumbersComparison:
    """`exact`: every expected number is among the actual ones, in any order; `within`: each has one within `tolerance`,
    relative to the expected number (upper bound included); else `wrong`. Additional actual numbers are ignored, as are
    those that count something of another kind.

    Source: seed 000, 3.3.
    """
    found = sorted(set(actual), key=lambda number: number.value)
    values = [number.value for number in found]

    def is_met(number: Quantity, distance: Fraction) -> bool:
        near = slice(bisect_left(values, number.value - distance), bisect_right(values, number.value + distance))
        return any(number.may_equal(other) for other in found[near])

    missing = tuple(number for number in dict.fromkeys(expected) if not is_met(number, Fraction(0)))
    if not missing:
        return NumbersComparison("exact", ())
    within = all(is_met(number, tolerance * abs(number.value)) for number in missing)
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
    """A number for people: `20,917`, `-12.5`. A fraction without a finite decimal is cut after 6 places."""
    places = next((n for n in range(16) if 10**n % number.denominator == 0), 6)
    whole, fraction = divmod(abs(number.numerator) * 10**places // number.denominator, 10**places)
    decimals = f".{fraction:0{places}d}".rstrip("0") if fraction else ""
    return f"{'-' if number < 0 else ''}{whole:,}{decimals}"


def quantity_text(quantity: Quantity) -> str:
    """A number with its counter: `20,917명`, `12.5%`."""
    return f"{number_text(quantity.value)}{quantity.counter}"


def plain(text: str) -> str:
    """The text without the markdown around and inside its numbers, digits, signs and blanks in ASCII, and numbers of
    people and cases in digits that were in words (`두 명`).
    """
    text = _EMPHASIS.sub("", _EMPHASIS_IN_NUMBER.sub(" ", text.translate(_ASCII)))
    return _COUNTED_IN_WORDS.sub(lambda word: str(_NUMBER_WORDS[word[1]]), text)


@lru_cache(maxsize=1024)  # every execution of a query asks the same
def _all_quantities(text: str) -> frozenset[Quantity]:
    """The numbers of a text, including its periods: `90일` in an answer repeats the `최근 90일` of a query."""
    text = _ID.sub(" ", without_times_and_labels(plain(text)))
    return frozenset(quantity for quantity, _ in _quantities(text))


def _quantities(text: str) -> list[tuple[Quantity, int]]:
    """All numbers of a text, each with where it ends, its counter included."""
    found: list[tuple[Quantity, int]] = []
    end = 0
    while match := _NUMBER.search(text, end):
        begin = end
        value, end = _read(match)
        value *= _factor_of_range(text, end, value, match["scale"])
        counter, counted_to = _counter(text, end)
        if _TO.fullmatch(text, begin, match.start()) and found and not found[-1][0].counter:
            found[-1] = Quantity(found[-1][0].value, counter), found[-1][1]  # 3~5년 begins with 3 years
        negative = _is_negative(text[max(0, match.start() - 12) : match.start()])
        found.append((Quantity(-value if negative else value, counter), counted_to))
    return found


def _counter(text: str, end: int) -> tuple[str, int]:
    """The counter behind `end`, and where it ends. A limit (`4 이상`) counts as one, so that it is no plain 4."""
    counter = _COUNTER.match(text, end)
    word = next(filter(None, counter.groups()), "") if counter else ""
    return _SAME_COUNTERS.get(word, word), counter.end() if counter else end


def _is_negative(before: str) -> bool:
    """Whether a number after `before` has a minus sign. A hyphen after a digit or a word makes a range."""
    return "-" in before and bool(_MINUS.search(before)) and not _RANGE.search(before)


def _read(match: re.Match[str]) -> tuple[Fraction, int]:
    """The value of a number, and where it ends."""
    value = _value(match["first"], match["scale"])
    if not match["rest"]:
        return value, match.end()
    value, used = _with_rest(value, match["scale"], match["rest"])
    return value, match.start("rest") + used


def _factor_of_range(text: str, end: int, value: Fraction, scale: str | None) -> int:
    """What the end of a range lends to its start: its scale in `3,500~4,000만`, the large part of it in `3천5백~4천만`.

    `500~1만` begins below its end: there the start has the larger number.
    """
    to = _RANGE_END.match(text, end)
    following = _NUMBER.match(text, to.start(1)) if to else None
    if not to or not following:
        return 1
    factor = _unit(to[2]) if not scale and value < _value(to[1], None) else 1
    last, stop = _read(following)
    large = _LARGE_SCALES.get(text[stop - 1], 1)
    return factor * large if value * factor < 10**4 and value * factor < last / large else factor


def _value(digits: str, scale: str | None) -> Fraction:
    digits, unit = digits.replace(",", ""), _unit(scale or "")
    return Fraction(Decimal(digits)) * unit if "." in digits else Fraction(int(digits) * unit)


def _unit(scale: str) -> int:
    """The factor of a scale: `백만` is 100 times 10,000, as are `백 만` and `백여만`."""
    scale = _bare(scale)
    small, large = (scale[:-1], scale[-1]) if scale[-1:] in _LARGE_SCALES else (scale, "")
    return _SMALL_SCALES.get(small, 1) * _LARGE_SCALES.get(large, 1)


def _bare(scale: str) -> str:
    return scale.replace(" ", "").replace("여", "")


def _with_rest(value: Fraction, scale: str, rest: str) -> tuple[Fraction, int]:
    """`value` plus the terms of `rest` that belong to it, and their length in characters: each term is smaller than the
    scale before it (`1만 2천` is one number, `1만 20,000` are two).

    A scale after small terms multiplies all of them: `5천 2백만` is 5,200 times 10,000. Small terms at the end of
    hundred millions count ten thousands: `1억 2천` is 120,000,000.
    """
    scale = _bare(scale)
    above = _LARGE_SCALES.get(scale[-1:], 1)
    used, limit, smalls = 0, _unit(scale), value if scale in _SMALL_SCALES else Fraction(0)
    for term in _REST.finditer(rest):
        scale = _bare(term.group(2) or "")
        large = _LARGE_SCALES.get(scale[-1:], 1)
        part, grown, bound = _value(term.group(1), scale), value, limit
        if smalls and large > 1 and (len(scale) > 1 or term.start() == used):
            grown, bound = value + smalls * (large - 1), limit * large
        if part >= bound:
            break
        smalls = smalls + part if scale in _SMALL_SCALES else Fraction(0)
        value, used, limit = grown + part, term.end(), _unit(scale) if scale else 0
        above = large if large > 1 else above
    return value + smalls * (max(above // 10**4, 1) - 1), used
