"""The search for rows of the score table: their number, and a page of them in an order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import and_
from typing import Protocol

import polars as pl

from scoring.chat.row_filter import RowFilter, polars_condition
from scoring.chat.rubric import RowRubric
from scoring.chat.templates import MAX_TEXT
from scoring.rules.arrow_types import empty_frame
from scoring.rules.expressions import Column, Tenths
from scoring.rules.polars_backend import to_polars


@dataclass(frozen=True)
class RowOrder:
    """The column that rows are sorted by, NULL last; ties by time, latest first."""

    column: str = "timestamp"
    descending: bool = True


class RowSearch(Protocol):
    """Searches that the warehouse evaluates itself, returning only the results."""

    def counts(self, wanted: RowFilter) -> pl.DataFrame:
        """The number of rows that meet the filter (`rows`), and the sum of the tenths of their totals (`tenths`).

        A row a day (`score_date`) and pair of the grades of the cross table; their columns have their own names.
        """
        ...

    def rows(self, wanted: RowFilter, columns: Sequence[str], order: RowOrder, start: int, count: int) -> pl.DataFrame:
        """These columns of at most `count` rows that meet the filter, from offset `start` on.

        NULL in columns that the day lacks because an earlier version wrote it.
        """
        ...

    def texts(self, wanted: RowFilter, words: Sequence[str], most: int | None = None) -> pl.DataFrame:
        """`row_id`, `user_input`, `llm_response` of the rows that meet the filter and whose stored question contains
        each of the words in the NFC form of its first characters (`scoring.chat.templates.MAX_TEXT`).

        Only any `most` of the rows if that is given.
        """
        ...


class FrameSearch:
    """The search in Polars, for a warehouse that provides lazy frames: `read` returns those of days in the rubric's
    columns.
    """

    def __init__(self, rubric: RowRubric, read: Callable[[Sequence[date]], pl.LazyFrame | None]) -> None:
        self._rubric = rubric
        self._read = read

    def counts(self, wanted: RowFilter) -> pl.DataFrame:
        """Groups the rows."""
        tenths = to_polars(Tenths(Column(self._rubric.total))).sum().cast(pl.Int64)
        found = self._found(wanted).group_by(self._rubric.crosstab.keys)
        return found.agg(rows=pl.len().cast(pl.Int64), tenths=tenths).collect()

    def rows(self, wanted: RowFilter, columns: Sequence[str], order: RowOrder, start: int, count: int) -> pl.DataFrame:
        """Finds the rows by their keys: sorting whole rows would hold all texts."""
        by = list(dict.fromkeys([order.column, "timestamp", "row_id"]))
        descending = [order.descending, *[True] * (len(by) - 1)]
        keys = (
            self._found(wanted)
            .select("score_date", *by)
            .sort(by, descending=descending, nulls_last=True)
            .slice(start, count)
            .collect()
        )
        chosen = self._of_days(keys["score_date"].unique().to_list())
        chosen = chosen.filter(pl.col("row_id").is_in(keys["row_id"].implode()))
        found = chosen.select({"score_date", *by, *columns}).collect()
        # Another of the days may have a row of the same id.
        found = found.join(keys, on=["score_date", "row_id"], how="semi")
        return found.sort(by, descending=descending, nulls_last=True).select(columns)

    def texts(self, wanted: RowFilter, words: Sequence[str], most: int | None = None) -> pl.DataFrame:
        """Filters the rows by their questions; stops reading at `most`."""
        question = pl.col("user_input").str.slice(0, MAX_TEXT).str.normalize("NFC")
        having = [question.str.contains(pl.lit(word), literal=True) for word in words]
        kept = self._found(wanted).filter(reduce(and_, having, pl.col("user_input").is_not_null()))
        found = kept.select("row_id", "user_input", "llm_response")
        return found.collect() if most is None else found.head(most).collect(engine="streaming")

    def _found(self, wanted: RowFilter) -> pl.LazyFrame:
        return self._of_days(wanted.days).filter(polars_condition(wanted, self._rubric))

    def _of_days(self, days: Sequence[date]) -> pl.LazyFrame:
        rows = self._read(days) if days else None
        return empty_frame(self._rubric.scores_schema).lazy() if rows is None else rows
