"""How often each failure type came in the days before a day, so that one sees which of them grew. Source: SPEC 10."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from scoring.chat.rubric import RowRubric
from tasks.reports.wording import share_text
from tasks.warehouse import Warehouse
from tasks.warehouse.day_queries import ValueCounts
from tasks.warehouse.tables import SCORES


@dataclass(frozen=True)
class EarlierFailures:
    """How many of the `rows` of the last scored `days` before a day have each failure type."""

    days: int = 0
    rows: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """`앞서 채점한 7일` (Korean)."""
        return f"앞서 채점한 {self.days}일" if self.days else "앞서 채점한 날"

    def share(self, code: str) -> str:
        """The share of the rows that have a failure type; a dash without rows."""
        return share_text(self.counts.get(code, 0), self.rows)


def earlier_failures(
    warehouse: Warehouse,
    rubric: RowRubric,
    earlier: Iterable[Mapping[str, Any]],
    known: Mapping[date, ValueCounts],
) -> EarlierFailures:
    """Those of the days of `earlier` KPI rows whose scores are still there; of `known` days nothing is asked."""
    rows = list(earlier)
    if any(row["score_date"] not in known for row in rows):
        there = {*known, *warehouse.days(SCORES)}
        rows = [row for row in rows if row["score_date"] in there]
    counts = failure_counts(warehouse, rubric, [row["score_date"] for row in rows], known)
    return EarlierFailures(len(rows), sum(row["rows"] for row in rows), dict(counts))


def failure_counts(
    warehouse: Warehouse, rubric: RowRubric, days: Iterable[date], known: Mapping[date, ValueCounts]
) -> Counter[str]:
    """How many rows of some days have each failure type."""
    failure = rubric.failure.column
    counted = Counter[str]()
    for day in days:
        of_day = known[day] if day in known else warehouse.day_queries(day, rubric).value_counts([failure])[failure]
        for code, count in of_day:
            counted[code] += count
    return counted
