"""What other pages need of a day's rows, kept beside the site so that a day that has not changed is not read again.

Where a day has changed, or this program has, its pages are made anew; the file may be removed at any time.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tasks.files.atomic import write_text
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


@dataclass
class KeptSummaries:
    """The summaries of the days that a site shows, each with what its pages were made from."""

    path: Path
    known: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "KeptSummaries":
        """Those of the last build; none where there is no file, or one that is damaged."""
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            known = {}
        return cls(path, known if isinstance(known, dict) else {})

    def summary(self, day: date, inputs: str) -> DaySummary | None:
        """The summary of a day if its pages were made from these inputs."""
        kept = self.known.get(str(day))
        if not inputs or not isinstance(kept, dict) or kept.get("inputs") != inputs:
            return None
        try:
            return _summary(kept["summary"])
        except (KeyError, TypeError, ValueError, AttributeError):
            del self.known[str(day)]
            return None

    def keep(self, days: Mapping[date, tuple[str, DaySummary]]) -> None:
        """Replaces all of them; those that are known stay as they are."""
        kept = {}
        for day, (inputs, summary) in days.items():
            known = self.known.get(str(day))
            is_known = inputs and isinstance(known, dict) and known.get("inputs") == inputs
            kept[str(day)] = known if is_known else {"inputs": inputs, "summary": asdict(summary)}
        if kept != self.known:
            write_text(self.path, json.dumps(kept, ensure_ascii=False, separators=(",", ":")))


def _summary(kept: Mapping[str, Any]) -> DaySummary:
    failures = [(code, count) for code, count in kept["failures"]]
    questions = [Questions(**one) for one in kept["questions"]]
    return DaySummary(kept["listed"], kept["complete"], failures, kept["categories"], questions)
