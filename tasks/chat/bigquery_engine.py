"""A day scored inside BigQuery: the same rules as SQL. Only sums, ids and a few examples leave it.

The source is scanned once, into a staged day in the dataset of the tables; everything else is made of that, table by
table, each replaced in one statement. A run that dies leaves whole tables and a staged day that expires; the next run
of the day begins anew and replaces them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa
from google.cloud.bigquery import ArrayQueryParameter

from scoring.chat.erasure import PERSONAL_COLUMNS
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText
from scoring.chat.shrinkage import RowsByTenant, TenantRows
from scoring.chat.sql_rows import UNREADABLE, rejecting_unreadable
from scoring.chat.sql_scores import UNSCORED_BY, staged_query
from scoring.chat.sql_tables import (
    crosstab_query,
    excluded_query,
    kpis_query,
    outcome_counts_query,
    rejected_query,
    scores_query,
)
from scoring.days import day_window
from scoring.errors import StorageError
from tasks.chat.local_engine import Counts
from tasks.chat.sources import FileFailure
from tasks.chat.sources.bigquery import BigQueryChatRows, bounds
from tasks.chat.sources.content import DayContent
from tasks.chat.tables import CROSSTAB, EXCLUDED, KPIS, SCORES
from tasks.config.addresses import TableName
from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse
from tasks.warehouse.tables import REJECTED, REJECTED_SCHEMA


@dataclass
class PushdownDay:
    """The outcome of one pass inside BigQuery: counts, and the staged day that the tables are made of.

    `rubric` also rejects what cannot be read. KPIs and cross table are those of the warehouse: they are known when the
    day is written.
    """

    rubric: RowRubric
    day: date
    content: DayContent | None
    counts: Counts
    excluded_by_reason: Counter[str]
    rejected_by_code: Counter[str]
    naive_timestamps: int
    failures: list[FileFailure]
    tenants: RowsByTenant
    _view: str
    _warehouse: BigQueryWarehouse
    _staged: TableName

    def write(self, erased: Collection[str] = (), most: Mapping[str | None, int] | None = None) -> None:
        """Replaces the day in the score, excluded, KPI, cross and rejected tables.

        Rows of `erased` sessions, given by their hashes, are written without session and texts. `most` are the rows by
        tenant that the day may have at the moment when it is replaced (None: as many as it likes).

        Raises:
            StorageError: a table did not get as many rows as were counted, or the day has more rows than `most`.
        """
        rubric, counts, staged = self.rubric, self.counts, self._staged.quoted
        scores, excluded = (self._warehouse.table(name).quoted for name in (SCORES, EXCLUDED))
        without = [ArrayQueryParameter("erased", "STRING", sorted(erased))]
        query = scores_query(rubric, staged, PERSONAL_COLUMNS)
        self._replace(counts.scored, SCORES, rubric.scores_schema, query, without, most=most)
        query = excluded_query(rubric, staged, PERSONAL_COLUMNS)
        self._replace(counts.excluded, EXCLUDED, rubric.excluded_schema, query, without)
        self._replace(None, KPIS, rubric.kpis_schema, kpis_query(rubric, scores, excluded))
        self._replace(None, CROSSTAB, rubric.crosstab_schema, crosstab_query(rubric, scores))
        query = rejected_query(rubric, staged, self._view)
        self._replace(counts.rejected, REJECTED, REJECTED_SCHEMA, query, only={"rubric": rubric.id})

    def remove(self) -> None:
        """Drops the staged day."""
        self._warehouse.remove(self._staged)

    def kpis(self, days: Sequence[date] = ()) -> pl.DataFrame:
        """KPIs of the written day per tenant, and for all (`tenant_id` = '*'), whatever the `days`."""
        return self._kpis

    def rows_by_tenant(self) -> RowsByTenant:
        """Scored and excluded rows by tenant and for all (`*`), as they are staged."""
        return self.tenants

    def period_kpis(self) -> dict[str, Any]:
        """The KPIs of all rows together."""
        return self.kpis().filter(pl.col("tenant_id") == ALL_TENANTS).to_dicts()[0]

    def crosstab(self) -> pl.DataFrame:
        """The tier x grade table of the written day."""
        return self._written(CROSSTAB).sort(self.rubric.crosstab.keys)

    def first_rejected(self, count: int) -> list[dict[str, Any]]:
        """None: a row of a view has no line to name, only the numbers by code tell something."""
        return []

    @cached_property
    def _kpis(self) -> pl.DataFrame:
        return self._written(KPIS).sort("tenant_id", nulls_last=True)

    def _replace(
        self,
        rows: int | None,
        table: str,
        schema: pa.Schema,
        query: str,
        parameters: Sequence[ArrayQueryParameter] = (),
        only: Mapping[str, str] | None = None,
        most: Mapping[str | None, int] | None = None,
    ) -> None:
        """Replaces the day of one table, which then must have so many `rows`."""
        written = self._warehouse.replace_day_by(table, self.day, schema, query, parameters, only, most)
        if rows is not None and written != rows:
            raise StorageError(
                f"of {rows} rows {written} were written",
                where=f"{self._warehouse.table(table)}, {self.day}",
                fix="run the day again",
            )

    def _written(self, table: str) -> pl.DataFrame:
        rows = self._warehouse.read(table, [self.day])
        if rows is None:
            raise AssertionError(f"{self.day} has been written and is not there")
        return rows.collect()


def score_by_pushdown(
    source: BigQueryChatRows,
    warehouse: BigQueryWarehouse,
    rubric: RowRubric,
    day: date,
    *,
    time_zone: str,
    keep_text: KeepText,
) -> PushdownDay:
    """Scores the rows of the day, and those of no time at all, into a staged day, which the caller removes.

    Raises:
        InputError: there is no such view, or it is not where the dataset is.
        UsageError: no permission, or more bytes than allowed.
        StorageError: BigQuery is busy or out of reach.
    """
    rubric = rejecting_unreadable(rubric)
    window = day_window(day, time_zone)
    query = staged_query(rubric, chat_rows=source.sql(window), time_zone=time_zone, keep_text=keep_text)
    # Before the rows: what arrives meanwhile is then found by the next run.
    content = source.contents(window, time_zone).get(day, DayContent())
    staged = warehouse.keep(SCORES, query, bounds(window))
    try:
        fates = warehouse.ask(outcome_counts_query(staged.quoted), day)
    except BaseException:
        warehouse.remove(staged)
        raise
    by_rule = Counter[int | None]()
    for fate in fates:
        by_rule[fate[UNSCORED_BY.name]] += int(fate["row_count"])
    rejected, excluded = Counter[str](), Counter[str]()
    for place, reject in enumerate(rubric.rejects):
        rejected[reject.code] += by_rule[place]
    for place, exclusion in enumerate(rubric.exclusions, start=len(rubric.rejects)):
        excluded[exclusion.code] += by_rule[place]
    counts = Counts(by_rule.total(), by_rule[None], excluded.total(), rejected.total())
    counts.check()
    readable = (fate for fate in fates if fate[UNSCORED_BY.name] not in range(len(UNREADABLE)))
    return PushdownDay(
        rubric,
        day,
        content,
        counts,
        +excluded,
        +rejected,
        sum(int(fate["naive_count"]) for fate in readable),
        [],
        _by_tenant(fates, len(rubric.rejects)),
        str(source.view),
        warehouse,
        staged,
    )


def _by_tenant(fates: Iterable[Mapping[str, Any]], rejects: int) -> dict[str | None, TenantRows]:
    """Scored and excluded rows by tenant and for all (`*`); rules before number `rejects` reject rows."""
    found: dict[str | None, TenantRows] = {}
    for fate in fates:
        rule, count = fate[UNSCORED_BY.name], int(fate["row_count"])
        if rule is not None and rule < rejects:
            continue
        for tenant in (fate["tenant_id"], ALL_TENANTS):
            before = found.get(tenant, TenantRows())
            found[tenant] = (
                replace(before, scored=before.scored + count)
                if rule is None
                else replace(before, excluded=before.excluded + count)
            )
    return found
