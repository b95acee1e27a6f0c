"""The team's targets as rates of one agent, and the sets of messages in its chats.

Source: seed 000, 2.3 to 2.5; SPEC 3.3.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from scoring.figures import goal_figure
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.queries import AqbExecution
from scoring.rubrics.aqb.thresholds import ToolVerdict
from scoring.stats.exact import exact, mean
from scoring.stats.intervals import clustered_rate_interval
from scoring.stats.rates import Rate
from scoring.testruns.detection import EXPERT_FLOW, run_type_of
from scoring.testruns.executions import AgentType, LatencyClass
from scoring.testruns.summaries import as_float

Chat = tuple[str, int]
"""A run and one of its rooms."""


def _of_executions(code: str, metric: str, column: str, passing: Mapping[AgentType, Collection[str]]) -> Rate:
    """A target as a rate: the passing grades of a column, by agent; `metric` as in `Rate`."""
    return Rate(code, t.GOALS[code].title, metric, column, passing)


TTFT = _of_executions("ttft_rate", "", "ttft_pass", dict.fromkeys(AgentType, ("PASS",)))
TOOLS = _of_executions("tool_accuracy_rate", "accuracy", "accuracy_grade", t.PASSING_TOOLS)
NUMBERS = _of_executions("result_accuracy_rate", "accuracy", "numbers_grade", dict.fromkeys(AgentType, t.RIGHT_NUMBERS))
RATES = (TTFT, TOOLS, NUMBERS)
"""The targets whose unit is one execution."""


def targets_of(executions: Sequence[AqbExecution], agent: AgentType) -> dict[str, dict[str, Any]]:
    """The rates of one agent by code. The unit is one execution, or one chat for the waiting time.

    Tool accuracy counts the executions with a known mapping, result accuracy those with a ground truth, TTFT those with
    a measurement; an answer that failed or is empty did not use the right tools. The expert flow has no target of
    response time: `expert` executions are left out there. `low` and `high` are the ends of the 95 % interval, with the
    executions of one query as a cluster. `met` compares the rate alone; reports show `verdict` and `text`.
    """
    tools = _passes(TOOLS, executions, agent)
    usual = _of_usual_flow(executions)
    waits = chat_waits(usual)
    singles = [seconds for of_chat in waits.values() for seconds in of_chat]
    found = {
        "ttft_rate": {
            **_of_queries(TTFT, _passes(TTFT, usual, agent)),
            "by_class": _by_class(usual, agent),
            "expert": len(executions) - len(usual),
        },
        "chat_wait_rate": {
            **_rate("chat_wait_rate", [[_within(mean(of_chat))] for of_chat in waits.values()]),
            "mean_wait_s": as_float(mean(mean(of_chat) for of_chat in waits.values())),
            "questions_rate": as_float(mean(int(_within(seconds)) for seconds in singles)),
            "questions": len(singles),
        },
        "tool_accuracy_rate": {
            **_of_queries(TOOLS, tools),
            "partial": sum(e.accuracy_grade is ToolVerdict.PARTIAL for e in executions),
            "weak": sum(e.weak_check for e in executions),
            "unknown": len(executions) - sum(map(len, tools)),
        },
        "result_accuracy_rate": _of_queries(NUMBERS, _passes(NUMBERS, executions, agent)),
    }
    shown = {code: goal_figure(goal) for code, goal in found.items()}
    return {code: {**goal, "verdict": shown[code].verdict, "text": shown[code].text} for code, goal in found.items()}


def _of_usual_flow(executions: Iterable[AqbExecution]) -> list[AqbExecution]:
    """The executions that the targets of response time apply to. Source: seed 000, 2.4 and 2.5 (전문가용 요청 흐름)."""
    return [one for one in executions if run_type_of(one.execution.run_type) != EXPERT_FLOW]


def _by_class(executions: Sequence[AqbExecution], agent: AgentType) -> dict[str, dict[str, int]]:
    """The number of executions of each class that passed the target of TTFT, for classes with a measurement."""
    found = {}
    for latency_class in LatencyClass:
        of_class = _passes(TTFT, (one for one in executions if one.latency_class is latency_class), agent)
        if of_class:
            found[latency_class.value] = {"passed": sum(map(sum, of_class)), "n": sum(map(len, of_class))}
    return found


def _passes(rate: Rate, executions: Iterable[AqbExecution], agent: AgentType) -> list[list[bool]]:
    """Whether each execution that counts passes, a list for each query."""
    found: dict[str, list[bool]] = {}
    for execution in executions:
        passes = rate.passes({"agent_type": agent, rate.column: getattr(execution, rate.column)})
        if passes is not None:
            found.setdefault(execution.execution.query_id, []).append(passes)
    return [*found.values()]


def chat_waits(executions: Iterable[AqbExecution]) -> dict[Chat, list[Fraction]]:
    """Chat (run and room) -> the seconds of its single-tool answers that have a time and did not fail."""
    waits: dict[Chat, list[Fraction]] = {}
    for scored in executions:
        if scored.latency_class is LatencyClass.SINGLE and scored.latency_s is not None and not scored.failed:
            waits.setdefault(_chat(scored), []).append(exact(scored.latency_s))
    return waits


def chat_sets(executions: Sequence[AqbExecution]) -> dict[str, Any]:
    """Whether the chats (`rooms`) are the sets of messages required by the team's test of the waiting time.

    Chats by their number of messages, including failed ones and those with several tools: `sets` have the required
    number, the others `fewer` or `more`. `enough`: whether there are `needed` sets. Of the sets with a waiting time
    (`timed`) `passed` waited no longer than the target. Chats of the expert flow are not counted. Source: seed 000, 2.4
    (3~5개로 구성된 메시지 집합 10개).
    """
    usual = _of_usual_flow(executions)
    messages = Counter(_chat(scored) for scored in usual)
    sets = {chat for chat, count in messages.items() if t.SET_MESSAGES_MIN <= count <= t.SET_MESSAGES_MAX}
    waits = [mean(of_chat) for chat, of_chat in chat_waits(usual).items() if chat in sets]
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


def _of_queries(rate: Rate, passes: Sequence[Sequence[bool]]) -> dict[str, Any]:
    return {**_rate(rate.name, passes), "queries": len(passes)}


def _rate(code: str, passes: Sequence[Sequence[bool]]) -> dict[str, Any]:
    """The rate of passes, from lists (clusters) that may be correlated internally."""
    goal, passed, sizes = t.GOALS[code], [*map(sum, passes)], [*map(len, passes)]
    rate = Fraction(sum(passed), sum(sizes)) if passes else None
    interval = clustered_rate_interval(passed, sizes)
    return {
        "title": goal.title,
        "rate": as_float(rate),
        "passed": sum(passed),
        "n": sum(sizes),
        "target": float(goal.at_least),
        "met": None if rate is None else rate >= goal.at_least,
        "low": interval and interval.low,
        "high": interval and interval.high,
    }
