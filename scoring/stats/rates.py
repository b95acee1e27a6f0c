"""Shares of executions that a rubric sets targets for, compared between two runs.

A metric may combine several rates that change independently: accuracy consists of tools and of numbers.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.stats.exact import mean


@dataclass(frozen=True)
class Rate:
    """A share of executions with its title (Korean): those whose code in `column` of `scores.parquet` passes.

    `passing`: agent -> the codes that pass. `metric` is the metric that the rate is a part of, '' for none.
    """

    name: str
    title: str
    metric: str
    column: str
    passing: Mapping[Any, Collection[str]]

    def passes(self, row: Mapping[str, Any]) -> bool | None:
        """Whether an execution passes, by its `agent_type` and the column; None if it does not count.

        It does not count if the code is NULL, or if the row comes from an earlier version without the column.
        """
        agent, code = row.get("agent_type"), row.get(self.column)
        return None if agent is None or code is None else code in self.passing[agent]

    def share(self, rows: Iterable[Mapping[str, Any]]) -> float | None:
        """The share, 0 to 1, of the executions that count; None without any."""
        share = mean(None if (passed := self.passes(row)) is None else int(passed) for row in rows)
        return None if share is None else float(share)
