"""Detects when the rate of a stream rose and when it returned: processes the days in order, all streams at once.

A stream is calm, or in an episode: it rose on one day (`rising`), or has been higher than before for days (`drifting`).
The days of an open episode are excluded from the reference; an episode is reported again if its rate doubles or grows
once more. An episode ends when the rate has returned. Then the days of a significant rise stay excluded from the
reference, while a merely reported rise may have been chance: without its days the remaining ones would look calmer than
the stream is. An episode also ends after `REFERENCE_DAYS`, or when people accept its rate: then its days become the
reference, and earlier days are dropped.

Source: SPEC 8.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from scoring.alerting.rates import (
    REFERENCE_DAYS,
    Lasting,
    Prior,
    Usual,
    chance_of,
    evidence_of_return,
    lasting_rise,
    usual_range,
    usual_rates,
)
from scoring.stats.distributions import Array

MIN_COUNT = 5
"""Minimum number of matching rows for a report based on one day alone. Source: SPEC 8."""

COLD_DAYS, COLD_MIN_COUNT = 7, 10
"""Number of days that are too few for a history; and the minimum number of matching rows on them without a prior rate.
"""

WORSE_TIMES = 2
"""A reported rate is reported again at this multiple."""

_NO_CHANCE = 0.01
"""A rise with at most this share of the probability of a reported one is treated as certainly not chance."""

_KNOWN_EVENTS = 1.0

_RETURN_EVIDENCE = log(30)
"""A rate has returned if the days since are 30 times more probable under the usual rate than under a high one (log
scale). With a lower factor a lasting rise would be called over on a quiet day, and reported again on the next.
"""

CALM, RISING, DRIFTING = 0, 1, 2

_ALL = slice(None)


@dataclass(frozen=True)
class Streams:
    """Counts and rows ([streams, days], 0 rows for a day without any) of scored days, some of which are days `off`.

    `accepted` ([streams]) is the day (its index, or -1) whose rate people have accepted as usual.
    """

    counts: Array
    rows: Array
    off: Array
    prior: Prior
    accepted: Array


@dataclass(frozen=True)
class Levels:
    """Thresholds for reports and pages, [streams]: the probability of one day, the log evidence of a lasting rise."""

    reported_chance: Array
    paged_chance: Array
    reported_evidence: Array
    paged_evidence: Array


@dataclass(frozen=True)
class FalseAlarmBudget:
    """Allowed false reports and pages a day for all rules of a tenant together, [streams]: by single days, and by
    several days together; a rule with 0 never pages. `tenant` is the index of each stream's tenant.
    """

    tenant: Array
    reported_day: Array
    reported_lasting: Array
    paged_day: Array
    paged_lasting: Array

    def levels(self, rate: Array) -> Levels:
        """The thresholds of each rule: the budget of its tenant is divided in proportion to usual rates.

        With ten times the rows a rule detects a small rise days sooner; a rare rule detects none at any level.
        """
        reported, paged = self._shares(rate), self._shares(rate * (self.paged_day > 0))
        paged_chance = self.paged_day * paged
        with np.errstate(divide="ignore"):
            paged_evidence = -np.log(self.paged_lasting * paged)
        return Levels(
            reported_chance=np.maximum(paged_chance, self.reported_day * reported),
            paged_chance=paged_chance,
            reported_evidence=np.minimum(paged_evidence, -np.log(self.reported_lasting * reported)),
            paged_evidence=paged_evidence,
        )

    def _shares(self, rate: Array) -> Array:
        shares: Array = rate / np.bincount(self.tenant, rate)[self.tenant]
        return shares


@dataclass(frozen=True)
class Episodes:
    """The result of each day for each stream, [streams, days].

    `change` is RISING or DRIFTING while an episode is open, `since` the index of the day on which it began, and
    `reported_on` that of the day on which it was first reported, however much it has grown since. The next are true or
    false: `reported`: it begins on this day or is worse than reported. `pages`: it interrupts. `ended`: a reported one
    is over (then `since` is its beginning). `settled`: its rate has lasted and becomes the usual one from the next day
    on. `had_paged`: the episode has paged. `rate`, `variance` (relative) and `days` describe the usual rate for the
    day; `last` is the usual rate after the last day.
    """

    change: Array
    since: Array
    reported_on: Array
    reported: Array
    pages: Array
    ended: Array
    settled: Array
    had_paged: Array
    rate: Array
    variance: Array
    days: Array
    last: Usual


def follow(streams: Streams, budget: FalseAlarmBudget) -> Episodes:
    """Processes the days in order and finds the episodes of every stream."""
    follower = _Follower(streams, budget)
    shape = streams.counts.shape
    whole = {name: np.zeros(shape, int) for name in ("change", "since", "reported_on", "days")}
    flags = {name: np.zeros(shape, bool) for name in ("reported", "pages", "ended", "settled", "had_paged")}
    figures = {name: np.zeros(shape) for name in ("rate", "variance")}
    found = whole | flags | figures
    for day in range(shape[1]):
        for name, values in follower.after(day).items():
            found[name][:, day] = values
    return Episodes(**found, last=follower.usual())


class _Follower:
    """The state of the streams during the pass over the days.

    `_recent` are the indexes of the last days that count, -1 if there are fewer; the last `_open_days` of them belong
    to the open episode, and the last `_level_days` of these follow its latest report. In the last `_days_back` days the
    evidence for a return has grown (`_returned`). For ended rises whose days still count, the rise is known: the next
    one is searched in the `_days_since` then. `_risen` is the index of the day since which the rate is as high as last
    reported, `_paged_on` that of its last page. An open episode that paged, or whose rise is far beyond chance, is
    `_no_chance`.
    """

    def __init__(self, streams: Streams, budget: FalseAlarmBudget) -> None:
        count = len(streams.counts)
        self._streams, self._budget, self._each = streams, budget, np.arange(count)[:, None]
        self._recent = np.full((count, 2 * REFERENCE_DAYS), -1)
        self._change, self._since, self._reported_on = (np.zeros(count, int) for _ in range(3))
        self._risen, self._paged_on = np.zeros(count, int), np.zeros(count, int)
        self._open_days, self._level_days = np.zeros(count, int), np.zeros(count, int)
        self._paged, self._no_chance = np.zeros(count, bool), np.zeros(count, bool)
        self._reported_rate, self._reported_times, self._returned = (np.zeros(count) for _ in range(3))
        self._days_back, self._days_since = np.zeros(count, int), np.full(count, REFERENCE_DAYS)

    def usual(self) -> Usual:
        """The usual rate after the last days that count, without those of an open episode."""
        place = np.arange(2 * REFERENCE_DAYS) - self._open_days[:, None]
        numbers = np.where(place < 0, -1, np.take_along_axis(self._recent, np.maximum(place, 0), 1))
        return usual_rates(*self._of_days(numbers), self._streams.prior)

    def after(self, day: int) -> dict[str, Array]:
        """The day's columns of `Episodes`."""
        seen = self._streams.rows[:, day] > 0
        usual = self.usual()
        rate, variance = usual.on(bool(self._streams.off[day]))
        days = (self._recent >= 0).sum(1) - self._open_days
        chance = chance_of(self._streams.counts[:, day], self._streams.rows[:, day], rate, variance)
        is_above = self._streams.counts[:, day] > self._streams.rows[:, day] * rate  # else today is not what rose
        lasting = self._lasting(day, usual, seen & (is_above | (self._change != CALM)))
        levels, enough = self._budget.levels(rate), self._enough(day, days)
        reported_day, paged_day = enough & (chance < levels.reported_chance), enough & (chance < levels.paged_chance)
        reported_lasting = seen & is_above & (lasting.log_evidence > levels.reported_evidence)
        paged = paged_day | (seen & (lasting.log_evidence > levels.paged_evidence))

        ended = seen & (self._change != CALM) & ~reported_day & self._back(day, usual)
        ended_since, had_paged = self._since.copy(), self._paged.copy()
        self._days_since[ended & ~self._no_chance] = 0
        self._forget(ended & self._no_chance)
        self._close(ended)
        begun = self._begin(day, (self._change == CALM) & ~ended, reported_day, reported_lasting, lasting)
        growing = self._growing(day)
        grown = seen & (self._change != CALM) & ~begun & (growing.log_evidence > levels.reported_evidence)
        paged |= grown & (growing.log_evidence > levels.paged_evidence)
        self._rise(day, grown, growing.days - 1)  # its earlier days stay in the episode: they are no reference
        begun |= grown
        worse = self._worse(day, begun, reported_day)
        self._reported_times = np.where(begun | worse, self._reported_rate / rate, self._reported_times)
        self._returned, self._days_back = (np.where(begun | worse, 0, of) for of in (self._returned, self._days_back))
        pages = paged & (~self._paged | worse) & (self._change != CALM)
        self._paged |= pages
        self._note_reported(day, pages)
        self._paged_on = np.where(pages, day, self._paged_on)
        no_chance = enough & (chance < _NO_CHANCE * levels.reported_chance)
        no_chance |= seen & is_above & (lasting.log_evidence > levels.reported_evidence - log(_NO_CHANCE))
        self._no_chance |= pages | (no_chance & (self._change != CALM))
        reported = begun | worse
        self._level_days = np.where(reported | pages, 0, self._level_days)
        self._go_on(day, seen)
        found = {
            "change": self._change.copy(),
            "since": np.where(ended, ended_since, self._since),
            "reported_on": self._reported_on.copy(),
            "reported": reported,
            "pages": pages,
            "ended": ended,
            "had_paged": np.where(ended, had_paged, self._paged),
            "rate": rate,
            "variance": variance,
            "days": days,
        }
        return found | {"settled": self._settle(day)}

    def _of_days(self, numbers: Array, which: Array | slice = _ALL) -> tuple[Array, Array, Array]:
        """Counts, rows and kind of these days of each stream."""
        streams, known, each = self._streams, numbers >= 0, self._each[which]
        return streams.counts[each, numbers] * known, streams.rows[each, numbers] * known, streams.off[numbers]

    def _with(self, day: int, which: Array) -> Array:
        return np.concatenate([self._recent[which], np.full((len(which), 1), day)], axis=1)

    def _lasting(self, day: int, usual: Usual, asked: Array) -> Lasting:
        """The evidence for a lasting rise of the requested streams (`asked`); none for others.

        It takes most of the time, and with thousands of tenants most streams have no matching row on a day.
        """
        which = asked.nonzero()[0]
        days, prior = self._of_days(self._with(day, which), which), self._streams.prior.of(which)
        found = lasting_rise(*days, usual.of(which), prior, COLD_DAYS, self._days_since[which] + 1)
        return self._nothing_but(found, which)

    def _nothing_but(self, found: Lasting, which: Array) -> Lasting:
        """Expands the evidence of some streams to all: the others have none."""
        whole = Lasting(np.full(len(self._change), -np.inf), np.ones(len(self._change), int))
        whole.log_evidence[which], whole.days[which] = found.log_evidence, found.days
        return whole

    def _enough(self, day: int, days: Array) -> Array:
        """Whether enough rows met the rule to report the day by itself."""
        unknown = (days < COLD_DAYS) & (self._streams.prior.events < _KNOWN_EVENTS)
        enough: Array = self._streams.counts[:, day] >= np.where(unknown, COLD_MIN_COUNT, MIN_COUNT)
        return enough

    def _back(self, day: int, usual: Usual) -> Array:
        """Whether the days since an episode began show that the rate is as before (CUSUM of their evidence), and this
        day is within the usual range.
        """
        which, evidence = (self._change != CALM).nonzero()[0], np.zeros(len(self._change))
        counts, rows = self._streams.counts[which, day], self._streams.rows[which, day]
        is_off, reported_times = bool(self._streams.off[day]), self._reported_times[which]
        most_rows = np.maximum(rows, self._streams.rows[which, self._since[which]])  # a Sunday can report little
        reportable = MIN_COUNT / np.maximum(most_rows, 1)
        evidence[which] = evidence_of_return(counts, rows, usual.of(which), is_off, reported_times, reportable)
        self._returned = np.maximum(self._returned + evidence, 0)
        self._days_back = np.where(self._returned > 0, self._days_back + (self._streams.rows[:, day] > 0), 0)
        rate, variance = usual.on(is_off)
        _, highest = usual_range(self._streams.rows[:, day], rate, variance)
        is_usual: Array = self._rate_of(day) <= highest
        return is_usual & (self._returned >= _RETURN_EVIDENCE)

    def _begin(self, day: int, calm: Array, reported_day: Array, reported_lasting: Array, lasting: Lasting) -> Array:
        """Opens episodes today; those of a lasting rise include the earlier days that belong to it."""
        begun: Array = calm & (reported_day | reported_lasting)
        drifts = begun & ~reported_day & (lasting.days > 1)
        before = np.where(drifts, lasting.days - 1, 0)
        self._rise(day, begun, before)
        self._reported_on = np.where(begun, day, self._reported_on)
        self._open_days = np.where(begun, before, self._open_days)
        return begun

    def _rise(self, day: int, which: Array, before: Array) -> None:
        """Records a rise that is reported today, began so many days ago, and has not paged."""
        first = self._recent[self._each[:, 0], -np.maximum(before, 1)]
        self._change = np.where(which, np.where(before > 0, DRIFTING, RISING), self._change)
        self._since = np.where(which, np.where(before > 0, first, day), self._since)
        self._risen = np.where(which, self._since, self._risen)
        self._paged &= ~which

    def _growing(self, day: int) -> Lasting:
        """The evidence that the rate has risen since an open episode was reported, compared with the days since then;
        none on a day that is no higher than these.
        """
        which = (self._level_days >= COLD_DAYS).nonzero()[0]
        numbers, prior = self._with(day, which), self._streams.prior.of(which)
        is_since = np.arange(numbers.shape[1])[::-1] <= self._level_days[which, None]
        numbers = np.where(is_since, numbers, -1)
        usual = usual_rates(*self._of_days(numbers[:, :-1], which), prior)
        found = lasting_rise(*self._of_days(numbers, which), usual, prior, COLD_DAYS, REFERENCE_DAYS)
        rate, _ = usual.on(bool(self._streams.off[day]))
        is_higher = self._streams.counts[which, day] > self._streams.rows[which, day] * rate
        return self._nothing_but(Lasting(np.where(is_higher, found.log_evidence, -np.inf), found.days), which)

    def _worse(self, day: int, begun: Array, reported_day: Array) -> Array:
        """Whether the rate of an open episode is twice the highest reported one; records the rate reported today."""
        rate = self._rate_of(day)
        worse: Array = reported_day & (self._change != CALM) & ~begun & (rate >= WORSE_TIMES * self._reported_rate)
        self._reported_rate = np.where(begun | worse, rate, self._reported_rate)
        self._risen = np.where(worse, day, self._risen)
        return worse

    def _note_reported(self, day: int, pages: Array) -> None:
        """Records the rate of a page, which counts as reported."""
        self._reported_rate = np.where(pages, np.maximum(self._reported_rate, self._rate_of(day)), self._reported_rate)

    def _rate_of(self, day: int) -> Array:
        rate: Array = self._streams.counts[:, day] / np.maximum(self._streams.rows[:, day], 1)
        return rate

    def _forget(self, which: Array) -> None:
        """Removes the days of episodes from the reference, except those since the rate returned."""
        days = self._recent.shape[1]
        for stream in np.flatnonzero(which):
            since_back = min(self._days_back[stream] - 1, self._open_days[stream])  # without today
            high = slice(days - self._open_days[stream], days - since_back)
            kept = np.delete(self._recent[stream], high)
            self._recent[stream] = np.concatenate([np.full(days - len(kept), -1), kept])

    def _settle(self, day: int) -> Array:
        """Makes the rate of an episode the usual one if it has lasted long enough, or if people accept it today;
        returns the episodes that nobody has accepted.

        Long enough is measured from its last rise, or from its page if that came later, unless few days before the
        episode are left.
        """
        days, is_open = self._recent.shape[1], self._change != CALM
        first_days = (self._risen, np.maximum(self._risen, self._paged_on))
        since_rise, since_told = ((self._recent >= first[:, None]).sum(1) for first in first_days)
        accepted = self._streams.accepted == day
        by_itself = is_open & ((since_told >= REFERENCE_DAYS) | accepted)
        settled = by_itself | (is_open & (self._open_days >= days - COLD_DAYS))
        kept = np.where(by_itself, np.minimum(since_rise, REFERENCE_DAYS), self._open_days)
        for stream in np.flatnonzero(settled):
            self._recent[stream, : days - kept[stream]] = -1
        self._close(settled)
        unnoticed: Array = settled & ~accepted
        return unnoticed

    def _close(self, which: Array) -> None:
        self._change[which] = CALM
        self._open_days[which] = self._level_days[which] = 0
        self._paged[which] = self._no_chance[which] = False

    def _go_on(self, day: int, seen: Array) -> None:
        is_open = seen & (self._change != CALM)
        self._open_days += is_open
        self._level_days += is_open
        self._days_since += seen
        self._recent[seen] = self._with(day, seen.nonzero()[0])[:, 1:]
