"""Defines a rubric for test runs, and the values that it computes from executions.

A run is scored query by query (consistency compares a query's executions), so that only one query's parsed JSON is in
memory. Values over all queries (round means, the set, patterns) are computed from the scored ones.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

import pyarrow as pa

from scoring.errors import RuleError, UsageError
from scoring.judging.prompts import JudgePrompt
from scoring.judging.requests import JudgeRequest, Verdicts, VerdictStatus
from scoring.rules.bands import Bands
from scoring.stats.comparison import Comparison, compare_testruns
from scoring.stats.exact import Exact, exact_sum
from scoring.stats.rates import Rate
from scoring.stats.run_scores import TOTAL, TOTAL_TITLE, TestRunScores
from scoring.testruns.check_results import CheckResult
from scoring.testruns.detection import Recognition
from scoring.testruns.executions import AgentType, Execution, LatencyClass
from scoring.testruns.page_parts import PageParts
from scoring.testruns.query_columns import QueryColumn

Options = Mapping[str, str]

WORST_POINTS, BEST_POINTS = 0, 5
"""The range of the points of every metric."""

_MOST_EXECUTIONS = 10_000
"""Of one query; a mean over as many is still told from every other one as a float."""


@dataclass(frozen=True)
class Option:
    """An option of a rubric: its default, the regex of accepted values, and why to choose it (English).

    `title` describes on pages what it decides, within a sentence (Korean).
    """

    name: str
    default: str
    accepts: str
    reason: str
    title: str

    @property
    def values(self) -> Sequence[str]:
        """The accepted values if they are a list of words, else nothing."""
        return self.accepts.split("|") if re.fullmatch(r"\w+(\|\w+)+", self.accepts) else ()


@dataclass(frozen=True)
class Metric:
    """A score from 0 to 5. Metrics of a query (consistency) have no value per execution.

    `judged_by` is the kind of question whose verdicts decide it, None if rules do. `noise` is by how many points an
    execution's score may move without a reason, such as a time near the edge of a band; comparisons of runs ignore it.
    """

    name: str
    title: str
    per_execution: bool = True
    judged_by: str | None = None
    noise: int = 0

    def epoch(self, epochs: Mapping[str, Sequence[str]]) -> str | None:
        """The epoch that judged this metric in a run, given the epochs by kind of question; several are joined.

        None if rules scored it, or if the epoch is unknown. Source: SPEC 11.
        """
        return "+".join(epochs.get(self.judged_by, ()) if self.judged_by else ()) or None


class Undecided(StrEnum):
    """The reasons why a score is undecided, besides the statuses of a judge's verdict. Source: SPEC 3.3.

    `TOOLS_NOT_SHOWN`: the file shows neither the tools nor the screen of an answer.
    """

    UNMAPPED_FILTER = "unmapped_filter"
    TOOLS_NOT_SHOWN = "tools_not_shown"
    NEEDS_3_RUNS = "needs_3_runs"


@dataclass(frozen=True, slots=True)
class Score:
    """Exact points, or None with the code of what is missing (`no_checks`, `no_judge`, `needs_3_runs`, ...).

    `reason` is a Korean sentence that names the evidence. A metric that does not apply (the other latency class) is
    None with an empty code: that is not a gap.
    """

    points: Exact | None
    reason: str
    missing: str = ""

    @property
    def undecided(self) -> bool:
        """Whether the metric applies, but a verdict, a mapping or a sufficient number of runs is missing."""
        # By type: what a rubric of rules alone calls `failed` is no verdict that failed.
        return self.points is None and isinstance(self.missing, VerdictStatus | Undecided)


@dataclass(frozen=True, slots=True)
class ScoredExecution:
    """One execution with its scores, its `answer` ('' without one), and its checks if its rubric has any.

    A rubric adds its own values as the fields of a subclass; none is parsed JSON.
    """

    execution: Execution
    failed: bool
    empty: bool
    latency_s: float | None
    latency_class: LatencyClass
    scores: Mapping[str, Score]
    answer: str = field(default="", kw_only=True)
    checks: tuple[CheckResult, ...] = field(default=(), kw_only=True)

    @property
    def unanswered(self) -> bool:
        """Whether it failed or its answer is empty."""
        return self.failed or self.empty

    def own_values(self) -> dict[str, Any]:
        """The values that the rubric's subclass adds, by field name."""
        return {name: getattr(self, name) for name in _own_names(self, ScoredExecution)}


@dataclass(frozen=True, slots=True)
class ScoredQuery:
    """One query with its executions in the order of rounds; `scores` are per query. A rubric adds fields in a subclass.

    `problems` are the entries of the data-quality table: (code, Korean sentence), such as an unmapped filter.
    `manual_review_reasons` are the codes of why a person should look at it.
    """

    query_id: str
    query_text: str
    agent_type: AgentType | None
    executions: tuple[ScoredExecution, ...]
    scores: Mapping[str, Score]
    problems: tuple[tuple[str, str], ...] = ()
    manual_review_reasons: Sequence[str] = ()

    @property
    def points(self) -> dict[str, Exact | None]:
        """Metric -> its points."""
        return {name: score.points for name, score in self.scores.items()}


@dataclass(frozen=True)
class TestRunSummary:
    """The summary of a test run. Values are JSON (exact numbers are floats where they are shown).

    `rounds`: round -> metric -> the figures of a `MetricMean`; `set`: metric -> the same, and parts; `distributions`:
    round -> metric -> score -> count; `data_quality`: code -> count. A rubric adds its own parts (targets, patterns) as
    the fields of a subclass.
    """

    rounds: Mapping[str, Any]
    set: Mapping[str, Any]
    distributions: Mapping[str, Any]
    data_quality: Mapping[str, Any]

    def own_values(self) -> dict[str, Any]:
        """The parts that the rubric's subclass adds, as JSON, by field name."""
        values = asdict(self)
        return {name: values[name] for name in _own_names(self, TestRunSummary)}


QueryT = TypeVar("QueryT", bound=ScoredQuery)
SummaryT = TypeVar("SummaryT", bound=TestRunSummary)


def _points_lost(scores: Mapping[str, Exact | None]) -> Exact:
    return exact_sum(BEST_POINTS - score for score in scores.values() if score is not None)


@dataclass(frozen=True)
class TestRunRubric(Generic[QueryT, SummaryT]):
    """A rubric that scores test runs into its own kinds of query and summary. All its functions are pure.

    `requests(executions of one query, options)` lists the questions for a judge; without it there are none.
    `score_query(executions, options, verdicts)` scores one query; `summarise(queries, options)` summarises the run;
    `headline(queries, summary)` gives at most three Korean sentences for a run with scores: what happened, what matters
    most, what to do. `report.md` in the rubric's `package` is the Jinja template of the Korean report; it gets these
    three, the file's `name`, `REPORT_TABLES`, and `report_values(queries, summary, options)`.

    `own_columns` follow the metrics in `scores.parquet`; `query_columns` are all columns of `queries.parquet`, in
    order. `prompts` are the instructions for the judge, one per kind of question of `requests`. `prompt` is a text for
    scoring a file by hand with a chat model, if the rubric offers one; `query_json` is a query as an object of
    `scores.json`, if the rubric has that file. `recognition` are the signs by which a file shows that the rubric scores
    it.

    `speed_bands` are the seconds and points of speed, by latency class and agent type (None: any). `code_titles` are
    the Korean meanings of the codes of data quality and of `manual_review_reasons`, `figure_titles` those of figures of
    the set besides the metrics, and of the further figures of consistency; `value_titles` those of the codes in its
    columns. `criteria`: metric -> the conditions of its points, for people who score by hand. `page_parts` are the
    rubric's own parts of the page of a test run, from the JSON of the summary. `points_lost` is the loss of a query's
    scores by metric against the best: lists of the worst are sorted by it. `limits(query)`: metric -> why no answer
    could have all points (Korean). `rates` are its targets that count executions: two runs are compared by them, too.
    `text` is the rubric file, '' for a rubric in Python.
    """

    id: str
    version: str
    title: str
    summary: str
    metrics: tuple[Metric, ...]
    own_columns: tuple[pa.Field, ...]
    query_columns: tuple[QueryColumn, ...]
    score_query: Callable[[Sequence[Execution], Options, Verdicts], QueryT]
    summarise: Callable[[Sequence[QueryT], Options], SummaryT]
    report_values: Callable[[Sequence[QueryT], SummaryT, Options], Mapping[str, Any]]
    package: str
    requests: Callable[[Sequence[Execution], Options], list[JudgeRequest]] = lambda executions, options: []
    headline: Callable[[Sequence[QueryT], SummaryT], Sequence[str]] = lambda queries, summary: ()
    recognition: Recognition = field(default_factory=Recognition)
    options: tuple[Option, ...] = ()
    needs_agent_type: bool = False
    prompts: tuple[JudgePrompt, ...] = ()
    prompt: Callable[[], str] | None = None
    query_json: Callable[[QueryT], Mapping[str, Any]] | None = None
    speed_bands: Mapping[tuple[LatencyClass, AgentType | None], Bands[int]] = field(default_factory=dict)
    code_titles: Mapping[str, str] = field(default_factory=dict)
    figure_titles: Mapping[str, str] = field(default_factory=dict)
    value_titles: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    criteria: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    page_parts: Callable[[Mapping[str, Any]], PageParts] = lambda summary: PageParts()
    points_lost: Callable[[Mapping[str, Exact | None]], Exact] = _points_lost
    limits: Callable[[QueryT], Mapping[str, str]] = lambda query: {}
    rates: tuple[Rate, ...] = ()
    text: str = ""

    def __post_init__(self) -> None:
        if len({metric.name for metric in self.metrics}) != len(self.metrics):
            raise RuleError(f"rubric {self.id} has two metrics of one name")

    def metric_epochs(self, epochs: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """The epochs that judged each metric, and therefore the total, in a run, given the epochs by kind of question.

        Metrics that rules score are left out.
        """
        judged = {metric.name: epoch for metric in self.metrics if (epoch := metric.epoch(epochs))}
        return judged | ({TOTAL: "+".join(sorted(judged.values()))} if judged else {})

    @property
    def score_titles(self) -> dict[str, str]:
        """The titles of the scores of a query (Korean): its metrics, then the total."""
        return {metric.name: metric.title for metric in self.metrics} | {TOTAL: TOTAL_TITLE}

    def compare(
        self,
        base: TestRunScores,
        candidate: TestRunScores,
        titles: Mapping[str, str],
        *,
        across_expectations: bool = False,
    ) -> Comparison:
        """Compares two runs that it has scored; `titles` are those of the scores to compare, in order.

        `across_expectations` also compares queries for which the runs have different expectations.

        Raises:
            UsageError: another rubric has scored one of them.
        """
        noise = {metric.name: metric.noise for metric in self.metrics}
        of_repeats = {metric.name for metric in self.metrics if not metric.per_execution}
        return compare_testruns(
            base, candidate, titles, noise, of_repeats, self.rates, across_expectations=across_expectations
        )

    def shares(self, executions: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
        """Rate -> its share of the executions of a query, which are rows of `scores.parquet`."""
        return {rate.name: rate.share(executions) for rate in self.rates}

    def lost(self, scores: Mapping[str, float | None]) -> Exact:
        """The points that a query of a table loses, from its scores.

        They are means of whole points, as exact as before they became floats: queries that lose the same tie.
        """
        known = {name: score for name, score in scores.items() if score is not None}
        means = {name: Fraction(score).limit_denominator(_MOST_EXECUTIONS) for name, score in known.items()}
        return self.points_lost(dict.fromkeys(scores) | means)

    def worst_first(self, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Rows of `queries.parquet`, sorted by lost points, most first."""

        def lost(row: Mapping[str, Any]) -> Exact:
            return self.lost({metric.name: row.get(f"{metric.name}_score") for metric in self.metrics})

        return sorted(rows, key=lambda row: (-lost(row), row["query_id"]))

    def flagged(self, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The rows of `queries.parquet` that a person should look at, in the same order."""
        return self.worst_first(row for row in rows if row["manual_review_reasons"])

    def review_titles(self, codes: Iterable[str]) -> tuple[str, ...]:
        """The titles of the reasons to look at a query."""
        return tuple(self.code_titles[code] for code in codes)

    def query_row(self, query: QueryT) -> dict[str, Any]:
        """The row of `queries.parquet`."""
        return {column.name: column.value_of(query) for column in self.query_columns}

    def chosen(self, given: Options) -> Options:
        """All options with their values, including defaults.

        Raises:
            UsageError: an unknown option or value.
        """
        known = {option.name: option for option in self.options}
        for name, value in given.items():
            if name not in known:
                offered = ", ".join(known) or "none"
                raise UsageError(f"{self.id} has no option '{name}'", fix=f"its options: {offered}")
            if not re.fullmatch(known[name].accepts, value):
                raise UsageError(f"'{value}' is no value of {name}", fix=f"it must match {known[name].accepts}")
        return {name: given.get(name, option.default) for name, option in known.items()}

    def version_with(self, options: Options) -> str:
        """The version with the options that differ from their defaults: `2+value_lookup=direct`. Source: SPEC 4."""
        changed = [
            f"{option.name}={options[option.name]}" for option in self.options if options[option.name] != option.default
        ]
        return "+".join([self.version, *changed])


AnyTestRunRubric: TypeAlias = TestRunRubric[Any, Any]


def _own_names(value: ScoredExecution | TestRunSummary, shared: type) -> list[str]:
    """The fields that the class of `value` adds to those of `shared`."""
    common = {each.name for each in fields(shared)}
    return [each.name for each in fields(value) if each.name not in common]
