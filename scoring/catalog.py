"""The rubrics there are, found by folder (adding one edits nothing that exists), and which one scores a test run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import scoring.rubrics
from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError
from scoring.testruns import detection
from scoring.testruns.detection import Layout, Recognition
from scoring.testruns.rubric import AnyTestRunRubric, Options, TestRunRubric
from scoring.testruns.scoring import TestRunPlan
from scoring.testruns.testrun import TestRunFile


@cache
def rubrics() -> dict[str, RowRubric | AnyTestRunRubric]:
    """Every rubric by its id, in the order of the ids."""
    return dict(sorted((rubric.id, rubric) for rubric in _by_folder().values()))


def folders() -> dict[str, str]:
    """The name of every rubric's folder by its id."""
    return {rubric.id: folder for folder, rubric in _by_folder().items()}


def _by_folder() -> dict[str, RowRubric | AnyTestRunRubric]:
    names = [found.name for found in iter_modules(scoring.rubrics.__path__)]
    return {name: import_module(f"scoring.rubrics.{name}").RUBRIC for name in names}


def rubric_of(rubric_id: str) -> RowRubric | AnyTestRunRubric:
    """The rubric of that id.

    Raises:
        UsageError: there is none; lists those that exist.
    """
    try:
        return rubrics()[rubric_id]
    except KeyError:
        raise UsageError(f"there is no rubric '{rubric_id}'", fix=f"use one of: {', '.join(rubrics())}") from None


def recognitions() -> dict[str, Recognition]:
    """How a file shows its rubric, by the rubric's id. The layout of chat rows shows a row rubric."""
    chat_rows = Recognition(layouts=frozenset({Layout.CHAT}))
    return {
        rubric.id: chat_rows if isinstance(rubric, RowRubric) else rubric.recognition for rubric in rubrics().values()
    }


def row_rubric(rubric_id: str) -> RowRubric:
    """The rubric of that id, which must be one for rows.

    Raises:
        UsageError: there is none, or it scores test runs.
    """
    found = rubric_of(rubric_id)
    if not isinstance(found, RowRubric):
        raise UsageError(f"rubric '{rubric_id}' scores test runs, not chat rows")
    return found


def row_rubric_of_text(text: str, name: str = "rubric") -> RowRubric:
    """The row rubric that a TOML text defines; `name` is what errors call the text.

    Raises:
        UsageError: it defines none; says line, column and remedy.
    """
    from scoring.rubric_files.loading import rubric_from_toml  # half of what it imports serves such texts alone

    rubric = rubric_from_toml(text, name)
    if isinstance(rubrics().get(rubric.id), TestRunRubric):
        raise UsageError(
            f"{rubric.id} is a rubric of test runs", where=f"{name}, line 1, column 1", fix="change its id"
        )
    return rubric


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
