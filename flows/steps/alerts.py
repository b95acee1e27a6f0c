"""Alerts of a run: new facts are written to the outbox, and waiting messages are sent to the channels.

The steps of flows are here; `flows/steps/announce.py` writes and sends.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from flows.runtime.clock import now
from flows.runtime.flow_run import step
from flows.runtime.prefect_env import is_prefect_gone
from flows.steps.announce import STILL_NEWS, DeliveryReport, announce, new_messages, to_pipeline
from flows.steps.day import DayResult
from flows.steps.subscriptions import subscriptions, wanted_routes
from flows.steps.watch import all_clears
from scoring.alerting.decision import WatchedDays
from scoring.alerting.judge_messages import JudgeNews, judge_message
from scoring.alerting.messages import OutboxMessage
from scoring.alerting.preview import Forecast, PreviewedMessage, forecast, preview_days
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.run_messages import (
    KeptDay,
    RefusedFile,
    kept_message,
    quiet_message,
    refused_message,
    review_message,
)
from scoring.alerting.watch import DECISION_DAYS
from scoring.chat.kpi_windows import WEEK
from scoring.chat.kpis import ALL_TENANTS, scored_and_excluded
from scoring.days import days_between
from scoring.errors import AqbError
from tasks.alerts.day_messages import MessagesFor, digest_of, ends_of_day, ends_week, messages_of_day
from tasks.alerts.outbox import Outbox
from tasks.alerts.rule_rates import scored_days
from tasks.alerts.unfinished import TELLING, finished
from tasks.chat.tables import KPIS, read_kpis, read_kpis_of_all, read_kpis_of_verdicts
from tasks.context import Context
from tasks.files.web_addresses import testrun_address
from tasks.reports.markdown.review_list import reviewed_testrun
from tasks.state.alert_choices import AlertChoices
from tasks.state.run_ledger import BACKFILL, NIGHTLY, TEST_RUN, RunLedger


def notify_days(context: Context, days: Sequence[date], older: Collection[date] = ()) -> tuple[str, ...]:
    """Notifies every route of new facts of scored days, and of what ended on `older` ones, as a step of a flow; returns
    problems and raises none.
    """

    def announce_and_mark() -> DeliveryReport:
        ledger = RunLedger(context.state)
        runs = [run.run_id for day in days for run in ledger.of_day(day) if run.kind != TEST_RUN]
        report = announce_days(context, days, older)
        ledger.mark_reported(runs, now())
        return report

    if not days and not older:
        return ()
    first_and_last = dict.fromkeys((days[0], days[-1]) if days else ("earlier days",))
    return _notified(context, " to ".join(map(str, first_and_last)), announce_and_mark)


def notify_unreported(context: Context, kind: str, first: date, last: date) -> tuple[str, ...]:
    """Notifies of the days of a period that a run of this kind has scored and that are not reported yet."""
    ledger = RunLedger(context.state)
    days = {run.score_date for run in ledger.unreported(kind, first) if run.score_date <= last}
    return notify_days(context, sorted(days))


def notify_night(context: Context, day: date) -> tuple[str, ...]:
    """Notifies of the days up to the one of a night that nights have scored and that are not reported yet.

    Of those that are no news, and of those that a backfill has scored, only of the ends of what paged: whoever was
    called waits for it, though no night came on the day on which it ended.
    """
    ledger, since = RunLedger(context.state), day - timedelta(REFERENCE_DAYS)
    runs = [run for kind in (NIGHTLY, BACKFILL) for run in ledger.unreported(kind, since) if run.score_date <= day]
    news = {run.score_date for run in runs if run.kind == NIGHTLY and run.score_date >= day - STILL_NEWS}
    return notify_days(context, sorted(news), {run.score_date for run in runs} - news)


def notify_kept(context: Context, days: Iterable[DayResult]) -> tuple[str, ...]:
    """Notifies of the kept days among these, in one Warning, as a step of a flow.

    A day is reported once per state of its source.
    """
    kept = [KeptDay(one.day, one.losses, one.content) for result in days if (one := result.kept)]
    messages = to_pipeline(lambda known: kept_message([one for one in kept if one.key not in known]))
    return _notified(context, "of kept days", lambda: announce(context, [("", messages)])) if kept else ()


def notify_refused(context: Context, files: Sequence[RefusedFile]) -> tuple[str, ...]:
    """Notifies of unreadable files of the inbox, once per content, as a step of a flow."""
    news = [("", lambda route, known: refused_message(route, [one for one in files if one.key not in known]))]
    return _notified(context, "of refused files", lambda: announce(context, news)) if files else ()


def notify_judge(context: Context, news: JudgeNews) -> tuple[str, ...]:
    """Notifies of a changed judge, once per change, as a step of a flow."""
    messages = to_pipeline(lambda known: judge_message(news, known))
    return _notified(context, "of the judge", lambda: announce(context, [("", messages)])) if news.keys else ()


def notify_testrun(context: Context, folder: Path, run_id: str) -> tuple[str, ...]:
    """Notifies of the queries of a scored test run that people should look at, as a step of a flow."""

    def announce_and_mark() -> DeliveryReport:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        run = reviewed_testrun(folder, summary, run_id, context.reports.address(folder / "report.md"))
        if run and (web := context.settings.web.url.rstrip("/")):
            run = replace(run, report_url=web + testrun_address(run.name, run.input_sha256, run.rubric))
        report = announce(context, [("", lambda route, _: review_message(route, run))] if run else [])
        RunLedger(context.state).mark_reported([run_id], now())
        return report

    return _notified(context, f"of {folder.name}", announce_and_mark)


def deliver_waiting(context: Context) -> tuple[str, ...]:
    """Sends waiting messages, such as Warnings after quiet hours, as a step of a flow if there are any."""
    waits = wanted_routes(context.settings.alerts) and Outbox(context.state).waiting()
    return _notified(context, "what waits", lambda: announce(context, [])) if waits else ()


def send_all_clears(context: Context, *, inbox_is_done: bool = False) -> tuple[str, ...]:
    """Sends the all-clear for finished work that routes were notified of, as a step of a flow if there is any."""
    outbox = Outbox(context.state)
    routes = wanted_routes(context.settings.alerts)
    if not any(finished(context, outbox.keys_of_work(one.name), inbox_is_done=inbox_is_done) for one in routes):
        return ()
    over = all_clears(context, inbox_is_done=inbox_is_done)
    return _notified(context, "what is over", lambda: announce(context, [("", over)]))


def _notified(context: Context, what: str, deliver: Callable[[], DeliveryReport]) -> tuple[str, ...]:
    """Problems of a delivery; a failing step is one more problem and fails no run."""
    if not wanted_routes(context.settings.alerts):
        return ()
    try:
        return _tell(what, deliver).problems
    except AqbError as error:
        return (f"alerts: {error}",)
    except Exception as error:
        if is_prefect_gone(error):
            raise
        return (f"alerts: {type(error).__name__}",)


@step("tell", run_name="tell {what}", timeout_s=int(TELLING.total_seconds()))
def _tell(what: str, deliver: Callable[[], DeliveryReport]) -> DeliveryReport:
    return deliver()


def announce_days(context: Context, days: Sequence[date], older: Collection[date] = ()) -> DeliveryReport:
    """Writes new facts of scored days, and what ended on `older` ones, to every route, and sends them.

    Raises:
        InputError: a day has not been scored.
    """
    return announce(context, list(_notifications(context, days, older)))


def _notifications(
    context: Context, days: Sequence[date], older: Collection[date] = ()
) -> Iterator[tuple[str, MessagesFor]]:
    """What there is to tell of scored days, each with its thread; of `older` ones what ended on them.

    Late rows may make a day page after later ones were scored: their messages are no news, except for the end.
    """
    others = {*_days_after(context, days), *(set(older).intersection(context.warehouse.days(KPIS)) if older else ())}
    for day in sorted({*days, *others}):
        if day in others:
            yield ends_of_day(context, day)
            continue
        digest = digest_of(context, day)
        if context.settings.alerts.all_quiet_weekly and ends_week(digest):
            yield "", _quiet_week(context, day)
        yield from messages_of_day(context, digest)


def _days_after(context: Context, days: Sequence[date]) -> list[date]:
    """The scored days after the first of these which are not among them, a week of them at most."""
    last = RunLedger(context.state).last_completed_day(date.max)
    if not days or (len(days) == 1 and (last is None or last <= days[0])):
        return []  # a usual night asks the warehouse nothing
    scored = context.warehouse.days(KPIS)
    return [day for day in scored if day > min(days) and day not in days][:WEEK]


def preview_messages(context: Context, days: Sequence[date]) -> list[tuple[OutboxMessage, dict[str, Any]]]:
    """The messages that `announce_days` would write now, each with its channel's payload; nothing is written or sent.

    Raises:
        InputError: a day has not been scored.
    """
    found, outbox = [], Outbox(context.state)
    routes = [(one, outbox.known_keys(one.name)) for one in subscriptions(context.settings.alerts)]
    for thread, messages_for in _notifications(context, days):
        for one, known in routes:
            for message in new_messages(one, messages_for, outbox, known, context.settings.service, now()):
                unsaved = OutboxMessage.unsaved(one.name, message, now(), thread)
                found.append((unsaved, one.channel.payload(unsaved)))
    return found


def preview(context: Context, days: int) -> tuple[date, date, list[PreviewedMessage], Forecast]:
    """The messages of the last `days` up to the latest scored one, by route, and a forecast.

    Raises:
        InputError: no day has been scored.
    """
    warehouse, rubric = context.warehouse, context.rubric
    scored = scored_days(warehouse)
    first, last = scored[-1] - timedelta(days=days - 1), scored[-1]
    kpis = read_kpis(warehouse, rubric, scored[-days - DECISION_DAYS :])
    policy = AlertChoices(context.state).policy(context.settings.alerts)
    routes = {one.name: one.filter for one in subscriptions(context.settings.alerts)}
    watched = WatchedDays(rubric, kpis, policy)
    tenants = {ALL_TENANTS, *(tenant for route in routes.values() for tenant in route.whose)}
    of_verdicts = read_kpis_of_verdicts(warehouse, rubric, scored, kpis, first, tenants)
    messages = preview_days(watched, days_between(first, last), routes, of_verdicts)
    return first, last, messages, forecast(watched)


def _quiet_week(context: Context, sunday: date) -> MessagesFor:
    """The line for a route that had no other message for a week."""
    monday = sunday - timedelta(WEEK - 1)
    kpis = read_kpis_of_all(context.warehouse, context.rubric, days_between(monday, sunday)).values()
    days, count = sum(row["rows"] > 0 for row in kpis), sum(map(scored_and_excluded, kpis))
    return to_pipeline(lambda _: quiet_message(monday, sunday, days, count))
