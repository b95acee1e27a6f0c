"""Scores a day inside BigQuery with the same rules as SQL. Only sums, ids and a few examples leave BigQuery.

The source is scanned once, into a staged day in the dataset of the tables; all tables are built from it, one by one,
each replaced in one statement. A run that is killed leaves complete tables and a staged day that expires; the next run
of the day starts over and replaces all tables.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa
from google.cloud.bigquery import ArrayQueryParameter

from scoring.chat.day_content import DayContent
from scoring.chat.erasure import PERSONAL_COLUMNS
from scoring.chat.kpi_figures import with_figures
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
from scoring.errors import StorageError, UsageError
from scoring.inputs import REJECTED_SCHEMA
from scoring.rules.arrow_types import empty_frame
from tasks.chat.engine import Counts, KpiTables, ScoringOutcome
from tasks.chat.sources.bigquery import BigQueryChatRows, bounds
from tasks.chat.tables import CROSSTAB, EXCLUDED, KPIS
from tasks.config.addresses import TableName
from tasks.warehouse import table_rows
from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse
from tasks.warehouse.tables import REJECTED, SCORES


@dataclass(frozen=True)
class PushdownDay:
    """A day scored inside BigQuery: its counts, and the staged rows for the tables.

    `outcome.rubric` also rejects unreadable rows.
    """

    outcome: ScoringOutcome
    rows_by_tenant: RowsByTenant
    _day: date
    _view: str
    _warehouse: BigQueryWarehouse
    _staged: TableName

    def write(self, erased: Collection[str] = (), most: Mapping[str | None, int] | None = None) -> KpiTables:
        """Replaces the day table by table, each in one statement; returns the KPIs read back afterwards.

        Raises:
            StorageError: a table did not get as many rows as were counted, or the day has more rows than `most`.
        """
        rubric, counts, staged = self.outcome.rubric, self.outcome.counts, self._staged.quoted
        without = [ArrayQueryParameter("erased", "STRING", sorted(erased))]
        query = scores_query(rubric, staged, PERSONAL_COLUMNS)
        self._replace(counts.scored, SCORES, rubric.scores_schema, query, without, most=most)
        query = excluded_query(rubric, staged, PERSONAL_COLUMNS)
        self._replace(counts.excluded, EXCLUDED, rubric.excluded_schema, query, without)
        scores, excluded = map(self._warehouse.rows_of, (SCORES, EXCLUDED))  # which are in the tables now
        kpis = self._kpis(kpis_query(rubric, scores, excluded))
        self._warehouse.replace_day(KPIS, self._day, rubric.kpis_schema, [kpis])
        self._replace(None, CROSSTAB, rubric.crosstab_schema, crosstab_query(rubric, scores))
        query = rejected_query(rubric, staged, self._view)
        self._replace(counts.rejected, REJECTED, REJECTED_SCHEMA, query, only={"rubric": rubric.id})
        crosstab = table_rows(self._warehouse, CROSSTAB, rubric.crosstab_schema, [self._day]).collect()
        return KpiTables.of_day(kpis, crosstab.sort(rubric.crosstab.keys))

    def discard(self) -> None:
        """Drops the staged rows."""
        self._warehouse.remove(self._staged)

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
        """Replaces the day of one table and checks that it has so many `rows`."""
        written = self._warehouse.replace_day_by(table, self._day, schema, query, parameters, only, most)
        if rows is not None and written != rows:
            raise StorageError(
                f"of {rows} rows {written} were written",
                where=f"{self._warehouse.table(table)}, {self._day}",
                fix="run the day again",
            )

    def _kpis(self, query: str) -> pl.DataFrame:
        """The KPIs of the written rows with their figures, which are computed here as in the local engine."""
        rubric, rows = self.outcome.rubric, self._warehouse.ask(query, self._day)
        types = empty_frame(rubric.kpis_schema).schema
        kpis = pl.DataFrame(rows, schema={name: types[name] for name in rows[0]}).sort("tenant_id", nulls_last=True)
        intervals = self._warehouse.day_queries(self._day, rubric).kpi_intervals()
        return with_figures(kpis, rubric.quotients, intervals).select(rubric.kpis_schema.names)


@dataclass(frozen=True)
class PushdownEngine:
    """Scores the rows of a view inside BigQuery, for a dataset in the same location."""

    source: BigQueryChatRows
    warehouse: BigQueryWarehouse
    rubric: RowRubric
    time_zone: str
    keep_text: KeepText

    def score(self, day: date) -> PushdownDay:
        """Scores the rows of a day, and the rows without a timestamp, into a staged day.

        Raises:
            InputError: there is no such view, or it is in another location than the dataset.
            UsageError: no permission, or more bytes than allowed.
            StorageError: BigQuery is busy or unreachable.
        """
        rubric = rejecting_unreadable(self.rubric)
        window = day_window(day, self.time_zone)
        query = staged_query(
            rubric, chat_rows=self.source.sql(window), time_zone=self.time_zone, keep_text=self.keep_text
        )
        # Before the rows: the next run then detects rows that arrive meanwhile.
        content = self.source.contents(window, self.time_zone).get(day, DayContent())
        staged = self.warehouse.keep(SCORES, query, bounds(window))
        try:
            counted = self.warehouse.ask(outcome_counts_query(staged.quoted), day)
        except BaseException:
            self.warehouse.remove(staged)
            raise
        return PushdownDay(
            replace(_outcome(rubric, counted, content), naive_zone=self.source.reading.naive_zone),
            _by_tenant(counted, len(rubric.rejects)),
            day,
            str(self.source.view),
            self.warehouse,
            staged,
        )


def refuse_two_locations(source: BigQueryChatRows, warehouse: BigQueryWarehouse) -> None:
    """Checks that one statement can read the rows and write the tables.

    Raises:
        UsageError: they are in two locations.
    """
    if source.location.lower() != warehouse.location.lower():
        raise UsageError(
            f"is in location {warehouse.location}, and the rows are in {source.location}",
            where=str(warehouse.dataset),
            fix=f'make a dataset in {source.location}, or set monitoring.engine = "local"',
        )


def _outcome(rubric: RowRubric, counted: Sequence[Mapping[str, Any]], content: DayContent) -> ScoringOutcome:
    """Counts by the rule that rejected or excluded a row, from the counts of the staged rows."""
    by_rule = Counter[int | None]()
    for group in counted:
        by_rule[group[UNSCORED_BY.name]] += int(group["row_count"])
    rejected, excluded = Counter[str](), Counter[str]()
    for place, reject in enumerate(rubric.rejects):
        rejected[reject.code] += by_rule[place]
    for place, exclusion in enumerate(rubric.exclusions, start=len(rubric.rejects)):
        excluded[exclusion.code] += by_rule[place]
    counts = Counts(by_rule.total(), by_rule[None], excluded.total(), rejected.total())
    counts.check()
    readable = (group for group in counted if group[UNSCORED_BY.name] not in range(len(UNREADABLE)))
    return ScoringOutcome(
        rubric=rubric,
        counts=counts,
        naive_timestamps=sum(int(group["naive_count"]) for group in readable),
        repeated=sum(int(group["repeated_count"]) for group in counted if group[UNSCORED_BY.name] is None),
        excluded_by_reason=+excluded,
        rejected_by_code=+rejected,
        content=content,
    )


def _by_tenant(counted: Iterable[Mapping[str, Any]], rejects: int) -> dict[str | None, TenantRows]:
    """Scored and excluded rows by tenant and for all (`*`); rules with an index below `rejects` reject rows."""
    scored, excluded = Counter[str | None](), Counter[str | None]()
    for group in counted:
        rule = group[UNSCORED_BY.name]
        if rule is None or rule >= rejects:
            rows = scored if rule is None else excluded
            for tenant in (group["tenant_id"], ALL_TENANTS):
                rows[tenant] += int(group["row_count"])
    return {tenant: TenantRows(scored[tenant], excluded[tenant]) for tenant in scored | excluded}
