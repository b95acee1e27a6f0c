"""Who hears what: the filter of one subscription. Source: SPEC 8 (routes)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scoring.chat.kpis import ALL_TENANTS

NO_TENANT = ""
"""How a filter names the turns without a tenant."""


@dataclass(frozen=True)
class RouteFilter:
    """What a route wants to hear; an empty part lets everything through.

    Naming tenants asks for these chat rows, and not for test runs, which have none; naming agent types asks for their
    test runs, and not for chat rows.
    """

    levels: frozenset[str] = frozenset()
    rubrics: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    agent_types: frozenset[str] = frozenset()

    def matches_rows(self, level: str, rubric: str, tenant: str | None = ALL_TENANTS) -> bool:
        """Whether the route hears of chat rows of a tenant, or of all of them (`*`)."""
        named = NO_TENANT if tenant is None else tenant
        return self._hears(level, rubric) and not self.agent_types and (not self.tenants or named in self.tenants)

    def matches_testrun(self, level: str, rubric: str, agent_types: Collection[str]) -> bool:
        """Whether the route hears of a test run of these agents; a run may not tell its agents."""
        known = not self.agent_types or not self.agent_types.isdisjoint(agent_types)
        return self._hears(level, rubric) and not self.tenants and known

    def matches_pipeline(self, level: str) -> bool:
        """Whether the route hears of what concerns every rubric: a failed flow, a quiet week, dead letters."""
        return not self.levels or level in self.levels

    def _hears(self, level: str, rubric: str) -> bool:
        return self.matches_pipeline(level) and (not self.rubrics or rubric in self.rubrics)
