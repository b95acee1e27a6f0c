"""Which rises interrupt people: one cause pages once, also where its parts are found on different days.

A cause that has paged goes on while its rise does. Part of it is, unless the day would page even if the rate that was
reported, of the day of the page or of all days up to it, were usual, or it was over meanwhile and has risen anew:

    a tenant, of a rise of all tenants together (a route that names the tenant still hears of it)
    a rule, of another one of the tenant that has mostly the same rows
    all tenants together, of tenants that have paged and make most of the rise

Source: SPEC 8.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from scoring.alerting.rates import chance_of
from scoring.alerting.watch import Watch
from scoring.chat.kpis import ALL_TENANTS
from scoring.stats.distributions import Array

RulesTogether = Callable[[int, int], tuple[str, ...]]
"""The rules that have mostly the rows of a stream on a day (its number)."""


@dataclass(frozen=True)
class Pages:
    """What interrupts people, [streams, days]: `pages`, and which of these are tenants' parts of one `of_all`."""

    pages: Array
    of_all: Array


def first_pages(watched: Watch, together: RulesTogether) -> Pages:
    """The pages of the rules watched without those about a cause that has paged before."""
    rises = watched.episodes.pages
    found = Pages(np.zeros_like(rises), np.zeros_like(rises))
    for number, stream in np.argwhere(rises.T):  # day by day, all tenants together first
        causes = _Causes(watched, found.pages, number)
        same = {watched.rules[stream].id, *together(stream, number)}
        found.pages[stream, number] = not causes.has_its_rows(stream, same) and not causes.has_its_tenants(stream)
        found.of_all[stream, number] = causes.has_all(stream, same)
    return found


@dataclass(frozen=True)
class _Causes:
    """The rises that have paged (`pages`, [streams, days]) and go on on a day."""

    watched: Watch
    pages: Array
    day: int

    def has_all(self, stream: int, same: Collection[str]) -> bool:
        """Whether a tenant's rise is part of one of all tenants together, of one of the `same` rules."""
        of_all = [other for other in self._others(stream, ALL_TENANTS) if self.watched.rules[other].id in same]
        return any(self.pages[other, self.day] or self._is_part(stream, other) for other in of_all)

    def has_its_rows(self, stream: int, same: Collection[str]) -> bool:
        """Whether another of the `same` rules of the tenant has paged before; on the same day they share a page."""
        others = self._others(stream, self.watched.rules[stream].tenant_id)
        return any(self.watched.rules[other].id in same and self._is_part(stream, other) for other in others)

    def has_its_tenants(self, stream: int) -> bool:
        """Whether more than half of a rise of all tenants together is that of tenants that have paged before."""
        rules, rule = self.watched.rules, self.watched.rules[stream]
        if rule.tenant_id != ALL_TENANTS:
            return False
        parts = [other for other in range(len(rules)) if other != stream and rules[other].id == rule.id]
        risen = sum(self._risen(other, stream) for other in parts if self._is_part(stream, other))
        return 2 * risen > self._risen(stream, stream)

    def _others(self, stream: int, tenant: str | None) -> list[int]:
        rules = self.watched.rules
        return [other for other in range(len(rules)) if other != stream and rules[other].tenant_id == tenant]

    def _is_part(self, stream: int, cause: int) -> bool:
        """Whether a rise is part of a cause that has paged before today: its rate is no higher than it was then, on the
        day of the page or on all days up to it, and was not back since.
        """
        streams, episodes, today = self.watched.streams, self.watched.episodes, (stream, [self.day])
        if (reported := self._days_reported(cause)) is None or episodes.ended[stream, reported.stop : self.day].any():
            return False
        counts, rows = streams.counts[stream, reported], streams.rows[stream, reported]
        of_cause = max(counts.sum() / max(rows.sum(), 1), counts[-1] / max(rows[-1], 1))
        rate = episodes.rate[today].clip(min=of_cause)
        chance = chance_of(streams.counts[today], streams.rows[today], rate, episodes.variance[today])
        return bool(chance[0] >= self.watched.budget.levels(episodes.rate[:, self.day]).paged_chance[stream])

    def _days_reported(self, cause: int) -> slice | None:
        """From the day on which an open episode rose to that of its last page before today, None without one."""
        episodes = self.watched.episodes
        since = int(episodes.since[cause, self.day])
        paged = self.pages[cause, since : self.day].nonzero()[0]
        if not episodes.change[cause, self.day] or not episodes.had_paged[cause, self.day] or not len(paged):
            return None
        return slice(since, since + int(paged[-1]) + 1)

    def _risen(self, stream: int, cause: int) -> float:
        """How many rows more than usual a stream has had since a cause rose."""
        episodes, days = self.watched.episodes, slice(int(self.watched.episodes.since[cause, self.day]), self.day + 1)
        counts, rows = self.watched.streams.counts[stream, days], self.watched.streams.rows[stream, days]
        return float((counts - rows * episodes.rate[stream, days]).sum())
