"""What stands out among the scored rows of a day: the worst of them, and what failed.

A folder is read; BigQuery is asked, so that of millions of rows only these leave it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from scoring.alerting.facts import EXAMPLES
from scoring.chat.kpis import ALL_TENANTS, Quotient
from scoring.chat.rubric import RowRubric
from scoring.chat.sql_tables import (
    alert_examples_query,
    cluster_moments_query,
    clusters_query,
    failure_types_query,
    rows_query,
    worst_of_cells_query,
    worst_rows_query,
)
from scoring.rules.polars_backend import to_polars
from scoring.stats.intervals import MAX_RESAMPLED_CLUSTERS, Interval, mean_of_clusters, mean_of_moments
from tasks.config.addresses import is_bigquery
from tasks.warehouse import Warehouse

FAILURE_TITLES = {
    "refused_advice": "거절: 투자 자문(법률)",
    "refused_domain": "거절: 금융 범위 밖",
    "refused_scope": "거절: 주식 범위 밖",
    "too_broad": "질문 범위가 너무 넓음",
    "not_understood": "질문을 이해하지 못함",
    "blocked": "LLM 호출 차단",
    "too_short": "답변이 너무 짧음",
}

if TYPE_CHECKING:
    from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse

SCORES = "monitoring_scores"
_WORST_ROWS = 20
_WORST_FIRST = ["final_score", "timestamp", "row_id"]
_CLUSTERS = {"cluster": pl.String, "size": pl.Int64, "total": pl.Int64}
_SHOWN = (
    *("row_id", "timestamp", "final_score", "final_grade", "q_score", "a_score", "i_score", "failure_type", "cause"),
    "user_input",
)


@dataclass(frozen=True)
class Findings:
    """Failure types with their `row_count`, most first, the rows with the lowest scores, worst first, and how sure the
    means are."""

    failures: Sequence[Mapping[str, Any]]
    worst: Sequence[Mapping[str, Any]]
    mean_intervals: Mapping[str, Interval | None]


def findings_in(scores: pl.LazyFrame, rubric: RowRubric) -> Findings:
    """The findings in a score table. Worst rows are found by their keys: sorting whole rows would hold all texts."""
    keys = scores.select(_WORST_FIRST).sort(_WORST_FIRST).head(_WORST_ROWS).collect()
    worst = scores.select(_SHOWN).filter(pl.col("row_id").is_in(keys["row_id"].implode()))
    worst_rows = worst.collect().sort(_WORST_FIRST).to_dicts()
    return Findings(_failure_types(scores), worst_rows, _mean_intervals(scores, rubric))


def findings_of_day(warehouse: Warehouse, rubric: RowRubric, day: date) -> Findings:
    """The findings of a day that has been written."""
    if inside := _inside(warehouse):
        worst = worst_rows_query(inside.table(SCORES).quoted, _SHOWN, _WORST_ROWS)
        intervals = mean_intervals(warehouse, rubric, day)
        return Findings(failure_types(warehouse, day), inside.ask(worst, day), intervals)
    written = warehouse.read(SCORES, [day])
    if written is None:
        raise AssertionError(f"{day} has been written and is not there")
    return findings_in(written, rubric)


def failure_types(warehouse: Warehouse, day: date) -> list[dict[str, Any]]:
    """How many rows of a day (`row_count`) have each `failure_type`, most first."""
    if inside := _inside(warehouse):
        return inside.ask(failure_types_query(inside.table(SCORES).quoted), day)
    written = warehouse.read(SCORES, [day])
    return [] if written is None else _failure_types(written)


def alert_examples(warehouse: Warehouse, day: date) -> dict[tuple[str, str | None], list[str]]:
    """The worst row ids of a day by (rule, tenant), the tenant also as `*`."""
    if inside := _inside(warehouse):
        rows = inside.ask(alert_examples_query(inside.table(SCORES).quoted, EXAMPLES), day)
        return {(row["rule"], row["tenant_id"]): row["row_ids"] for row in rows}
    written = warehouse.read(SCORES, [day])
    return {} if written is None else _worst_by_rule(written)


def rows_of_day(
    warehouse: Warehouse, day: date, row_ids: Collection[str], columns: Sequence[str]
) -> list[dict[str, Any]]:
    """These columns of these rows of a day, in no order; rows that are not there are left out.

    None in columns that the version which wrote the day did not have.
    """
    if not row_ids:
        return []
    if inside := _inside(warehouse):
        known = inside.columns(SCORES)
        found = inside.ask(rows_query(inside.table(SCORES).quoted, [n for n in columns if n in known], row_ids), day)
    elif (written := warehouse.read(SCORES, [day])) is not None:
        known = set(written.collect_schema())
        these = written.filter(pl.col("row_id").is_in(list(row_ids)))
        found = these.select([name for name in columns if name in known]).collect().to_dicts()
    else:
        return []
    return [dict.fromkeys(columns) | row for row in found]


def rows_to_look_at(warehouse: Warehouse, rubric: RowRubric, day: date, worst: int, of_cell: int) -> set[str]:
    """The ids of the worst rows of a day, and of the worst of each cell of its cross table."""
    if inside := _inside(warehouse):
        scores = inside.table(SCORES).quoted
        ids = {row["row_id"] for row in inside.ask(worst_rows_query(scores, ["row_id"], worst), day)}
        return ids.union(*(row["row_ids"] for row in inside.ask(worst_of_cells_query(rubric, scores, of_cell), day)))
    written = warehouse.read(SCORES, [day], rubric.scores_schema)
    if written is None:
        return set()
    pair = (rubric.crosstab.row_grade, rubric.crosstab.column_grade)
    keys = written.select(*_WORST_FIRST, *pair).collect().sort(_WORST_FIRST)
    of_cells = keys.group_by(pair, maintain_order=True).head(of_cell)
    return {*keys.head(worst)["row_id"], *of_cells["row_id"]}


def mean_intervals(warehouse: Warehouse, rubric: RowRubric, day: date) -> dict[str, Interval | None]:
    """The interval of each mean with a target of a day, by the KPI's name."""
    if inside := _inside(warehouse):
        return {mean.name: _interval_inside(inside, mean, day) for mean in _means(rubric)}
    written = warehouse.read(SCORES, [day])
    return {} if written is None else _mean_intervals(written, rubric)


def _mean_intervals(scores: pl.LazyFrame, rubric: RowRubric) -> dict[str, Interval | None]:
    """Turns of one session are no independent witnesses."""
    by_cluster = scores.group_by(cluster=pl.coalesce("session_id", "row_id"))
    size = pl.len().cast(pl.Int64)
    totals = {mean: to_polars(mean.expression).sum().cast(pl.Int64) for mean in _means(rubric)}
    return {
        mean.name: _of_clusters(mean, by_cluster.agg(size=size, total=total).collect())
        for mean, total in totals.items()
    }


def _means(rubric: RowRubric) -> list[Quotient]:
    return [kpi for kpi in rubric.quotients if kpi.target and kpi.scale != 1]


def _interval_inside(warehouse: BigQueryWarehouse, mean: Quotient, day: date) -> Interval | None:
    scores = warehouse.table(SCORES).quoted
    (moments,) = warehouse.ask(cluster_moments_query(scores, mean), day)
    if moments["clusters"] > MAX_RESAMPLED_CLUSTERS:
        return _in_points(mean, mean_of_moments(**moments))
    return _of_clusters(mean, pl.DataFrame(warehouse.ask(clusters_query(scores, mean), day), schema=_CLUSTERS))


def _of_clusters(mean: Quotient, clusters: pl.DataFrame) -> Interval | None:
    clusters = clusters.sort("cluster")
    return _in_points(mean, mean_of_clusters(clusters["total"].to_numpy(), clusters["size"].to_numpy()))


def _in_points(mean: Quotient, of_sums: Interval | None) -> Interval | None:
    return of_sums and Interval(of_sums.low / mean.scale, of_sums.high / mean.scale)


def _inside(warehouse: Warehouse) -> BigQueryWarehouse | None:
    """The warehouse, where it can be asked."""
    return cast("BigQueryWarehouse", warehouse) if is_bigquery(warehouse.url) else None


def _failure_types(scores: pl.LazyFrame) -> list[dict[str, Any]]:
    counted = scores.drop_nulls("failure_type").group_by("failure_type").agg(row_count=pl.len())
    return counted.sort(["row_count", "failure_type"], descending=[True, False]).collect().to_dicts()


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
