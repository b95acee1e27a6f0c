"""Messages about a scored day: pages that interrupt, and one digest of everything else that is new.

Their texts: scoring/alerting/day_message_texts.py. Source: SPEC 8; seed 002, 10.1 and 10.2.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from scoring.alerting.day_message_texts import digest_messages, page_messages, rows_above_usual
from scoring.alerting.endings import (
    back_with,
    end_key,
    ended_since,
    incident_key,
    is_end_to_notify,
    is_worth_a_message,
    was_reported,
)
from scoring.alerting.facts import is_unread
from scoring.alerting.incidents import Incident, one_cause
from scoring.alerting.messages import DayDigest, Message, RouteFilter, named_facts, without_part
from scoring.alerting.snoozes import is_snoozed, outlives_snooze
from scoring.alerting.wording import is_above_usual, snooze_lines
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import FEW_ROWS, NO_ROWS, ROWS_REJECTED

_OWN_PAGES = 2


def day_messages(
    digest: DayDigest,
    route: RouteFilter,
    known_keys: Collection[str] = (),
    page_keys: Collection[str] | None = None,
) -> list[Message]:
    """The messages of one run to one route: pages, one digest, or none if nothing is new.

    Incidents with a key among `known_keys` are not new to the route; if one of them has paged, a rule with mostly the
    same rows does not page again. Such a rule is reported with the page of that day, also if it is still above its
    usual range since an earlier one, and so is a rise of all tenants together that mostly consists of tenants that
    page. An intraday run only pages, and not for a day without rows, because the day is not over. The end of a paged
    incident causes a message if the route received the page (`page_keys`; None if that is unknown). A snooze hides no
    end of an incident that the route was notified of, and an incident that it hid is new on the day after it if it
    continues. The end of a rate is named once, and only to a route that was notified that it rose.
    """
    known = set(map(without_part, known_keys))
    seen, snoozes = visible_to(route, digest.incidents), digest.snoozes
    visible = [one for one in seen if not is_snoozed(one, snoozes) or (one.is_over and was_reported(one, known))]
    paging, parts, whole, news = _new_to_route(visible, digest, known)
    of_all = [one for one in visible if one.reported_on and not one.is_over and one not in whole]
    of_all = [one for one in of_all if one.fact.tenant_id == ALL_TENANTS]
    found = [message for event in _events([*paging, *parts]) for message in page_messages(event, digest, whole, of_all)]
    pages = None if page_keys is None else named_facts(page_keys)
    notified = None if pages is None else {*named_facts(known), *pages}
    news = [one for one in news if not one.is_over or is_end_to_notify(one, notified)]
    if any(is_worth_a_message(one, digest.lately, notified, pages) for one in news) and digest.kind != "intraday":
        others = [one for one in visible if one.fires and one not in news]
        apart = [one for one in others if one.pages or one in parts or one in whole]
        snoozed = snooze_lines(digest.rubric, snoozes, digest.day, route, digest.incidents)
        back = back_with([one for one in news if one.is_over], digest, notified or (), pages or ())
        are_back = {(one.rule, one.tenant_id) for one in back}
        same = [one for one in others if one not in apart and (one.fact.rule, one.fact.tenant_id) not in are_back]
        shared = [one for one in apart if one.pages and one not in paging]  # here it is told for the first time
        keys = [*map(incident_key, [*news, *shared]), *(end_key(one, digest) for one in back)]
        found += digest_messages(news, back, apart, same, digest, snoozed, route.whose, keys)
    return found


class _NewIncidents(NamedTuple):
    """The incidents that are new to a route: `paging` ones interrupt, `parts` are new, or were reported and are still
    above usual, and have mostly the same rows as one of these, `whole` are rises of all tenants together that consist
    of paging tenants, and `news` remain for the digest.
    """

    paging: list[Incident]
    parts: list[Incident]
    whole: list[Incident]
    news: list[Incident]


def _new_to_route(visible: Sequence[Incident], digest: DayDigest, known: Collection[str]) -> _NewIncidents:
    hidden = [one for one in visible if outlives_snooze(one, digest.snoozes) and not was_reported(one, known)]
    fresh = [one for one in visible if incident_key(one) not in known and not ended_since(one, known)]
    reported = [one for one in visible if one.pages and incident_key(one) in known]
    paging = [
        one
        for one in fresh
        if one.pages and not (digest.kind == "intraday" and one.fact.rule == NO_ROWS and not is_unread(one.fact))
        if not any(_share_rows(one, other) for other in reported)
    ]
    news = [one for one in fresh if not one.pages and (one.state != "continuing" or one in hidden)]
    high = [one for one in fresh if one not in news and one.reported_on and not one.pages and is_above_usual(one)]
    parts = [one for one in (*news, *high) if not one.is_over and any(_share_rows(one, other) for other in paging)]
    whole = [one for one in news if _is_of_tenants(one, [*reported, *paging])]
    return _NewIncidents(paging, parts, whole, [one for one in news if one not in parts and one not in whole])


def _share_rows(one: Incident, other: Incident) -> bool:
    """Whether two rules of a tenant have mostly the same rows. The rows of a Warning that is no news are not looked at:
    then only the other one tells it.
    """
    same_tenant = one.fact.tenant_id == other.fact.tenant_id
    return same_tenant and (other.fact.rule in one.together or one.fact.rule in other.together)


def _is_of_tenants(one: Incident, calls: Sequence[Incident]) -> bool:
    """Whether a rise of all tenants together mostly consists of tenants that page for the same rule."""
    risen = sum(rows_above_usual(call) for call in calls if call.fact.rule == one.fact.rule)
    return one.fact.tenant_id == ALL_TENANTS and not one.is_over and risen > 0 and 2 * risen > rows_above_usual(one)


def visible_to(route: RouteFilter, of_day: Sequence[Incident]) -> list[Incident]:
    """The incidents that a route accepts.

    A route that names no tenant gets incidents of all tenants together. It gets those of one tenant only if that tenant
    pages, or is over and has paged, and all tenants together have not paged for the same cause, or if it has vanished.
    A route that names tenants also gets incidents of the whole day, which name no others to it.
    """

    def matches(one: Incident) -> bool:
        tenant = one.fact.tenant_id
        if not route.tenants:
            calls = one.pages or (one.is_over and one.paged) or one.is_of_vanished
            hidden = tenant != ALL_TENANTS and (not calls or one.of_all)
            return not hidden and route.matches_rows(one.fact.level, one.rubric)
        if tenant == ALL_TENANTS and one.fact.rule in (NO_ROWS, FEW_ROWS, ROWS_REJECTED):
            return any(route.matches_rows(one.fact.level, one.rubric, named) for named in route.tenants)
        return route.matches_rows(one.fact.level, one.rubric, tenant)

    def shown(one: Incident) -> Incident:
        named = tuple(short for short in one.of_tenants if not route.tenants or short.tenant_id in route.whose)
        return replace(one, of_tenants=named) if named != one.of_tenants else one

    return [shown(one) for one in of_day if matches(one)]


def _events(paging: Sequence[Incident]) -> list[list[list[Incident]]]:
    """The paging causes, one message each, ordered by rule; three or more at once are one event."""
    causes = one_cause(paging)
    return [_by_rule(cause) for cause in causes] if len(causes) <= _OWN_PAGES else [_by_rule(paging)]


def _by_rule(found: Sequence[Incident]) -> list[list[Incident]]:
    by_rule: dict[str, list[Incident]] = defaultdict(list)
    for one in found:
        by_rule[one.fact.rule].append(one)
    return list(by_rule.values())
