"""What an answer must say to meet a ground truth: its numbers, its dates, or that there is none.

Source: seed 000, 3.3; SPEC 3.3.
"""

import re
from fractions import Fraction
from itertools import islice

from scoring.testruns.no_quantities import BLANK, without_offers
from scoring.testruns.none_statements import POSTINGS_ASKED_FOR, states_none, what_is_absent
from scoring.testruns.numbers import Quantity, numbers_in, plain, quantities_in
from scoring.testruns.positions import Position, all_said, only_positions, positions_in, results_in

# Counters of people and things; a number without one may count them, too
_PEOPLE_AND_THINGS = ("", "명", "건", "개", "인")
_NUMBER = r"(?<![0-9.,])[0-9][0-9,]{0,15}"
# 총 120명 중, 지원자 120명 가운데, 120명의 지원자 중에서: of how many there are none
_WHOLE = re.compile(rf"{_NUMBER}[ ]?(?:명|건|개|분|인)(?:의 [가-힣]{{1,10}})?[ ]{{0,2}}(?:중|가운데)")
# 전체 지원자는 120명; 공고 3개에서, 2개 공고 모두: among whom and where was looked
_EVERYBODY = re.compile(rf"전체[ ](?:지원자|인원)(?:[ ]?수)?[은는이가]?[ :]{{1,2}}{_NUMBER}[ ]?명")
_POSTINGS = re.compile(rf"공고[ ]{_NUMBER}[ ]?[개건]|{_NUMBER}[ ]?[개건](?:의)?[ ]공고")
# 학점 4.0점 이상인 지원자는 없습니다: a limit that counts no people
_CONDITION = re.compile(
    r"(?=[0-9])(?<![0-9.,])[0-9][0-9,.]{0,20}(?![ ]?(?:명|건|인|분))[ ]?[가-힣%]{0,4}"
    r"[ ]?(?:이상|이하|미만|초과)"
)
# A statement goes on behind a line that ends with a particle: 미국 국적 지원자는 / 없습니다
_WITHIN_STATEMENT = re.compile(r"[ ]{2,}|(?<=[은는이가도])[ \t\r]{0,5}\n[ \t\r\n]{0,5}")


def truth_quantities(truth: str) -> tuple[Quantity, ...]:
    """The numbers of a ground truth; none is left out. Without any, words say 0 that name whom there is none of:
    `해당 지원자 없음`, but not `없음` or `데이터 없음`, which may as well say that there is no ground truth.

    Source: SPEC 3.3.
    """
    found = quantities_in(truth, truth=truth)
    absent = (what for what in what_is_absent(plain(truth)) if not what.endswith(("데이터", "결과", "사항", "내역")))
    return found or tuple(Quantity(Fraction(0)) for _ in islice(absent, 1))


def truth_numbers(truth: str) -> tuple[Fraction, ...]:
    """The values of `truth_quantities`."""
    return tuple(quantity.value for quantity in truth_quantities(truth))


def positions_asked_for(truth: str) -> tuple[Position, ...]:
    """The dates, times and ordinals of a ground truth that has no other digits; they are compared as such."""
    return only_positions(plain(truth))


def positions_of_answer(text: str) -> tuple[Position, ...]:
    """The dates, times and ordinals of an answer, without those of offers."""
    return positions_in(without_offers(plain(text)))


def results_in_answer(text: str) -> tuple[Position, ...]:
    """The same without those that are the basis of the answer: `2026-02-13 기준`."""
    return results_in(without_offers(plain(text)))


def unmet_positions(truth: str, text: str, *, query: str) -> tuple[Position, ...]:
    """The dates, times and ordinals of a ground truth that an answer does not have, whatever their spelling.

    `12/15` may as well be a ratio, whose numbers meet it. Positions have no tolerance, as numbers have.
    """
    said, numbers = all_said(positions_of_answer(text)), set(numbers_in(text, query=query))
    return tuple(
        position
        for position in positions_asked_for(truth)
        if frozenset(position.parts) not in said
        and not (position.bare and numbers.issuperset(value for value, _ in position.parts))
    )


def says_none(text: str, *, query: str, truth: str) -> bool:
    """Whether an answer reports that nothing was found: `해당 지원자가 없습니다`.

    An answer that counts something which `truth`, the expected answer, does not have, reports it about something else:
    `총 12명이며 제외된 지원자는 없습니다`. The whole of which there are none (`총 120명 중`), the postings that were
    searched and limits of the search condition (`90점 이상`) do not matter. Source: SPEC 3.3.
    """
    text, expected = plain(text), truth_numbers(truth)  # 지원자가 **없습니다**
    said = states_none(_WITHIN_STATEMENT.sub(" ", text), query=query, mixed=any(expected))
    return said and not _counts_something_else(text, query, truth)


def _counts_something_else(text: str, query: str, truth: str) -> bool:
    """Whether an answer has a number that the truth has not; beside other numbers only people and things count."""
    text = _CONDITION.sub(BLANK, _WHOLE.sub(BLANK, text))
    if "전체" not in query:
        text = _EVERYBODY.sub(BLANK, text)
    if not POSTINGS_ASKED_FOR.search(query):
        text = _POSTINGS.sub(BLANK, text)
    expected = truth_numbers(truth)
    others = [found for found in quantities_in(text, query=query, truth=truth) if found.value]
    if any(expected):
        known = {*expected, sum(expected)}
        others = [o for o in others if o.value not in known and o.counter in _PEOPLE_AND_THINGS]
    return bool(others)
