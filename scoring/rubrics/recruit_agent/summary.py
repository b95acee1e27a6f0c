"""The summary of a run of a recruiting agent: rounds, set, total, distributions. Source: seed 004; SPEC 3.2 and 4."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.judging.requests import VerdictStatus
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.rubrics.recruit_agent.formulas import (
    EXECUTION_METRICS,
    METRICS,
    RecruitExecution,
    RecruitQuery,
    weighted_total,
)
from scoring.stats.exact import mean
from scoring.testruns.patterns import CheckPattern, Outage, check_patterns, outages
from scoring.testruns.rubric import Options, TestRunSummary
from scoring.testruns.summaries import as_float, distributions, repeat_figures, round_means, set_mean, set_means


@dataclass(frozen=True, kw_only=True)
class RecruitSummary(TestRunSummary):
    """The counts of the judge's words and of problems; `notice` is '' or Korean, `manual_review` counts queries."""

    notice: str
    manual_review: int
    intent_verdicts: dict[str, int]
    intent_labels: dict[str, int]
    check_patterns: list[CheckPattern]
    outages: list[Outage]


def summarise(queries: Sequence[RecruitQuery], options: Options) -> RecruitSummary:
    """Means per round and of the set with the set's total, and the reasons for unknown scores."""
    executions = [scored for query in queries for scored in query.executions]
    unanswered = Counter(scored.scores["intent"].missing for scored in executions)
    return RecruitSummary(
        rounds=round_means(queries, EXECUTION_METRICS),
        set={
            **set_means(queries, EXECUTION_METRICS),
            "consistency": _consistency(queries),
            **_set_total(queries, options),
        },
        distributions=distributions(queries, EXECUTION_METRICS),
        data_quality=_data_quality(queries, executions, unanswered),
        notice=_notice(unanswered[VerdictStatus.NO_JUDGE], len(executions)),
        manual_review=sum(bool(query.manual_review_reasons) for query in queries),
        intent_verdicts=_counts(t.INTENT_VERDICTS, (scored.intent_verdict for scored in executions)),
        intent_labels=_counts(t.INTENT_LABELS, (scored.intent_label for scored in executions)),
        check_patterns=check_patterns(executions),
        outages=outages(executions),
    )


def _consistency(queries: Sequence[RecruitQuery]) -> dict[str, Any]:
    """The mean over the queries and the means of its halves; queries with too few executions count with their 0.

    If too many queries lack a label, `ratio_a` is NULL, too: it would be the mean of those that failed throughout.
    """
    whole = set_mean(queries, "consistency")
    return {
        **whole.figures(),
        "ratio_a": None if whole.mean is None else as_float(mean(query.ratio_a for query in queries)),
        "ratio_b": as_float(mean(query.ratio_b for query in queries)),
        "too_few_executions": sum(len(query.executions) < t.MIN_EXECUTIONS for query in queries),
        "without_label": sum(query.scores["consistency"].points is None for query in queries),
        **repeat_figures((query.repeats for query in queries), t.PASS_MIN_POINTS),
    }


def _set_total(queries: Sequence[RecruitQuery], options: Options) -> dict[str, Any]:
    """The total from the set's means. Source: seed 004, 종합 점수."""
    if options["weighted_total"] == "off":
        return {}
    total = weighted_total({metric.name: set_mean(queries, metric.name).mean for metric in METRICS}, options)
    return {"weighted_total": total.figures()}


def _data_quality(
    queries: Sequence[RecruitQuery], executions: Sequence[RecruitExecution], unanswered: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "failed": sum(scored.failed for scored in executions),
        "empty": sum(scored.empty and not scored.failed for scored in executions),
        "not_evaluable": sum(
            not scored.failed and scored.pass_ratio is None and not scored.scores["accuracy"].undecided
            for scored in executions
        ),
        "no_time": sum(scored.latency_s is None for scored in executions),
        "too_few_executions": sum(len(query.executions) < t.MIN_EXECUTIONS for query in queries),
        "unchecked_text": sum(len(query.problems) for query in queries),
        "tools_not_shown": sum(scored.scores["accuracy"].undecided for scored in executions),
        **{f"intent_{status}": unanswered[status] for status in VerdictStatus if unanswered[status]},
    }


def _notice(not_judged: int, executions: int) -> str:
    if not not_judged:
        return ""
    return (
        f"판정 모델을 쓰지 않아 실행 {executions:,}건 중 {not_judged:,}건의 의도 충족과 그 질의의 일관성을 "
        "채점하지 않았습니다. 나머지 지표는 모두 규칙으로 채점했습니다. 실패하거나 빈 응답은 판정 없이 0점이라 분포에 "
        "나오지만, 판정 없이 정해진 점수만으로 평균을 내지는 않았습니다."
    )


def _counts(words: Iterable[str], given: Iterable[str | None]) -> dict[str, int]:
    found = Counter(given)
    return {word: found[word] for word in words}
