"""What a report shows of the scored rows of a day besides their KPIs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.chat.rubric import RowRubric
from scoring.stats.intervals import Interval
from tasks.warehouse.day_queries import DayQueries

_WORST_ROWS = 20


@dataclass(frozen=True)
class Findings:
    """Failure types with their `row_count`, most first, the rows with the lowest scores, worst first, and how sure the
    means are."""

    failures: Sequence[Mapping[str, Any]]
    worst: Sequence[Mapping[str, Any]]
    mean_intervals: Mapping[str, Interval | None]


def findings_of(rubric: RowRubric, scores: DayQueries) -> Findings:
    """The findings among scores."""
    shown = (rubric.total, rubric.final_scale.column, *(part.column for part in rubric.parts), rubric.failure.column)
    columns = ["row_id", "timestamp", *shown, *filter(None, [rubric.cause]), "user_input"]
    return Findings(scores.failure_types(), scores.worst_rows(columns, _WORST_ROWS), scores.mean_intervals())
