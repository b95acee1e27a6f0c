"""What a route has been notified of an incident, and whether its end is worth a message: one event has one all-clear.

Source: SPEC 8.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta

from scoring.alerting.decision import DayDecisions, RateDecision
from scoring.alerting.incidents import Incident
from scoring.alerting.messages import NamedFact, fact_key
from scoring.alerting.rates import REFERENCE_DAYS


def incident_key(one: Incident) -> str:
    """The key of an incident on its day."""
    return _key(one, one.fact.rule, one.day, is_over=one.is_over)


def was_reported(one: Incident, known: Collection[str]) -> bool:
    """Whether the route was notified of an incident on an earlier day since it began."""
    days = (one.since + timedelta(days) for days in range((one.day - one.since).days))
    return any(_key(one, one.fact.rule, day, is_over=False) in known for day in days)


def ended_since(one: Incident, known: Collection[str]) -> bool:
    """Whether the route was notified of the end of an incident on a later day: the rows of this day came late."""
    later = (one.day + timedelta(days) for days in range(1, REFERENCE_DAYS + 1))
    return one.is_over and any(_key(one, one.fact.rule, day, is_over=True) in known for day in later)


def is_worth_a_message(
    one: Incident, lately: Mapping[date, DayDecisions], known: Collection[str], pages: Sequence[NamedFact] | None
) -> bool:
    """Whether it causes a message by itself: an end only if its beginning has paged, or if it is of a KPI.

    `pages` are those that the route received, None if that is unknown. Rules that rose together end on different days,
    because rare ones take longer to show it: only the first end causes a message, unless another rule was still above
    its usual range on that day. `lately` are the decisions of the last days.
    """
    if not one.is_over or one.figure is not None:
        return True
    if one.fact.level != "critical":  # it may have been a part of a page
        return False
    has_paged = one.paged if pages is None else any(_is_page_of(one, page) for page in pages)
    told = None if pages is None else known
    return has_paged and not any(_ended_with_others(one, day, decided, told) for day, decided in lately.items())


def _ended_with_others(one: Incident, day: date, decided: DayDecisions, known: Collection[str] | None) -> bool:
    """Whether the route was notified on an earlier day that others of the same event are over, while this one was
    within its usual range.
    """
    own = decided.get((one.fact.rule, one.fact.tenant_id))
    if day >= one.day or own is None or own.count > own.rows * own.usual.high:
        return False
    return any(
        _is_end_of_same_event(other, one) and (known is None or _key(one, other.rule, day, is_over=True) in known)
        for other in (decided[rule] for rule in decided if rule[1] == one.fact.tenant_id)
    )


def _is_end_of_same_event(other: RateDecision, one: Incident) -> bool:
    return other.since == one.since and other.change == "resolved" and other.paged


def _is_page_of(one: Incident, page: NamedFact) -> bool:
    same = (page.rubric, page.rule, page.tenant_id) == (one.rubric, one.fact.rule, one.fact.tenant_id)
    return same and one.since <= page.day <= one.day


def _key(one: Incident, rule: str, day: date, *, is_over: bool) -> str:
    return fact_key(one.rubric, one.rubric_version, rule, day, one.fact.tenant_id, resolved=is_over)
