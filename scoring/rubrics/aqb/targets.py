"""The rates that the team wants to reach, and the waiting times behind them.

Rates are {`title`, `rate`, `passed`, `n`, `target`, `met`}, `rate` and `met` None where n is 0.
Source: seed 000, 2.3 to 2.5; SPEC 3.3 (targets).
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.grades import ToolVerdict
from scoring.rubrics.aqb.queries import AqbExecution
from scoring.stats.exact import exact, mean
from scoring.testruns.executions import AgentType, LatencyClass
from scoring.testruns.summaries import as_float, nearest_rank


def targets_of(executions: Sequence[AqbExecution], agent: AgentType) -> dict[str, dict[str, Any]]:
    """The rates of one agent by their code. The unit is one execution, or one chat for the wait.

    Tool accuracy counts the executions whose mapping is known, result accuracy those with a ground truth, TTFT those
    with a measurement; an answer that failed or is empty did not use the right tools.
    """
    tools = [e.accuracy_grade for e in executions if e.accuracy_grade is not None]
    numbers = [e.numbers_grade for e in executions if e.numbers_grade is not None]
    ttft = [e.ttft_pass for e in executions if e.ttft_pass is not None]
    waits = chat_waits(executions)
    singles = [seconds for of_chat in waits.values() for seconds in of_chat]
    return {
        "ttft_rate": _rate("ttft_rate", [passed == "PASS" for passed in ttft]),
        "chat_wait_rate": {
            **_rate("chat_wait_rate", [_within(mean(of_chat)) for of_chat in waits.values()]),
            "mean_wait_s": as_float(mean(mean(of_chat) for of_chat in waits.values())),
            "questions_rate": as_float(mean(int(_within(seconds)) for seconds in singles)),
            "questions": len(singles),
        },
        "tool_accuracy_rate": {
            **_rate("tool_accuracy_rate", [grade in t.PASSING_TOOLS[agent] for grade in tools]),
            "partial": sum(grade is ToolVerdict.PARTIAL for grade in tools),
            "weak": sum(e.weak_check for e in executions),
            "unknown": len(executions) - len(tools),
        },
        "result_accuracy_rate": _rate("result_accuracy_rate", [grade in t.RIGHT_NUMBERS for grade in numbers]),
    }


def chat_waits(executions: Iterable[AqbExecution]) -> dict[tuple[str, int], list[Fraction]]:
    """Chat (run and room) -> the seconds of its single-tool answers. What failed or has no time is left out."""
    waits: dict[tuple[str, int], list[Fraction]] = {}
    for scored in executions:
        if scored.latency_class is LatencyClass.SINGLE and scored.latency_s is not None and not scored.failed:
            chat = (scored.execution.run_id, scored.execution.round.room)
            waits.setdefault(chat, []).append(exact(scored.latency_s))
    return waits


def latency_figures(executions: Sequence[AqbExecution]) -> dict[str, dict[str, Any]]:
    """Latency class -> `n`, `mean_s`, `p50_s`, `p95_s` of answers with a time: a baseline without a target.

    Source: seed 000, 2.4 and 2.5 (베이스라인 측정 후 확정).
    """
    figures = {}
    for latency_class in LatencyClass:
        seconds = sorted(
            scored.latency_s
            for scored in executions
            if scored.latency_class is latency_class and scored.latency_s is not None and not scored.failed
        )
        if seconds:
            figures[latency_class.value] = {
                "n": len(seconds),
                "mean_s": as_float(mean(map(exact, seconds))),
                "p50_s": nearest_rank(seconds, 50),
                "p95_s": nearest_rank(seconds, 95),
            }
    return figures


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
