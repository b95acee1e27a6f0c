"""Consistency of one query: the numbers, or dates, and conclusions of its answers in independent rooms.

Source: seed 000, 2.2 and 3.2; SPEC 3.3.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import ceil

from scoring.judging.requests import JudgeRequest, QuestionKind, Verdicts, verdict_of
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.answers import joined
from scoring.rubrics.aqb.thresholds import MISSING_TITLES
from scoring.testruns.cells import folded, given
from scoring.testruns.executions import ParsedExecution
from scoring.testruns.ground_truth import positions_asked_for, positions_of_answer, results_in_answer, says_none
from scoring.testruns.numbers import number_text, numbers_in, spread_within
from scoring.testruns.positions import Position
from scoring.testruns.rubric import Score, Undecided

Conclusions = Sequence[int]
_MOST_GROUPED_TEXTS = 7  # there are 877 such groupings; more would take too long


@dataclass(frozen=True, slots=True)
class Rooms:
    """The answers to compare, in the order of rooms, from `count` rooms; failed and empty rooms have no answer.

    `names`, `texts`, `numbers` and `positions` have one element per answer; the last two only if the rooms are `enough`
    to compare them. `positions` are dates, times and ordinals where they are what the answers say.
    """

    query: str
    count: int
    enough: bool
    names: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: tuple[frozenset[Fraction], ...]
    positions: tuple[frozenset[Position], ...]

    @property
    def sets(self) -> tuple[frozenset[Fraction | Position], ...]:
        """All numbers, dates, times and ordinals to compare, by answer."""
        return tuple(numbers | positions for numbers, positions in zip(self.numbers, self.positions, strict=True))

    @property
    def provisional(self) -> bool:
        """Whether the seed requires more rooms than are compared."""
        return self.enough and self.count < t.MIN_ROOMS

    @property
    def needed(self) -> int:
        """Two thirds of all rooms, rounded up."""
        return ceil(t.AGREEING_SHARE * self.count)

    @property
    def distinct_texts(self) -> dict[str, str]:
        """Texts that differ by more than white space, in order: normalised -> as first written."""
        distinct: dict[str, str] = {}
        for text in self.texts:
            distinct.setdefault(folded(text), text)
        return distinct


def rooms_of(readings: Sequence[ParsedExecution], least: int) -> Rooms:
    """The first execution of each room; repeats in a room have seen the answers before them.

    `least` is the minimum number of rooms for a comparison (the option `consistency_min_runs`).
    """
    first = [reading for reading in readings if reading.execution.round.repeat == 1]
    answered = [reading for reading in first if reading.answered]
    query, truth = readings[0].execution.query_text, given(readings[0].execution.ground_truth) or ""
    texts = tuple(reading.response.assistant_message for reading in answered)
    numbers = _numbers_of(texts, query, truth) if len(first) >= least else ()
    return Rooms(
        query=query,
        count=len(first),
        enough=len(first) >= least,
        names=tuple(str(reading.execution.round) for reading in answered),
        texts=texts,
        numbers=numbers,
        positions=_positions_of(texts, numbers, query, truth) if numbers else (),
    )


def _numbers_of(texts: Sequence[str], query: str, truth: str) -> tuple[frozenset[Fraction], ...]:
    """The numbers of each text; where one says 0, another one that says there is none says 0, too."""
    if positions_asked_for(truth):
        truth = ""  # its digits are no numbers, but compared as positions
    numbers = [frozenset(numbers_in(text, query=query, truth=truth)) for text in texts]
    zero = frozenset([Fraction(0)])
    if zero not in numbers:
        return tuple(numbers)
    return tuple(
        zero if not found and says_none(text, query=query, truth="0") else found
        for text, found in zip(texts, numbers, strict=True)
    )


def _positions_of(
    texts: Sequence[str], numbers: Sequence[frozenset[Fraction]], query: str, truth: str
) -> tuple[frozenset[Position], ...]:
    """The dates, times and ordinals of each text, if the truth asks for them or they are all that the texts say: then
    those of the kinds that each text has. The basis of an answer (`2026-02-13 기준`) is none of them, nor an echo of
    the query.
    """
    asked_for = {position.kind for position in positions_asked_for(truth)}
    nothing = (frozenset[Position](),) * len(texts)
    if not asked_for and (any(numbers) or any(says_none(text, query=query, truth="0") for text in texts)):
        return nothing
    echoes = frozenset(() if asked_for else positions_of_answer(query))
    said = [[position for position in results_in_answer(text) if position not in echoes] for text in texts]
    kinds = asked_for or set.intersection(*({position.kind for position in positions} for positions in said))
    fuller = defaultdict[tuple[tuple[int, str], ...], set[Position]](set)
    for position in chain.from_iterable(said):
        fuller[position.parts[1:]].add(position)
    return tuple(
        frozenset(position.completed(fuller) for position in positions if position.kind in kinds) for positions in said
    )


def consistency_request(rooms: Rooms, rubric: str) -> JudgeRequest | None:
    """The question which answers have the same conclusion; None if it cannot change the score.

    The expected verdict has `groups`: for each of `answers`, in order, the number of its conclusion.
    """
    distinct = rooms.distinct_texts
    if not rooms.enough or _judge_cannot_matter(rooms):
        return None
    material = {"query": rooms.query, "answers": list(distinct.values())}
    return JudgeRequest(rubric, QuestionKind.CONCLUSIONS, material)


def consistency_score(rooms: Rooms, request: JudgeRequest | None, verdicts: Verdicts) -> Score:
    """Points from 0 to 5; NULL with too few rooms, or without a required verdict."""
    if not rooms.enough:
        return Score(
            None,
            f"답변을 비교할 방이 {rooms.count}개뿐이라 채점하지 않음({t.MIN_ROOMS}개부터 채점)",
            Undecided.NEEDS_3_RUNS,
        )
    distinct = list(rooms.distinct_texts)
    # If the question was not asked, the score does not depend on the groups.
    group_of_text: Sequence[int] = range(len(distinct))
    judged = ""
    if request is not None:
        verdict = verdict_of(request, verdicts)
        groups = _groups(verdict.answer.get("groups"), len(distinct))
        if not verdict.given or groups is None:
            status = verdict.unusable_because
            return Score(None, f"{MISSING_TITLES[status]}; {_numbers_text(rooms)}", status)
        group_of_text, judged = groups, verdict.reason.strip()
    conclusions = [group_of_text[place] for place in _text_places(rooms)]
    points, title = t.CONSISTENCY_LADDER[_rung(rooms, conclusions)]
    evidence = (
        f"잠정(답변을 비교할 방 {rooms.count}개, 기준은 {t.MIN_ROOMS}개)" if rooms.provisional else "",
        title.format(n=rooms.count, k=rooms.needed) if len(rooms.texts) > 1 else t.NOTHING_TO_COMPARE,
        _conclusions_text(rooms, conclusions if request is not None or len(distinct) == 1 else ()),
        _numbers_text(rooms),
        judged,
    )
    return Score(points, "; ".join(filter(None, evidence)))


def _judge_cannot_matter(rooms: Rooms) -> bool:
    """Whether every grouping of the answers by conclusion gives the same score."""
    texts = len(rooms.distinct_texts)
    if len(rooms.texts) < rooms.needed:
        return True
    if texts > _MOST_GROUPED_TEXTS:
        return False
    places = _text_places(rooms)
    rungs = (_rung(rooms, [groups[place] for place in places]) for groups in _groupings(texts))
    first = next(rungs)
    return all(rung == first for rung in rungs)


def _groupings(count: int) -> Iterator[tuple[int, ...]]:
    """All partitions of `count` elements, with groups numbered in the order of first appearance."""
    if not count:
        yield ()
        return
    for groups in _groupings(count - 1):
        yield from ((*groups, group) for group in range(max(groups, default=-1) + 2))


def _text_places(rooms: Rooms) -> list[int]:
    """The index of each answer's text among the distinct texts."""
    distinct = list(rooms.distinct_texts)
    return [distinct.index(folded(text)) for text in rooms.texts]


def _rung(rooms: Rooms, conclusions: Conclusions) -> int:
    """The first rung of the score table whose condition is true."""
    sets = rooms.sets
    one_conclusion = len(conclusions) == rooms.count and len(set(conclusions)) == 1
    holds = (
        one_conclusion and len(set(sets)) == 1,
        one_conclusion and len(set(rooms.positions)) == 1 and spread_within(rooms.numbers, t.NUMBER_SPREAD),
        _most(list(zip(conclusions, sets, strict=True))) >= rooms.needed,
        one_conclusion and len(set(sets)) == rooms.count,
        _most(conclusions) >= rooms.needed,
        True,
    )
    return holds.index(True)


def _most(items: Sequence[object]) -> int:
    return max(Counter(items).values(), default=0)


def _groups(answer: object, texts: int) -> list[int] | None:
    """The judge's groups, None unless there is one whole number per text."""
    if not isinstance(answer, list) or len(answer) != texts or any(type(group) is not int for group in answer):
        return None
    return answer


def _conclusions_text(rooms: Rooms, conclusions: Conclusions) -> str:
    """Which rooms have the same conclusion; without `conclusions` no grouping changes the score."""
    if not conclusions and len(rooms.texts) >= rooms.needed:
        return "결론 판정과 상관없이 같은 점수"
    rooms_of_conclusion: dict[int, list[str]] = {}
    for name, conclusion in zip(rooms.names, conclusions, strict=bool(conclusions)):
        rooms_of_conclusion.setdefault(conclusion, []).append(name)
    parts = [", ".join(names) for names in rooms_of_conclusion.values()]
    unanswered = f"응답 없는 방 {rooms.count - len(rooms.texts)}개" if len(rooms.texts) < rooms.count else ""
    differing = f"결론 {len(parts)}가지({' | '.join(parts)})" if len(parts) > 1 else ""
    return ", ".join(filter(None, (differing, unanswered)))


def _numbers_text(rooms: Rooms) -> str:
    if not rooms.texts:
        return ""
    shown = [
        joined([*map(number_text, sorted(numbers)), *sorted(map(str, positions))]) or "없음"
        for numbers, positions in zip(rooms.numbers, rooms.positions, strict=True)
    ]
    return f"숫자 {shown[0]}" if len(set(shown)) == 1 else f"숫자 {' vs '.join(shown)}"
