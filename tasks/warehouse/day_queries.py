"""Queries of the scored rows of a day: the worst ones, failure types, intervals of KPIs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Protocol

import polars as pl

from scoring.chat.kpi_figures import KpiIntervals, kpi_intervals
from scoring.chat.row_ids import repeated_rows
from scoring.chat.rubric import RowRubric
from scoring.chat.sql_tables import fired_columns
from scoring.rules.arrow_types import empty_frame
from scoring.rules.expressions import Expression
from scoring.rules.polars_backend import to_polars

ValueCounts = Sequence[tuple[str, int]]
"""Values of a column of text with their rows, most first; NULL is none."""

DayValueCounts = Mapping[str, ValueCounts]
"""Those of some columns of a day, by column."""

CountsOfDays = Mapping[date, DayValueCounts]
"""Those of some days."""


class DayQueries(Protocol):
    """Queries of the scores of a day that the warehouse evaluates itself, without returning all rows.

    All results are empty or None if the day has no scores.
    """

    def worst_rows(self, columns: Sequence[str], count: int, where: Expression | None = None) -> pl.DataFrame:
        """These columns, score, time and id among them, of the `count` worst rows: flagged ones first, then by score.

        With `where` only those that meet it. NULL in columns that the day lacks because an earlier version wrote it.
        """
        ...

    def rows(self, row_ids: Collection[str], columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of these rows, in no order; missing rows are left out. NULL in columns that the day lacks
        because an earlier version wrote it.
        """
        ...

    def kpi_intervals(self) -> KpiIntervals:
        """The interval of each KPI with a target, by tenant and for all, clustered by session; none for KPIs that need
        texts.
        """
        ...

    def repeated_rows(self) -> int:
        """The number of rows that have the key of an earlier one."""
        ...


class FrameQueries:
    """The queries in Polars, for a warehouse that provides lazy frames, such as a folder."""

    def __init__(self, rubric: RowRubric, scores: pl.LazyFrame | None) -> None:
        self._rubric = rubric
        self._worst_first = [rubric.total, "timestamp", "row_id"]
        self._scores = empty_frame(rubric.scores_schema).lazy() if scores is None else scores

    def worst_rows(self, columns: Sequence[str], count: int, where: Expression | None = None) -> pl.DataFrame:
        """Finds the rows by their keys: sorting whole rows would hold all texts."""
        order = [~to_polars(self._rubric.flagged), *self._worst_first]
        asked = self._scores.filter(to_polars(where)) if where else self._scores
        keys = asked.sort(order).select("row_id").head(count).collect()
        worst = self._scores.filter(pl.col("row_id").is_in(keys["row_id"].implode()))
        return worst.sort(order).select(columns).collect()

    def rows(self, row_ids: Collection[str], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Filters the rows by their ids."""
        if not row_ids:
            return []
        return self._scores.filter(pl.col("row_id").is_in(list(row_ids))).select(columns).collect().to_dicts()

    def kpi_intervals(self) -> KpiIntervals:
        """Sums the rows of each session."""
        return kpi_intervals(self._scores, self._rubric.quotients)

    def repeated_rows(self) -> int:
        """Looks at all ids."""
        return repeated_rows(self._scores.select("row_id").collect())


def value_counts(scores: pl.LazyFrame | None, columns: Sequence[str]) -> CountsOfDays:
    """The number of scores of some days by value, for a warehouse that provides lazy frames."""
    if scores is None:
        return {}
    counted = [
        scores.group_by("score_date", pl.col(column).alias("value"))
        .agg(pl.len().alias("row_count"))
        .sort("row_count", "value", descending=[True, False])
        .with_columns(name=pl.lit(column))
        for column in columns
    ]
    return counts_by_day((row for found in pl.collect_all(counted) for row in found.iter_rows(named=True)), columns)


def counts_by_day(counted: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> CountsOfDays:
    """The rows of `value_counts_query` by day and column, in their order; a day with only NULLs has empty counts."""
    found: dict[date, dict[str, list[tuple[str, int]]]] = {}
    for row in counted:
        of_day = found.setdefault(row["score_date"], {name: [] for name in columns})
        if row["value"] is not None:
            of_day[row["name"]].append((row["value"], row["row_count"]))
    return found


def fired_rows(rubric: RowRubric, scores: pl.LazyFrame | None) -> list[dict[str, Any]]:
    """The rows of some days with an alert, for a warehouse that provides lazy frames."""
    if scores is None:
        return []
    return scores.drop_nulls("alert_level").select(fired_columns(rubric)).collect().to_dicts()
