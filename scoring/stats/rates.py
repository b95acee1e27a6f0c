"""The shares of executions that a rubric sets targets for, so that two runs can be compared by them.

A metric may hold several things that move apart: accuracy is made of tools and of numbers.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.stats.exact import mean


@dataclass(frozen=True)
class Rate:
    """A share of executions, by its title (Korean): those with a code in `column` of `scores.parquet` that passes.

    `passing`: agent -> the codes that pass. `metric` is the metric that this is a part of, '' where it is of none.
    """

    name: str
    title: str
    metric: str
    column: str
    passing: Mapping[Any, Collection[str]]

    def passes(self, row: Mapping[str, Any]) -> bool | None:
        """Whether an execution passes, by its `agent_type` and the column; None where it does not count.

        It does not where the code is NULL, and where the row, as one of an earlier version, has no such column.
        """
        agent, code = row.get("agent_type"), row.get(self.column)
        return None if agent is None or code is None else code in self.passing[agent]

    def share(self, rows: Iterable[Mapping[str, Any]]) -> float | None:
        """The share, 0 to 1, of the executions that count; None without any."""
        share = mean(None if (passed := self.passes(row)) is None else int(passed) for row in rows)
        return None if share is None else float(share)
