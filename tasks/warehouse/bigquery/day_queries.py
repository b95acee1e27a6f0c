"""The queries of a day in GoogleSQL: of millions of rows only the results leave BigQuery."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from scoring.chat.kpi_figures import KpiIntervals, intervals_of_moments, of_stored_rows
from scoring.chat.rubric import RowRubric
from scoring.chat.sql_tables import (
    moments_query,
    repeated_rows_query,
    rows_query,
    worst_rows_query,
)
from scoring.rules.arrow_types import empty_frame
from scoring.rules.expressions import Expression


@dataclass(frozen=True)
class BigQueryDayQueries:
    """The queries of a day of the table `scores` (quoted); `ask` runs one, `columns` returns the current columns of the
    table.
    """

    rubric: RowRubric
    scores: str
    ask: Callable[[str], list[dict[str, Any]]]
    columns: Callable[[], set[str]]

    def worst_rows(self, columns: Sequence[str], count: int, where: Expression | None = None) -> pl.DataFrame:
        """Selects those of the columns that the table has."""
        known = self.columns()
        asked = [name for name in columns if name in known]
        found = self.ask(worst_rows_query(self.rubric, self.scores, asked, count, where))
        types = empty_frame(self.rubric.scores_schema).schema
        return pl.DataFrame(
            [dict.fromkeys(columns) | row for row in found], schema={name: types[name] for name in columns}
        )

    def rows(self, row_ids: Collection[str], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Selects those of the columns that the table has."""
        if not row_ids:
            return []
        known = self.columns()
        found = self.ask(rows_query(self.scores, [name for name in columns if name in known], row_ids))
        return [dict.fromkeys(columns) | row for row in found]

    def kpi_intervals(self) -> KpiIntervals:
        """Aggregates by session in BigQuery."""
        kpis = of_stored_rows(self.rubric.quotients)
        return intervals_of_moments(kpis, self.ask(moments_query(self.scores, kpis))) if kpis else {}

    def repeated_rows(self) -> int:
        """Counts in BigQuery."""
        return int(self.ask(repeated_rows_query(self.scores))[0]["repeated_count"])
