"""Conditions that fail a build when two test runs are compared: `accuracy < -0.1`. Source: SPEC 9 (`aqb compare`)."""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scoring.errors import UsageError, counted
from scoring.stats.comparison import Comparison


@dataclass(frozen=True)
class FailCondition:
    """One fail condition, such as `accuracy < -0.1`. `part` is `mean`, or an end of the interval, `low` or `high`."""

    text: str
    metric: str
    part: str
    compare: Callable[[float, float], bool]
    limit: float

    def failure(self, comparison: Comparison) -> str | None:
        """Why the comparison fails (English, for a build log); None if it passes.

        A metric that cannot be compared fails too: a build must not pass because nothing was compared.
        """
        if comparison.outage:
            failures = comparison.outage_failures
            executions = f"{failures.executions} executions of the {comparison.outage}"
            return f"{self.text}: {failures.failed} of {executions} failed or are empty"
        change = next(one for one in (*comparison.metrics, *comparison.rates) if one.metric == self.metric)
        difference = change.difference
        if change.withheld:
            return f"{self.text}: too many queries are undecided"
        if change.of_two_judges:
            return f"{self.text}: the runs were judged by different models or prompts"
        if difference is None:
            return f"{self.text}: no query has this score in both runs"
        if self.part == "mean":
            value = difference.mean
        elif difference.interval is None:
            return f"{self.text}: too few queries for an interval"
        else:
            value = difference.interval.low if self.part == "low" else difference.interval.high
        over = counted(difference.n, "query")
        return f"{self.text}: it is {value:+.4f} over {over}" if self.compare(value, self.limit) else None


_OPERATORS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_CONDITION = re.compile(
    r"\s*(?P<metric>[a-z_]+)(\.(?P<part>low|high))?\s*(?P<operator><=|>=|<|>)\s*(?P<limit>[+-]?[0-9]+(\.[0-9]+)?)\s*"
)


def conditions(texts: Iterable[str], metrics: Sequence[str]) -> list[FailCondition]:
    """Parses conditions of the form `metric op number`, also for an end of the interval: `accuracy.low < -0.1`.

    Raises:
        UsageError: a text is no condition, or there is no such metric.
    """
    found = []
    for text in texts:
        match = _CONDITION.fullmatch(text)
        if not match:
            raise UsageError(
                f"'{text}' is no condition",
                where="--fail-if",
                fix='for example "accuracy < -0.1" or "accuracy.low < 0"',
            )
        if match["metric"] not in metrics:
            raise UsageError(
                f"there is no metric '{match['metric']}'", where="--fail-if", fix=f"use one of: {', '.join(metrics)}"
            )
        compare = _OPERATORS[match["operator"]]
        found.append(
            FailCondition(text.strip(), match["metric"], match["part"] or "mean", compare, float(match["limit"]))
        )
    return found
