"""Detects that replacing a scored day would lose rows by accident: such a day is not replaced.

A source that has deleted a day (retention), a file that was moved, or a wrong address must not erase scores.

Source: SPEC 6.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.chat.kpis import ALL_TENANTS

TENANT_MIN_ROWS = 30
"""A tenant with fewer scored rows is not checked separately, nor are fewer excluded rows: such counts vary too much."""
_SHRINKS_BELOW = 2  # the fraction (one in so many) that must remain


@dataclass(frozen=True)
class TenantRows:
    """Rows of one tenant on one day: scored rows, and excluded rows (a text was NULL)."""

    scored: int = 0
    excluded: int = 0

    @property
    def both(self) -> int:
        """Scored and excluded rows."""
        return self.scored + self.excluded


@dataclass(frozen=True)
class Loss:
    """Rows that a tenant (`*` for all, None for rows without one) had on a day, and those that the source has now."""

    tenant_id: str | None
    before: int
    now: int


RowsByTenant = Mapping[str | None, TenantRows]
"""Rows by tenant; `*` is all tenants."""


def rows_by_tenant(kpis: Iterable[Mapping[str, Any]]) -> dict[str | None, TenantRows]:
    """The row counts from the KPI rows of one day."""
    return {row["tenant_id"]: TenantRows(row["rows"], row["excluded"]) for row in kpis}


@dataclass(frozen=True)
class DayGuard:
    """The rows of a day in the tables by tenant, and those of them that belong to erased sessions."""

    before: RowsByTenant
    erased: Mapping[str | None, int]

    def losses(self, now: RowsByTenant) -> tuple[Loss, ...]:
        """What replacing the day by these rows would lose: over all rows, else for single tenants, the largest loss
        first.

        Empty if the day may be replaced. A day, or a tenant with at least `TENANT_MIN_ROWS` scored rows, counts as lost
        if fewer than half of its scored rows are left, or no rows at all. Rows of erased sessions do not count. It also
        counts as lost if more than half of at least `TENANT_MIN_ROWS` excluded rows are gone and not scored now: a
        source that has stopped to give rows without an answer must not remove an outage from the history.
        """
        found = []
        for tenant, counts in self.before.items():
            left = now.get(tenant, TenantRows())
            expected = TenantRows(max(0, counts.scored - self.erased.get(tenant, 0)), counts.excluded)
            if tenant != ALL_TENANTS and counts.scored < TENANT_MIN_ROWS:
                continue
            gone = counts.excluded - left.excluded - max(0, left.scored - expected.scored)
            if expected.scored > _SHRINKS_BELOW * left.scored:
                found.append(Loss(tenant, expected.scored, left.scored))
            elif (expected.both and not left.both) or (
                counts.excluded >= TENANT_MIN_ROWS and _SHRINKS_BELOW * gone > counts.excluded
            ):
                found.append(Loss(tenant, expected.both, left.both))
        of_all = tuple(one for one in found if one.tenant_id == ALL_TENANTS)
        return of_all or tuple(sorted(found, key=lambda one: (-one.before, one.tenant_id or "")))

    def most_replaceable(self, now: RowsByTenant) -> dict[str | None, int]:
        """The largest numbers of scored rows by tenant that the day may have for these rows to replace it."""
        return {
            tenant: _SHRINKS_BELOW * now.get(tenant, TenantRows()).scored + self.erased.get(tenant, 0)
            for tenant in {*now, *self.erased}
        }


NOT_SCORED = DayGuard({}, {})
"""A day that is in no table: nothing can be lost."""
