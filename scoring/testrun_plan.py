"""Which rubric scores a test run, with which options."""

from collections.abc import Mapping
from dataclasses import dataclass

from scoring.catalog import recognitions, rubric_of
from scoring.errors import UsageError
from scoring.testruns import detection
from scoring.testruns.rubric import Options, TestRunRubric
from scoring.testruns.scoring import TestRunPlan
from scoring.testruns.testrun import TestRunFile


@dataclass(frozen=True)
class TestRunChoices:
    """What a person chose: rubric id and agent type ('' lets the file tell), options as written."""

    rubric: str = ""
    agent_type: str = ""
    options: Options | None = None


def plan_of(run: TestRunFile, choices: TestRunChoices, settings_options: Mapping[str, Options]) -> TestRunPlan:
    """How the run is scored: what was chosen, else what its name and header tell, options above settings.

    Raises:
        UsageError: the file does not tell its rubric or the agent that the rubric must know, or a choice is wrong.
    """
    rubric = rubric_of(detection.rubric_of(run.facts, option=choices.rubric, known=recognitions()))
    if not isinstance(rubric, TestRunRubric):
        raise UsageError(
            f"rubric '{rubric.id}' scores chat rows, not test runs", where=run.name, fix="choose another with --rubric"
        )
    agent_type = detection.agent_type_of(run.facts, choices.agent_type)
    named = (execution.agent_type for executions in run.queries.values() for execution in executions)
    if rubric.needs_agent_type and agent_type is None and not all(named):
        raise detection.unknown_agent_type(run.name)
    given = {**settings_options.get(rubric.id, {}), **(choices.options or {})}
    return TestRunPlan(run, rubric, rubric.chosen(given), agent_type)
