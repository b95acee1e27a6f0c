"""What stands out among the scored rows of a day: the worst of them, and what failed.

A folder is read; BigQuery is asked, so that of millions of rows only these leave it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from scoring.alerts import EXAMPLES
from scoring.derived_tables import ALL_TENANTS
from scoring.googlesql_tables import alert_examples_query, failure_types_query, rows_query, worst_rows_query
from tasks.bigquery.names import is_bigquery
from tasks.warehouse import Warehouse

if TYPE_CHECKING:
    from tasks.warehouse.bigquery import BigQueryWarehouse

SCORES = "monitoring_scores"
_WORST_ROWS = 20
_WORST_FIRST = ["final_score", "timestamp", "row_id"]
_SHOWN = (
    *("row_id", "timestamp", "final_score", "final_grade", "q_score", "a_score", "i_score", "failure_type", "cause"),
    "user_input",
)


@dataclass(frozen=True)
class Findings:
    """Failure types with their `row_count`, most first, and the rows with the lowest scores, worst first."""

    failures: Sequence[Mapping[str, Any]]
    worst: Sequence[Mapping[str, Any]]


def findings_in(scores: pl.LazyFrame) -> Findings:
    """The findings in a score table. Worst rows are found by their keys: sorting whole rows would hold all texts."""
    failures = scores.drop_nulls("failure_type").group_by("failure_type").agg(pl.len().alias("row_count"))
    keys = scores.select(_WORST_FIRST).sort(_WORST_FIRST).head(_WORST_ROWS).collect()
    worst = scores.select(_SHOWN).filter(pl.col("row_id").is_in(keys["row_id"].implode()))
    return Findings(
        failures.sort(["row_count", "failure_type"], descending=[True, False]).collect().to_dicts(),
        worst.collect().sort(_WORST_FIRST).to_dicts(),
    )


def findings_of_day(warehouse: Warehouse, day: date) -> Findings:
    """The findings of a day that has been written."""
    if is_bigquery(warehouse.url):
        inside = cast("BigQueryWarehouse", warehouse)
        scores = inside.table(SCORES).quoted
        return Findings(
            inside.ask(failure_types_query(scores), day),
            inside.ask(worst_rows_query(scores, _SHOWN, _WORST_ROWS), day),
        )
    written = warehouse.read(SCORES, [day])
    if written is None:
        raise AssertionError(f"{day} has been written and is not there")
    return findings_in(written)


def alert_examples(warehouse: Warehouse, day: date) -> dict[tuple[str, str | None], list[str]]:
    """The worst row ids of a day by (rule, tenant), the tenant also as `*`."""
    if is_bigquery(warehouse.url):
        inside = cast("BigQueryWarehouse", warehouse)
        rows = inside.ask(alert_examples_query(inside.table(SCORES).quoted, EXAMPLES), day)
        return {(row["rule"], row["tenant_id"]): row["row_ids"] for row in rows}
    written = warehouse.read(SCORES, [day])
    return {} if written is None else _worst_by_rule(written)


def rows_of_day(
    warehouse: Warehouse, day: date, row_ids: Collection[str], columns: Sequence[str]
) -> list[dict[str, Any]]:
    """These columns of these rows of a day, in no order; rows that are not there are left out."""
    if not row_ids:
        return []
    if is_bigquery(warehouse.url):
        inside = cast("BigQueryWarehouse", warehouse)
        return inside.ask(rows_query(inside.table(SCORES).quoted, columns, row_ids), day)
    written = warehouse.read(SCORES, [day])
    if written is None:
        return []
    return written.select(columns).filter(pl.col("row_id").is_in(list(row_ids))).collect().to_dicts()


def _worst_by_rule(scores: pl.LazyFrame) -> dict[tuple[str, str | None], list[str]]:
    fired = (
        scores.select(*_WORST_FIRST, "tenant_id", pl.col("alert_rules").alias("rule"))
        .explode("rule")
        .drop_nulls("rule")
        .sort(_WORST_FIRST)
        .collect()
    )
    worst: dict[tuple[str, str | None], list[str]] = {}
    for row_id, tenant, rule in fired.select("row_id", "tenant_id", "rule").iter_rows():
        for key in ((rule, tenant), (rule, ALL_TENANTS)):
            ids = worst.setdefault(key, [])
            if len(ids) < EXAMPLES:
                ids.append(row_id)
    return worst
