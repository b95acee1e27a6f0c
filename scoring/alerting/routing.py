"""Which messages a route gets: the filter of one subscription. Source: SPEC 8 (routes)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scoring.chat.kpis import ALL_TENANTS

NO_TENANT = ""
"""How a filter names the turns without a tenant."""


@dataclass(frozen=True)
class RouteFilter:
    """What a route accepts; an empty part lets everything through, but never what one of the `others` accepts.

    Naming tenants asks for these chat rows, and not for test runs, which have none; naming agent types asks for their
    test runs, and not for chat rows.
    """

    levels: frozenset[str] = frozenset()
    rubrics: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    agent_types: frozenset[str] = frozenset()
    others: tuple[RouteFilter, ...] = ()

    def matches_rows(self, level: str, rubric: str, tenant: str | None = ALL_TENANTS) -> bool:
        """Whether the route accepts chat rows of a tenant, or of all of them (`*`)."""
        named = NO_TENANT if tenant is None else tenant
        matches = self._matches(level, rubric) and not self.agent_types and (not self.tenants or named in self.tenants)
        return matches and not any(other.matches_rows(level, rubric, tenant) for other in self.others)

    def matches_testrun(self, level: str, rubric: str, agent_types: Collection[str]) -> bool:
        """Whether the route accepts a test run of these agents; a test run may not name its agents."""
        of_agents = not self.agent_types or not self.agent_types.isdisjoint(agent_types)
        matches = self._matches(level, rubric) and not self.tenants and of_agents
        return matches and not any(other.matches_testrun(level, rubric, agent_types) for other in self.others)

    def matches_pipeline(self, level: str) -> bool:
        """Whether the route accepts what is not about a rubric: a failed flow, a quiet week, undelivered messages."""
        matches = not self.levels or level in self.levels
        return matches and not any(other.matches_pipeline(level) for other in self.others)

    def _matches(self, level: str, rubric: str) -> bool:
        return (not self.levels or level in self.levels) and (not self.rubrics or rubric in self.rubrics)
