"""The flow of test runs: scores each new file of the inbox once, into its own report folder and the warehouse.

A file is identified by its content: a changed file is a new run. The next run retries a file that failed or was still
arriving, and scores one again whose scores the tables have lost, as of its day. A file that fails stops no other. An
unreadable file is reported once, as a Warning, and does not fail the flow run.
"""

from contextlib import ExitStack
from datetime import date, timedelta

from prefect import flow

from flows.runtime.clock import now, today
from flows.runtime.flow_run import GivenSettings, settings_of_flow
from flows.runtime.logs import warn
from flows.runtime.run_recorder import publish_runs
from flows.steps.alerts import deliver_waiting, notify_refused, notify_testrun, send_all_clears
from flows.steps.announce import STILL_NEWS
from flows.steps.failure_hooks import notify_flow_end
from flows.steps.inbox_outcome import InboxOutcome, WrittenTestRun
from flows.steps.nothing_to_do import is_unpublished
from flows.steps.site import site_after
from flows.steps.testrun_files import LeftFile, score_files
from scoring.alerting.run_messages import RefusedFile
from scoring.errors import AqbError, TakenError, counted
from tasks.config.services import refuse_chosen
from tasks.context import Context
from tasks.state.run_ledger import TEST_RUN, Run, RunLedger
from tasks.testruns.inbox import files_of_inbox
from tasks.testruns.plans import in_order_of_running


class IncompleteInboxError(AqbError):
    """Some files of the inbox could not be scored; `outcome` says what was done."""

    def __init__(self, outcome: InboxOutcome) -> None:
        causes = dict.fromkeys(str(error).partition("\n")[0] for error in outcome.failures)
        fixes = dict.fromkeys(error.fix for error in outcome.failures if error.fix)
        super().__init__(
            f"{counted(len(outcome.failures), 'file')} of the inbox could not be scored: {'; '.join(causes)}",
            fix="; ".join([*fixes, "the next run tries these files again"]),
        )
        self.outcome = outcome


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
    refuse_chosen(settings, "test runs")
    with Context(settings) as context:
        outcome = _score_new_files(context, day or today(settings.time_zone))
    warn(outcome.problems)
    if outcome.failures:
        raise IncompleteInboxError(outcome)
    return outcome


def _score_new_files(context: Context, day: date) -> InboxOutcome:
    settings, ledger = context.settings, RunLedger(context.state)
    with ExitStack() as alone:
        try:
            alone.enter_context(context.warehouse.staging("test-runs"))
        except TakenError as taken:  # for up to a day, if the judge is asked in batches
            return InboxOutcome((), (), 0, (), unpublished=(str(taken),))
        inbox = files_of_inbox(context, now())
        new = in_order_of_running(inbox.new, settings, day, inbox.lost)
        found = score_files(context, new, day, inbox.lost)
        scored = [one for one in found if isinstance(one, WrittenTestRun)]
        copies = sum(len(files) - 1 for files, one in zip(new, found, strict=True) if isinstance(one, WrittenTestRun))
        failures = [one for one in found if isinstance(one, AqbError)]
        left = [one.name for one in found if isinstance(one, LeftFile)]
        refused = [*inbox.refused, *(one for one in found if isinstance(one, RefusedFile))]
        # A run that died may have scored without publishing.
        for one in {day - timedelta(days=1), day, *inbox.lost.values()}:
            publish_runs(context.warehouse, context.state, one)
        # Including those of a run that died before it notified people of them.
        unreported = ledger.unreported(TEST_RUN, day - STILL_NEWS)
    unpublished = (
        *(site_after(context).problems if scored or is_unpublished(context) else ()),
        *notify_refused(context, refused),
        *(why for run in unreported for why in _notify_of(context, run)),
        *send_all_clears(context, inbox_is_done=not failures),
        *deliver_waiting(context),
    )
    return InboxOutcome(
        scored=tuple(scored),
        failures=tuple(failures),
        known=len(inbox.known) + copies,
        arriving=(*(path.name for path in inbox.arriving), *left),
        refused=tuple(one.reason for one in refused),
        unpublished=unpublished,
    )


def _notify_of(context: Context, run: Run) -> tuple[str, ...]:
    (read,) = run.inputs
    folder = context.reports.testrun_folder(read["name"], read["sha256"])
    return notify_testrun(context, folder, run.run_id) if folder.is_dir() else ()
