"""The targets of the team as rates of one agent, and the sets of messages that its chats hold.

Source: seed 000, 2.3 to 2.5; SPEC 3.3.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.queries import AqbExecution
from scoring.rubrics.aqb.thresholds import ToolVerdict
from scoring.stats.exact import exact, mean
from scoring.stats.rates import Rate
from scoring.testruns.executions import AgentType, LatencyClass
from scoring.testruns.summaries import as_float

Chat = tuple[str, int]
"""A run and one of its rooms."""


def _of_executions(code: str, metric: str, column: str, passing: Mapping[AgentType, Collection[str]]) -> Rate:
    """A target as a rate: what passes of the grades in a column, by agent; `metric` as in `Rate`."""
    return Rate(code, t.GOALS[code].title, metric, column, passing)


TTFT = _of_executions("ttft_rate", "", "ttft_pass", dict.fromkeys(AgentType, ("PASS",)))
TOOLS = _of_executions("tool_accuracy_rate", "accuracy", "accuracy_grade", t.PASSING_TOOLS)
NUMBERS = _of_executions("result_accuracy_rate", "accuracy", "numbers_grade", dict.fromkeys(AgentType, t.RIGHT_NUMBERS))
RATES = (TTFT, TOOLS, NUMBERS)
"""The targets of which the unit is one execution."""


def targets_of(executions: Sequence[AqbExecution], agent: AgentType) -> dict[str, dict[str, Any]]:
    """The rates of one agent by their code. The unit is one execution, or one chat for the wait.

    Tool accuracy counts the executions whose mapping is known, result accuracy those with a ground truth, TTFT those
    with a measurement; an answer that failed or is empty did not use the right tools.
    """
    ttft, tools, numbers = (_passes(rate, executions, agent) for rate in (TTFT, TOOLS, NUMBERS))
    waits = chat_waits(executions)
    singles = [seconds for of_chat in waits.values() for seconds in of_chat]
    return {
        "ttft_rate": {
            **_rate(TTFT.name, ttft),
            "by_class": {
                latency_class.value: {"passed": sum(of_class), "n": len(of_class)}
                for latency_class in LatencyClass
                if (of_class := _passes(TTFT, (e for e in executions if e.latency_class is latency_class), agent))
            },
        },
        "chat_wait_rate": {
            **_rate("chat_wait_rate", [_within(mean(of_chat)) for of_chat in waits.values()]),
            "mean_wait_s": as_float(mean(mean(of_chat) for of_chat in waits.values())),
            "questions_rate": as_float(mean(int(_within(seconds)) for seconds in singles)),
            "questions": len(singles),
        },
        "tool_accuracy_rate": {
            **_rate(TOOLS.name, tools),
            "partial": sum(e.accuracy_grade is ToolVerdict.PARTIAL for e in executions),
            "weak": sum(e.weak_check for e in executions),
            "unknown": len(executions) - len(tools),
        },
        "result_accuracy_rate": _rate(NUMBERS.name, numbers),
    }


def _passes(rate: Rate, executions: Iterable[AqbExecution], agent: AgentType) -> list[bool]:
    """Whether each execution that counts passes."""
    rows = ({"agent_type": agent, rate.column: getattr(execution, rate.column)} for execution in executions)
    return [passes for row in rows if (passes := rate.passes(row)) is not None]


def chat_waits(executions: Iterable[AqbExecution]) -> dict[Chat, list[Fraction]]:
    """Chat (run and room) -> the seconds of its single-tool answers. What failed or has no time is left out."""
    waits: dict[Chat, list[Fraction]] = {}
    for scored in executions:
        if scored.latency_class is LatencyClass.SINGLE and scored.latency_s is not None and not scored.failed:
            waits.setdefault(_chat(scored), []).append(exact(scored.latency_s))
    return waits


def chat_sets(executions: Sequence[AqbExecution]) -> dict[str, Any]:
    """Whether the chats (`rooms`) are the sets of messages that the team's test of the wait asks for.

    Chats by their number of messages, failed ones and those of several tools included: `sets` hold as many as a set
    should, the others `fewer` or `more`. `enough`: whether there are `needed` sets. Of the sets with a wait (`timed`)
    `passed` waited no longer than the target. Source: seed 000, 2.4 (3~5개로 구성된 메시지 집합 10개).
    """
    messages = Counter(_chat(scored) for scored in executions)
    sets = {chat for chat, count in messages.items() if t.SET_MESSAGES_MIN <= count <= t.SET_MESSAGES_MAX}
    waits = [mean(of_chat) for chat, of_chat in chat_waits(executions).items() if chat in sets]
    return {
        "rooms": len(messages),
        "sets": len(sets),
        "fewer": sum(count < t.SET_MESSAGES_MIN for count in messages.values()),
        "more": sum(count > t.SET_MESSAGES_MAX for count in messages.values()),
        "needed": t.SETS_MIN,
        "enough": len(sets) >= t.SETS_MIN,
        "passed": sum(map(_within, waits)),
        "timed": len(waits),
    }


def _chat(scored: AqbExecution) -> Chat:
    return scored.execution.run_id, scored.execution.round.room


def _within(seconds: Fraction | None) -> bool:
    return seconds is not None and seconds <= t.SINGLE_MEAN_MAX_S


def _rate(code: str, passes: Sequence[bool]) -> dict[str, Any]:
    goal, passed, n = t.GOALS[code], sum(passes), len(passes)
    rate = Fraction(passed, n) if n else None
    return {
        "title": goal.title,
        "rate": as_float(rate),
        "passed": passed,
        "n": n,
        "target": float(goal.at_least),
        "met": None if rate is None else rate >= goal.at_least,
    }
