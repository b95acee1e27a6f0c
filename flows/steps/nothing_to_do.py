"""Decides without Prefect, whose import takes longer, whether a run of a night, a backfill or the inbox has anything to
do.

If that cannot be decided, the run starts: it meets the same error, records it and notifies people.
"""

from datetime import date, datetime

from flows.runtime.code_version import code_version
from flows.steps.announce import STILL_NEWS
from flows.steps.inbox_outcome import InboxOutcome
from flows.steps.subscriptions import wanted_routes
from tasks.alerts.outbox import Outbox
from tasks.alerts.unfinished import finished
from tasks.chat.day_plan import BackfillPlan, finished_backfill, finished_night
from tasks.context import Context
from tasks.judge_quality.anchors import are_due
from tasks.review.label_store import LabelStore
from tasks.state.run_ledger import NIGHTLY, TEST_RUN, Run, RunLedger
from tasks.testruns.inbox import Inbox, files_of_inbox


def done_by(context: Context, day: date, at: datetime) -> Run | None:
    """The run that scored `day`, if a nightly run of it would score, publish and send nothing now; else None."""
    try:
        run = finished_night(context, day)
        if run is None or run.code_version != code_version():
            return None
        newest_label = LabelStore(context.state).newest_at()
        is_done = _is_published(context, newest_label) and not _has_news(context, day)
        is_done = is_done and not _has_files(files_of_inbox(context, at))
        is_done = is_done and not are_due(context, at.astimezone(context.settings.zone).date())
    except Exception:  # noqa: BLE001 - the run meets it again
        return None
    return run if is_done else None


def backfilled_plan(context: Context, first: date, last: date, today: date) -> BackfillPlan | None:
    """The plan of these days, if a backfill without alerts would score, publish and send nothing now; else None."""
    try:
        plan = finished_backfill(context, first, last, today)
        return plan if plan and _is_published(context) and not _has_news(context, last) else None
    except Exception:  # noqa: BLE001 - the run meets it again
        return None


def scored_inbox(context: Context, at: datetime) -> InboxOutcome | None:
    """The result of the inbox, if a run of it would score, publish and send nothing now; else None."""
    try:
        inbox = files_of_inbox(context, at)
        is_done = not (_has_files(inbox) or is_unpublished(context))
        is_done = is_done and not _has_news(context, at.astimezone(context.settings.zone).date())
    except Exception:  # noqa: BLE001 - the run meets it again
        return None
    return InboxOutcome(scored=(), failures=(), known=len(inbox.known), arriving=()) if is_done else None


def is_unpublished(context: Context) -> bool:
    """Whether the pages are older than the last scores of a test run, because a run died in between."""
    page = context.reports.first_page
    shown_at = page.stat().st_mtime if page.is_file() else 0.0
    newest = RunLedger(context.state).completed(TEST_RUN, 1)
    return any(run.finished_at and run.finished_at.timestamp() > shown_at for run in newest)


def _is_published(context: Context, newest_label: datetime | None = None) -> bool:
    """Whether the site was built after the last run ended, and after the last label was given."""
    (last,) = RunLedger(context.state).last(1)
    if not last.finished_at:
        return False
    shown_at = max(last.finished_at, newest_label or last.finished_at)
    page = context.reports.first_page
    return page.is_file() and page.stat().st_mtime >= shown_at.timestamp()


def _has_news(context: Context, day: date) -> bool:
    """Whether a route needs a notification, or a message waits."""
    routes = wanted_routes(context.settings.alerts, with_prefect=False)
    if not routes:
        return False
    outbox, ledger = Outbox(context.state), RunLedger(context.state)
    return bool(
        outbox.waiting()
        or any(ledger.unreported(kind, day - STILL_NEWS) for kind in (NIGHTLY, TEST_RUN))
        or any(finished(context, outbox.keys_of_work(one.name), inbox_is_done=True) for one in routes)
    )


def _has_files(inbox: Inbox) -> bool:
    """Whether the inbox holds a file that is new, still arriving or refused."""
    return bool(inbox.new or inbox.arriving or inbox.refused)
