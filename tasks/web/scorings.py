"""Scoring of uploaded files, each in a process of its own, which ends with the server or when a person stops it.

A stopped one lets the judge's calls in flight finish, so that nothing is paid for twice; scored again, it continues
from there. The progress is on the disk: see `tasks.testruns.uploads`.
"""

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Never

from scoring.errors import AqbError, StorageError, UnexpectedError, UsageError
from scoring.testruns.scoring import TestRunPlan
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.atomic import has_sole_writer, sole_writer
from tasks.judge.client import Judge, Judged, JudgeProgress
from tasks.judge.judge_thread import JudgeThread
from tasks.judge.questions import questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.reports.testrun_folder import write_testrun_results
from tasks.testruns.plans import plan_of_file
from tasks.testruns.uploads import Scoring, Upload
from tasks.waiting import result_of
from tasks.warehouse.folder import FolderWarehouse

_AT_ONCE = 2
_SECONDS_BETWEEN_NOTES = 1.0


class Scorings:
    """The scorings of this process. Its methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: dict[Path, BaseProcess] = {}

    def is_running(self, upload: Upload) -> bool:
        """Whether a file is being scored, here or by the `aqb web` of another service."""
        return self.may_stop(upload) or has_sole_writer(upload.folder)

    def may_stop(self, upload: Upload) -> bool:
        """Whether a file is being scored by a process that was started here."""
        with self._lock:
            process = self._processes.get(upload.folder)
            return process is not None and process.is_alive()

    def begin(self, upload: Upload, scoring: Scoring, settings: Settings) -> None:
        """Writes to the disk how the file is to be scored, and starts. A running scoring continues unchanged.

        Raises:
            UsageError: the maximum number is running, or another process begins or removes it at this moment.
        """
        with self._lock:
            running = {folder: process for folder, process in self._processes.items() if process.is_alive()}
            self._processes = running
            if upload.folder in running or has_sole_writer(upload.folder):
                return
            if len(running) >= _AT_ONCE:
                raise UsageError(f"파일 {_AT_ONCE}개를 채점하고 있습니다", fix="끝난 뒤에 다시 시도하세요.")
            try:
                with sole_writer(upload.folder):
                    upload.begin(scoring)
            except StorageError:
                raise UsageError("다른 곳에서 이 파일을 쓰고 있습니다", fix="잠시 뒤에 다시 시도하세요.") from None
            process = get_context("spawn").Process(
                target=_work, name=f"score {upload.id}", args=(settings, upload), daemon=True
            )
            process.start()
            running[upload.folder] = process

    def stop(self, upload: Upload) -> None:
        """Asks the process of a file to end; it waits for the judge's calls in flight."""
        with self._lock:
            if process := self._processes.get(upload.folder):
                process.terminate()


def _work(settings: Settings, upload: Upload) -> None:
    """The main function of a process."""
    signal.signal(signal.SIGTERM, _interrupt)
    with suppress(KeyboardInterrupt):  # the file stands as begun, and nobody is at it
        threading.Thread(target=_end_with_parent, daemon=True).start()
        score_upload(settings, upload)


def score_upload(settings: Settings, upload: Upload) -> None:
    """Scores a file according to its `scoring`, which has the outcome afterwards.

    Raises:
        StorageError: another process is scoring it, or the upload folder cannot be written.
    """
    scoring = upload.scoring
    assert scoring is not None  # it was kept before anybody began
    with sole_writer(upload.folder) as staging:
        upload.remove_other_results()  # one that was killed may have left its own
        upload.note(_scored(settings, upload, scoring, staging))
        upload.remove_other_results()


def _scored(settings: Settings, upload: Upload, scoring: Scoring, staging: Path) -> Scoring:
    """The outcome of scoring, whose results are written."""
    try:
        with Context(settings) as context:
            plan = plan_of_file(upload.file, upload.choices, settings)
            judged = _judged(context, plan, upload, scoring) if scoring.judge else None
            day = datetime.now(settings.zone).date()
            made = staging / "result"
            tables = FolderWarehouse(made / "warehouse")
            write_testrun_results(made / "report", tables, day, plan, judged, known=context.of_no_service.warehouse)
    except AqbError as error:
        return replace(scoring, state="failed", problem=error.for_pages)
    except Exception as error:  # noqa: BLE001  (its text may quote the file)
        return replace(scoring, state="failed", problem=UnexpectedError(error).what)
    scored = replace(scoring, state="scored", result=scoring.result + 1)
    made.rename(upload.result_folder(scored.result))
    if judged is None:
        return scored
    judge, failure = judged.summary(), judged.failure
    answered = judge["by_status"].get("ok", 0)
    problem = failure.for_pages if failure else ""
    return replace(scored, done=answered, total=judge["questions"], usd=judge["cost"], problem=problem)


def _judged(context: Context, plan: TestRunPlan, upload: Upload, scoring: Scoring) -> Judged:
    """The judge's verdicts; the progress is written to the disk."""
    settings = context.settings.judge
    noted_s = 0.0

    def show(now: JudgeProgress) -> None:
        nonlocal noted_s
        if time.monotonic() - noted_s >= _SECONDS_BETWEEN_NOTES:
            noted_s = time.monotonic()
            upload.note(replace(scoring, done=now.done, total=now.total, usd=now.usd))

    with JudgeThread(Judge(settings, VerdictStore(context.state))) as judge:
        return result_of(judge.begin(questions_of(plan, settings), show))


def _interrupt(_: int, __: FrameType | None) -> Never:
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
