"""Decides which rises interrupt people: one cause pages once, even if its parts are found on different days.

A cause that has paged continues as long as its rise does. These count as part of it, unless the day would page even
with the reported rate (that of the page's day, or of all days up to it) as the usual one, or the cause was over
meanwhile and has risen again:

    a tenant, of a rise of all tenants together (a route that names the tenant is still notified)
    a rule, of another rule of the tenant with mostly the same rows
    all tenants together, of tenants that have paged and cause most of the rise

Source: SPEC 8.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scoring.alerting.rates import chance_of
from scoring.alerting.watch import Watch
from scoring.chat.kpis import ALL_TENANTS
from scoring.stats.distributions import Array

RulesTogether = Callable[[int, int], tuple[str, ...]]
"""The rules with mostly the same rows as a stream on a day (by its index)."""


@dataclass(frozen=True)
class Pages:
    """Rises that interrupt people, [streams, days]: `pages`, and those that are a tenant's part of a rise of all
    (`of_all`).
    """

    pages: Array
    of_all: Array


def first_pages(watched: Watch, together: RulesTogether) -> Pages:
    """The pages of the watched rules, without those about a cause that has paged before."""
    rises, of_tenant = watched.episodes.pages, defaultdict[str | None, list[int]](list)
    for stream, rule in enumerate(watched.rules):
        of_tenant[rule.tenant_id].append(stream)
    found = Pages(np.zeros_like(rises), np.zeros_like(rises))
    for number in np.flatnonzero(rises.any(0)).tolist():
        causes = _Causes(watched, of_tenant, found, number)
        for stream in np.flatnonzero(rises[:, number]).tolist():  # all tenants together first
            same = {watched.rules[stream].id, *together(stream, number)}
            is_known = causes.has_its_rows(stream, same) or causes.has_its_tenants(stream)
            found.pages[stream, number] = not is_known
            found.of_all[stream, number] = causes.has_all(stream, same)
    return found


@dataclass(frozen=True)
class _Causes:
    """The rises that have paged (`found`) and continue on a day; `of_tenant` are the streams of each tenant."""

    watched: Watch
    of_tenant: Mapping[str | None, Sequence[int]]
    found: Pages
    day: int

    @cached_property
    def paged_chance(self) -> Array:
        """The probability below which a rate of the day pages, by stream."""
        return self.watched.budget.levels(self.watched.episodes.rate[:, self.day]).paged_chance

    def has_all(self, stream: int, same: Collection[str]) -> bool:
        """Whether a tenant's rise is part of one of all tenants together, of one of the `same` rules."""
        of_all = [other for other in self._others(stream, ALL_TENANTS) if self.watched.rules[other].id in same]
        return any(self.found.pages[other, self.day] or self._is_part(stream, other) for other in of_all)

    def has_its_rows(self, stream: int, same: Collection[str]) -> bool:
        """Whether another of the `same` rules of the tenant has paged before; rules that page on the same day share a
        page.
        """
        others = self._others(stream, self.watched.rules[stream].tenant_id)
        return any(self.watched.rules[other].id in same and self._is_part(stream, other) for other in others)

    def has_its_tenants(self, stream: int) -> bool:
        """Whether tenants that have paged before cause more than half of a rise of all tenants together."""
        rules, rule = self.watched.rules, self.watched.rules[stream]
        if rule.tenant_id != ALL_TENANTS:
            return False
        parts = [other for other in range(len(rules)) if other != stream and rules[other].id == rule.id]
        risen = sum(self._risen(other, stream) for other in parts if self._is_part(stream, other))
        return 2 * risen > self._risen(stream, stream)

    def _others(self, stream: int, tenant: str | None) -> list[int]:
        return [other for other in self.of_tenant[tenant] if other != stream]

    def _is_part(self, stream: int, cause: int) -> bool:
        """Whether a rise is part of a cause that has paged before today: its rate is no higher than it was then, on the
        day of the page or on all days up to it, and has not returned to usual since.
        """
        streams, episodes, today = self.watched.streams, self.watched.episodes, (stream, [self.day])
        reported = self._days_reported(stream, cause)
        if reported is None or episodes.ended[stream, reported.stop : self.day].any():
            return False
        counts, rows = streams.counts[stream, reported], streams.rows[stream, reported]
        of_cause = max(counts.sum() / max(rows.sum(), 1), counts[-1] / max(rows[-1], 1))
        rate = episodes.rate[today].clip(min=of_cause)
        chance = chance_of(streams.counts[today], streams.rows[today], rate, episodes.variance[today])
        return bool(chance[0] >= self.paged_chance[stream])

    def _days_reported(self, stream: int, cause: int) -> slice | None:
        """The days from the rise of an open episode to its last page before today, None without one.

        A page of another tenant that was part of a rise of all was no news to those who hear of all tenants.
        """
        episodes, rules = self.watched.episodes, self.watched.rules
        since = int(episodes.since[cause, self.day])
        pages, of_all = (one[cause, since : self.day] for one in (self.found.pages, self.found.of_all))
        paged = (pages & (~of_all | (rules[cause].tenant_id in (ALL_TENANTS, rules[stream].tenant_id)))).nonzero()[0]
        if not episodes.change[cause, self.day] or not episodes.had_paged[cause, self.day] or not len(paged):
            return None
        return slice(since, since + int(paged[-1]) + 1)

    def _risen(self, stream: int, cause: int) -> float:
        """The number of rows above usual of a stream since a cause rose."""
        episodes, days = self.watched.episodes, slice(int(self.watched.episodes.since[cause, self.day]), self.day + 1)
        counts, rows = self.watched.streams.counts[stream, days], self.watched.streams.rows[stream, days]
        return float((counts - rows * episodes.rate[stream, days]).sum())
