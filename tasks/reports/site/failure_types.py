"""The frequency of each failure type on the days before a day, to show which of them grew. Source: SPEC 10."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from scoring.chat.rubric import RowRubric
from tasks.reports.wording import share_text
from tasks.warehouse.day_queries import CountsOfDays, ValueCounts


@dataclass(frozen=True)
class EarlierFailures:
    """The number of the `rows` of the last scored `days` before a day by failure type."""

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


def failures_by_day(counted: CountsOfDays, rubric: RowRubric) -> dict[date, ValueCounts]:
    """The failure types among the counts of some days."""
    return {day: of_day[rubric.failure.column] for day, of_day in counted.items()}


def earlier_failures(earlier: Iterable[Mapping[str, Any]], failures: Mapping[date, ValueCounts]) -> EarlierFailures:
    """The failures on the days of `earlier` KPI rows that `failures` knows: of other days the scores are gone."""
    rows = [row for row in earlier if row["score_date"] in failures]
    counts = failure_counts((row["score_date"] for row in rows), failures)
    return EarlierFailures(len(rows), sum(row["rows"] for row in rows), dict(counts))


def failure_counts(days: Iterable[date], failures: Mapping[date, ValueCounts]) -> Counter[str]:
    """The number of rows of some days by failure type."""
    counted = Counter[str]()
    for day in days:
        for code, count in failures.get(day, ()):
            counted[code] += count
    return counted
