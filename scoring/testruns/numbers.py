"""Extracts the numbers of a Korean answer, exactly, and compares two sets of numbers.

Numbers: `1,234`, `12.5`, `52.1%` (52.1), `2만 917` (20,917), `1만 2천`, `5천 2백만`, `1.2억`, `1조`, with an isolated
sign; a hyphen between digits is a range, whose scale may stand once (`3,500~4,000만`). Full-width digits and signs
equal ASCII ones, and markdown around a number is ignored.

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
# No quantity has more than 15 digits: those are ids.
_TERM = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,15}(?![0-9]))(?:\.[0-9]{1,30}(?![0-9]))?"
# A scale is no scale in 만점 (full marks), 만큼 (as much as) and 만 30세 (30 full years).
_LARGE = r"(?:조(?![각직건])|억|만(?![점큼]|[ ]?[0-9]{1,3}(?:\.[0-9])?[ ]?[세살]))"
# Behind a blank a scale is a word of its own, with at most a counter or a particle: 3 만 명, but not 5 만료.
_WORD_ENDS = (
    r"(?=$|[^가-힣]|명|건|개|원|여|정도|이상|이하|미만|초과|입니|이[에었며고]|인데|으로|에서|까지|부터"
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
_NONE = re.compile(
    r"(?:(?:[가-힣]자|인원|사람|[0-9]?분|대상|건|명|내역|공고|지원서|이력서?|면접|데이터|결과|합격|탈락|남성|여성|남녀)"
    r"[은는이가도]?|아무도)"
    r"[ ]{0,2}"
    r"(?:(?:현재|아직|전혀|모두|전부|둘 다)[ ]{1,2})?"
    r"(?:없었?(?:습니다|어요?|네요|음|다|으며|으나|고|지만)|없는 (?:것으로|상태|상황)|존재하지 않"
    r"|(?:확인|조회|검색|집계|발견)되지 않(?:습니다|았습니다|았어요|네요))"
    r"|(?:[가-힣]자|인원|사람|대상|지원서)[을를] 찾(?:을 수 없(?:습니다|어요|네요)|지 못했(?:습니다|어요))"
)
# 총 120명 중, 지원자 120명 가운데, 120명의 지원자 중에서: of how many there are none
_WHOLE = re.compile(r"[0-9][0-9,]{0,15}[ ]?(?:명|건|개|분|인)(?:의 [가-힣]{1,10})?[ ]{0,2}(?:중|가운데)")
# What is counted, when it stands right behind a number: `3년` of the question is not `3명` of the answer.
_COUNTER = re.compile(r"여?[ ]?(개월|시간|명|건|개|점|세|살|년|월|일|주|회|번|곳|원|시|분|초|인|장|부|종|배|%)")

# Digits that state no quantity. Every pattern is bounded, so that time grows with the length of the text only.
_BLANK = " # "  # a sign between the neighbours, lest `3, 4` become a thousand or `2만` meet a stranger
_DASH = r"[ ]{0,2}[~–-][ ]{0,2}"
_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_CLOCK = r"(?:2[0-4]|[01]?[0-9]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?Z?"
# 2월 - 5.2% and 2024년 - 3.8점 have a value behind the dash, no date
_UNTIL = (
    rf"(?:{_DASH}(?:{_MONTH}[-./]{_DAY}(?![0-9]|[ ]?(?:[%명건개점원배]|퍼센트))|{_MONTH}월(?:[ ]?{_DAY}일)?|{_DAY}일))?"
)
_SMALL_LIST = r"[0-9]{1,3}(?:[ ]?[~·/,-][0-9]{1,3}){0,4}"
_LINKS = r"\]\([^()\s]{1,4000}\)|https?://[^\s)]{1,4000}"
_DATES_TIMES_ORDINALS = (
    # 2026-02-03, 2026. 2. 3., with a clock time, up to a second date
    rf"{_YEAR}[ ]?[-./][ ]?{_MONTH}[ ]?[-./][ ]?{_DAY}(?![0-9])(?:T{_CLOCK})?{_UNTIL}",
    # 26/2/3; 26.02.03 and version numbers
    rf"[0-9]{{2}}/{_MONTH}/{_DAY}(?![0-9])|[0-9]{{1,4}}(?:\.[0-9]{{1,4}}){{2,4}}(?![0-9])",
    # 2026년 2월 3일, 26년 2월, 24년 상반기, 2026년
    rf"(?:{_YEAR}|[0-9]{{2}}(?=년[ ]?{_MONTH}월|년도|년[ ]?[상하]반기|년[ ]?[1-4]분기))년도?"
    rf"(?:[ ]?{_MONTH}월(?:[ ]?{_DAY}일)?)?{_UNTIL}",
    # 2023~2025년, 2026-02, 2026.02, 20260203
    rf"{_YEAR}{_DASH}{_YEAR}(?![0-9])년?|{_YEAR}(?:[-/]{_MONTH}|\.(?:0[1-9]|1[0-2]))(?![0-9.,])",
    rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?![0-9])",
    # 2월 3일, 1~3월; 02/03 (but 3/5명 and 12/15 (80%) are ratios)
    rf"(?:{_MONTH}{_DASH})?{_MONTH}월(?:[ ]?{_DAY}일)?{_UNTIL}",
    rf"{_MONTH}/{_DAY}(?![0-9/.,]|[ ]?(?:명|건|개|점|%|\([0-9.]{{1,6}}[ ]?%)){_UNTIL}",
    # 14:30; 오후 3시, 9~18시 30분 (3시간 is a duration)
    rf"{_CLOCK}(?![0-9:])",
    rf"(?:[0-9]{{1,2}}{_DASH})?[0-9]{{1,2}}시(?!간)(?:[ ]?[0-9]{{1,2}}분(?:[ ]?[0-9]{{1,2}}초)?)?",
    # 1차, 1~2차, 2번째, 3회차, 1위, 2분기, 3학년, 2단계
    rf"{_SMALL_LIST}[ ]?(?:차(?![이례])|번째|째|회차|순위|위(?!원)|분기|학년|학기|등급|단계)",
    r"[0-9]{1,4}(?:st|nd|rd|th)(?![a-z])",
)
# 정답 12/15, 합격률: 12/15
_RATIO = re.compile(
    r"((?:[율률]|정답|통과|합격|성공|달성|완료|점수)(?:[은는이가])?[ :]{0,3}[0-9]{1,2})/(?=[0-9]{1,2}(?![0-9/]))"
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
# A result may stand in the sentence of an offer: 45명이며, 45명인데 명단도, 집계되었는데, 45명이에요, (볼까요?)
_SENTENCE_END = re.compile(
    r"(?<=[.!?？。])(?![0-9])|\n|(?<=[명건개점원%](?:이며|인데|이고)[, ])|(?<=[었했됐](?:으며|는데),)"
    r"|(?<=(?:이지만|니다만|입니다|습니다|이에요|했어요|었어요|됐어요),)"
)
_OFFER = re.compile(r"까요[^0-9가-힣A-Za-z]*$")
_COUNT = r"[0-9]{1,6}(?:\.[0-9]{1,2})?"
_UNIT = r"(?:일|주일?|개월|년)"
_LENGTH = rf"{_COUNT}(?:(?:[ ]?{_UNIT})?{_DASH}{_COUNT})?[ ]?{_UNIT}(?:간|치|여)?"
_RESTATED = r"[ ]?\([^()\n]{0,400}\)"
_PERIOD = re.compile(
    rf"(?=[0-9최지])(?:(?P<lead>(?:최근|지난)[ ]?(?:약[ ]?)?){_LENGTH}"
    rf"(?P<restated>(?:{_RESTATED})?(?:[ ]?기준{_RESTATED})?)"
    rf"|(?<![0-9.,]){_LENGTH}(?P<between>(?:{_RESTATED}|\))?[ ]?(?:기준(?:{_RESTATED})?|(?=이내|동안))))"
)
# 경력 3년 이상, 90점 미만
_LIMITED, _AS_LIMIT = r"(?=[0-9])(?<![0-9.,])[0-9][0-9,.]{0,20}", r"[ ]?[가-힣%]{0,4}[ ]?(?:이상|이하|미만|초과)"
_LIMIT = re.compile(rf"{_LIMITED}{_AS_LIMIT}")
# The same where no people are counted: 학점 4.0점 이상인 지원자는 없습니다
_CONDITION = re.compile(rf"{_LIMITED}(?![0-9,.]|[ ]?(?:명|건|인|분)){_AS_LIMIT}")
_LENGTH_INSIDE = re.compile(rf"(?<![0-9.,]){_LENGTH}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a text: its exact value and the counter after it (`명`, `%`, ...), else ''."""

    value: Fraction
    counter: str


@dataclass(frozen=True, slots=True)
class NumbersComparison:
    """The comparison of an answer's numbers with the expected ones. `missing` are those without an exact equal, in
    order.
    """

    grade: Literal["exact", "within", "wrong"]
    missing: tuple[Fraction, ...]


@lru_cache(maxsize=64)  # accuracy and consistency look at the same answer
def numbers_in(text: str, *, query: str = "", truth: str = "") -> tuple[Fraction, ...]:
    """The numbers of `text`, in order, with repetitions.

    These are not numbers: dates, times, ordinals, list markers, periods (최근 365일), closing offers (…까요?), digits
    of names and links. In an answer to `query`, a number of the query with the same counter (`3년`, not `3명`) is an
    echo and left out, unless `truth`, the expected answer, has that number with that counter. If a truth consists only
    of dates, times, ordinals or `12/15`, those were asked for, and count as numbers in the answer, too.

    Source: seed 000, 2.2 and 2.3; SPEC 3.3.
    """
    if not _DIGIT.search(text := text.translate(_ASCII)):
        return ()
    asked_for = _plain(text) if _has_no_other_numbers(truth) else _without_times_and_labels(_plain(text))
    quantities = _quantities(_without_periods(_without_offers(asked_for)))
    echoes = _all_quantities(query) - _all_quantities(truth) if query else frozenset()
    return tuple(quantity.value for quantity in quantities if quantity not in echoes)


@lru_cache(maxsize=1024)
def _has_no_other_numbers(truth: str) -> bool:
    """Whether all digits of a ground truth belong to dates, times, ordinals and the like."""
    return bool(_DIGIT.search(truth.translate(_ASCII))) and not numbers_in(truth)


def confirmed_numbers(text: str) -> tuple[Fraction, ...]:
    """The numbers of an answer that has only numbers of its query: `네, 3명입니다`.

    A limit, as in `경력 3년 이상 지원자는 없습니다`, repeats the search condition and confirms nothing.
    """
    return numbers_in(_LIMIT.sub(_BLANK, _plain(text.translate(_ASCII))))


def truth_numbers(truth: str) -> tuple[Fraction, ...]:
    """The numbers of a ground truth; none is left out. Source: SPEC 3.3."""
    return numbers_in(truth, truth=truth)


def says_none(text: str, *, query: str, truth: str) -> bool:
    """Whether an answer reports that nothing was found: `해당 지원자가 없습니다`.

    If `truth` consists only of zeros, an answer with another number reports it about something else: `총 12명이며
    제외된 지원자는 없습니다`. The limit of the search condition (`90점 이상`) is not such a number. Source: SPEC 3.3.
    """
    text = _plain(text)  # 지원자가 **없습니다**
    if not _NONE.search(text):
        return False
    results = _CONDITION.sub(_BLANK, _WHOLE.sub(_BLANK, text))
    return any(truth_numbers(truth)) or not any(numbers_in(results, query=query, truth=truth))


def compare_numbers(
    expected: Collection[Fraction], actual: Collection[Fraction], tolerance: Fraction = ONE_PERCENT
) -> NumbersComparison:
    """`exact`: every expected number is among the actual ones, in any order; `within`: each has one within `tolerance`,
    relative to the expected number (upper bound included); else `wrong`. Additional actual numbers are ignored.

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
    """A number for people: `20,917`, `-12.5`. A fraction without a finite decimal is cut after 6 places."""
    places = next((n for n in range(16) if 10**n % number.denominator == 0), 6)
    whole, fraction = divmod(abs(number.numerator) * 10**places // number.denominator, 10**places)
    decimals = f".{fraction:0{places}d}".rstrip("0") if fraction else ""
    return f"{'-' if number < 0 else ''}{whole:,}{decimals}"


def _plain(text: str) -> str:
    return _EMPHASIS.sub("", _EMPHASIS_IN_NUMBER.sub(" ", text))


@lru_cache(maxsize=1024)  # every execution of a query asks the same
def _all_quantities(text: str) -> frozenset[Quantity]:
    """The numbers of a text, including its periods: `90일` in an answer repeats the `최근 90일` of a query."""
    return frozenset(_quantities(_without_times_and_labels(_plain(text.translate(_ASCII)))))


def _quantities(text: str) -> Iterator[Quantity]:
    text = _ID.sub(" ", text)
    end = 0
    while match := _NUMBER.search(text, end):
        value, end = _read(match)
        value *= _factor_of_range(text, end, value, match["scale"])
        counter = _COUNTER.match(text, end)
        negative = _is_negative(text[max(0, match.start() - 12) : match.start()])
        yield Quantity(-value if negative else value, counter.group(1) if counter else "")


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


def _without_times_and_labels(text: str) -> str:
    """The text without dates, times of day, ordinals (1차), list markers, and links."""
    text = _NO_QUANTITY.sub(_BLANK, _RATIO.sub(rf"\1{_BLANK}", text))
    text = _MARKER_AT_LINE_START.sub(r"\1 ", text)
    return _MARKER_INSIDE.sub(lambda match: match.group(1) or _BLANK, text)


def _without_offers(text: str) -> str:
    """The text without sentences that offer a next step ("…까요?"), and offers in parentheses.

    If a sentence states a result before its offer, the result remains.
    """
    if "까요" not in text:
        return text
    text = _OFFER_IN_PARENTHESES.sub(" ", text)
    return "\n".join(sentence for sentence in _SENTENCE_END.split(text) if not _OFFER.search(sentence))


def _without_periods(text: str) -> str:
    """The text without durations after 최근 or 지난, or before 기준, 이내 or 동안, and parentheses that repeat them."""
    return _PERIOD.sub(_blanked_period, text)


def _blanked_period(match: re.Match[str]) -> str:
    around = "".join(match[name] or "" for name in ("lead", "restated", "between"))
    return f"{_BLANK}{_LENGTH_INSIDE.sub(_BLANK, around)}"
