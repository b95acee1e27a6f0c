"""What other pages need of a day's rows: it is kept, so that a day that has not changed is not read again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.reports.site.listed_rows import ListedRows
from tasks.reports.site.patterns import Questions, category_counts, repeated_questions
from tasks.reports.site.scored_days import SiteDay
from tasks.warehouse import Warehouse


@dataclass(frozen=True)
class DaySummary:
    """Of a day: its failures and kinds of questions, and questions that came often.

    `listed` rows stand on its page of rows, which are all where it is `complete`.
    """

    listed: int
    complete: bool
    failures: Sequence[tuple[str, int]]
    categories: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    questions: Sequence[Questions] = ()


def summarised(warehouse: Warehouse, day: SiteDay, listed: ListedRows) -> DaySummary:
    """What is kept of a day whose rows are listed."""
    column, queries = listed.rubric.failure.column, warehouse.day_queries(day.day, listed.rubric)
    failures = [(failure[column], failure["row_count"]) for failure in queries.failure_types()]
    categories, questions = category_counts(listed), repeated_questions(listed)
    return DaySummary(listed.frame.height, listed.complete, failures, categories, questions)


def kept_summary(kept: Any) -> DaySummary | None:
    """A summary that was kept as JSON; None where there is none, or it is damaged."""
    try:
        failures = [(code, count) for code, count in kept["failures"]]
        questions = [Questions(**one) for one in kept["questions"]]
        return DaySummary(kept["listed"], kept["complete"], failures, kept["categories"], questions)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
