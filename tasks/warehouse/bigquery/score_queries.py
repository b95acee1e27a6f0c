"""Queries over the score table in GoogleSQL: only results leave BigQuery, and what is not used is not scanned."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl
from google.cloud.bigquery import ArrayQueryParameter, ScalarQueryParameter

from scoring.chat.kpi_figures import KpiIntervals, intervals_of_moments, of_stored_rows
from scoring.chat.row_filter import RowFilter, sql_condition
from scoring.chat.rubric import RowRubric
from scoring.chat.sql_tables import moments_query, repeated_rows_query, rows_query, worst_rows_query
from scoring.chat.templates import MAX_TEXT
from scoring.rules.arrow_types import empty_frame
from scoring.rules.expressions import Column, Expression, Tenths
from scoring.rules.googlesql_backend import column_list, to_sql
from tasks.warehouse.bigquery.client import QueryParameter
from tasks.warehouse.row_search import RowOrder

_TEXTS = ("row_id", "user_input", "llm_response")
_TYPES = {date: "DATE", float: "FLOAT64", int: "INT64", str: "STRING"}


@dataclass(frozen=True)
class ScoreTable:
    """The FROM item `rows` of the scores of a service, and the `columns` of their table: none if it does not exist."""

    rows: str
    columns: Collection[str]

    def stored(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns that the table has."""
        return [name for name in columns if name in self.columns]


@dataclass(frozen=True)
class BigQueryDayQueries:
    """The queries of a day; `ask` runs one."""

    rubric: RowRubric
    scores: ScoreTable
    ask: Callable[[str], list[dict[str, Any]]]

    def worst_rows(self, columns: Sequence[str], count: int, where: Expression | None = None) -> pl.DataFrame:
        """Selects those of the columns that the table has."""
        query = worst_rows_query(self.rubric, self.scores.rows, self.scores.stored(columns), count, where)
        return _frame(self.rubric, self.ask(query), columns)

    def rows(self, row_ids: Collection[str], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Selects those of the columns that the table has."""
        if not row_ids:
            return []
        return filled(self.ask(rows_query(self.scores.rows, self.scores.stored(columns), row_ids)), columns)

    def kpi_intervals(self) -> KpiIntervals:
        """Aggregates by session in BigQuery."""
        kpis = of_stored_rows(self.rubric.quotients)
        return intervals_of_moments(kpis, self.ask(moments_query(self.scores.rows, kpis))) if kpis else {}

    def repeated_rows(self) -> int:
        """Counts in BigQuery."""
        return int(self.ask(repeated_rows_query(self.scores.rows))[0]["repeated_count"])


@dataclass(frozen=True)
class BigQueryRowSearch:
    """The search; `ask` runs a query with its parameters."""

    rubric: RowRubric
    scores: ScoreTable
    ask: Callable[[str, Sequence[QueryParameter]], list[dict[str, Any]]]

    def counts(self, wanted: RowFilter) -> pl.DataFrame:
        """Groups in BigQuery."""
        keys = self.rubric.crosstab.keys
        named, tenths = column_list(keys), to_sql(Tenths(Column(self.rubric.total)))
        found = self._ask(
            f"SELECT {named}, COUNT(*) AS `rows`, SUM({tenths}) AS tenths",
            wanted,
            end=f"GROUP BY {named}",
        )
        types = empty_frame(self.rubric.scores_schema).schema
        return pl.DataFrame(
            found, schema={name: types[name] for name in keys} | {"rows": pl.Int64, "tenths": pl.Int64}, orient="row"
        )

    def rows(self, wanted: RowFilter, columns: Sequence[str], order: RowOrder, start: int, count: int) -> pl.DataFrame:
        """Selects those of the columns that the table has."""
        by = {order.column: order.descending} | {name: True for name in ("timestamp", "row_id") if name != order.column}
        ordered = ", ".join(f"`{name}` {'DESC' if down else 'ASC'} NULLS LAST" for name, down in by.items())
        found = self._ask(
            f"SELECT {column_list(self.scores.stored(columns))}",
            wanted,
            end=f"ORDER BY {ordered}\nLIMIT @count OFFSET @start",
            extra={"count": count, "start": start},
        )
        return _frame(self.rubric, found, columns)

    def texts(self, wanted: RowFilter, words: Sequence[str], most: int | None = None) -> pl.DataFrame:
        """Filters by question in BigQuery."""
        question = f"NORMALIZE(SUBSTR(user_input, 1, {MAX_TEXT}), NFC)"
        having = "".join(f" AND STRPOS({question}, @word_{place}) > 0" for place in range(len(words)))
        found = self._ask(
            f"SELECT {column_list(_TEXTS)}",
            wanted,
            f" AND user_input IS NOT NULL{having}",
            "" if most is None else "LIMIT @most",
            {f"word_{place}": word for place, word in enumerate(words)} | ({} if most is None else {"most": most}),
        )
        return _frame(self.rubric, found, _TEXTS)

    def _ask(
        self,
        select: str,
        wanted: RowFilter,
        also: str = "",
        end: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        if not self.scores.columns:
            return []
        condition, bound = sql_condition(wanted, self.rubric)
        parameters = [_parameter(name, value) for name, value in {**bound, **(extra or {})}.items()]
        return self.ask(f"{select}\nFROM {self.scores.rows}\nWHERE {condition}{also}\n{end}", parameters)


def filled(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows with NULL in those of the columns that their table lacks."""
    return [dict.fromkeys(columns) | row for row in rows]


def _frame(rubric: RowRubric, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pl.DataFrame:
    types = empty_frame(rubric.scores_schema).schema
    return pl.DataFrame(rows, schema={name: types[name] for name in columns})


def _parameter(name: str, value: Any) -> QueryParameter:
    if isinstance(value, tuple):
        return ArrayQueryParameter(name, "STRING", list(value))
    return ScalarQueryParameter(name, _TYPES[type(value)], value)
