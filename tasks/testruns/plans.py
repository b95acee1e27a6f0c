"""Scoring plans of test-run files, including files of the inbox that were scored before."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from scoring.catalog import TestRunChoices, plan_of
from scoring.errors import AqbError, InputError
from scoring.inputs import FileIdentity
from scoring.testruns.scoring import TestRunPlan
from scoring.testruns.testrun import TestRunFile
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.rubric_file import testrun_rubrics_in_files
from tasks.state.run_ledger import TEST_RUN, RunLedger
from tasks.testruns.files import read_testrun_file


def plan_of_input(file: FileIdentity, settings: Settings) -> TestRunPlan:
    """The plan of a file of the inbox.

    Raises:
        InputError: it cannot be read, or its content has changed.
    """
    path = Path(file.name)
    run = read_testrun_file(path, settings.test_runs.names)
    if run.identity != file:
        raise InputError(
            "it changed while it was being read",
            where=str(path),
            fix="the next run takes it",
            ko="읽는 동안 파일이 바뀌었습니다. 다음 실행이 다시 읽습니다.",
        )
    chosen = settings.test_runs.of_file(path.name)
    return plan_of_run(run, TestRunChoices(chosen.rubric, chosen.agent_type), settings)


def in_order_of_running(
    contents: Sequence[Sequence[FileIdentity]], settings: Settings, day: date, lost: Mapping[str, date]
) -> list[Sequence[FileIdentity]]:
    """Contents of the inbox in the order of execution of their runs: each is compared with the one before it.

    Those without a time of execution, or unreadable ones, count as of `day`; ties keep their order. `lost` ones come
    first, in the order of their days: what is left of them when the run dies is not before the first day of the table.
    """

    def when(files: Sequence[FileIdentity]) -> tuple[date, str]:
        scored_on = lost.get(files[0].sha256, day)
        try:
            ran_at = read_testrun_file(Path(files[0].name), settings.test_runs.names).ran_at
        except Exception:  # noqa: BLE001 - what is wrong is told where it is scored
            ran_at = ""
        return scored_on, ran_at or str(scored_on)

    return sorted(contents, key=when) if len(contents) > 1 else list(contents)


def plan_of_run(run: TestRunFile, choices: TestRunChoices, settings: Settings) -> TestRunPlan:
    """The plan of a run, with a built-in rubric or one in a file.

    Raises:
        UsageError: a choice is wrong, the file lacks what the rubric needs, or a rubric file is wrong.
    """
    in_files = testrun_rubrics_in_files([*settings.test_runs.rubrics, choices.rubric])
    return plan_of(run, choices, settings.rubric_options, in_files)


def plan_of_file(path: Path, choices: TestRunChoices, settings: Settings) -> TestRunPlan:
    """The plan of a file.

    Raises:
        InputError: it cannot be read.
        UsageError: as for `plan_of_run`.
    """
    return plan_of_run(read_testrun_file(path, settings.test_runs.names), choices, settings)


def last_plans(context: Context, count: int) -> Iterator[TestRunPlan]:
    """The plans of the `count` files that were scored last, newest first, without files that are missing or changed."""
    for run in RunLedger(context.state).completed(TEST_RUN, count):
        for file in run.inputs:
            try:
                yield plan_of_input(FileIdentity(**file), context.settings)
            except AqbError:
                continue
