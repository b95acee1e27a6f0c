"""The tables and keys of a rubric file for test runs. Its JSON schema is for editors."""

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
    """How a file of a test run shows that this rubric scores it, where `test_runs.rubrics` names the rubric."""

    file_names: _Texts = ()
    """What its name begins with, in small letters."""

    columns: _Texts = ()
    """Headers of which it has one, as the file or as `[test_runs.columns]` calls them."""


class CheckTable(FileTable):
    """A check: every answer passes it or not."""

    title: Text
    when: Rule
    """What is true of an answer that passes, in GoogleSQL."""

    only_if: Rule | None = None
    """Which answers it is made of. Left out: all."""

    weight: Annotated[int, Field(ge=1, le=1_000)] = 1
    """How much it counts among the checks."""


class ScaleTable(FileTable):
    """Points that a judge may give."""

    points: Annotated[int, Field(ge=0, le=5)]
    means: Text
    """What earns them."""


class GuardTable(FileTable):
    """A condition under which a judge cannot give more."""

    when: Rule
    at_most: Annotated[int, Field(ge=0, le=5)]
    """The most points; where they are the least of the scale, nothing is asked."""

    label: Text
    """What was found when it is true."""


class MetricTable(Given):
    """A score from 0 to 5 of every execution; an execution without an answer has 0."""

    ways: ClassVar[tuple[Way, ...]] = (*Given.ways, Way("sum"), Way("prompt", ("scale", "sees"), ("guards",)))

    title: Text
    only_if: Rule | None = None
    """Of which executions there is a score. Left out: all, also those without an answer."""

    sum: Annotated[tuple[Rule | Given, ...], ARRAY, Field(min_length=1, max_length=20)] = ()
    """What is added up."""

    prompt: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    """What a judge is told to judge; scale, material and how to answer are added."""

    scale: Annotated[tuple[ScaleTable, ...], ARRAY, Field(min_length=2, max_length=6)] = ()
    """The points that a judge may give."""

    sees: Annotated[tuple[str, ...], ARRAY, Field(min_length=1, max_length=20)] = ()
    """The columns of an answer that a judge sees."""

    guards: Annotated[tuple[GuardTable, ...], ARRAY, Field(max_length=20)] = ()
    """What caps the points of a judge."""

    per_query: bool = False
    """Whether a query has one score, out of the columns of queries: `rounds`, `unanswered`, and of each metric above
    `NAME_score`, its mean, and `NAME_same`, the share of the rounds with the commonest points."""


class TotalTable(FileTable):
    """The weighted total of a query, from 0 to 5."""

    weights: Annotated[dict[str, Annotated[int, Field(ge=1, le=100)]], Field(min_length=1, max_length=20)]
    """Metrics with their weights in percent, which add up to 100."""

    grades: Grades | None = None
    """The verdicts on a query by its total, from the best to the worst."""


class ReviewTable(FileTable):
    """What makes a query one that a person should look at."""

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
    """The JSON schema of a rubric file for test runs: editors complete its keys and underline what is none."""
    return editor_schema(TestRunRubricFile, ("checks", "metrics", "review"), (Given, MetricTable))
