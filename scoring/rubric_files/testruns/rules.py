"""The rules of a test-run rubric in a file, and their input columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scoring.judging.prompts import JudgePrompt
from scoring.rules import expressions as ex
from scoring.rules.evaluation_order import columns_of
from scoring.rules.explain import Row
from scoring.rules.kinds import COUNT, TRUTH, Kind
from scoring.testruns.check_results import CheckResult, pass_ratio
from scoring.testruns.executions import LatencyClass, ParsedExecution
from scoring.testruns.rubric import Metric
from scoring.testruns.summaries import as_float
from scoring.testruns.totals import Weights

_TEXT, _SECONDS = Kind("text"), Kind("number", nullable=True, low=0)
_RATIO = Kind("number", nullable=True, low=0, high=1)
POINTS = Kind("number", nullable=True, low=0, high=5)

ANSWER_COLUMNS: Mapping[str, tuple[Kind, str]] = {
    "query_text": (_TEXT, "질의"),
    "answer": (_TEXT, "답변"),
    "expected": (_TEXT, "기대결과"),
    "ground_truth": (_TEXT, "정답 수치"),
    "category": (_TEXT, "카테고리"),
    "track": (_TEXT, "Track"),
    "agent_type": (_TEXT, "에이전트"),
    "latency_class": (Kind("text", codes=frozenset(LatencyClass)), "도구 호출"),
    "raw_json": (_TEXT, "Raw JSON"),
    "room": (COUNT, "방"),
    "repeat": (COUNT, "반복"),
    "latency_s": (_SECONDS, "응답 시간(초)"),
    "ttft_s": (_SECONDS, "TTFT(초)"),
    "tool_calls": (Kind("whole", nullable=True, low=0), "도구 호출 수"),
}
"""The input columns of checks, with Korean titles: missing texts are '', missing numbers NULL."""

EXECUTION_COLUMNS: Mapping[str, tuple[Kind, str]] = {
    **ANSWER_COLUMNS,
    "answered": (TRUTH, "답변함"),
    "failed": (TRUTH, "실행 실패"),
    "empty": (TRUTH, "빈 응답"),
    "pass_count": (COUNT, "통과한 체크 수"),
    "check_count": (COUNT, "확인한 체크 수"),
    "pass_ratio": (_RATIO, "체크 통과율"),
}
"""The input columns of metrics: also the results of the checks. The ratio is NULL without checks."""

_OF_CHECKS = frozenset({"pass_count", "check_count", "pass_ratio"})
_OF_TIME = frozenset({"latency_s", "ttft_s"})


@dataclass(frozen=True)
class CheckRule:
    """A check of every answer; `only_if` restricts it to some answers (None: all)."""

    title: str
    condition: ex.Expression
    only_if: ex.Expression | None
    weight: int


@dataclass(frozen=True)
class MetricRule:
    """How a metric gives points; there are none if `number`, whose bands give them, is NULL.

    `only_if` restricts the executions that the metric applies to; None: all.
    """

    name: str
    title: str
    expression: ex.Case | ex.Sum
    only_if: ex.Expression | None
    number: ex.Expression | None
    per_query: bool

    @property
    def uses_checks(self) -> bool:
        """Whether its points depend on the results of checks."""
        return not _OF_CHECKS.isdisjoint(columns_of(self.expression))

    @property
    def metric(self) -> Metric:
        """The metric as used by tables and comparisons: a time near the edge of a band moves points by chance."""
        by_time = not _OF_TIME.isdisjoint(columns_of(self.expression))
        return Metric(self.name, self.title, per_execution=not self.per_query, noise=int(by_time))


@dataclass(frozen=True)
class Guard:
    """A limit of the judge's points, with its reason for people."""

    condition: ex.Expression
    at_most: int
    label: str


@dataclass(frozen=True)
class JudgedRule:
    """A metric that a judge decides: `scale` gives the points with their meanings, `sees` the columns that are sent."""

    name: str
    title: str
    only_if: ex.Expression | None
    prompt: JudgePrompt
    scale: Mapping[int, str]
    sees: tuple[str, ...]
    guards: tuple[Guard, ...]
    per_query: bool = False

    @property
    def metric(self) -> Metric:
        """The metric as used by tables and comparisons."""
        return Metric(self.name, self.title, judged_by=self.prompt.kind)


@dataclass(frozen=True)
class Trigger:
    """A condition that flags a query for manual review."""

    code: str
    title: str
    condition: ex.Expression


@dataclass(frozen=True)
class TestRunRules:
    """All scoring rules of a file, with its `id`, `version` and `title`.

    `verdict` gives a query's verdict by its total, None if the file defines none; `verdict_titles` are those of its
    codes, from best to worst.
    """

    id: str
    version: str
    title: str
    checks: tuple[CheckRule, ...]
    metrics: tuple[MetricRule | JudgedRule, ...]
    weights: Weights
    verdict: ex.Case | None
    verdict_titles: Mapping[str, str]
    triggers: tuple[Trigger, ...]

    @property
    def of_executions(self) -> tuple[MetricRule | JudgedRule, ...]:
        """The metrics scored per execution."""
        return tuple(rule for rule in self.metrics if not rule.per_query)

    @property
    def of_queries(self) -> tuple[MetricRule, ...]:
        """The metrics scored per query."""
        return tuple(rule for rule in self.metrics if isinstance(rule, MetricRule) and rule.per_query)

    @property
    def judged(self) -> tuple[JudgedRule, ...]:
        """The metrics that a judge decides."""
        return tuple(rule for rule in self.metrics if isinstance(rule, JudgedRule))


def answer_row(reading: ParsedExecution, latency_class: LatencyClass) -> dict[str, Any]:
    """The values of `ANSWER_COLUMNS`."""
    execution = reading.execution
    return {
        "query_text": execution.query_text,
        "answer": reading.response.assistant_message,
        "expected": execution.expected_text,
        "ground_truth": execution.ground_truth,
        "category": execution.category,
        "track": execution.track,
        "agent_type": execution.agent_type.value if execution.agent_type else "",
        "latency_class": latency_class.value,
        "raw_json": execution.raw_json,
        "room": execution.round.room,
        "repeat": execution.round.repeat,
        "latency_s": reading.latency_s,
        "ttft_s": execution.ttft_s,
        "tool_calls": execution.tool_call_count,
    }


def execution_row(of_answer: Row, reading: ParsedExecution, results: Sequence[CheckResult]) -> dict[str, Any]:
    """The values of `EXECUTION_COLUMNS`; `of_answer` contains the first ones."""
    ratio: Fraction | None = pass_ratio(results)
    return {
        **of_answer,
        "answered": reading.answered,
        "failed": bool(reading.failure),
        "empty": bool(reading.emptiness),
        "pass_count": sum(result.passed for result in results),
        "check_count": len(results),
        "pass_ratio": as_float(ratio),
    }
