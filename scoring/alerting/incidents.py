"""What became of each alert: facts of a day compared with those of the days before.

A rule that fires every night is no news every night. An incident is one rule of one tenant over days:

    new          fires today, and did not on the last seven scored days
    rising       fires far outside its usual range (scoring/alerting/facts.py)
    continuing   fires as before
    resolved     is back in the range it had before it rose, or has not fired on seven scored days

Days that were not scored, and days without rows, count for nothing: neither as quiet nor as usual.

An incident outlives a rubric version: it goes on under the same rule, `since` when it began. What is usual begins anew,
because two versions count differently: on the first day of a version nothing rises, and a rise under the version before
is over. What fired under a rule that the rubric no longer has ends without a word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from scoring.alerting.facts import EXCLUDED_RATE_RISING, HISTORY_DAYS, NO_ROWS, AlertFact, is_unusual, rules_of
from scoring.chat.rubric import RowRubric
from scoring.stats.intervals import wilson_interval

IncidentState = Literal["new", "rising", "continuing", "resolved"]


@dataclass(frozen=True)
class Incident:
    """One rule of one tenant on a day.

    `fact` is today's, for an incident that stopped firing its last, of the day `seen`. `since` is the day it began or
    rose; `since_or_before` if it was there on the earliest day that is known. `pages` if it interrupts people.
    """

    fact: AlertFact
    day: date
    rubric: str
    rubric_version: str
    state: IncidentState
    since: date
    seen: date
    since_or_before: bool = False
    pages: bool = False

    @property
    def fires(self) -> bool:
        """Whether the rule fired today."""
        return self.seen == self.day


@dataclass(frozen=True)
class _Open:
    """An incident while the days go by. `ceiling` is the most that was usual before it `rose`, while it is above."""

    fact: AlertFact
    state: IncidentState
    began: date
    began_or_before: bool
    seen: date
    rose: date | None = None
    ceiling: float = 0
    quiet_days: int = 0


_Key = tuple[str, str | None]


def incidents(
    day: date, facts: Sequence[AlertFact], earlier: Mapping[date, Sequence[AlertFact]], rubric: RowRubric
) -> list[Incident]:
    """The incidents of a day, the gravest first: critical before warning, what pages first, facts in their order.

    `earlier` holds every scored day before it that is known, without facts where nothing fired.
    """
    opened: dict[_Key, _Open] = {}
    past = sorted((when, of_day) for when, of_day in earlier.items() if when < day)
    for place, (when, of_day) in enumerate(past):
        # On the earliest known day it is unknown when anything began.
        opened = _after_day(opened, when, of_day, begins_unseen=place == 0)
    opened = _after_day(opened, day, facts, begins_unseen=False)
    order = {_key(fact): place for place, fact in enumerate(facts)}
    known_rules = rules_of(rubric)
    found = [
        Incident(
            one.fact,
            day,
            rubric.id,
            rubric.version,
            one.state,
            since=one.rose or one.began,
            seen=one.seen,
            since_or_before=one.began_or_before and not one.rose,
            pages=one.seen == day and _pages(one.fact),
        )
        for one in opened.values()
        if one.seen == day or (one.state == "resolved" and one.fact.rule in known_rules)
    ]
    return sorted(
        found, key=lambda one: (one.fact.level != "critical", not one.pages, order.get(_key(one.fact), len(order)))
    )


def _key(fact: AlertFact) -> _Key:
    return fact.rule, fact.tenant_id


def _pages(fact: AlertFact) -> bool:
    """Whether a fact interrupts people: a day without rows, or Critical outside its usual range. Source: SPEC 8.

    A few excluded rows more are soon twice as many as usual: their rate must be above the usual ones for sure.
    """
    if fact.level != "critical":
        return False
    if fact.rule == EXCLUDED_RATE_RISING and fact.count is not None and fact.usual_values:
        interval = wilson_interval(fact.count, fact.rows)
        return interval is not None and interval.low > max(fact.usual_values)
    return fact.rule == NO_ROWS or _rises(fact)


def _rises(fact: AlertFact) -> bool:
    """Whether a fact is far above the days before. On the first day of all there is no usual range yet."""
    if not fact.usual or fact.count is None:
        return False
    return fact.rule == EXCLUDED_RATE_RISING or is_unusual(fact.count, fact.usual)


def _after_day(
    before: Mapping[_Key, _Open], day: date, facts: Sequence[AlertFact], begins_unseen: bool
) -> dict[_Key, _Open]:
    """The open incidents after one more scored day, those that ended on it included."""
    known = {key: one for key, one in before.items() if not _gone(one)}
    firing = {_key(fact): fact for fact in facts}
    no_rows = any(fact.rule == NO_ROWS for fact in facts)
    after = {key: one if no_rows else _quiet(one) for key, one in known.items() if key not in firing}
    for key, fact in firing.items():
        after[key] = _fired_again(known[key], fact, day) if key in known else _begun(fact, day, begins_unseen)
    return after


def _begun(fact: AlertFact, day: date, begins_unseen: bool) -> _Open:
    require_started = _Open(fact, "new", day, begins_unseen, seen=day)
    return replace(require_started, rose=day, ceiling=max(fact.usual)) if _rises(fact) else require_started


def _fired_again(known: _Open, fact: AlertFact, day: date) -> _Open:
    again = replace(known, fact=fact, state="continuing", seen=day, quiet_days=0)
    if not fact.usual:  # the first day of a rubric version: there is nothing to compare with
        return replace(again, rose=None)
    if _rises(fact):
        risen = again if known.rose else replace(again, rose=day, ceiling=max(fact.usual))
        return replace(risen, state="rising")
    if known.rose and fact.count is not None and fact.count <= known.ceiling:
        return replace(again, state="resolved", rose=None)
    return again


def _quiet(one: _Open) -> _Open:
    quiet = replace(one, state="continuing", quiet_days=one.quiet_days + 1)
    if one.fact.rule == EXCLUDED_RATE_RISING:
        # Its fact is the rise itself: a day without one may be as bad as the day before, and calls nothing off.
        return quiet
    return replace(quiet, state="resolved", rose=None) if one.rose or _gone(quiet) else quiet


def _gone(one: _Open) -> bool:
    """Whether it has not fired for so long that the next time is a new one. Rows are back as soon as there are any."""
    return one.quiet_days >= (1 if one.fact.rule == NO_ROWS else HISTORY_DAYS)
