"""The tables and keys of a rubric file for test runs. Editors use its JSON schema."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from scoring.rubric_files.shape import (
    ARRAY,
    FileTable,
    Given,
    Grades,
    Name,
    RubricHead,
    Rule,
    Text,
    Way,
    editor_schema,
)

_Texts = Annotated[tuple[Text, ...], ARRAY]


class RecognitionTable(FileTable):
    """How a file of a test run is recognised as one for this rubric, if `test_runs.rubrics` names the rubric."""

    file_names: _Texts = ()
    """Prefixes of the file's name, in small letters."""

    columns: _Texts = ()
    """Headers, one of which the file must have, as named in the file or in `[test_runs.columns]`."""


class CheckTable(FileTable):
    """A check: every answer passes or fails it."""

    title: Text
    when: Rule
    """The condition of an answer that passes, in GoogleSQL."""

    only_if: Rule | None = None
    """The answers that are checked. Left out: all."""

    weight: Annotated[int, Field(ge=1, le=1_000)] = 1
    """Its weight among the checks."""


class ScaleTable(FileTable):
    """Points of a judge's scale."""

    points: Annotated[int, Field(ge=0, le=5)]
    means: Text
    """The meaning of the points."""


class GuardTable(FileTable):
    """A condition that limits the points of a judge."""

    when: Rule
    at_most: Annotated[int, Field(ge=0, le=5)]
    """The maximum points; if they are the lowest of the scale, the judge is not asked."""

    label: Text
    """What was found when it is true."""


class MetricTable(Given):
    """A score from 0 to 5 of every execution; an execution without an answer has 0."""

    ways: ClassVar[tuple[Way, ...]] = (*Given.ways, Way("sum"), Way("prompt", ("scale", "sees"), ("guards",)))

    title: Text
    only_if: Rule | None = None
    """The executions that have a score. Left out: all, also those without an answer."""

    sum: Annotated[tuple[Rule | Given, ...], ARRAY, Field(min_length=1, max_length=20)] = ()
    """The terms of the sum."""

    prompt: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    """The judge's instruction for the metric; scale, material and the format of the answer are added."""

    scale: Annotated[tuple[ScaleTable, ...], ARRAY, Field(min_length=2, max_length=6)] = ()
    """The points of the scale."""

    sees: Annotated[tuple[str, ...], ARRAY, Field(min_length=1, max_length=20)] = ()
    """The columns of an answer that are sent to the judge."""

    guards: Annotated[tuple[GuardTable, ...], ARRAY, Field(max_length=20)] = ()
    """The limits of the judge's points."""

    per_query: bool = False
    """Whether the metric is scored per query, from the columns of queries: `rounds`, `unanswered`, and of each metric
    above `NAME_score`, its mean, and `NAME_same`, the share of the rounds with the most frequent points.
    """


class TotalTable(FileTable):
    """The weighted total of a query, from 0 to 5."""

    weights: Annotated[dict[str, Annotated[int, Field(ge=1, le=100)]], Field(min_length=1, max_length=20)]
    """Metrics with their weights in percent, which add up to 100."""

    grades: Grades | None = None
    """The verdicts on a query by its total, from best to worst."""


class ReviewTable(FileTable):
    """A condition that flags a query for manual review."""

    title: Text
    when: Rule
    """The condition, over the columns of queries with `weighted_total`, `weight_coverage` and `verdict`."""


class TestRunRubricFile(RubricHead):
    """A rubric that scores test runs: checks and measures of every execution, a total of every query."""

    kind: Literal["testrun"]
    """What it scores."""

    recognised_by: RecognitionTable = RecognitionTable()
    checks: Annotated[dict[Name, CheckTable], Field(max_length=100)] = Field(default_factory=dict)
    metrics: Annotated[dict[Name, MetricTable], Field(min_length=1, max_length=20)]
    total: TotalTable
    review: Annotated[dict[Name, ReviewTable], Field(max_length=20)] = Field(default_factory=dict)


def testrun_rubric_schema() -> dict[str, Any]:
    """The JSON schema of a rubric file for test runs: editors complete its keys and underline invalid ones."""
    return editor_schema(TestRunRubricFile, ("checks", "metrics", "review"), (Given, MetricTable))
