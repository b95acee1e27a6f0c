"""The summary of a test run: round means, final means and totals per agent, targets, patterns.

Source: seed 000, 1.3 and 4; SPEC 3.3 and 4.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict

from scoring.judging.requests import VerdictStatus
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.queries import EXECUTION_METRICS, METRICS, AqbExecution, AqbQuery
from scoring.rubrics.aqb.review import REVIEW_TITLES
from scoring.rubrics.aqb.targets import chat_sets, targets_of
from scoring.rubrics.aqb.thresholds import MISSING_TITLES, MappingGrade
from scoring.stats.exact import Exact, exact, mean
from scoring.testruns.detection import EXPERT_FLOW, run_type_of
from scoring.testruns.executions import AgentType, LatencyClass
from scoring.testruns.filter_names import COMMON_FILTERS, FILTER_CODES
from scoring.testruns.patterns import Outage, cause_of, outages_of
from scoring.testruns.rubric import Options, Score, TestRunSummary
from scoring.testruns.summaries import (
    MOST_UNDECIDED,
    as_float,
    distributions,
    nearest_rank,
    repeat_figures,
    round_means,
    score_distribution,
    set_mean,
    set_means,
)
from scoring.testruns.tool_usage import PERIOD_FILTER

QUALITY_TITLES = {
    **{str(code): title for code, title in MISSING_TITLES.items()},
    "ground_truth_without_numbers": "정답 수치에 숫자가 없음",
    "no_ttft": "TTFT 측정값 없음",
    "ttft_above_latency": "TTFT가 응답 시간보다 긺(단위가 밀리초인지 확인)",
    "failed_answer": "실패한 실행이 있음",
    "empty_answer": "빈 응답이 있음",
}


# Runs of the expert flow and Tracks are shown separately. Source: seed 000, 2.4 and 2.5; SPEC 3.3.
_GROUPS = {"Track": "track", "실행 유형": "run_type"}
_NO_VALUE = "(없음)"


class AgentFigures(TypedDict):
    """The figures of one agent; `weight_coverage` is 0 to 1, `mapping` counts executions by grade."""

    queries: int
    executions: int
    weighted_total: float | None
    weight_coverage: float | None
    weighted_total_missing: str
    without_ground_truth: int
    manual_review: int
    rounds: dict[str, dict[str, Any]]
    set: dict[str, dict[str, Any]]
    targets: dict[str, dict[str, Any]]
    chat_sets: dict[str, Any]
    tone: dict[str, Any]
    mapping: dict[str, int]
    latency: dict[str, dict[str, Any]]


class GroupFigures(TypedDict):
    """The figures of one Track or kind of run."""

    queries: int
    set: dict[str, dict[str, Any]]
    latency: dict[str, dict[str, Any]]


class FilterCombination(TypedDict):
    """Filters used together by `n` executions; `mean_s` in seconds."""

    filters: list[str]
    n: int
    mean_s: float | None


class FailedStep(TypedDict):
    """A step at which `n` executions failed, with their queries."""

    step: str
    n: int
    query_ids: list[str]


@dataclass(frozen=True, kw_only=True)
class AqbSummary(TestRunSummary):
    """Figures by agent type, the queries for manual review by code, and the findings on the applicant agent's filters.

    `groups`: column (`Track`, `실행 유형`) -> value -> figures, if a file has several values or only the expert flow.
    """

    agents: dict[str, AgentFigures]
    groups: dict[str, dict[str, GroupFigures]]
    manual_review: dict[str, int]
    uncovered_filters: list[str]
    slowest_filter_combinations: list[FilterCombination]
    failures_by_step: list[FailedStep]
    accuracy_causes: list[Outage]


def summarise(queries: Sequence[AqbQuery], options: Options) -> AqbSummary:
    """`set` is over all queries; the weighted totals are per agent in `agents`."""
    agents = {agent: [query for query in queries if query.agent_type is agent] for agent in AgentType}
    return AqbSummary(
        rounds=round_means(queries, EXECUTION_METRICS),
        set=_set(queries),
        distributions=distributions(queries, EXECUTION_METRICS),
        data_quality=_data_quality(queries),
        agents={agent.value: _agent(agent, own, options) for agent, own in agents.items() if own},
        groups={
            column: found
            for column, name in _GROUPS.items()
            if len(found := _groups(queries, name)) > 1 or EXPERT_FLOW in map(run_type_of, found)
        },
        manual_review=_manual_review(queries),
        uncovered_filters=_uncovered_filters(agents[AgentType.APPLICANT_MANAGEMENT]),
        slowest_filter_combinations=_filter_combinations(agents[AgentType.APPLICANT_MANAGEMENT]),
        failures_by_step=_failures_by_step(queries),
        accuracy_causes=_accuracy_causes(queries),
    )


def _set(queries: Sequence[AqbQuery]) -> dict[str, dict[str, Any]]:
    """Metric -> final `mean` and `n`, speed by class apart, consistency with its counts by score."""
    consistency = [query.scores["consistency"].points for query in queries]
    return {
        **set_means(queries, EXECUTION_METRICS),
        **{
            f"speed_{kind.lower()}": set_mean([one for one in queries if one.latency_class is kind], "speed").figures()
            for kind in LatencyClass
        },
        "consistency": {
            **set_mean(queries, "consistency").figures(),
            "by_score": score_distribution(consistency),
            "provisional": sum(query.consistency_provisional for query in queries),
            **repeat_figures((query.repeats for query in queries), t.PASS_MIN_POINTS),
        },
    }


def _agent(agent: AgentType, queries: Sequence[AqbQuery], options: Options) -> AgentFigures:
    executions = _executions(queries)
    total = t.WEIGHTS.total({metric.name: set_mean(queries, metric.name).mean for metric in METRICS}, options)
    grades = Counter(execution.mapping_grade for execution in executions)
    return {
        "queries": len(queries),
        "executions": len(executions),
        "weighted_total": total.points,
        "weight_coverage": total.coverage,
        "weighted_total_missing": total.missing,
        "without_ground_truth": sum(query.lacks_ground_truth for query in queries),
        "manual_review": sum(bool(query.manual_review_reasons) for query in queries),
        "rounds": round_means(queries, EXECUTION_METRICS),
        "set": _set(queries),
        "targets": targets_of(executions, agent),
        "chat_sets": chat_sets(executions),
        "tone": _tone(executions),
        "mapping": {grade.value: grades[grade] for grade in MappingGrade},
        "latency": latency_figures(executions),
    }


def _tone(executions: Sequence[AqbExecution]) -> dict[str, Any]:
    """How many of the judged answers kept the tone: `kept` of `n`; `undecided` were asked about without a verdict.

    The `rate` is NULL if too many are undecided. Source: seed 000, 3.1 (톤앤매너 준수율).
    """
    asked = [scored.tone_kept for scored in executions if scored.tone_asked]
    known = [kept for kept in asked if kept is not None]
    undecided = len(asked) - len(known)
    withheld = not known or undecided > MOST_UNDECIDED * len(asked)
    return {
        "rate": None if withheld else as_float(Fraction(sum(known), len(known))),
        "kept": sum(known),
        "n": len(known),
        "undecided": undecided,
    }


def _groups(queries: Sequence[AqbQuery], name: str) -> dict[str, GroupFigures]:
    """The figures by a field of the executions; blank is a value, too.

    A query counts for each of its values with the executions of that value; its consistency is that of all rooms.
    """
    by_value: dict[str, list[AqbQuery]] = {}
    for query in queries:
        of_value: dict[str, list[AqbExecution]] = {}
        for one in query.executions:
            of_value.setdefault(getattr(one.execution, name) or _NO_VALUE, []).append(one)
        for value, own in of_value.items():
            by_value.setdefault(value, []).append(replace(query, executions=tuple(own)))
    return {
        value: {"queries": len(own), "set": _set(own), "latency": latency_figures(_executions(own))}
        for value, own in sorted(by_value.items())
    }


def _executions(queries: Iterable[AqbQuery]) -> list[AqbExecution]:
    return [execution for query in queries for execution in query.executions]


def _manual_review(queries: Iterable[AqbQuery]) -> dict[str, int]:
    """Code -> the queries that it flags for manual review; a query may have several."""
    counted = Counter(reason for query in queries for reason in query.manual_review_reasons)
    return {code: counted[code] for code in REVIEW_TITLES if counted[code]}


def _data_quality(queries: Sequence[AqbQuery]) -> dict[str, int]:
    """Code -> the queries with at least one such gap, including zeros."""
    counted = Counter(code for query in queries for code in set(_gaps(query)))
    return {code: counted[code] for code in QUALITY_TITLES}


def _gaps(query: AqbQuery) -> Iterable[str]:
    yield from (code for code, _ in query.problems)
    yield query.scores["consistency"].missing
    # A file of a row per query has one measurement for all its rounds.
    if all(execution.ttft_pass is None for execution in query.executions):
        yield "no_ttft"
    for execution in query.executions:
        yield from (score.missing for score in execution.scores.values())
        if (ttft_s := execution.execution.ttft_s) and execution.latency_s is not None and ttft_s > execution.latency_s:
            yield "ttft_above_latency"
        if execution.failed:
            yield "failed_answer"
        elif execution.empty:
            yield "empty_answer"


def _uncovered_filters(queries: Sequence[AqbQuery]) -> list[str]:
    """The filters that no query expects, by title; [] if the applicant agent was not tested.

    Source: seed 000, 2.2 and 2.3 (필터당 1개 이상의 질문).
    """
    covered = {tool for query in queries for tool in query.expected_tools} | {PERIOD_FILTER}
    codes = dict.fromkeys(FILTER_CODES.values())
    return [COMMON_FILTERS.title(code) for code in codes if code not in covered] if queries else []


def _filter_combinations(queries: Sequence[AqbQuery]) -> list[FilterCombination]:
    """The filters used together, slowest mean first. Source: seed 000, 2.5 (성능 문제가 되는 필터 조합)."""
    seconds: dict[tuple[str, ...], list[float]] = {}
    names = COMMON_FILTERS
    for execution in _executions(queries):
        names = execution.execution.filter_names  # those of the file, the same in every row
        filters = tuple(tool for tool in execution.used_tools if tool != PERIOD_FILTER)
        if filters and execution.latency_s is not None:
            seconds.setdefault(filters, []).append(execution.latency_s)
    means = {filters: mean(map(exact, times)) or 0 for filters, times in seconds.items()}
    slowest_first = sorted(means.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"filters": list(map(names.title, filters)), "n": len(seconds[filters]), "mean_s": as_float(mean_s)}
        for filters, mean_s in slowest_first
    ]


def _failures_by_step(queries: Sequence[AqbQuery]) -> list[FailedStep]:
    """The steps at which answers failed, most failures first, with their queries. Source: seed 000, 2.6."""
    query_ids: dict[str, list[str]] = {}
    for query in queries:
        for execution in query.executions:
            for step in execution.failed_steps:
                query_ids.setdefault(step, []).append(query.query_id)
    most_first = sorted(query_ids.items(), key=lambda item: (-len(item[1]), item[0]))
    return [{"step": step, "n": len(ids), "query_ids": list(dict.fromkeys(ids))} for step, ids in most_first]


def _accuracy_causes(queries: Iterable[AqbQuery]) -> list[Outage]:
    """Why answers lost accuracy, most points lost first, then most frequent, with their queries."""
    executions = [one for query in queries for one in query.executions if one.accuracy_cause]
    lost: dict[str, Exact] = defaultdict(int)
    for one in executions:
        lost[cause_of(one.accuracy_cause)] += t.MAX_POINTS - (one.scores["accuracy"].points or 0)
    causes = outages_of((one.accuracy_cause, one.execution.query_id) for one in executions)
    return sorted(causes, key=lambda cause: -lost[cause.cause])


def unjudged(queries: Sequence[AqbQuery]) -> list[str]:
    """The metrics with a score that needs a judge, if none was asked: one notice for the run. Source: SPEC 3.3."""
    scores = judged_scores(queries)
    return [metric for metric, found in scores.items() if any(one.missing == VerdictStatus.NO_JUDGE for one in found)]


def judged_scores(queries: Sequence[AqbQuery]) -> dict[str, list[Score]]:
    """The scores of a run that a judge may have to give, by metric."""
    return {
        "semantic": [execution.scores["semantic"] for query in queries for execution in query.executions],
        "consistency": [query.scores["consistency"] for query in queries],
    }


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
