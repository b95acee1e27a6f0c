"""What a route has been notified of an incident, and whether its end is worth a message: one event has one all-clear.

Source: SPEC 8.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta

from scoring.alerting.decision import DayDecisions
from scoring.alerting.facts import titles_of_rules
from scoring.alerting.incidents import Incident
from scoring.alerting.messages import DayDigest, NamedFact, fact_key
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.chat.rubric import NO_ROWS


def incident_key(one: Incident) -> str:
    """The key of an incident on its day."""
    return _key(one, one.day, is_over=one.is_over)


def end_key(one: NamedFact, digest: DayDigest) -> str:
    """The key of the end, on the day of a digest, of what a route was notified of."""
    return fact_key(one.rubric, digest.rubric.version, one.rule, digest.day, one.tenant_id, resolved=True)


def was_reported(one: Incident, known: Collection[str]) -> bool:
    """Whether the route was notified of an incident on an earlier day since it began."""
    days = (one.since + timedelta(days) for days in range((one.day - one.since).days))
    return any(_key(one, day, is_over=False) in known for day in days)


def ended_since(one: Incident, known: Collection[str]) -> bool:
    """Whether the route was notified of the end of an incident on a later day: the rows of this day came late."""
    later = (one.day + timedelta(days) for days in range(1, REFERENCE_DAYS + 1))
    return one.is_over and any(_key(one, day, is_over=True) in known for day in later)


def is_end_to_notify(one: Incident, notified: Collection[NamedFact] | None) -> bool:
    """Whether a route that was `notified` of these facts has to be notified of the end of a rate: the last fact since
    it rose is that it rose. True if the facts are unknown, and for incidents without a rate.
    """
    if notified is None or one.usual is None:
        return True
    since = [fact for fact in notified if _is_about(fact, one)]
    return bool(since) and not max(since, key=lambda fact: (fact.day, fact.is_over)).is_over


def is_worth_a_message(
    one: Incident,
    lately: Mapping[date, DayDecisions],
    notified: Collection[NamedFact] | None,
    pages: Sequence[NamedFact] | None,
) -> bool:
    """Whether it causes a message by itself: an end only if its beginning has paged, or if it is of a KPI.

    `notified` is what the route was notified of, `pages` what paged it; None if that is unknown. Rules that rose
    together end on different days, because rare ones take longer to show it: the first end names those of its page that
    are within their usual range (`back_with`). Where the pages are unknown, it is taken to name all of these. The end
    of a warning which was part of a page causes none before one of the others. `lately` are the decisions of the last
    days.
    """
    if not one.is_over or one.figure is not None:
        return True
    if one.fact.level != "critical":
        return any(ends(fact, page) for page in _paged_with([one], pages or ()) for fact in notified or ())
    if pages is not None:
        return any(_is_about(page, one) for page in pages)
    return one.paged and not any(_ended_with_others(one, day, decided) for day, decided in lately.items())


def back_with(
    ended: Sequence[Incident], digest: DayDigest, notified: Collection[NamedFact], pages: Sequence[NamedFact]
) -> list[NamedFact]:
    """What `pages` named along with critical rates that return on this day, without those whose end the route was
    `notified` of: each is within its usual range, so that its own end will cause no message.
    """
    over = [one for one in ended if one.state == "resolved" and one.fact.level == "critical"]
    decided, risen = digest.lately.get(digest.day, {}), {one.since for one in over}
    order = {rule: place for place, rule in enumerate(titles_of_rules(digest.rubric)) if rule != NO_ROWS}

    def is_back(page: NamedFact) -> bool:
        now = decided.get((page.rule, page.tenant_id))
        if now is None or now.count > now.rows * now.usual.high:
            return now is None
        is_new_rise = now.since is not None and now.since > page.day
        return not now.has_risen or (not is_new_rise and (now.level == "warning" or now.since in risen))

    own = {(one.fact.rule, one.fact.tenant_id) for one in ended}
    others = [one for one in _paged_with(over, pages) if (one.rule, one.tenant_id) not in own and one.rule in order]
    back = [one for one in others if is_back(one) and not any(ends(fact, one) for fact in notified)]
    found = {(one.rule, one.tenant_id): one for one in back}
    return sorted(found.values(), key=lambda one: (str(one.tenant_id), order[one.rule]))


def ends(fact: NamedFact, page: NamedFact) -> bool:
    """Whether a fact that a route was notified of is the end of a paged incident."""
    same = (fact.rubric, fact.rule, fact.tenant_id) == (page.rubric, page.rule, page.tenant_id)
    return same and fact.is_over and fact.day >= page.day


def _paged_with(found: Sequence[Incident], pages: Sequence[NamedFact]) -> list[NamedFact]:
    """The pages about other rules of the same tenants on the days on which these incidents were in a page."""
    rules = {(one.fact.rule, one.fact.tenant_id) for one in found}
    days = {(page.rubric, page.tenant_id, page.day) for page in pages for one in found if _is_about(page, one)}
    alike = [page for page in pages if (page.rubric, page.tenant_id, page.day) in days and not page.is_over]
    return [page for page in alike if (page.rule, page.tenant_id) not in rules]


def _ended_with_others(one: Incident, day: date, decided: DayDecisions) -> bool:
    """Whether others of the same event were over on an earlier day, while this one was within its usual range."""
    tenant = one.fact.tenant_id
    own = decided.get((one.fact.rule, tenant))
    if day >= one.day or own is None or own.count > own.rows * own.usual.high:
        return False
    same = (other for other in decided.values() if other.tenant_id == tenant and other.since == one.since)
    return any(other.change == "resolved" and other.paged for other in same)


def _is_about(fact: NamedFact, one: Incident) -> bool:
    """Whether a fact is about this incident, since it began or rose."""
    same = (fact.rubric, fact.rule, fact.tenant_id) == (one.rubric, one.fact.rule, one.fact.tenant_id)
    return same and one.since <= fact.day <= one.day


def _key(one: Incident, day: date, *, is_over: bool) -> str:
    return fact_key(one.rubric, one.rubric_version, one.fact.rule, day, one.fact.tenant_id, resolved=is_over)
