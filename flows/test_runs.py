"""The flow of test runs: scores each new file of the inbox once, into its own report folder and the warehouse.

A file is known by its content: a changed file is a new run. One that failed, or was still arriving, is looked at again
by the next run. A file that fails does not stop the others. One that cannot be read is reported once, as a Warning,
and fails no flow run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from prefect import flow

from flows.runtime.clock import now, today
from flows.runtime.flow_run import GivenSettings, ProgressArtifact, settings_of_flow, step
from flows.runtime.logs import warn
from flows.runtime.run_recorder import publish_runs, reason_of, recorded_run
from flows.runtime.telemetry import tell_judgements
from flows.steps.alerts import call_off_finished, deliver_waiting, notify_refused, notify_testrun
from flows.steps.announce import STILL_NEWS
from flows.steps.failure_hooks import notify_flow_end
from flows.steps.site import site_after
from scoring.alerting.run_messages import RefusedFile
from scoring.catalog import TestRunChoices, plan_of
from scoring.errors import AqbError, InputError, UnexpectedError
from scoring.inputs import FileIdentity, nothing_scored
from scoring.testruns.scoring import TestRunPlan, score_testrun
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.judge.budget import Budget
from tasks.judge.client import Judge, Judged
from tasks.judge.questions import questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.state.run_ledger import TEST_RUN, Run, RunLedger
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.inbox import look_into
from tasks.testruns.trusted_metrics import read_agreements, untrusted_metrics
from tasks.testruns.warehouse import write_testrun


@dataclass(frozen=True)
class WrittenTestRun:
    """A scored file: its report folder and its summary."""

    name: str
    folder: Path
    summary: dict[str, Any]


@dataclass(frozen=True)
class InboxOutcome:
    """What became of the inbox: scored files, failures and refused files (one line each), files scored before, files
    still arriving.

    `unpublished` is why the site could not be built or people could not be notified of something.
    """

    scored: tuple[WrittenTestRun, ...]
    failures: tuple[str, ...]
    known: int
    arriving: tuple[str, ...]
    refused: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What a person should look at."""
        rejected = [(one.name, one.summary["counts"]["rejected"]) for one in self.scored]
        return (
            *self.failures,
            *self.refused,
            *(f"{one.name}: {why}" for one in self.scored if (why := nothing_scored(one.summary["counts"]))),
            *(f"{name}: {count} rows rejected; see the table `rejected`" for name, count in rejected if count),
            *self.unpublished,
        )


class IncompleteInboxError(AqbError):
    """Some files of the inbox could not be scored; `outcome` says what was done."""

    def __init__(self, outcome: InboxOutcome) -> None:
        super().__init__(
            f"{len(outcome.failures)} files of the inbox could not be scored",
            fix="correct them or take them out of the inbox: the next run tries them again",
        )
        self.outcome = outcome


# Steps take the plan as a function: Prefect would look through every execution of it for futures.
@step("judge", run_name="judge {name}", timeout_s=26 * 3600)
def judge_file(name: str, plan: Callable[[], TestRunPlan], context: Context, budget: Budget) -> Judged:
    """Asks the questions of one file, with a progress artifact that people can watch.

    A retry asks only what has no verdict yet: the store knows the rest.
    """
    settings = context.settings
    questions = questions_of(plan(), settings.judge)
    artifact = ProgressArtifact(f"판정: {name}, 질문 {len(questions):,}개")
    store = VerdictStore(context.state)
    judged = Judge(settings.judge, store, budget, lambda now: artifact.show(now.done, now.total)).ask(questions)
    tell_judgements(judged.judgements)
    return judged


@step("score test run", run_name="score test run {name}", timeout_s=3600)
def score_file(
    name: str, plan: Callable[[], TestRunPlan], context: Context, day: date, judged: Judged | None
) -> WrittenTestRun:
    """Scores one file into its report folder and the warehouse."""
    scored = score_testrun(plan(), judged.verdicts if judged else {})
    identity = scored.plan.run.identity
    folder = context.reports.testrun_folder(identity.name, identity.sha256)
    epochs = judged.epochs if judged else {}
    untrusted = untrusted_metrics(read_agreements(context.warehouse), scored.plan.rubric, epochs)
    place = place_of(context.warehouse, day, scored, judged.summary() if judged else None)
    summary = write_testrun_folder(folder, scored, Path(identity.name), judged, untrusted, place.change)
    write_testrun(context.warehouse, day, scored, place, judged)
    return WrittenTestRun(name, folder, summary)


@flow(
    name="test-runs",
    flow_run_name="test runs",
    on_failure=[notify_flow_end],
    on_crashed=[notify_flow_end],
    on_cancellation=[notify_flow_end],
)
def score_inbox(settings: GivenSettings = None, day: date | None = None) -> InboxOutcome:
    """Scores the new files of the inbox, each once, and sends the messages that have waited.

    Args:
        day: The local day under which the warehouse keeps them. Empty: today.

    Raises:
        IncompleteInboxError: some files failed; the others are scored.
    """
    settings = settings_of_flow(settings)
    with Context(settings) as context:
        outcome = _score_new_files(context, day or today(settings.time_zone))
    warn(outcome.problems)
    if outcome.failures:
        raise IncompleteInboxError(outcome)
    return outcome


def _score_new_files(context: Context, day: date) -> InboxOutcome:
    settings, ledger = context.settings, RunLedger(context.state)
    with context.warehouse.staging("test-runs"):
        inbox = look_into(
            Path(settings.test_runs.inbox), ledger.completed_inputs(TEST_RUN), now(), settings.test_runs.quiet_s
        )
        scored, failures, refused = [], [], list(inbox.refused)
        budget = Budget(settings.judge) if settings.judge.enabled else None
        for identity in inbox.new:
            try:
                plan = _plan(identity, settings)
            except Exception as error:  # noqa: BLE001 - another file must not stop with it
                refused.append(_refuse(context, identity, day, _as_aqb_error(error, identity)))
                continue
            try:
                scored.append(_score_and_record(context, plan, day, budget))
            except Exception as error:  # noqa: BLE001 - nor here
                failures.append(str(_as_aqb_error(error, identity)))
        for one in (day - timedelta(days=1), day):  # a run that died may have scored without publishing
            publish_runs(context, one)
        # With those of a run that died before it notified of them.
        unreported = ledger.unreported(TEST_RUN, day - STILL_NEWS)
    return InboxOutcome(
        tuple(scored),
        tuple(failures),
        len(inbox.known),
        tuple(path.name for path in inbox.arriving),
        tuple(one.reason for one in refused),
        (
            *(site_after(context).problems if scored else ()),
            *notify_refused(context, refused),
            *(why for run in unreported for why in _notify_of(context, run)),
            *call_off_finished(context, inbox_is_done=not failures),
            *deliver_waiting(context),
        ),
    )


def _plan(identity: FileIdentity, settings: Settings) -> TestRunPlan:
    path = Path(identity.name)
    run = read_testrun_file(path, settings.test_runs.names)
    if run.identity != identity:
        raise InputError("it changed while it was being read", where=str(path), fix="the next run takes it")
    chosen = settings.test_runs.of_file(path.name)
    return plan_of(run, TestRunChoices(chosen.rubric, chosen.agent_type), settings.rubric_options)


def _as_aqb_error(error: Exception, identity: FileIdentity) -> AqbError:
    return error if isinstance(error, AqbError) else UnexpectedError(error, where=identity.name)


def _refuse(context: Context, identity: FileIdentity, day: date, error: AqbError) -> RefusedFile:
    """A file that cannot be read; the ledger keeps the same reason for the same content once."""
    if RunLedger(context.state).failed_inputs(TEST_RUN).get(identity.sha256) != reason_of(error):
        with recorded_run(context.state, TEST_RUN, day, inputs=[vars(identity)]) as run:
            run.ends("failed", message=reason_of(error))
    return RefusedFile(Path(identity.name).name, identity.sha256, str(error))


def _notify_of(context: Context, run: Run) -> tuple[str, ...]:
    (read,) = run.inputs
    folder = context.reports.testrun_folder(read["name"], read["sha256"])
    return notify_testrun(context, folder, run.run_id) if folder.is_dir() else ()


def _score_and_record(context: Context, plan: TestRunPlan, day: date, budget: Budget | None) -> WrittenTestRun:
    """Scores one file as task runs of its own and keeps it in the ledger, also when it fails."""
    settings, name, judged = context.settings, plan.run.name, None
    with recorded_run(
        context.state,
        TEST_RUN,
        day,
        inputs=[vars(plan.run.identity)],
        parameters={"rubric_options": settings.rubric_options, "judged": settings.judge.enabled},
    ) as run:
        if budget:
            with run.step("judge") as counts:
                judged = judge_file(name, lambda: plan, context, budget)
                summary = judged.summary()
                counts.update({part: summary[part] for part in ("questions", "cached", "tokens")})
                run.note(**_of_the_judge(judged), cost_usd=summary["cost"])
        with run.step("score") as counts:
            scored = score_file(name, lambda: plan, context, day, judged)
            found = {part: scored.summary["counts"][part] for part in ("rows_in", "scored", "excluded", "rejected")}
            counts.update(found)
        if judged and judged.failure:  # the next run asks what is left
            raise judged.failure
        run.ends("completed", **found, **{part: scored.summary[part] for part in ("rubric", "rubric_version")})
    return scored


def _of_the_judge(judged: Judged) -> dict[str, str | None]:
    """The models and prompts that gave the verdicts."""
    models = {one.model_answered or one.model_asked for one in judged.judgements}
    prompts = {f"{one.kind} {one.prompt_version}" for one in judged.judgements}
    return {"model": ", ".join(sorted(models)) or None, "prompt_versions": ", ".join(sorted(prompts)) or None}
