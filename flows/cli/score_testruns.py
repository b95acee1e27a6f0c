"""Test runs of files into folders, with the judge where it is asked for."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from flows.cli.score_files import ScoredFile
from flows.cli.terminal import judge_progress
from flows.runtime.telemetry import tell_judgements
from scoring.catalog import TestRunChoices, plan_of
from scoring.errors import AqbError, StorageError, UnexpectedError, UsageError
from scoring.testruns.scoring import TestRunPlan, score_testrun
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.atomic import sole_writer
from tasks.files.report_paths import safe_name
from tasks.judge.budget import Budget
from tasks.judge.client import Estimate, Judge, Judged
from tasks.judge.questions import questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.state.database import StateDatabase
from tasks.testruns.files import read_testrun_file


def score_testruns(files: Sequence[Path], choices: TestRunChoices, out: Path, settings: Settings) -> list[ScoredFile]:
    """Scores a single run into `out`, several into sub-folders of it; one that fails does not stop the others.

    Raises:
        UsageError, InputError: why a single run cannot be scored.
        StorageError: `out` cannot be written, or another process is writing there.
    """
    budget = Budget(settings.judge) if settings.judge.enabled else None
    single = _plan(files[0], choices, settings) if len(files) == 1 else None  # a wrong choice makes no folder
    with sole_writer(out), Context(settings) as context:
        if single:
            scored = _score_testrun(single, files[0], out, context, budget)
            if isinstance(scored.error, UsageError):
                raise scored.error
            return [scored]
        return [_scored(path, choices, folder, context, budget) for path, folder in _folders(files, out).items()]


def estimate_testruns(files: Sequence[Path], choices: TestRunChoices, settings: Settings) -> dict[str, Estimate]:
    """What judging each run would take, by the file's name. Nothing is written."""
    plans = {path.name: _plan(path, choices, settings) for path in files}
    with StateDatabase(settings.state_url) as state:
        judge = Judge(settings.judge, VerdictStore(state))
        return {name: judge.estimate(questions_of(plan, settings.judge)) for name, plan in plans.items()}


def _scored(path: Path, choices: TestRunChoices, folder: Path, context: Context, budget: Budget | None) -> ScoredFile:
    try:
        return _score_testrun(_plan(path, choices, context.settings), path, folder, context, budget)
    except StorageError:
        raise
    except AqbError as error:
        return ScoredFile(path.name, folder, error=error)
    except Exception as error:  # noqa: BLE001 - a defect that one file meets stops no other
        return ScoredFile(path.name, folder, error=UnexpectedError(error, where=str(path)))


def _score_testrun(plan: TestRunPlan, path: Path, folder: Path, context: Context, budget: Budget | None) -> ScoredFile:
    """Scores one run into a folder; with a budget, the judge is asked within it.

    Where the judge's endpoint breaks down, what rules tell and what it has answered is written all the same.
    """
    judged = _judged(plan, context, budget) if budget else None
    summary = write_testrun_folder(folder, score_testrun(plan, judged.verdicts if judged else {}), path, judged)
    return ScoredFile(path.name, folder, summary, judged.failure if judged else None)


def _plan(path: Path, choices: TestRunChoices, settings: Settings) -> TestRunPlan:
    return plan_of(read_testrun_file(path, settings.test_runs.names), choices, settings.rubric_options)


def _judged(plan: TestRunPlan, context: Context, budget: Budget) -> Judged:
    """The verdicts on a test run, with a progress bar. Questions that were paid for before are not asked again."""
    settings = context.settings.judge
    with judge_progress(f"judge {plan.run.name}") as shown:
        judged = Judge(settings, VerdictStore(context.state), budget).ask(questions_of(plan, settings), shown)
    tell_judgements(judged.judgements)
    return judged


def _folders(files: Sequence[Path], out: Path) -> dict[Path, Path]:
    """A folder for each file: its name, with a hash of its path where two files have the same."""
    names = {path: safe_name(path.stem) for path in files}
    taken = [name.casefold() for name in names.values()]
    return {
        path: out
        / (name if taken.count(name.casefold()) == 1 else f"{name}-{sha256(str(path).encode()).hexdigest()[:8]}")
        for path, name in names.items()
    }
