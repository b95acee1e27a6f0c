"""The test runs of `aqb score`: scores files into folders, with the judge if it is enabled."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from flows.cli.score_files import ScoredFile
from flows.cli.terminal import judge_progress
from flows.runtime.telemetry import tell_judgements
from scoring.catalog import TestRunChoices
from scoring.errors import AqbError, StorageError, UnexpectedError, UsageError
from scoring.testruns.scoring import TestRunPlan
from tasks.config.judge import JudgeSettings
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.atomic import remove_together, sole_writer
from tasks.files.report_paths import SCORE_FILES, safe_name
from tasks.judge.client import Estimate, Judge, Judged, JudgeProgress, Progress
from tasks.judge.judge_thread import FILES_AT_ONCE, JudgeThread, finished_in_turn
from tasks.judge.questions import questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.reports.testrun_folder import scored_as_judged, write_testrun_folder
from tasks.state.database import StateDatabase
from tasks.testruns.plans import plan_of_file
from tasks.waiting import result_of

_T = TypeVar("_T")


def score_testruns(files: Sequence[Path], choices: TestRunChoices, out: Path, settings: Settings) -> list[ScoredFile]:
    """Scores a single run into `out`, several into sub-folders of it; one that fails does not stop the others.

    If one of several runs was scored, the results of an earlier call in `out` itself are removed, because they would be
    taken for results of this call.
    The questions of all files share one judge; a file is scored while later ones are being judged.

    Raises:
        UsageError, InputError: why a single run cannot be scored.
        StorageError: `out` cannot be written, or another process is writing there.
    """
    single = plan_of_file(files[0], choices, settings) if len(files) == 1 else None  # fails before a folder is made
    with sole_writer(out), Context(settings) as context, _asking(context) as judge:
        if single:
            scored = _begin(single, files[0], out, judge)()
            if isinstance(scored.error, UsageError):
                raise scored.error
            return [scored]
        begun = (_begin_file(path, choices, folder, settings, judge) for path, folder in _folders(files, out).items())
        scored_in_turn = list(finished_in_turn(begun, FILES_AT_ONCE if judge else 1))
        if any(one.summary for one in scored_in_turn):
            remove_together(out, "summary.json", (*SCORE_FILES, "report.md"))
        return scored_in_turn


def estimate_testruns(files: Sequence[Path], choices: TestRunChoices, settings: Settings) -> dict[str, Estimate]:
    """The estimate of judging each run, by file name. Nothing is written but the state database."""
    plans = {path.name: plan_of_file(path, choices, settings) for path in files}
    with StateDatabase(settings.state_url) as state:
        judge = Judge(settings.judge, VerdictStore(state))
        return {name: judge.estimate(questions_of(plan, settings.judge)) for name, plan in plans.items()}


class _AskingJudge:
    """The judge of all files, with one progress bar for their questions."""

    def __init__(self, settings: JudgeSettings, thread: JudgeThread, shown: Progress) -> None:
        self._settings, self._thread, self._shown = settings, thread, shown
        self._news: dict[Path, JudgeProgress] = {}

    def begin(self, plan: TestRunPlan, path: Path) -> Future[Judged]:
        """Begins to ask the questions of a test run; those with a stored verdict are not asked again."""

        def show_judged(now: JudgeProgress) -> None:
            self._news[path] = now
            of_all = list(self._news.values())  # the main thread may be adding another file
            done, total = sum(one.done for one in of_all), sum(one.total for one in of_all)
            self._shown(JudgeProgress(done, total, sum(one.from_store for one in of_all), now.usd))

        questions = questions_of(plan, self._settings)
        self._news[path] = JudgeProgress(0, len(questions), 0, None)
        return self._thread.begin(questions, show_judged)


@contextmanager
def _asking(context: Context) -> Iterator[_AskingJudge | None]:
    settings = context.settings.judge
    if not settings.enabled:
        yield None
        return
    judge = Judge(settings, VerdictStore(context.state))
    with JudgeThread(judge) as thread, judge_progress("judge") as shown:
        yield _AskingJudge(settings, thread, shown)


def _begin_file(
    path: Path, choices: TestRunChoices, folder: Path, settings: Settings, judge: _AskingJudge | None
) -> Callable[[], ScoredFile]:
    """Reads a file and begins to ask its questions; returns the function that scores it.

    An error of the file becomes its result and is not raised; a StorageError is.
    """

    def outcome_of(act: Callable[[], _T]) -> _T | ScoredFile:
        try:
            return act()
        except StorageError:
            raise
        except AqbError as error:
            return ScoredFile(path.name, folder, error=error)
        except Exception as error:  # noqa: BLE001 - a defect found by one file stops no other
            return ScoredFile(path.name, folder, error=UnexpectedError(error, where=str(path)))

    begun = outcome_of(lambda: _begin(plan_of_file(path, choices, settings), path, folder, judge))
    return (lambda: begun) if isinstance(begun, ScoredFile) else partial(outcome_of, begun)


def _begin(plan: TestRunPlan, path: Path, folder: Path, judge: _AskingJudge | None) -> Callable[[], ScoredFile]:
    """Begins to ask the questions of a run; returns the function that scores it into a folder.

    If the judge's endpoint fails, the scores by rule and by the verdicts given so far are written nevertheless.
    """
    asked = judge.begin(plan, path) if judge else None

    def finish() -> ScoredFile:
        judged = result_of(asked) if asked else None
        if judged:
            tell_judgements(judged.judgements)
        summary = write_testrun_folder(folder, scored_as_judged(plan, judged), path, judged)
        return ScoredFile(path.name, folder, summary, judged.failure if judged else None)

    return finish


def _folders(files: Sequence[Path], out: Path) -> dict[Path, Path]:
    """The folder of each file: the name of the file, with a hash of its path if another file has the same name."""
    names = {path: safe_name(path.stem) for path in files}
    taken = [name.casefold() for name in names.values()]
    return {
        path: out
        / (name if taken.count(name.casefold()) == 1 else f"{name}-{sha256(str(path).encode()).hexdigest()[:8]}")
        for path, name in names.items()
    }
