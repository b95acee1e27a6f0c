"""The summary of a day's rows for other pages, stored so that an unchanged day is not read again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from scoring.chat.rubric import RowRubric
from tasks.reports.site.failure_types import EarlierFailures
from tasks.reports.site.listed_rows import ListedRows
from tasks.reports.site.patterns import Questions, category_counts, repeated_questions
from tasks.warehouse.day_queries import DayValueCounts, ValueCounts


@dataclass(frozen=True)
class DaySummary:
    """Of a day: its failures and those of the days before it, kinds of questions, and questions that came often.

    `kinds` are how many rows each kind of question has; `categories` what is shown of them where all rows are listed.
    `listed` rows stand on its page of rows, which are all where it is `complete`. `asked` are the questions as JSON:
    they are most of a summary, and all days' summaries are kept together, while most pages show those of few days.
    `repeated` are the rows that are equal to an earlier one; `steps` are the links of its page to the days beside it,
    as they are written there.
    """

    listed: int
    complete: bool
    repeated: int
    failures: ValueCounts
    earlier: EarlierFailures = field(default_factory=EarlierFailures)
    categories: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    kinds: ValueCounts = ()
    asked: str = "[]"
    steps: str = ""

    @cached_property
    def questions(self) -> list[Questions]:
        """The templates of questions, the most frequent first."""
        return [Questions(**one) for one in json.loads(self.asked)]


def counted_columns(rubric: RowRubric) -> list[str]:
    """The columns of the score table that a summary counts by value."""
    return [one.column for one in (rubric.failure, rubric.category) if one]


def summarised(
    listed: ListedRows, counted: DayValueCounts, repeated: int, steps: str, earlier: EarlierFailures
) -> DaySummary:
    """What is kept of a day whose rows are listed, and whose `counted_columns` and `repeated` rows are counted."""
    rubric = listed.rubric
    failures, *kinds = (counted.get(column, ()) for column in counted_columns(rubric))
    asked = json.dumps([asdict(one) for one in repeated_questions(listed)], ensure_ascii=False, separators=(",", ":"))
    return DaySummary(
        listed=listed.frame.height,
        complete=listed.complete,
        repeated=repeated,
        failures=failures,
        earlier=earlier,
        categories=category_counts(listed),
        kinds=kinds[0] if kinds else [],
        asked=asked,
        steps=steps,
    )


def kept_summary(kept: Any) -> DaySummary | None:
    """A summary stored as JSON; None if it is missing or damaged."""
    try:
        pairs = {name: [(code, count) for code, count in kept[name]] for name in ("failures", "kinds")}
        return DaySummary(**{**kept, **pairs, "earlier": EarlierFailures(**kept["earlier"])})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
