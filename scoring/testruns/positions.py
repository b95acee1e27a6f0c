"""Dates, times of day and ordinals of a Korean text, as what they say: `2026-03-15`, `26.3.15` and `2026년 3월 15일`
are the same, as are `18:00` and `오후 6시`.

They state no quantity, but a ground truth may ask for them. Source: seed 000, 3.3; SPEC 3.3.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from scoring.testruns.none_statements import DENIED

_START = r"(?<![0-9A-Za-z])(?<![0-9][.,])"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
_MONTH, _DAY = r"(?P<month>1[0-2]|0?[1-9])", r"(?P<day>3[01]|[12][0-9]|0?[1-9])"
_MONTH_2, _DAY_2 = r"(?P<month>1[0-2]|0[1-9])", r"(?P<day>3[01]|[12][0-9]|0[1-9])"
_HOUR = r"(?:(?P<half_day>오전|오후)[ ]?)?(?<![0-9:])(?P<hour>2[0-4]|[01]?[0-9])"
_NO_UNIT = r"(?![0-9/.,]|[ ]?(?:[%명건개점원배]|퍼센트|\([0-9.]{1,6}[ ]?%))"
# The end of a period: ~ 03.31
_END = r"(?<=[~–-])[ ]{0,2}"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_START}{_YEAR}[ ]?[-./][ ]?{_MONTH}[ ]?[-./][ ]?{_DAY}(?![0-9])",
        rf"{_START}(?P<year>[0-9]{{2}})[./]{_MONTH}[./]{_DAY}(?![0-9])",
        rf"{_START}{_YEAR}{_MONTH_2}{_DAY_2}(?![0-9])",
        rf"{_START}{_YEAR}[-./]{_MONTH_2}(?![0-9.,])",
        rf"{_START}(?P<year>(?:19|20)[0-9]{{2}}|[0-9]{{2}}(?=년[ ]?[0-9상하]|년도))년도?"
        rf"(?:[ ]?{_MONTH}월(?:[ ]?{_DAY}일)?|[ ]?(?P<half>[상하])반기)?",
        rf"{_START}{_MONTH}월[ ]?{_DAY}(?=[ ]?[~–·,-][ ]?[0-9]{{1,2}}일)",
        rf"{_START}{_MONTH}월(?:[ ]?{_DAY}일)?",
        rf"{_START}{_MONTH}[.][ ]?{_DAY}[.]?(?=[ ]?[(][월화수목금토일][)])",
        rf"(?<![0-9A-Za-z.,-]){_MONTH_2}-{_DAY_2}(?![0-9-])(?<=0[1-9]-[0-9][0-9])",
        rf"{_START}{_MONTH}(?P<bare>/){_DAY}{_NO_UNIT}",
        rf"{_END}{_MONTH}(?P<continues>[-.]){_DAY}{_NO_UNIT}",
        rf"(?:(?<=[~–·,과와-])|(?<=부터)|(?<=또는))[ ]{{0,2}}(?P<continues>){_DAY}일"
        r"(?!간|[ ]?(?:동안|이내|뒤|후|전))",
        rf"{_HOUR}(?P<bare>:)(?P<minute>[0-5][0-9])(?![0-9])",
        rf"{_HOUR}시(?!간)(?:[ ]?(?P<minute>[0-5]?[0-9])분)?",
        rf"{_START}(?P<ordinals>[0-9]{{1,3}}(?:[ ]?[~·/,-][ ]?[0-9]{{1,3}}){{0,4}})[ ]?"
        r"(?P<unit>차(?![이례])|번째|째|회차|순위|위(?!원)|분기|학년|학기|등급|단계)",
    )
)
_BASIS = re.compile(r"[^0-9가-힣\n]{0,2}(?:[(][가-힣][)])?[ ]?(?:기준|현재)")
_JOINED = re.compile(r"(?:부터)?[ ~–-]{0,3}(?:[(][가-힣][)])?[ ]?")
# What stands between the beginning and the end of a period, or two days: (수) ~, 일부터, 일과, 일 또는
_TO_END = re.compile(r"(?:[ ]?\([가-힣]\))?(?:부터|[과와,·]|[ ]또는)?[ ~–-]{0,5}")
_SAME_UNITS = {"번째": "째", "순위": "위"}


@dataclass(frozen=True, slots=True)
class Position:
    """A place in time or in an order: a date, a time of day or an ordinal, such as

    `((2026, "년"), (3, "월"), (15, "일"))`, `((2, "차"),)`.

    `bare`: it may as well be a ratio (`12/15`, `12:10`).
    """

    parts: tuple[tuple[int, str], ...]
    bare: bool = field(default=False, compare=False)

    @property
    def kind(self) -> str:
        """날짜, 시각, or what the ordinal counts."""
        unit = self.parts[0][1]
        return "날짜" if unit in ("년", "월", "일") else "시각" if unit == "시" else unit

    def __str__(self) -> str:
        return " ".join(f"{' 상하'[value] if unit == '반기' else value}{unit}" for value, unit in self.parts)

    def completed(self, fuller: Mapping[tuple[tuple[int, str], ...], Collection["Position"]]) -> "Position":
        """The one position that adds a year to it, if there is just one: `3월 15일` of 2026. `fuller` are positions by
        what follows their first part.
        """
        found = fuller.get(self.parts, ())
        return next(iter(found)) if len(found) == 1 else self


def all_said(positions: Iterable[Position]) -> set[frozenset[tuple[int, str]]]:
    """The parts of all that these positions say: `2026년 3월 15일` says `3월`. A position has a handful of parts."""
    return {
        frozenset(some)
        for parts in {position.parts for position in positions}
        for count in range(1, len(parts) + 1)
        for some in combinations(parts, count)
    }


def positions_in(text: str) -> tuple[Position, ...]:
    """The positions of a text, in order. A date without a year or a month has those of the one before it.

    A position that the text denies (`3월이 아니라`) is none.
    """
    return tuple(position for position, _, end in _found(text) if not DENIED.match(text, end))


def results_in(text: str) -> tuple[Position, ...]:
    """The positions of a text that are no basis of it, as is `2025-02-14 ~ 2026-02-13 기준`."""
    found: list[Position] = []
    basis = -1  # where a basis begins
    for position, start, end in reversed(list(_found(text))):
        if _BASIS.match(text, end) or (end <= basis and _JOINED.fullmatch(text[end:basis])):
            basis = start
        elif not DENIED.match(text, end):
            found.append(position)
    return tuple(reversed(found))


def _found(text: str) -> Iterator[tuple[Position, int, int]]:
    """The positions of a text with where they begin and end."""
    date: dict[str, int] = {}
    for match in _matches(text):
        for position in _positions(match, date):
            date = {unit: value for value, unit in position.parts} if position.parts[-1][1] in "년월일" else date
            yield position, match.start(), match.end()


def only_positions(text: str) -> tuple[Position, ...]:
    """The positions of a text that has no other digits; else none."""
    rest = list(text)
    for match in _matches(text):
        rest[match.start() : match.end()] = " " * len(match.group())
    return () if re.search("[0-9]", "".join(rest)) else positions_in(text)


def _matches(text: str) -> Iterator[re.Match[str]]:
    """The matches that do not overlap, of earlier patterns first; the end of a period only behind its beginning."""
    found = (
        (match.start(), place, match) for place, pattern in enumerate(_PATTERNS) for match in pattern.finditer(text)
    )
    end = 0
    for start, _, match in sorted(found, key=lambda item: item[:2]):
        continues = match.groupdict().get("continues") is not None
        if start >= end and not (continues and (not end or not _TO_END.fullmatch(text[end:start][:12]))):
            yield match
            end = match.end()


def _positions(match: re.Match[str], date: dict[str, int]) -> Iterator[Position]:
    """The positions of one match: one, or one per ordinal of a list. `date`: the parts of the date before it."""
    given = match.groupdict()
    if "ordinals" in given:
        unit = _SAME_UNITS.get(given["unit"], given["unit"])
        yield from (Position(((int(number), unit),)) for number in re.findall("[0-9]+", given["ordinals"]))
    elif "hour" in given:
        hour = int(given["hour"]) % 12 if given["half_day"] else int(given["hour"])
        hour += 12 if given["half_day"] == "오후" else 0
        bare = bool(given.get("bare")) and not given["half_day"]
        yield Position(((hour, "시"), (int(given["minute"] or 0), "분")), bare)
    else:
        yield Position(tuple(_date(given, date)), bool(given.get("bare")))


def _date(given: dict[str, str | None], before: dict[str, int]) -> Iterator[tuple[int, str]]:
    year, month, day = given.get("year"), given.get("month"), given.get("day")
    if year:
        yield int(year) + (2000 if len(year) == 2 else 0), "년"
    elif "년" in before:
        yield before["년"], "년"
    if month:
        yield int(month), "월"
    elif not year and "월" in before:
        yield before["월"], "월"
    if day:
        yield int(day), "일"
    if given.get("half"):
        yield 1 if given["half"] == "상" else 2, "반기"
