"""Telling people: what is new goes into the outbox, and what waits there goes to Slack.

Nothing here fails a run because of Slack: what could not be said is kept, and the run says so.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
from prefect.client.schemas.objects import State

from flows.runtime.clock import now
from flows.runtime.task_policy import step
from flows.steps.subscriptions import Subscription, subscriptions
from scoring.alerting.failure_messages import ExpiredMessage, KeptDay, expired_message, kept_message, quiet_message
from scoring.alerting.messages import Message
from scoring.alerting.replay import ReplayedMessage, replay
from scoring.alerting.review_messages import review_message
from scoring.alerting.routing import RouteFilter
from scoring.chat.kpis import ALL_TENANTS
from scoring.days import days_between
from scoring.errors import AqbError, InputError
from tasks.alerts.day_digest import INCIDENT_DAYS, DayDigest, day_digest
from tasks.alerts.delivery import Clock, deliver
from tasks.alerts.outbox import NEVER_TRIED, Outbox, OutboxMessage
from tasks.alerts.slack.mentions import with_mention
from tasks.chat.day_guard import DayKeptError
from tasks.chat.tables import KPIS, read_alerts
from tasks.config.alerts import AlertsSettings
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.report_paths import ReportPaths
from tasks.reports.markdown.review_list import reviewed_testrun
from tasks.state.run_ledger import TEST_RUN, RunLedger

_SUNDAY = 6
_WEEK = timedelta(days=7)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PendingNotification:
    """Something to say: its thread, and what a route hears of it, given the keys that it has been told.

    `only_after` so long a silence of a route.
    """

    thread: str
    to: Callable[[RouteFilter, set[str]], list[Message]]
    only_after: timedelta | None = None


@dataclass(frozen=True)
class DeliveryReport:
    """What became of the messages: fallback texts of those sent, how many wait, and what a person should look at."""

    sent: tuple[str, ...]
    waiting: int
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Preview:
    """What past days would have sent, by route, as if each had been told in its own night."""

    first: date
    last: date
    messages: dict[str, list[ReplayedMessage]]


NOTHING_DELIVERED = DeliveryReport((), 0, ())


STILL_NEWS = timedelta(days=3)
"""How old a day may be of which people are still told; older ones are filled in silence, as by a backfill."""


def notify_days(context: Context, days: Sequence[date]) -> tuple[str, ...]:
    """Tells every route what is new of scored days, as a step of a flow; returns problems and raises none."""
    if not (days and _anybody_listens(context.settings.alerts)):
        return ()
    return _problems(_notify_days(context, days, return_state=True))


def notify_unreported(context: Context, kind: str, first: date, last: date) -> tuple[str, ...]:
    """Tells of the days of a period that runs of this kind have scored and nobody was told of, whichever run it was."""
    ledger = RunLedger(context.state)
    days = {run.score_date for run in ledger.unreported(kind, first) if run.score_date <= last}
    return notify_days(context, sorted(days))


def notify_kept(context: Context, days: Sequence[DayKeptError]) -> tuple[str, ...]:
    """Tells routes of the pipeline, in one Warning, which days were kept as they were, as a step of a flow.

    A day is told once for each state of its source.
    """
    if not (days and _anybody_listens(context.settings.alerts)):
        return ()
    kept = [KeptDay(one.day, one.losses, one.content) for one in days]
    return _problems(_notify_kept(context, kept, return_state=True))


def notify_testrun(context: Context, folder: Path, run_id: str) -> tuple[str, ...]:
    """Tells every route which queries of a scored test run people should look at, as a step of a flow."""
    if not _anybody_listens(context.settings.alerts):
        return ()
    return _problems(_notify_testrun(context, folder, run_id, return_state=True))


def deliver_waiting(context: Context) -> tuple[str, ...]:
    """Sends what waits, such as Warnings after quiet hours, as a step of a flow where there is any."""
    if not _anybody_listens(context.settings.alerts):
        return ()
    waits = bool(Outbox(context.state).waiting())
    return _problems(_deliver_waiting(context, return_state=True)) if waits else ()


def _anybody_listens(alerts: AlertsSettings) -> bool:
    return any(one.is_wanted for one in subscriptions(alerts))


def _problems(state: State[DeliveryReport]) -> tuple[str, ...]:
    told = state.result(raise_on_failure=False)
    if isinstance(told, DeliveryReport):
        return told.problems
    return (f"alerts: {told}" if isinstance(told, AqbError) else f"alerts: {type(told).__name__}",)


@step("tell", run_name="tell {days}", timeout_s=1800)
def _notify_days(context: Context, days: Sequence[date]) -> DeliveryReport:
    ledger = RunLedger(context.state)
    runs = [run.run_id for day in days for run in ledger.of_day(day) if run.kind != TEST_RUN]
    told = announce_days(context, days)
    ledger.mark_reported(runs, now())
    return told


@step("tell", run_name="tell of {folder.name}", timeout_s=1800)
def _notify_testrun(context: Context, folder: Path, run_id: str) -> DeliveryReport:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    run = reviewed_testrun(folder, summary, run_id, reports_of(context.settings).address(folder / "report.md"))
    told = announce(context, [PendingNotification("", lambda route, _: review_message(route, run))] if run else [])
    RunLedger(context.state).mark_reported([run_id], now())
    return told


@step("tell", run_name="tell of kept days", timeout_s=1800)
def _notify_kept(context: Context, days: Sequence[KeptDay]) -> DeliveryReport:
    def to(route: RouteFilter, told: set[str]) -> list[Message]:
        news = [one for one in days if one.key not in told]
        return kept_message(news) if news and route.matches_pipeline("warning") else []

    return announce(context, [PendingNotification("", to)])


@step("tell", run_name="tell what waits", timeout_s=1800)
def _deliver_waiting(context: Context) -> DeliveryReport:
    return announce(context, [])


def announce_days(context: Context, days: Sequence[date]) -> DeliveryReport:
    """Tells every route what is new of scored days, and sends it.

    Raises:
        InputError: a day has not been scored.
    """
    sayings = []
    for day in days:
        news = digest_of(context, day)
        sayings.append(PendingNotification(str(day), news.messages))
        if context.settings.alerts.all_quiet_weekly and day.weekday() == _SUNDAY and news.context.kind == "nightly":
            sayings.append(_quiet_week(context, day))
    return announce(context, sayings)


def preview_messages(context: Context, days: Sequence[date]) -> list[tuple[str, Message]]:
    """What `announce_days` would write now, by route; nothing is written or sent.

    Raises:
        InputError: a day has not been scored.
    """
    found, outbox = [], Outbox(context.state)
    for day in days:
        news = digest_of(context, day)
        for one in subscriptions(context.settings.alerts):
            messages = news.messages(one.filter, outbox.told(one.name))
            found += [(one.name, with_mention(message, one.destination.mention)) for message in messages]
    return found


def preview(context: Context, days: int) -> Preview:
    """The messages that each route would have had in the last `days` that end with the latest scored one.

    Raises:
        InputError: no day has been scored.
    """
    warehouse = context.warehouse
    if not (scored := warehouse.days(KPIS)):
        raise InputError(
            "no day has been scored yet", where=context.settings.warehouse, fix="aqb nightly, or aqb backfill"
        )
    first, last = scored[-1] - timedelta(days=days - 1), scored[-1]
    facts = read_alerts(warehouse, last, days + INCIDENT_DAYS)
    routes = {one.name: one.filter for one in subscriptions(context.settings.alerts)}
    return Preview(first, last, replay(facts, days_between(first, last), routes, context.rubric))


def letters(context: Context) -> tuple[list[OutboxMessage], list[OutboxMessage]]:
    """The messages that wait, and those that were given up."""
    outbox = Outbox(context.state)
    return outbox.waiting(), outbox.dead()


def requeue(context: Context) -> int:
    """Makes waiting messages of those that were given up; returns how many."""
    return Outbox(context.state).requeue(now())


def digest_of(context: Context, day: date) -> DayDigest:
    """What there is to tell of a scored day."""
    runs = RunLedger(context.state).of_day(day)
    return day_digest(context.warehouse, context.rubric, day, runs, reports_of(context.settings))


def reports_of(settings: Settings) -> ReportPaths:
    """Where reports are, for the machine and for people."""
    return ReportPaths(Path(settings.reports), settings.alerts.reports_url)


def announce(context: Context, sayings: Sequence[PendingNotification]) -> DeliveryReport:
    """Writes what is new to each route into the outbox, then sends what waits there.

    Raises:
        StorageError: the state database cannot be used; never because of Slack.
    """
    wanted = [one for one in subscriptions(context.settings.alerts) if one.is_wanted]
    if not wanted:
        return NOTHING_DELIVERED
    outbox, dry_run = Outbox(context.state), context.settings.alerts.dry_run
    for subscription in wanted:
        for saying in sayings:
            _put(outbox, subscription, saying, dry_run=dry_run)
    return NOTHING_DELIVERED if dry_run else _deliver(outbox, wanted, context.settings.time_zone)


def _put(outbox: Outbox, subscription: Subscription, saying: PendingNotification, *, dry_run: bool) -> None:
    name, mention = subscription.name, subscription.destination.mention
    if saying.only_after and outbox.has_said(name, now() - saying.only_after):
        return
    messages = saying.to(subscription.filter, outbox.told(name))
    if dry_run:
        for message in messages:
            _log.info("dry run: a %s for route %s would be sent: %s", message.kind, name, message.text)
    else:
        outbox.put(name, saying.thread, [with_mention(message, mention) for message in messages], now())


def _deliver(outbox: Outbox, wanted: Sequence[Subscription], time_zone: str) -> DeliveryReport:
    """Sends what waits, and says what Slack will never take or did not take for days."""
    posts = {one.name: one.post for one in wanted if one.post}
    by_name = {one.name: one for one in wanted}

    def held(letter: OutboxMessage) -> bool:
        destination = by_name[letter.route].destination
        return destination.holds(letter.level, now(), time_zone)

    first = deliver(outbox, posts, held, Clock(now))
    _tell_of_dead_letters(outbox, wanted, time_zone)
    second = deliver(
        outbox, {name: post for name, post in posts.items() if name not in first.stopped}, held, Clock(now)
    )
    stopped = first.stopped | second.stopped | {one.name: one.problem for one in wanted if not one.post}
    waiting = Counter(letter.route for letter in outbox.waiting())
    problems = [
        *(f"alerts: route {letter.route}: Slack refused a message for good" for letter in first.refused),
        *(f"alerts: route {letter.route}: a message was given up: {letter.last_error}" for letter in first.given_up),
        *(
            f"alerts: route {name}: {problem}; {waiting[name]} messages wait for the next run"
            for name, problem in stopped.items()
            if waiting[name]
        ),
    ]
    return DeliveryReport(tuple(one.text for one in first.sent + second.sent), waiting.total(), tuple(problems))


def _tell_of_dead_letters(outbox: Outbox, wanted: Sequence[Subscription], time_zone: str) -> None:
    """Writes about letters that were given up to whom the pipeline concerns, once. Nobody is told of lost notices."""
    zone = ZoneInfo(time_zone)
    lost = {
        f"dead|{one.id}": ExpiredMessage(
            one.id,
            one.route,
            one.text,
            one.created_at.astimezone(zone).date(),
            "" if one.last_error == NEVER_TRIED else one.last_error or "",
        )
        for one in outbox.dead()
        if one.kind != "dead_letters" and one.dead_at and one.dead_at > now() - _WEEK
    }
    for subscription in wanted:
        told = outbox.told(subscription.name)
        news = [letter for key, letter in lost.items() if key not in told]
        if subscription.filter.matches_pipeline("warning"):
            outbox.put(subscription.name, "", expired_message(news), now())


def _quiet_week(context: Context, sunday: date) -> PendingNotification:
    """The line that a route gets which heard nothing for a week."""
    monday = sunday - _WEEK + timedelta(days=1)
    kpis = context.warehouse.read(KPIS, days_between(monday, sunday))
    assert kpis is not None
    rows = kpis.filter(pl.col("tenant_id") == ALL_TENANTS).select("score_date", "rows", "excluded").collect()
    days, count = rows["score_date"].n_unique(), sum(map(sum, rows.select("rows", "excluded").iter_rows()))

    def to(route: RouteFilter, _: set[str]) -> list[Message]:
        return quiet_message(monday, sunday, days, count) if route.matches_pipeline("info") else []

    return PendingNotification("", to, only_after=_WEEK)
