"""Scores a test run query by query, so that only one query's parsed JSON is in memory.

With a judge there are two passes: `judge_requests` lists the questions, and the caller passes the verdicts to
`score_testrun`. Without a judge the verdicts are empty, and scores that need one are NULL.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from scoring.judging.requests import NO_JUDGE, JudgeRequest, Verdict, Verdicts, summary_of_unasked
from scoring.stats.outages import NO_EXECUTIONS, Failures
from scoring.testruns.cells import given
from scoring.testruns.change_wording import OUTAGE_ACTION, change_text, has_outage, regression_todo
from scoring.testruns.executions import AgentType, Execution
from scoring.testruns.headline import nothing_scored_lines, rejected_clause
from scoring.testruns.history import RunPlace
from scoring.testruns.lint import expectation_marks, lint
from scoring.testruns.raw_json import parse_raw_json
from scoring.testruns.recorded import recorded_agreement
from scoring.testruns.rubric import AnyTestRunRubric, Metric, Options, ScoredQuery, TestRunSummary
from scoring.testruns.summaries import short_rounds
from scoring.testruns.testrun import TestRunFile

_UNANSWERED = "unanswered"

RUBRIC_TEXT = "rubric_file"
"""The key of `summary.json` with the text of a rubric file: readers of the folder need no other copy."""


@dataclass(frozen=True)
class TestRunPlan:
    """A run and how it will be scored: the rubric, all its options, the agent of rows that name none."""

    run: TestRunFile
    rubric: AnyTestRunRubric
    options: Options
    agent_type: AgentType | None

    @property
    def rubric_version(self) -> str:
        """The version with the options that differ from their defaults."""
        return self.rubric.version_with(self.options)


@dataclass(frozen=True)
class ScoredTestRun:
    """A scored run.

    `questions` is the number of questions for a judge, whether asked or not, each counted once, by the status of its
    verdict; `epochs` are those of the verdicts by the kind of question.
    """

    plan: TestRunPlan
    queries: tuple[ScoredQuery, ...]
    summary: TestRunSummary
    questions: Mapping[str, int]
    epochs: Mapping[str, Sequence[str]]

    @property
    def failures(self) -> Failures:
        """The number of its failed or empty executions."""
        executions = [one for query in self.queries for one in query.executions]
        return Failures(sum(one.unanswered for one in executions), len(executions))


def judge_requests(plan: TestRunPlan) -> Iterator[JudgeRequest]:
    """The questions of the run for a judge, each once."""
    asked: set[str] = set()
    for executions in plan.run.queries.values():
        for request in plan.rubric.requests(_ordered(executions, plan), plan.options):
            if request.key not in asked:
                asked.add(request.key)
                yield request


def score_testrun(
    plan: TestRunPlan, verdicts: Verdicts, epochs: Mapping[str, Sequence[str]] | None = None
) -> ScoredTestRun:
    """Scores every query and summarises the run; questions without a verdict leave their scores NULL.

    `epochs` are those of the verdicts by the kind of question, none if nothing was judged.
    """
    requested = _RequestedVerdicts(verdicts)
    queries = [
        plan.rubric.score_query(_ordered(executions, plan), plan.options, requested)
        for executions in plan.run.queries.values()
    ]
    return ScoredTestRun(
        plan=plan,
        queries=tuple(queries),
        summary=plan.rubric.summarise(queries, plan.options),
        questions=dict(sorted(Counter(requested.statuses.values()).items())),
        epochs=epochs or {},
    )


class _RequestedVerdicts(Mapping[str, Verdict]):
    """Verdicts that record which of them scoring requests: `statuses` by the key of the question.

    Listing the questions beforehand would parse every execution a second time.
    """

    def __init__(self, verdicts: Verdicts) -> None:
        self.statuses: dict[str, str] = {}
        self._verdicts = verdicts

    def __getitem__(self, key: str) -> Verdict:
        verdict = self._verdicts.get(key, NO_JUDGE)
        self.statuses[key] = verdict.status.value
        return verdict

    def __iter__(self) -> Iterator[str]:
        return iter(self._verdicts)

    def __len__(self) -> int:
        return len(self._verdicts)


def _ordered(executions: Iterable[Execution], plan: TestRunPlan) -> list[Execution]:
    """The executions of one query in the order of rounds, all with an agent type where one is known."""
    known = (
        execution if execution.agent_type else replace(execution, agent_type=plan.agent_type)
        for execution in executions
    )
    return sorted(known, key=lambda execution: (execution.round, execution.run_id))


def headline(
    scored: ScoredTestRun, change: Mapping[str, Any] | None, by_epoch: Mapping[str, Mapping[str, int]]
) -> Sequence[str]:
    """The first sentences of report and page, in Korean; if nothing was scored, they say so.

    A run with verdicts of several judges, or with rounds of few queries, says so before any figure: `by_epoch` counts
    verdicts by kind of question and epoch. The first sentence compares the run with the previous one, and gives the
    number of unreadable rows. For a run with an outage it reports the outage, and the action is to fix it, or the
    file: its answers come after. After a significant loss the action is to look at what got worse.
    """
    run, rubric = scored.plan.run, scored.plan.rubric
    if not scored.queries:
        return nothing_scored_lines(vars(run.counts), [reject.reason for reject in run.rejects])
    sentences = rubric.headline(scored.queries, scored.summary)
    if not sentences:
        return sentences
    without = rejected_clause(vars(run.counts))
    if change and (todo := regression_todo(change)):
        sentences = [*sentences[:-1], todo]
    if scored.failures.is_outage:
        sentences = [*sentences[:-1], _outage_todo(scored.queries)]
    opening = without + sentences[0]
    if change:
        opening = f"{without}{change_text(change)}." if has_outage(change) else f"{change_text(change)}. {opening}"
    for warning in (_of_short_rounds(scored.queries), _of_several_judges(rubric.metrics, by_epoch)):
        opening = f"{warning}. {opening}" if warning else opening
    return [opening, *sentences[1:]]


def _outage_todo(queries: Iterable[ScoredQuery]) -> str:
    """What to do about an outage (Korean). If most Raw JSON is unreadable, the file is broken, not the agent."""
    cells = [one.execution.raw_json for query in queries for one in query.executions if one.unanswered]
    unreadable = sum(bool(given(cell)) and isinstance(parse_raw_json(cell), str) for cell in cells)
    if 2 * unreadable <= len(cells):
        return f"{OUTAGE_ACTION}하세요."
    return (
        f"Raw JSON을 읽지 못한 실행이 {unreadable:,}건이니, 다시 실행하기 전에 "
        "Raw JSON이 잘리거나 바뀌지 않게 파일을 다시 내보내 채점하세요."
    )


def _of_short_rounds(queries: Iterable[ScoredQuery]) -> str:
    """The rounds that few queries were run in (Korean); '' for none."""
    rounds = _queries_by_round(queries)
    short = [f"{name}(질의 {size:,}개)" for name, size in sorted(short_rounds(rounds).items())]
    if not short:
        return ""
    return (
        f"질의가 적은 회차 {', '.join(short)}도 가장 큰 회차({max(rounds.values()):,}개)와 똑같이 평균에 들어가니 "
        "회차별 점수를 함께 보세요"
    )


def _queries_by_round(queries: Iterable[ScoredQuery]) -> dict[str, int]:
    """Round -> the number of queries that were run in it."""
    return Counter(str(of) for query in queries for of in {one.execution.round for one in query.executions})


def _of_several_judges(metrics: Sequence[Metric], by_epoch: Mapping[str, Mapping[str, int]]) -> str:
    """The metrics with verdicts of several epochs, and how many of each (Korean); '' for none. Source: SPEC 11."""
    told = []
    for metric in metrics:
        verdicts = by_epoch.get(metric.judged_by, {}) if metric.judged_by else {}
        if len(verdicts) > 1:
            counts = ", ".join(f"{count:,}건" for count in sorted(verdicts.values(), reverse=True))
            told.append(f"{metric.title}(판정 {counts})")
    return f"판정한 모델이나 조건이 둘 이상이라 평균을 믿을 수 없는 지표: {', '.join(told)}" if told else ""


def testrun_summary(
    scored: ScoredTestRun, judge: Mapping[str, Any] | None = None, place: RunPlace | None = None
) -> dict[str, Any]:
    """The content of `summary.json`. `judge` is its part about the judge; without one it has what one would be asked.

    `place` is its position among the runs of a warehouse, if it was scored into one.
    """
    change, nearest = (place.change, place.nearest) if place else (None, None)
    plan, summary = scored.plan, scored.summary
    run = plan.run
    return {
        "headline": list(headline(scored, change, judge["by_epoch"] if judge else {})),
        "ran_at": run.ran_at,
        "rubric": plan.rubric.id,
        "rubric_version": plan.rubric_version,
        "options": dict(plan.options),
        "inputs": [{"name": run.identity.name, "sha256": run.identity.sha256, "rows": run.counts.rows_in}],
        "counts": vars(run.counts) | {"queries": len(run.queries)},
        _UNANSWERED: asdict(scored.failures),
        "rounds": summary.rounds,
        "queries_by_round": dict(sorted(_queries_by_round(scored.queries).items())),
        "set": summary.set,
        "distributions": summary.distributions,
        "data_quality": {
            **summary.data_quality,
            "rejected": dict(sorted(Counter(reject.code for reject in run.rejects).items())),
            "excluded": {"not_run": len(run.excluded_lines)} if run.excluded_lines else {},
            "notes": dict(run.notes),
        },
        "lint": [asdict(finding) for finding in lint(run.queries)],
        "expected": expectation_marks(run.queries),
        "judge": judge or summary_of_unasked(scored.questions),
        "recorded": _recorded(scored),
        "change": change,
        "nearest": nearest,
        **summary.own_values(),
        **({RUBRIC_TEXT: plan.rubric.text} if plan.rubric.text else {}),
    }


def failures_of(summary: Mapping[str, Any]) -> Failures:
    """The failed or empty executions of a run by its `summary.json`; none for one of an earlier checkout."""
    return Failures(**summary[_UNANSWERED]) if _UNANSWERED in summary else NO_EXECUTIONS


def epochs_of(summary: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """The epochs of a run's judge by the kind of question, by its `summary.json`; empty if unknown."""
    return summary.get("judge", {}).get("epochs") or {}


def _recorded(scored: ScoredTestRun) -> list[dict[str, Any]]:
    """The agreement of scores in the file with ours, by query; several executions count with their mean."""
    recorded: dict[str, dict[str, float]] = {}
    for query_id, executions in scored.plan.run.queries.items():
        known = [_recorded_scores(one) for one in executions]
        names = {name for scores in known for name in scores}
        recorded[query_id] = {name: fmean(scores[name] for scores in known if name in scores) for name in names}
    if not any(recorded.values()):
        return []
    rubric = scored.plan.rubric
    rows = [rubric.query_row(query) for query in scored.queries]
    limits = {query.query_id: rubric.limits(query) for query in scored.queries}
    return recorded_agreement(recorded, rows, rubric.metrics, limits)


def _recorded_scores(execution: Execution) -> Mapping[str, float]:
    """The scores that the file contains for an execution, by metric. That of the long layout is for accuracy."""
    if execution.recorded_score is None:
        return execution.recorded_scores
    return {"accuracy": execution.recorded_score, **execution.recorded_scores}
