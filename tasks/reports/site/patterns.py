"""What the rows of a day have in common: kinds of questions, and questions that came again and again.

Source: SPEC 1.5.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import polars as pl

from scoring.chat.kpis import Quotient
from scoring.chat.rubric import RowRubric
from scoring.markdown import shortened
from scoring.rules.polars_backend import to_polars
from tasks.reports.site.listed_rows import FLAGGED, ListedRows

_QUESTION_CHARACTERS = 120
_MOST_QUESTIONS = 2_000

Counts = Mapping[str, int]


@dataclass(frozen=True)
class Questions:
    """Rows of one template of a question: how often each question came, and how many rows count against each KPI."""

    template: str
    questions: Counts
    counts: Counts

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(self.questions.values())

    def __add__(self, other: "Questions") -> "Questions":
        """The rows of both, which have the same template."""
        questions, counts = Counter(self.questions), Counter(self.counts)
        questions.update(other.questions)  # `+` would walk through all questions of the days before, too
        counts.update(other.counts)
        return Questions(self.template, questions, counts)


def failing_kpis(rubric: RowRubric) -> list[Quotient]:
    """The rates that should stay low."""
    return [kpi for kpi in rubric.rates.values() if kpi.target and kpi.target.operator == "<="]


def category_counts(listed: ListedRows) -> dict[str, dict[str, int]]:
    """How many rows each kind of question has, how many of them are flagged, and how many count against each KPI.

    Nothing where the rubric has no kinds of questions, or where not every row of the day is listed.
    """
    category = listed.rubric.category
    if category is None or not listed.complete:
        return {}
    counted = (
        listed.frame.drop_nulls(category.column)
        .group_by(category.column, maintain_order=True)
        .agg(
            rows=pl.len(),
            flagged=pl.col(FLAGGED).sum(),
            **{kpi.name: to_polars(kpi.counted).sum() for kpi in failing_kpis(listed.rubric)},
        )
    )
    return {row.pop(category.column): row for row in counted.to_dicts()}


def repeated_questions(listed: ListedRows) -> list[Questions]:
    """The templates of the questions whose texts are kept, the most frequent first."""
    kpis = failing_kpis(listed.rubric)
    hits = {kpi.name: listed.frame.select(to_polars(kpi.counted).fill_null(value=False)).to_series() for kpi in kpis}
    questions: dict[str, Counter[str]] = {}
    counts: dict[str, Counter[str]] = {}
    for place, (template, question) in enumerate(zip(listed.templates, listed.questions, strict=True)):
        if template and question:
            text = shortened(question, _QUESTION_CHARACTERS)
            questions.setdefault(template, Counter())[text] += 1
            counts.setdefault(template, Counter()).update(name for name, hit in hits.items() if hit[place])
    found = [Questions(template, dict(of), dict(counts[template])) for template, of in questions.items()]
    return sorted(found, key=lambda one: (-one.rows, one.template))[:_MOST_QUESTIONS]


def summed_questions(days: Iterable[Sequence[Questions]]) -> list[Questions]:
    """The templates of several days together, the most frequent first."""
    found: dict[str, Questions] = {}
    for one in chain.from_iterable(days):
        before = found.get(one.template)
        found[one.template] = one if before is None else before + one
    return sorted(found.values(), key=lambda one: (-one.rows, one.template))


def often_asked(questions: Sequence[Questions], most: int) -> list[Questions]:
    """At most so many of the templates that came more than once, the most frequent first, as they are given."""
    return [one for one in questions if one.rows > 1][:most]
