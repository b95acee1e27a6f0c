"""The messages about a scored day, by route."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from functools import cache

from scoring.alerting.day_messages import day_messages
from scoring.alerting.endings import ends as has_ended
from scoring.alerting.messages import DayDigest, KnownKey, Message, RouteFilter, named_facts
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.weekly import weekly_message
from scoring.alerting.withdrawn_pages import closed_pages
from tasks.alerts.day_digest import day_digest, read_week
from tasks.config.alerts import DEFAULT_ROUTE, AlertsSettings
from tasks.context import Context
from tasks.files.web_addresses import incident_address, row_address
from tasks.judge_quality.model_end import near_end
from tasks.state.alert_choices import AlertChoices
from tasks.state.run_ledger import INTRADAY, RunLedger

_SUNDAY = 6
_LONGEST_RISE = 2 * REFERENCE_DAYS
"""Days after a page in which its end is looked for; what has lasted so long is usual, or people have accepted it."""

MessagesFor = Callable[[RouteFilter, Mapping[str, KnownKey]], list[Message]]
"""The messages for a route that has been sent messages with these keys."""


def route_filters(alerts: AlertsSettings) -> dict[str, RouteFilter]:
    """The filter of each route of the settings, the default route last."""
    filters = {
        route.name: RouteFilter(
            frozenset(route.levels), frozenset(route.rubrics), frozenset(route.tenants), frozenset(route.agent_types)
        )
        for route in alerts.route
    }
    return {**filters, DEFAULT_ROUTE: RouteFilter(others=tuple(filters.values()))}


def messages_of_day(context: Context, digest: DayDigest) -> list[tuple[str, MessagesFor]]:
    """The messages about a scored day and, on the last day of a week, about the week; each with its thread.

    Raises:
        StorageError: the warehouse cannot be read.
    """

    def of_day(route: RouteFilter, known: Mapping[str, KnownKey]) -> list[Message]:
        pages = _page_keys(known)
        found = day_messages(digest, route, known, pages)
        told = [*known, *(key for message in found for key in message.keys)]
        return [*found, *closed_pages(digest, pages, told)]

    found: list[tuple[str, MessagesFor]] = [(str(digest.day), of_day)]
    if context.settings.alerts.weekly and ends_week(digest):
        policy = AlertChoices(context.state).policy(context.settings.alerts)
        week = read_week(context.warehouse, context.rubric, digest.day, context.reports, digest.run_id, policy)
        end = near_end(context.state, context.settings.judge, digest.day)
        week = replace(week, snoozes=digest.snoozes, judge_end=end)
        found.append(("", lambda route, known: weekly_message(week, route, known, _page_keys(known))))
    return found


def ends_of_day(context: Context, day: date) -> tuple[str, MessagesFor]:
    """The ends of incidents on a scored day, for the routes that were paged up to it and were not notified of the end;
    with their thread. The day is read only for these.
    """

    @cache
    def ends() -> DayDigest:
        digest = digest_of(context, day)
        return replace(digest, incidents=[one for one in digest.incidents if one.is_over])

    def of_day(route: RouteFilter, known: Mapping[str, KnownKey]) -> list[Message]:
        pages, lately = _page_keys(known), range(_LONGEST_RISE)
        paged = [one for one in named_facts(pages) if (day - one.day).days in lately and not one.is_over]
        over = [fact for fact in named_facts(known) if fact.is_over] if paged else []
        is_waiting = any(not any(has_ended(fact, one) for fact in over) for one in paged)
        return day_messages(ends(), route, known, pages) if is_waiting else []

    return str(day), of_day


def _page_keys(known: Mapping[str, KnownKey]) -> list[str]:
    return [key for key, one in known.items() if one.kind == "page"]


def ends_week(digest: DayDigest) -> bool:
    """Whether this day is the last of its week and its night has scored it."""
    return digest.day.weekday() == _SUNDAY and digest.kind == "nightly"


def digest_of(context: Context, day: date) -> DayDigest:
    """The incidents of a scored day and the data of their messages.

    Raises:
        InputError: the day is not scored.
    """
    runs, choices = RunLedger(context.state).of_day(day), AlertChoices(context.state)
    policy = choices.policy(context.settings.alerts)
    if any(run.kind == INTRADAY for run in runs):  # half of the day's level is for its night, half for all looks before
        looks = 2 * context.settings.alerts.intraday_looks if runs[-1].kind == INTRADAY else 2
        policy = replace(policy, looks=looks)
    named = {tenant for route in route_filters(context.settings.alerts).values() for tenant in route.whose}
    digest = day_digest(context.warehouse, context.rubric, day, runs, context.reports, policy, named)
    zone = context.settings.zone
    in_force = choices.snoozes(day - timedelta(days=1))  # what one of them hid up to the day before may be new
    snoozes = [replace(one, made_at=one.made_at.astimezone(zone)) for one in in_force]
    digest, web = replace(digest, snoozes=snoozes), context.settings.web.url
    return _leading_to(digest, web.rstrip("/")) if web else digest


def _leading_to(digest: DayDigest, web: str) -> DayDigest:
    """The digest with links to its rows in `aqb web`, which shows all of them."""
    day, with_rows = digest.day, digest.rubric.rule_titles
    places = {(one.fact.rule, one.fact.tenant_id) for one in digest.incidents if one.fact.rule in with_rows}
    return replace(
        digest,
        row_urls={row_id: web + row_address(day, row_id) for row_id in digest.examples},
        rows_urls={(rule, tenant): web + incident_address(day, rule, tenant) for rule, tenant in places},
    )
