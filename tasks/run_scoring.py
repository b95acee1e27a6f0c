"""A test run is scored query by query: so only one query's parsed JSON is in memory.

With a judge there are two passes: `judge_requests` says what to ask, whoever asks it hands the verdicts to
`score_run`. Without one the verdicts are empty, and what only a judge can tell is NULL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from scoring.catalog import rubric_of, rubrics
from scoring.errors import UsageError
from scoring.judging import JudgeRequest, Verdicts, verdict_of
from scoring.run_rubric import Options, RunRubric, RunSummary, ScoredExecution, ScoredQuery
from scoring.runs import recognise
from scoring.runs.executions import AgentType, Execution
from tasks.run_files import PackedExecution, RunFile


@dataclass(frozen=True)
class RunChoices:
    """What a person chose: rubric id and agent type ('' lets the file tell), options as written."""

    rubric: str = ""
    agent_type: str = ""
    options: Options | None = None


@dataclass(frozen=True)
class RunPlan:
    """A run and how it will be scored: the rubric, all its options, the agent of rows that name none."""

    run: RunFile
    rubric: RunRubric
    options: Options
    agent_type: AgentType | None

    @property
    def rubric_version(self) -> str:
        """The version with the options that differ from their defaults."""
        return self.rubric.version_with(self.options)


@dataclass(frozen=True)
class ScoredRun:
    """A scored run. Executions hold their outline only: no raw JSON, no answer.

    `questions` counts what a judge was or would have been asked, each question once, by the status of its verdict.
    """

    plan: RunPlan
    queries: tuple[ScoredQuery, ...]
    summary: RunSummary
    questions: Mapping[str, int]


def plan_of(run: RunFile, choices: RunChoices, settings_options: Mapping[str, Options]) -> RunPlan:
    """How the run is scored: what was chosen, else what its name and header tell, options above settings.

    Raises:
        UsageError: the file does not tell its rubric or the agent that the rubric must know, or a choice is wrong.
    """
    known = tuple(rubrics())
    rubric = rubric_of(recognise.rubric_of(run.facts, option=choices.rubric, known=known))
    if not isinstance(rubric, RunRubric):
        raise UsageError(f"rubric '{rubric.id}' scores chat rows, not test runs", where=run.name)
    agent_type = recognise.agent_type_of(
        run.facts, option=choices.agent_type, has_expected_filters=run.has_expected_filters
    )
    named = (packed.outline.agent_type for executions in run.queries.values() for packed in executions)
    if rubric.needs_agent_type and agent_type is None and not all(named):
        raise recognise.unknown_agent_type(run.name)
    given = {**settings_options.get(rubric.id, {}), **(choices.options or {})}
    return RunPlan(run, rubric, rubric.chosen(given), agent_type)


def judge_requests(plan: RunPlan) -> Iterator[JudgeRequest]:
    """What a judge should be asked about the run, each question once."""
    asked: set[str] = set()
    for executions in plan.run.queries.values():
        for request in plan.rubric.requests(_unpacked(executions, plan), plan.options):
            if request.key not in asked:
                asked.add(request.key)
                yield request


def score_run(plan: RunPlan, verdicts: Verdicts) -> ScoredRun:
    """Scores every query and sums up; questions without a verdict leave their scores NULL."""
    queries = []
    statuses: dict[str, str] = {}
    for packed in plan.run.queries.values():
        executions = _unpacked(packed, plan)
        for request in plan.rubric.requests(executions, plan.options):
            statuses[request.key] = verdict_of(request, verdicts).status.value
        queries.append(_without_texts(plan.rubric.score_query(executions, plan.options, verdicts)))
    return ScoredRun(
        plan=plan,
        queries=tuple(queries),
        summary=plan.rubric.summarise(queries, plan.options),
        questions=dict(sorted(Counter(statuses.values()).items())),
    )


def _unpacked(executions: Iterable[PackedExecution], plan: RunPlan) -> list[Execution]:
    """The executions of one query in the order of rounds."""
    unpacked = (packed.unpacked() for packed in executions)
    known = (
        execution if execution.agent_type else replace(execution, agent_type=plan.agent_type) for execution in unpacked
    )
    return sorted(known, key=lambda execution: (execution.round, execution.run_id))


def _without_texts(query: ScoredQuery) -> ScoredQuery:
    """The same without the texts that took part in nothing but scoring: a run holds a hundred thousand of them."""
    return replace(query, executions=tuple(map(_without_long_texts, query.executions)))


def _without_long_texts(scored: ScoredExecution) -> ScoredExecution:
    return replace(scored, execution=replace(scored.execution, raw_json="", answer_text="", button_url="", carried={}))
