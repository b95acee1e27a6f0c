"""What goes wrong most: failed checks by the key they look at, and executions without an answer by their cause."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scoring.testruns.check_results import CheckResult
from scoring.testruns.checks import Check, EntryCheck, EntryGroup, Item, MessageCheck, NumberCheck
from scoring.testruns.executions import Execution
from scoring.testruns.rubric import ScoredExecution

_LINE = re.compile(r"\[([^\]]*)\] (.*)", re.DOTALL)
# Positions, times and ids would make every failure a pattern of its own; HTTP codes must stay.
_LONG_NUMBER = re.compile(r"[0-9][0-9,.:-]{3,}")


class CheckedExecution(Protocol):
    """A scored execution whose rubric evaluates checks; `failed_checks` are the lines of `failed_check_lines`."""

    @property
    def execution(self) -> Execution: ...
    @property
    def failed(self) -> bool: ...
    @property
    def empty(self) -> bool: ...
    @property
    def failed_checks(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class CheckPattern:
    """All checks of answered executions that look at one key: how many were asked and failed, the reason given most
    often with its count, and the queries with a failure, in order."""

    key: str
    asked: int
    failed: int
    commonest: str
    commonest_count: int
    query_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outage:
    """A cause of executions that score 0 for stability, how many there are, and their queries, in order."""

    cause: str
    count: int
    query_ids: tuple[str, ...]


def failed_check_lines(items: Iterable[Item], results: Sequence[CheckResult]) -> list[str]:
    """A line `[key] reason` per failed check; `results` are those of `items`, as `evaluate` orders them."""
    named = zip(check_keys(items), results, strict=True)
    return [f"[{key}] {result.reason}" for key, result in named if not result.passed]


def check_keys(items: Iterable[Item]) -> list[str]:
    """What each check looks at, in the order of `evaluate`: `formType`, `assistantMessage`, the end of a path."""
    checks = (check for item in items for check in (item.checks if isinstance(item, EntryGroup) else (item,)))
    return [_key(check) for check in checks]


def check_patterns(
    executions: Iterable[CheckedExecution], asked_of: Callable[[Execution], Iterable[Item]]
) -> list[CheckPattern]:
    """The keys whose checks failed, most failures first. What failed or is empty was not checked and does not count.

    `asked_of` gives the checks of an execution.
    """
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    for scored in executions:
        if scored.failed or scored.empty:
            continue
        for key in check_keys(asked_of(scored.execution)):
            tallies[key].asked += 1
        for line in scored.failed_checks:
            match = _LINE.fullmatch(line)
            assert match is not None
            tallies[match.group(1)].reasons[match.group(2)] += 1
            tallies[match.group(1)].query_ids.add(scored.execution.query_id)
    patterns = [_pattern(key, tally) for key, tally in tallies.items() if tally.reasons]
    return sorted(patterns, key=lambda pattern: (-pattern.failed, pattern.key))


def outages(executions: Iterable[ScoredExecution]) -> list[Outage]:
    """The causes of stability 0, most frequent first. The cause is the stability score's reason."""
    query_ids: dict[str, list[str]] = defaultdict(list)
    for scored in executions:
        stability = scored.scores["stability"]
        if stability.points == 0:
            query_ids[_LONG_NUMBER.sub("…", stability.reason)].append(scored.execution.query_id)
    found = [Outage(cause, len(ids), tuple(sorted(set(ids)))) for cause, ids in query_ids.items()]
    return sorted(found, key=lambda outage: (-outage.count, outage.cause))


@dataclass(slots=True)
class _Tally:
    asked: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    query_ids: set[str] = field(default_factory=set)


def _pattern(key: str, tally: _Tally) -> CheckPattern:
    commonest, count = min(tally.reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    return CheckPattern(key, tally.asked, tally.reasons.total(), commonest, count, tuple(sorted(tally.query_ids)))


def _key(check: Check) -> str:
    match check:
        case EntryCheck():
            return "+".join(condition.key for condition in check.conditions)
        case MessageCheck() | NumberCheck():
            return "assistantMessage"
    names = [step for step in check.path.steps if isinstance(step, str)]
    return names[-1].replace("]", "") if names else "path"
