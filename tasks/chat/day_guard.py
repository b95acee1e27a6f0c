"""Determines what a day would lose if it were replaced by the current rows of the source. Source: SPEC 6."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date

import polars as pl
import pyarrow as pa

from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.shrinkage import DayGuard, Loss, rows_by_tenant
from scoring.errors import AqbError
from tasks.chat.tables import KPIS
from tasks.state.database import StateDatabase
from tasks.state.erased_sessions import erased_rows
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.tables import SCORES

_COUNTED = pa.schema([("tenant_id", pa.string()), ("session_id", pa.string())])


class DayKeptError(AqbError):
    """The source has far fewer rows of a day than were scored: its tables are not replaced.

    `content` is the fingerprint of the current rows of the source.
    """

    def __init__(self, day: date, lost: Sequence[Loss], content: str, service: str = "") -> None:
        aqb = f"aqb --service {service}" if service else "aqb"  # otherwise other services might lose scores, too
        super().__init__(
            f"kept as it was scored: {losses_text(lost)}",
            fix="look for the missing rows (retention of the source, a moved file, a wrong monitoring.source); "
            f"if they are gone for good: {aqb} backfill --from {day} --to {day} --allow-shrink",
        )
        self.day = day
        self.losses = tuple(lost)
        self.content = content


def day_guards(warehouse: Warehouse, state: StateDatabase, days: Sequence[date]) -> dict[date, DayGuard]:
    """The guards of those of these days that have been scored.

    Raises:
        StorageError: warehouse or state database cannot be read.
    """
    written = warehouse.read(KPIS, days) if days else None
    if written is None:
        return {}
    by_day = defaultdict(list)
    for row in written.select("score_date", "tenant_id", "rows", "excluded").collect().iter_rows(named=True):
        by_day[row["score_date"]].append(row)
    erased = erased_rows(state, list(by_day))
    return {
        day: DayGuard(rows_by_tenant(rows), _left_of(warehouse, day, erased[day]) if day in erased else {})
        for day, rows in by_day.items()
    }


def _left_of(warehouse: Warehouse, day: date, erased: Counter[str | None]) -> dict[str | None, int]:
    """The rows of erased sessions that a day still has, by tenant and for all (`*`): at most those without a session.

    Rows that the source no longer holds are gone since the day was scored again.
    """
    scores = table_rows(warehouse, SCORES, _COUNTED, [day]).filter(pl.col("session_id").is_null())
    without = dict(scores.group_by("tenant_id").len().collect().iter_rows())
    left = {tenant: min(count, without.get(tenant, 0)) for tenant, count in erased.items()}
    return left | {ALL_TENANTS: sum(left.values())}


def losses_text(lost: Sequence[Loss]) -> str:
    """The losses, in one line."""
    parts = [f"{_name(one.tenant_id)} had {one.before:,} rows, the source holds {one.now:,}" for one in lost[:3]]
    return "; ".join(parts) + (f"; {len(lost) - 3} more tenants" if len(lost) > 3 else "")


def _name(tenant: str | None) -> str:
    return {ALL_TENANTS: "the day", None: "rows without tenant"}.get(tenant, f"tenant {tenant}")
