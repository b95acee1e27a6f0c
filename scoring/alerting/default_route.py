"""The route of last resort: what nobody has subscribed to must still reach somebody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scoring.alerting.routing import RouteFilter
from scoring.chat.kpis import ALL_TENANTS


@dataclass(frozen=True)
class DefaultFilter(RouteFilter):
    """Lets through what none of the `others` hears; everything where there are no others."""

    others: tuple[RouteFilter, ...] = ()

    def matches_rows(self, level: str, rubric: str, tenant: str | None = ALL_TENANTS) -> bool:
        """Whether no other route hears of these chat rows."""
        return not any(other.matches_rows(level, rubric, tenant) for other in self.others)

    def matches_testrun(self, level: str, rubric: str, agent_types: Collection[str]) -> bool:
        """Whether no other route hears of this test run."""
        return not any(other.matches_testrun(level, rubric, agent_types) for other in self.others)

    def matches_pipeline(self, level: str) -> bool:
        """Whether no other route hears of the pipeline."""
        return not any(other.matches_pipeline(level) for other in self.others)
