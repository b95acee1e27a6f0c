"""The state of each alert over days, from the facts of a day, the decisions about their rates, and earlier days.

A rule that fires every night is not news every night. An incident is one rule of one tenant over days:

    new          fires today, and did not on the last 28 scored days (rejected rows: seven)
    rising       its rate is improbable today, given earlier days (scoring/alerting/decision.py)
    drifting     its rate has been significantly higher for days
    continuing   fires, or is higher, and was reported before
    resolved     its rate has returned; rows are back, or none has been rejected for seven scored days
    settled      its rate has not returned after 28 scored days, and is the usual one from the next day on

A day off without rows is no incident if the last two of its kind had none either, or no weekend before it had any: a
service that rests on Sundays or on weekends is not down on them.

KPIs are separate incidents (scoring/alerting/kpi_incidents.py). Days that were not scored, and days without rows, count
neither as quiet nor as usual.

An incident continues across rubric versions: it has the same rule, and `since` remains. The usual rate starts anew,
because two versions count differently, and a rise under the earlier version is over. An incident of a rule that the
rubric no longer has ends without a message.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from typing import Literal

from scoring.alerting.days_off import is_day_off, is_weekend, weekday_of
from scoring.alerting.decision import DayDecisions, RateDecision, UsualRate
from scoring.alerting.facts import AlertFact, is_unread, rate_fact, titles_of_rules
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import EXCLUDED_RATE_RISING, FEW_ROWS, KPI_RULE, NO_ROWS, ROWS_REJECTED, RowRubric
from scoring.figures import Figure

IncidentState = Literal["new", "rising", "drifting", "continuing", "resolved", "settled"]

QUIET_DAYS = 7
"""Number of scored days without rejected rows after which these are over."""

_DAYS_ALIKE = 2
"""Number of days off without rows after which the next one is not news."""


@dataclass(frozen=True)
class Incident:
    """One rule of one tenant on a day.

    `fact` is today's fact; for an incident that stopped firing it is the last one, of the day `seen`. `since` is the
    day it began or rose; `since_or_before` is true if it was there on the earliest known day. `pages` if it interrupts
    people on this day, `paged` if it has since it rose; `of_all` if a tenant's page is part of one of all tenants
    together. `usual` is None if it has no rate. `so_far` are the counts and rows of all its days and of the four weeks
    before them, for a rise that lasts. `together` are the rules with mostly the same rows, which have the same cause.
    `figure` is the figure of a KPI over its window, in which it is known on `figure_days`. `reported_on` is the day on
    which a risen rate was first reported. `of_session` are today's rows of one chat session, if these are most of them.
    `of_tenants` are the tenants that explain a day with few rows.
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
    paged: bool = False
    of_all: bool = False
    usual: UsualRate | None = None
    so_far: tuple[tuple[int, int], tuple[int, int]] | None = None
    together: tuple[str, ...] = ()
    figure: Figure | None = None
    figure_days: int = 0
    reported_on: date | None = None
    of_session: int = 0
    of_tenants: tuple[AlertFact, ...] = ()

    @property
    def fires(self) -> bool:
        """Whether the rule fired today."""
        return self.seen == self.day

    @property
    def lasts(self) -> bool:
        """Whether it fires today as a reported rise of several days: `fact.grown` then covers all of these."""
        is_news = self.pages or self.state in ("rising", "drifting")
        return self.fires and is_news and self.usual is not None and self.since < self.day

    @property
    def is_of_vanished(self) -> bool:
        """Whether it is about a tenant without any row on a day that has others."""
        return self.fact.rule == FEW_ROWS and self.fact.tenant_id != ALL_TENANTS

    @property
    def is_over(self) -> bool:
        """Whether it ends today: a later occurrence is another incident."""
        return self.state in ("resolved", "settled")


@dataclass(frozen=True)
class _Open:
    """An incident during the pass over the days."""

    fact: AlertFact
    state: Literal["new", "continuing", "resolved"]
    began: date
    began_or_before: bool
    seen: date
    quiet_days: int = 0


_Key = tuple[str, str | None]


def incidents_of_days(
    facts: Mapping[date, Sequence[AlertFact]],
    decided: Mapping[date, DayDecisions],
    rubric: RowRubric,
    days_off: Collection[date],
) -> dict[date, list[Incident]]:
    """The incidents of the days in `decided`, which are the decisions about their rates.

    `facts` has these days and every known earlier scored day, empty for days on which nothing fired. `days_off` extend
    the calendar.
    """
    opened: dict[_Key, _Open] = {}
    found = {}
    scored = sorted(facts)
    for place, day in enumerate(scored):
        of_day, is_at_rest = facts[day], _is_usually_empty(day, scored[:place], facts, days_off)
        # On the earliest known day it is unknown when anything began, unless it is the day that is asked for.
        opened = _after_day(opened, day, of_day, is_at_rest, begins_unseen=place == 0 and len(facts) > 1)
        if day in decided:
            found[day] = _of_day(opened, day, of_day, decided[day], rubric)
    return found


def _is_usually_empty(
    day: date, before: Sequence[date], facts: Mapping[date, Sequence[AlertFact]], days_off: Collection[date]
) -> bool:
    """Whether a day is a day off of a kind whose last two had no rows, or no weekend before had any."""
    if not is_day_off(day, days_off):
        return False
    alike = [one for one in before if one.weekday() == weekday_of(day)][-_DAYS_ALIKE:]
    weekends = [one for one in before if is_weekend(one)]
    return any(len(days) >= _DAYS_ALIKE and all(_is_empty(facts[one]) for one in days) for days in (alike, weekends))


def _is_empty(facts: Sequence[AlertFact]) -> bool:
    return any(fact.rule == NO_ROWS for fact in facts)


def _of_day(
    opened: Mapping[_Key, _Open], day: date, facts: Sequence[AlertFact], decided: DayDecisions, rubric: RowRubric
) -> list[Incident]:
    """The incidents after a day, most severe first: critical before warning, then paging ones, then the order of the
    facts.
    """
    still = [(one, decided.get(key)) for key, one in opened.items()]
    found = [_incident(one, day, decision, rubric) for one, decision in still if _is_seen(one, day, decision)]
    of_today = {_key(fact): fact for fact in facts}
    changed = [one for key in decided if key not in opened and _is_reported_today(one := decided[key])]
    found += [_changed(of_today.get((one.rule, one.tenant_id)), one, day, rubric) for one in changed]
    order = {key: place for place, key in enumerate(of_today)}
    known_rules = titles_of_rules(rubric)
    shown = [one for one in found if one.fires or (one.is_over and one.fact.rule in known_rules)]
    return sorted(
        shown, key=lambda one: (one.fact.level != "critical", not one.pages, order.get(_key(one.fact), len(order)))
    )


def _is_seen(one: _Open, day: date, decision: RateDecision | None) -> bool:
    """Whether it fires or ends on the day: with thousands of tenants most do neither."""
    return one.seen == day or one.state == "resolved" or (decision is not None and decision.change is not None)


def _is_reported_today(decision: RateDecision) -> bool:
    """Whether a rate has changed and the day has rows that meet it, or the incident ends: a rise is not over on its
    first quiet day, but that day does not report it.
    """
    return decision.change is not None and (decision.count > 0 or decision.change == "resolved" or decision.settles)


def one_cause(found: Sequence[Incident]) -> list[list[Incident]]:
    """Groups incidents by cause, in their order: one rule, or rules with mostly the same rows."""
    groups: list[list[int]] = []  # of places
    for place, one in enumerate(found):
        same = [group for group in groups if any(_same_cause(one, found[other]) for other in group)]
        others = [group for group in groups if group not in same]
        groups = [*others, sorted([*chain(*same), place])]
    return [[found[place] for place in group] for group in sorted(groups)]


def _same_cause(one: Incident, other: Incident) -> bool:
    return one.fact.rule == other.fact.rule or other.fact.rule in one.together or one.fact.rule in other.together


def _key(fact: AlertFact) -> _Key:
    return fact.rule, fact.tenant_id


def _incident(one: _Open, day: date, decision: RateDecision | None, rubric: RowRubric) -> Incident:
    """The state of an open incident: from its facts, unless a decision overrides them."""
    no_rows = one.fact.rule == NO_ROWS
    of_facts = Incident(
        one.fact,
        day,
        rubric.id,
        rubric.version,
        one.state,
        one.began,
        one.seen,
        since_or_before=one.began_or_before,
        pages=no_rows and one.seen == day,
        paged=no_rows,
    )
    return of_facts if decision is None else _decided(of_facts, decision)


def _changed(fact: AlertFact | None, decision: RateDecision, day: date, rubric: RowRubric) -> Incident:
    """A change of a rate without an open incident: of excluded rows, or of a rule that does not fire today."""
    made = fact or rate_fact(decision, titles_of_rules(rubric)[decision.rule])
    return _decided(Incident(made, day, rubric.id, rubric.version, "continuing", day, day), decision)


def _decided(one: Incident, decision: RateDecision) -> Incident:
    """The incident under the decision about its rate."""
    found = replace(
        one,
        usual=decision.usual,
        together=decision.together,
        pages=decision.pages,
        paged=decision.paged,
        of_all=decision.of_all,
    )
    if decision.change is None or decision.since is None:
        return found
    state: IncidentState = decision.change if decision.is_news else "settled" if decision.settles else "continuing"
    if one.state == "new" and state not in ("resolved", "settled"):
        state = "new"
    return replace(found, state=state, since=decision.since, since_or_before=False, reported_on=decision.reported_on)


def _after_day(
    before: Mapping[_Key, _Open], day: date, facts: Sequence[AlertFact], is_at_rest: bool, begins_unseen: bool
) -> dict[_Key, _Open]:
    """The open incidents after one more scored day, including those that ended on it.

    A day `is_at_rest` if it has no rows because similar days have none.
    """
    known = {key: one for key, one in before.items() if one.state != "resolved" and not _is_forgotten(one)}
    # What is reported of excluded rows is decided about their rate alone, and of KPIs by their last four weeks.
    of_day = (fact for fact in facts if fact.rule != EXCLUDED_RATE_RISING and not fact.rule.startswith(KPI_RULE))
    firing = {_key(fact): fact for fact in of_day if not (is_at_rest and fact.rule == NO_ROWS and not is_unread(fact))}
    no_rows = _is_empty(facts)
    after = {key: one if no_rows else _quiet(one) for key, one in known.items() if key not in firing}
    for key, fact in firing.items():
        if key in known:
            after[key] = replace(known[key], fact=fact, state="continuing", seen=day, quiet_days=0)
        else:
            after[key] = _Open(fact, "new", day, begins_unseen, seen=day)
    return after


def _quiet(one: _Open) -> _Open:
    """The state after one more day without it. Rows are back as soon as there are any."""
    quiet = replace(one, state="continuing", quiet_days=one.quiet_days + 1)
    if quiet.fact.rule in (NO_ROWS, ROWS_REJECTED):
        over = quiet.quiet_days >= (1 if quiet.fact.rule == NO_ROWS else QUIET_DAYS)
        return replace(quiet, state="resolved") if over else quiet
    return quiet


def _is_forgotten(one: _Open) -> bool:
    """Whether it has not fired for so long that its next occurrence is a new incident."""
    return one.quiet_days >= REFERENCE_DAYS
