"""The most frequent problems without their consequences: reasons of failed checks, causes of lost answers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from scoring.rules.bands import Bands, band_text
from scoring.stats.exact import rounded
from scoring.testruns.check_results import CheckResult
from scoring.testruns.rubric import Score, ScoredExecution

# Positions, times and ids would make every failure a pattern of its own; HTTP codes must stay.
_HEX_ID = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?=[a-fA-F]*[0-9])[0-9a-fA-F]{12,})"
    r"(?![0-9A-Za-z])"
)
_LONG_NUMBER = re.compile(r"[0-9][0-9,.:-]{3,}")
_PLACE = re.compile(r"\([0-9,]+번째 글자\)")


@dataclass(frozen=True, slots=True)
class CheckPattern:
    """All checks of answered executions that fail at one key for one cause, and the affected queries, in order.

    `asked` is the number of checks with the same expectation at that key, `followers` the number of checks that failed
    with these because no entry met the opener of their group: they are consequences and no pattern of their own.
    """

    key: str
    cause: str
    asked: int
    failed: int
    followers: int
    query_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outage:
    """A cause of lost points, the number of its executions, and their queries, in order."""

    cause: str
    count: int
    query_ids: tuple[str, ...]


def failed_check_lines(results: Iterable[CheckResult]) -> list[str]:
    """A line `[key] reason` per failed check, including consequences."""
    return [f"[{result.key}] {result.reason}" for result in results if not result.passed]


def checked_score(
    results: Sequence[CheckResult], ratio: Fraction, bands: Bands[int], nothing_passed: int, ratio_name: str = "통과율"
) -> Score:
    """The points of a `ratio` of passed checks, which `ratio_name` names; `nothing_passed` for a ratio of 0."""
    asked, passed = len(results), sum(result.passed for result in results)
    failures = "; ".join(result.reason for result in results if not result.passed)
    if not ratio:
        return Score(nothing_passed, f"체크 {asked}개 중 통과한 것이 없어 {nothing_passed}점: {failures}")
    points = bands.points(ratio)
    if not failures:
        return Score(points, f"체크 {asked}개 중 {asked}개 통과로 {points}점")
    earned = f"{ratio_name} {rounded(ratio, 2)}, {band_text(bands, ratio)}"
    return Score(points, f"체크 {asked}개 중 {passed}개 통과({earned})로 {points}점: {failures}")


def main_causes(results: Iterable[CheckResult]) -> list[str]:
    """Why an answer failed its checks, `key: cause`, those with most consequences first, without the consequences."""
    failed: Counter[str] = Counter()
    cause = ""
    for result in results:
        if not result.passed:
            cause = cause if result.follows else f"{result.key}: {result.cause}"
            failed[cause] += 1
    return [cause for cause, _ in failed.most_common()]


def check_patterns(executions: Iterable[ScoredExecution]) -> list[CheckPattern]:
    """The reasons of failed checks, most frequent first. Failed or empty answers were not checked."""
    asked: Counter[tuple[str, str]] = Counter()
    expected: dict[tuple[str, str], set[str]] = defaultdict(set)
    failed: Counter[tuple[str, str]] = Counter()
    followers: Counter[tuple[str, str]] = Counter()
    query_ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for scored in executions:
        if scored.unanswered:
            continue
        cause = ("", "")
        for result in scored.checks:
            asked[result.key, result.expected] += 1
            if result.passed:
                continue
            if result.follows:  # followers stand behind their opener
                followers[cause] += 1
                continue
            cause = (result.key, result.cause)
            failed[cause] += 1
            expected[cause].add(result.expected)
            query_ids[cause].add(scored.execution.query_id)
    patterns = [
        CheckPattern(
            key=key,
            cause=cause,
            asked=sum(asked[key, wanted] for wanted in expected[key, cause]),
            failed=count,
            followers=followers[key, cause],
            query_ids=tuple(sorted(query_ids[key, cause])),
        )
        for (key, cause), count in failed.items()
    ]
    return sorted(patterns, key=lambda one: (-one.failed - one.followers, -one.failed, one.key, one.cause))


def outages(executions: Iterable[ScoredExecution]) -> list[Outage]:
    """The causes of stability 0, most frequent first. A cause is the reason of the stability score."""
    stabilities = ((one.scores["stability"], one.execution.query_id) for one in executions)
    return outages_of((score.reason, query_id) for score, query_id in stabilities if score.points == 0)


def cause_of(reason: str) -> str:
    """A reason without what differs between executions: positions, times and ids."""
    return _LONG_NUMBER.sub("…", _HEX_ID.sub("…", _PLACE.sub("", reason)))


def outages_of(causes: Iterable[tuple[str, str]]) -> list[Outage]:
    """The causes of executions without an answer, most frequent first, from pairs of a reason and the query's id."""
    query_ids: dict[str, list[str]] = defaultdict(list)
    for reason, query_id in causes:
        query_ids[cause_of(reason)].append(query_id)
    found = [Outage(cause, len(ids), tuple(sorted(set(ids)))) for cause, ids in query_ids.items()]
    return sorted(found, key=lambda outage: (-outage.count, outage.cause))
