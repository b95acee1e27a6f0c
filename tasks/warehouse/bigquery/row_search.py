"""The search over the score table in GoogleSQL: unused partitions and columns are not scanned."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl
from google.cloud.bigquery import ArrayQueryParameter, ScalarQueryParameter

from scoring.chat.row_filter import RowFilter, sql_condition
from scoring.chat.rubric import RowRubric
from scoring.chat.templates import MAX_TEXT
from scoring.rules.arrow_types import empty_frame
from scoring.rules.expressions import Column, Tenths
from scoring.rules.googlesql_backend import column_list, to_sql
from tasks.warehouse.bigquery.client import QueryParameter
from tasks.warehouse.row_search import RowOrder

_TEXTS = ("row_id", "user_input", "llm_response")
_TYPES = {date: "DATE", float: "FLOAT64", int: "INT64", str: "STRING"}


@dataclass(frozen=True)
class BigQueryRowSearch:
    """The search over the table `scores` (quoted); `ask` runs a query, `columns` returns the current columns of the
    table.
    """

    rubric: RowRubric
    scores: str
    ask: Callable[[str, Sequence[QueryParameter]], list[dict[str, Any]]]
    columns: Callable[[], set[str]]

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
        known = self.columns()
        by = {order.column: order.descending} | {name: True for name in ("timestamp", "row_id") if name != order.column}
        ordered = ", ".join(f"`{name}` {'DESC' if down else 'ASC'} NULLS LAST" for name, down in by.items())
        found = self._ask(
            f"SELECT {column_list([name for name in columns if name in known])}",
            wanted,
            end=f"ORDER BY {ordered}\nLIMIT @count OFFSET @start",
            extra={"count": count, "start": start},
        )
        return self._frame(found, columns)

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
        return self._frame(found, _TEXTS)

    def _ask(
        self,
        select: str,
        wanted: RowFilter,
        also: str = "",
        end: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        if not self.columns():
            return []
        condition, bound = sql_condition(wanted, self.rubric)
        parameters = [_parameter(name, value) for name, value in {**bound, **(extra or {})}.items()]
        return self.ask(f"{select}\nFROM {self.scores}\nWHERE {condition}{also}\n{end}", parameters)

    def _frame(self, found: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pl.DataFrame:
        types = empty_frame(self.rubric.scores_schema).schema
        rows = [dict.fromkeys(columns) | dict(row) for row in found]
        return pl.DataFrame(rows, schema={name: types[name] for name in columns})


def _parameter(name: str, value: Any) -> QueryParameter:
    if isinstance(value, tuple):
        return ArrayQueryParameter(name, "STRING", list(value))
    return ScalarQueryParameter(name, _TYPES[type(value)], value)
