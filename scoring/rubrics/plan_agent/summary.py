"""The summary of a run of the execution agent: rounds, set, distributions, agreement. Source: seed 003, 3; SPEC 3.1."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict

from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.formulas import (
    EXECUTION_METRICS,
    PlanExecution,
    PlanQuery,
    both_pass,
    timed_latencies,
)
from scoring.stats.exact import Exact, exact, mean
from scoring.testruns.patterns import CheckPattern, Outage, check_patterns, outages
from scoring.testruns.rubric import Options, ScoredExecution, TestRunSummary, Undecided
from scoring.testruns.summaries import (
    as_float,
    distributions,
    executions_by_round,
    repeat_figures,
    round_means,
    set_means,
)


class RecordedAgreement(TypedDict):
    """The agreement of item scores with recorded ones; `mean_difference` is rule minus recorded."""

    n: int
    exact: int
    within_1: int
    mean_difference: float


@dataclass(frozen=True, kw_only=True)
class PlanSummary(TestRunSummary):
    """The figures behind the report's check list; `agreement` is None where no score was recorded."""

    failures: int
    nested_only_checks: int
    recorded_scores: int
    agreement: RecordedAgreement | None
    check_patterns: list[CheckPattern]
    outages: list[Outage]


_AVERAGED = tuple(metric for metric in EXECUTION_METRICS if metric != "speed")  # it has two interpretations


def summarise(queries: Sequence[PlanQuery], options: Options) -> PlanSummary:
    """Means per round and of the set, and the figures behind the report's check list."""
    rounds, means = executions_by_round(queries), round_means(queries, _AVERAGED)
    executions = [scored for query in queries for scored in query.executions]
    speeds = {round_: _speed(of_round) for round_, of_round in rounds.items()}
    set_speed = {name: mean(speed[name] for speed in speeds.values()) for name in ("band", "bands", "seconds")}
    return PlanSummary(
        rounds={
            str(round_): {**means[str(round_)], "speed": _speed_figures(rounds[round_], **speed)}
            for round_, speed in speeds.items()
        },
        set={
            **set_means(queries, _AVERAGED),
            "speed": _speed_figures(executions, **set_speed),
            "consistency": _consistency(queries),
        },
        distributions=distributions(queries, EXECUTION_METRICS),
        data_quality=_data_quality(queries, executions),
        failures=sum(scored.scores["stability"].points == t.UNSTABLE_POINTS for scored in executions),
        nested_only_checks=sum(query.nested_only_checks for query in queries),
        recorded_scores=sum(scored.recorded_llm_score is not None for scored in executions),
        agreement=_agreement(executions),
        check_patterns=check_patterns(executions),
        outages=outages(executions),
    )


def low_scored(executions: Iterable[PlanExecution]) -> list[PlanExecution]:
    """Executions with an item score of 0, 1 or 2, which the seed's check list wants reviewed."""
    points = ((scored, scored.scores["accuracy"].points) for scored in executions)
    return [scored for scored, score in points if score is not None and score <= t.LOW_MAX_POINTS]


def slow(executions: Iterable[PlanExecution]) -> list[PlanExecution]:
    """Executions with a speed score of 3 or less."""
    points = ((scored, scored.scores["speed"].points) for scored in executions)
    return [scored for scored, score in points if score is not None and score <= t.SLOW_MAX_POINTS]


def _speed(executions: Sequence[ScoredExecution]) -> dict[str, Exact | None]:
    """The two interpretations of one round's speed, band of the mean time and mean of the bands, and the mean time."""
    seconds = mean(timed_latencies(executions))
    band = None if seconds is None else t.SPEED_POINTS.points(seconds)
    return {"band": band, "bands": mean(one.scores["speed"].points for one in executions), "seconds": seconds}


def _speed_figures(
    executions: Sequence[ScoredExecution], band: Exact | None, bands: Exact | None, seconds: Exact | None
) -> dict[str, Any]:
    """`mean` is the headline, so that every metric has one. Source: SPEC 3.1."""
    return {
        "mean": as_float(band),
        "n": len(timed_latencies(executions)),
        "speed_band_of_mean": as_float(band),
        "speed_mean_of_bands": as_float(bands),
        "latency_s": as_float(seconds),
    }


def _consistency(queries: Sequence[PlanQuery]) -> dict[str, Any]:
    scores = [query.scores["consistency"] for query in queries]
    consistent = [query for query in queries if query.scores["consistency"].points == t.CONSISTENT_POINTS]
    passing = sum(both_pass(query) for query in consistent)
    left_out = Counter(score.missing for score in scores if score.points is None)
    return {
        "mean": as_float(mean(score.points for score in scores)),
        "n": sum(score.points is not None for score in scores),
        "both_pass": passing,
        "both_fail": len(consistent) - passing,
        "mixed": sum(score.points == t.INCONSISTENT_POINTS for score in scores),
        "one_round": left_out["one_round"],
        "no_checks": left_out["no_checks"],
        "tools_not_shown": left_out[Undecided.TOOLS_NOT_SHOWN],
        **repeat_figures((query.repeats for query in queries), t.PASS_MIN_POINTS),
    }


def _data_quality(queries: Sequence[PlanQuery], executions: Sequence[PlanExecution]) -> dict[str, Any]:
    speed_gaps = Counter(scored.scores["speed"].missing for scored in executions)
    rounds = {scored.execution.round for scored in executions}
    unseen = sum(scored.scores["accuracy"].missing == Undecided.TOOLS_NOT_SHOWN for scored in executions)
    return {
        "failed": sum(scored.failed for scored in executions),
        "empty": sum(scored.empty and not scored.failed for scored in executions),
        "no_checks": sum(scored.scores["accuracy"].missing == "no_checks" for scored in executions),
        "no_time": speed_gaps["no_time"],
        "incomplete_rounds": sum(len(query.executions) < len(rounds) for query in queries),
        "unchecked_text": sum(len(query.problems) for query in queries),
        "tools_not_shown": unseen,
    }


def _agreement(executions: Sequence[PlanExecution]) -> RecordedAgreement | None:
    differences = [
        scored.scores["accuracy"].points - exact(scored.recorded_llm_score)
        for scored in executions
        if scored.scores["accuracy"].points is not None and scored.recorded_llm_score is not None
    ]
    if not differences:
        return None
    return {
        "n": len(differences),
        "exact": sum(difference == 0 for difference in differences),
        "within_1": sum(abs(difference) <= 1 for difference in differences),
        "mean_difference": float(sum(differences, Fraction()) / len(differences)),
    }
