"""The latency class of a query: one tool call, or several. Source: SPEC 2; seed 000, 2.4 and 2.5."""

from collections.abc import Iterable, Sequence

from scoring.testruns.executions import AgentType, Execution, LatencyClass, ParsedExecution
from scoring.testruns.expected import expected_of
from scoring.testruns.tool_usage import PERIOD_FILTER, tool_usage_of


def latency_class_of_query(readings: Sequence[ParsedExecution]) -> LatencyClass:
    """The latency class of a query for every rubric; if its executions disagree, the slower class wins.

    Source: seed 000, 2.4 and 2.5; seed 004, 응답 속도.
    """
    executions = [reading.execution for reading in readings]
    stated = {execution.latency_class for execution in executions} - {None}
    if stated:
        return LatencyClass.MULTI if LatencyClass.MULTI in stated else LatencyClass.SINGLE
    criteria = (expected_of(execution).latency_class for execution in executions)
    if in_criteria := next(filter(None, criteria), None):
        return in_criteria
    calls = [execution.tool_call_count for execution in executions if execution.tool_call_count is not None]
    if calls:
        return _slower(max(calls) >= 2)
    if any(reading.response.step_count >= 2 for reading in readings):
        return LatencyClass.MULTI
    if all(execution.agent_type is not AgentType.APPLICANT_MANAGEMENT for execution in executions):
        return LatencyClass.SINGLE
    return _slower(max([*_expected_filters(executions)] or [*_used_filters(readings)], default=0) >= 2)


def _expected_filters(executions: Iterable[Execution]) -> Iterable[int]:
    """Of each execution that expects filters their number without the period filter; a name without a code is one."""
    for execution in executions:
        expected = execution.filter_names.expected(execution.expected_filters)
        if expected.filters or expected.unmapped:
            yield len(expected.filters - {PERIOD_FILTER}) + len(expected.unmapped)


def _used_filters(readings: Iterable[ParsedExecution]) -> Iterable[int]:
    """Of each answer the number of used filters without the period filter."""
    return (len(tool_usage_of(reading).filters - {PERIOD_FILTER}) for reading in readings if reading.answered)


def _slower(multi: bool) -> LatencyClass:
    return LatencyClass.MULTI if multi else LatencyClass.SINGLE
