"""Judges the files of the inbox of test runs at the same time, and scores them one after the other.

    file --read--> plan --judge, in a thread--> verdicts --score, in the order of the files--> report and tables

Questions of all files go to one judge, which asks them as one run under one limit: no file waits for the slow answers
of another before it is judged. They are scored one after the other, because each is compared with the one before it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from flows.runtime.fan_out import FanOut, threads
from flows.runtime.flow_run import ProgressArtifact, step
from flows.runtime.run_recorder import reason_of, recorded_run
from flows.runtime.telemetry import tell_judgements
from flows.steps.inbox_outcome import WrittenTestRun
from scoring.alerting.run_messages import RefusedFile
from scoring.errors import AqbError, ExpiredDayError, UnexpectedError
from scoring.inputs import FileIdentity
from scoring.testruns.scoring import TestRunPlan
from tasks.context import Context
from tasks.files.discovery import has_changed
from tasks.judge.client import Judge, Judged
from tasks.judge.judge_thread import FILES_AT_ONCE, JudgeThread, finished_in_turn
from tasks.judge.questions import questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.reports.testrun_folder import write_testrun_results
from tasks.state.run_ledger import TEST_RUN, RunLedger
from tasks.testruns.plans import plan_of_input

_JUDGE_LIMIT_S = 26 * 3600.0  # a batch takes up to a day


@dataclass(frozen=True)
class LeftFile:
    """A file that was replaced, renamed or removed since the run listed the inbox: the next run handles it."""

    name: str


FileOutcome = WrittenTestRun | RefusedFile | LeftFile | AqbError
"""The result of a file: it is scored, unreadable, left for the next run, or failed."""


@step("judge", run_name="judge {name}", timeout_s=None)
def judge_file(name: str, plan: TestRunPlan, context: Context, judge: JudgeThread) -> Judged:
    """Asks the questions of one file, with a progress artifact that people can watch.

    A retry asks only what has no verdict yet: the store knows the rest.
    """
    questions = questions_of(plan, context.settings.judge)
    artifact = ProgressArtifact(f"판정: {name}, 질문 {len(questions):,}개")
    judged = judge.ask(questions, lambda now: artifact.show(now.done, now.total), limit_s=_JUDGE_LIMIT_S)
    tell_judgements(judged.judgements)
    return judged


@step("score test run", run_name="score test run {name}", timeout_s=3600)
def score_file(name: str, plan: TestRunPlan, context: Context, day: date, judged: Judged | None) -> WrittenTestRun:
    """Scores one file into its report folder and the warehouse."""
    identity = plan.run.identity
    folder = context.reports.testrun_folder(identity.name, identity.sha256)
    summary = write_testrun_results(folder, context.warehouse, day, plan, judged, known=context.warehouse)
    return WrittenTestRun(name, folder, summary)


def score_files(
    context: Context, contents: Iterable[Sequence[FileIdentity]], day: date, lost: Mapping[str, date]
) -> list[FileOutcome]:
    """Judges and scores contents, each once; returns the result of each, in order. A failure stops no other.

    They are scored as of `day`, those whose scores were `lost` as of their own, by SHA-256.

    A content may have several files. The name of a file may determine its rubric or agent: the first readable file
    decides, and if there is none, the first one is refused.
    """
    settings, judge = context.settings, None
    with ExitStack() as stack:
        asking = stack.enter_context(FanOut(threads(FILES_AT_ONCE)))
        if settings.judge.enabled:
            judge = stack.enter_context(JudgeThread(Judge(settings.judge, VerdictStore(context.state))))
        work = _FileWork(context, day, lost, asking, judge, RunLedger(context.state).failed_inputs())
        return list(finished_in_turn(map(work.begin, contents), FILES_AT_ONCE if judge else 1))


@dataclass(frozen=True)
class _FileWork:
    """The shared state of the files of one run."""

    context: Context
    day: date
    lost: Mapping[str, date]
    asking: FanOut
    judge: JudgeThread | None
    failed: Mapping[str, str | None]
    """The reason why each content failed last."""

    def begin(self, files: Sequence[FileIdentity]) -> Callable[[], FileOutcome]:
        """Reads a content and begins to ask its questions; returns the function that scores it."""
        errors = []
        for file in files:
            try:
                plan = plan_of_input(file, self.context.settings)
                break
            except Exception as error:  # noqa: BLE001 - another file must not stop with it
                if not has_changed(file):
                    errors.append((file, _as_aqb_error(error, file)))
        else:
            ended = self._refuse(*errors[0]) if errors else _left(files[0])
            return lambda: ended
        asked = None
        if self.judge:
            asked = self.asking.begin(judge_file, name=plan.run.name, plan=plan, context=self.context, judge=self.judge)
        return partial(self._finish, file, plan, asked)

    def _finish(self, file: FileIdentity, plan: TestRunPlan, asked: Callable[[], Judged] | None) -> FileOutcome:
        try:
            try:
                return self._score_and_record(plan, asked, self.lost.get(file.sha256, self.day))
            except ExpiredDayError:  # of a lost one: the tables do not take its day any more
                return self._score_and_record(plan, asked, self.day)
        except Exception as error:  # noqa: BLE001 - nor here
            return _left(file) if has_changed(file) else _as_aqb_error(error, file)

    def _score_and_record(self, plan: TestRunPlan, asked: Callable[[], Judged] | None, day: date) -> WrittenTestRun:
        """Scores a file and records its run, also if it fails; its step `judge` is the wait for verdicts."""
        context, name, judged = self.context, plan.run.name, None
        with recorded_run(
            context.state,
            TEST_RUN,
            day,
            inputs=[vars(plan.run.identity)],
            parameters={"rubric_options": context.settings.rubric_options, "judged": context.settings.judge.enabled},
        ) as run:
            if asked:
                with run.step("judge") as counts:
                    judged = asked()
                    summary = judged.summary()
                    counts.update({part: summary[part] for part in ("questions", "cached", "tokens")})
                    run.note(**_of_the_judge(judged), cost_usd=summary["cost"])
            with run.step("score") as counts:
                scored = score_file(name, plan, context, day, judged)
                found = {part: scored.summary["counts"][part] for part in ("rows_in", "scored", "excluded", "rejected")}
                counts.update(found)
            if judged and judged.failure:  # the next run asks what is left
                raise judged.failure
            run.ends("completed", **found, **{part: scored.summary[part] for part in ("rubric", "rubric_version")})
        return scored

    def _refuse(self, file: FileIdentity, error: AqbError) -> RefusedFile:
        """Refuses an unreadable file; the ledger stores the same reason for the same content once."""
        if self.failed.get(file.sha256) != reason_of(error):
            with recorded_run(self.context.state, TEST_RUN, self.day, inputs=[vars(file)]) as run:
                run.ends("failed", message=reason_of(error))
        return RefusedFile(Path(file.name).name, file.sha256, str(error), error.for_pages)


def _as_aqb_error(error: Exception, file: FileIdentity) -> AqbError:
    return error if isinstance(error, AqbError) else UnexpectedError(error, where=file.name)


def _left(file: FileIdentity) -> LeftFile:
    return LeftFile(Path(file.name).name)


def _of_the_judge(judged: Judged) -> dict[str, str | None]:
    """The models and prompts that gave the verdicts."""
    models = {one.model_answered or one.model_asked for one in judged.judgements}
    prompts = {f"{one.kind} {one.prompt_version}" for one in judged.judgements}
    return {"model": ", ".join(sorted(models)) or None, "prompt_versions": ", ".join(sorted(prompts)) or None}
