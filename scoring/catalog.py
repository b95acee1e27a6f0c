"""The rubrics there are, found by folder (adding one edits nothing that exists), and which one scores a test run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import scoring.rubrics
from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError
from scoring.testruns import detection
from scoring.testruns.detection import Layout, Recognition
from scoring.testruns.rubric import AnyTestRunRubric, Options, TestRunRubric
from scoring.testruns.scoring import RUBRIC_TEXT, TestRunPlan
from scoring.testruns.testrun import TestRunFile


@cache
def rubrics() -> dict[str, RowRubric | AnyTestRunRubric]:
    """Every rubric by its id, in the order of the ids."""
    folders = [found.name for found in iter_modules(scoring.rubrics.__path__)]
    found = [import_module(f"scoring.rubrics.{folder}").RUBRIC for folder in folders]
    return dict(sorted((rubric.id, rubric) for rubric in found))


def testrun_rubrics() -> dict[str, AnyTestRunRubric]:
    """Those of the rubrics that score test runs."""
    return {name: rubric for name, rubric in rubrics().items() if isinstance(rubric, TestRunRubric)}


def rubric_title(rubric_id: str) -> str:
    """What people call a rubric; the id of one that is not here."""
    found = rubrics().get(rubric_id)
    return found.title if found else rubric_id


def rubric_of(rubric_id: str) -> RowRubric | AnyTestRunRubric:
    """The rubric of that id.

    Raises:
        UsageError: there is none; lists those that exist.
    """
    try:
        return rubrics()[rubric_id]
    except KeyError:
        fix = f"use one of: {', '.join(rubrics())}; a rubric in a file is named by its path, which ends in .toml"
        raise UsageError(f"there is no rubric '{rubric_id}'", fix=fix) from None


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
        of_rows = ", ".join(one.id for one in rubrics().values() if isinstance(one, RowRubric))
        fix = f"use {of_rows}, or a rubric file for chat rows; test runs: aqb score FILE, in Python score_runs"
        raise UsageError(f"rubric '{rubric_id}' scores test runs, not chat rows", fix=fix)
    return found


@lru_cache(maxsize=32)  # every test run that was scored with a text carries it
def rubric_of_text(text: str, name: str = "rubric") -> RowRubric | AnyTestRunRubric:
    """The rubric that a TOML text defines; `name` is what errors call the text.

    Raises:
        UsageError: it defines none, or has the id of a rubric that it cannot stand for; says line, column and remedy.
    """
    from scoring.rubric_files.loading import rubric_from_toml  # half of what it imports serves such texts alone

    rubric, where = rubric_from_toml(text, name), f"{name}, line {_line_of_id(text)}"
    shipped = rubrics().get(rubric.id)
    if isinstance(shipped, TestRunRubric):
        raise UsageError(f"AQB has a rubric of test runs with the id {rubric.id}", where=where, fix="change its id")
    if shipped and isinstance(rubric, TestRunRubric):
        raise UsageError(f"AQB has a rubric of chat rows with the id {rubric.id}", where=where, fix="change its id")
    return rubric


def _line_of_id(text: str) -> int:
    """The line that gives a rubric its id; the first where none is found."""
    lines = text.splitlines()
    return next((number for number, line in enumerate(lines, start=1) if re.match(r"\s*id\s*=", line)), 1)


def row_rubric_of_text(text: str, name: str = "rubric") -> RowRubric:
    """The row rubric that a TOML text defines; `name` is what errors call the text.

    Raises:
        UsageError: as `rubric_of_text`, or the rubric is one for test runs.
    """
    rubric = rubric_of_text(text, name)
    if not isinstance(rubric, RowRubric):
        raise UsageError(f"{rubric.id} scores test runs, not chat rows", where=name, fix="name a rubric of chat rows")
    return rubric


def testrun_rubric_of_text(text: str, name: str = "rubric") -> AnyTestRunRubric:
    """The test-run rubric that a TOML text defines; `name` is what errors call the text.

    Raises:
        UsageError: as `rubric_of_text`, or the rubric is one for chat rows.
    """
    rubric = rubric_of_text(text, name)
    if isinstance(rubric, RowRubric):
        raise UsageError(f"{rubric.id} scores chat rows, not test runs", where=name, fix="name a rubric of test runs")
    return rubric


def rubric_of_summary(summary: Mapping[str, Any]) -> RowRubric | AnyTestRunRubric:
    """The rubric that `summary.json` is of: one in a file is there with its text.

    Raises:
        UsageError: there is none of that id, or its text is none any more.
    """
    text = summary.get(RUBRIC_TEXT)
    return rubric_of_text(text) if text else rubric_of(summary["rubric"])


def testrun_rubric_of_summary(summary: Mapping[str, Any]) -> AnyTestRunRubric | None:
    """The rubric of a test run by its `summary.json`; None of chat rows, and of one that is gone."""
    try:
        rubric = rubric_of_summary(summary)
    except UsageError:
        return None
    return rubric if isinstance(rubric, TestRunRubric) else None


@dataclass(frozen=True)
class TestRunChoices:
    """What a person chose: rubric id or file and agent type ('' lets the file tell), options as written."""

    rubric: str = ""
    agent_type: str = ""
    options: Options | None = None


def plan_of(
    run: TestRunFile,
    choices: TestRunChoices,
    settings_options: Mapping[str, Options],
    in_files: Mapping[str, AnyTestRunRubric] | None = None,
) -> TestRunPlan:
    """How the run is scored: what was chosen, else what its name and header tell, options above settings.

    `in_files` are rubrics beside those that are shipped, by the names that choose them.

    Raises:
        UsageError: the file does not tell its rubric or the agent that the rubric must know, or a choice is wrong.
    """
    in_files = in_files or {}
    known = recognitions() | {name: rubric.recognition for name, rubric in in_files.items()}
    name = detection.rubric_of(run.facts, option=choices.rubric, known=known)
    rubric = in_files.get(name) or rubric_of(name)
    if not isinstance(rubric, TestRunRubric):
        raise UsageError(
            f"rubric '{rubric.id}' scores chat rows, not test runs", where=run.name, fix="choose another with --rubric"
        )
    facts = run.facts
    if rubric.needs_agent_type and facts.has_data_keys_alone:  # the filters of other rows say nothing about these
        facts = replace(facts, has_expected_filters=False)
    agent_type = detection.agent_type_of(facts, choices.agent_type)
    named = [execution.agent_type for executions in run.queries.values() for execution in executions]
    if rubric.needs_agent_type and agent_type is None and not all(named):
        raise detection.unknown_agent_type(run.name, named.count(None), len(named))
    given = {**settings_options.get(rubric.id, {}), **(choices.options or {})}
    return TestRunPlan(run, rubric, rubric.chosen(given), agent_type)
