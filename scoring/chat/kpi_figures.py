"""The figure of each KPI by day and tenant, and the columns of the KPI table that store it.

All outputs compute their figures from KPI rows, so that the table agrees with what people see.

Source: SPEC 10.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.chat.kpis import ALL_TENANTS, KPI_KEYS, Quotient
from scoring.chat.row_ids import TEXTS
from scoring.figures import Figure
from scoring.rules.arrow_types import field, frame_of
from scoring.rules.evaluation_order import columns_of
from scoring.rules.polars_backend import to_polars
from scoring.stats.intervals import Interval, mean_of_moments, rate_of_moments, wilson_interval

_Key = tuple[date | None, str | None]
KpiIntervals = Mapping[_Key, Mapping[str, Interval | None]]
"""The intervals of KPIs by day and tenant (`*`: all), then by the KPI's name; all days together have none."""

_MOST_POINTS = 100.0
_ROWS_AT_ONCE = 100_000  # whole days; the sessions of a day take some ten megabytes


def kpi_figure(kpi: Quotient, row: Mapping[str, Any]) -> Figure:
    """The figure of a KPI with a target from one KPI row: with the interval stored in its row, if any; a rate without
    one has Wilson's.
    """
    assert kpi.target is not None, f"{kpi.name} has no target"
    value, rows = row[kpi.name], row["rows"]
    low, high = row.get(f"{kpi.name}_low"), row.get(f"{kpi.name}_high")
    interval = None if low is None or high is None else Interval(low, high)
    if interval is None and kpi.is_rate and value is not None:
        interval = wilson_interval(round(value * rows), rows)
    return Figure(kpi.title, value, rows, kpi.target, interval, kpi.is_rate)


def kpi_figures(kpis: Iterable[Quotient], row: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of the KPIs with a target from one KPI row, by name."""
    return {kpi.name: kpi_figure(kpi, row) for kpi in kpis if kpi.target}


def with_figures(kpis: pl.DataFrame, quotients: Sequence[Quotient], kpi_intervals: KpiIntervals) -> pl.DataFrame:
    """A table of KPIs with three more columns per KPI with a target: the ends of its interval, and its verdict."""
    rows = []
    for row in kpis.iter_rows(named=True):
        for name, interval in kpi_intervals.get((row["score_date"], row["tenant_id"]), {}).items():
            row |= _ends(name, interval)
        columns: dict[str, Any] = {}
        for name, figure in kpi_figures(quotients, row).items():
            columns |= {**_ends(name, figure.interval), f"{name}_verdict": figure.verdict}
        rows.append(columns)
    return kpis.hstack(frame_of(pa.schema(figure_fields(quotients)), rows))


def _ends(name: str, interval: Interval | None) -> dict[str, Any]:
    return {f"{name}_low": interval and interval.low, f"{name}_high": interval and interval.high}


def figure_fields(quotients: Iterable[Quotient]) -> list[pa.Field]:
    """Three columns per quotient with a target: the ends of its interval, and its verdict."""
    fields = []
    for quotient in quotients:
        if quotient.target:
            fields.append(field(f"{quotient.name}_low", pa.float64(), f"{quotient.title} 95% 구간의 아래 끝"))
            fields.append(field(f"{quotient.name}_high", pa.float64(), f"{quotient.title} 95% 구간의 위 끝"))
            fields.append(field(f"{quotient.name}_verdict", pa.string(), "met | missed | undecided"))
    return fields


def of_stored_rows(quotients: Iterable[Quotient]) -> list[Quotient]:
    """The KPIs with a target that can be computed from stored scores, which lack the texts of most rows."""
    return [kpi for kpi in quotients if kpi.target and not {*TEXTS} & {*columns_of(kpi.expression)}]


def kpi_intervals(scores: pl.LazyFrame, quotients: Iterable[Quotient]) -> KpiIntervals:
    """The interval of each KPI with a target, by day and tenant and by day for all tenants, from scored rows; none for
    KPIs that need texts.

    Turns of a session are not independent: sessions are the clusters, and a turn without a session is its own cluster.
    The sums of sessions are held in memory for a few days at a time.
    """
    kpis = of_stored_rows(quotients)
    days = scores.group_by("score_date").len().sort("score_date").collect()
    portions = days.group_by(pl.col("len").cum_sum() // _ROWS_AT_ONCE, maintain_order=True)
    found: dict[_Key, Mapping[str, Interval | None]] = {}
    for _, portion in portions:
        of_days = scores.filter(pl.col("score_date").is_between(*portion["score_date"].gather([0, -1])))
        found |= _intervals_together(of_days, kpis)
    return found


def _intervals_together(scores: pl.LazyFrame, kpis: Sequence[Quotient]) -> KpiIntervals:
    totals = {f"total_{place}": to_polars(kpi.expression).sum() for place, kpi in enumerate(kpis)}
    sessions = scores.group_by(*KPI_KEYS, cluster=pl.coalesce("session_id", "row_id")).agg(size=pl.len(), **totals)
    of_tenants, counted = sessions.collect(), pl.col("size", *totals)
    of_all = of_tenants.group_by("score_date", "cluster").agg(counted.sum(), tenant_id=pl.lit(ALL_TENANTS))
    clusters = pl.concat([of_tenants, of_all.select(of_tenants.columns)])
    exact = clusters.with_columns(counted.cast(pl.Int128))  # squared sums of large sessions
    size = pl.col("size")
    moments = {"clusters": pl.len(), "size": size.sum(), "of_sizes": (size * size).sum()}
    for place in range(len(kpis)):
        total = pl.col(f"total_{place}")
        moments |= {
            f"total_{place}": total.sum(),
            f"of_sums_{place}": (total * total).sum(),
            f"mixed_{place}": (total * size).sum(),
        }
    return intervals_of_moments(kpis, exact.group_by(KPI_KEYS).agg(**moments).to_dicts())


def intervals_of_moments(kpis: Sequence[Quotient], rows: Iterable[Mapping[str, Any]]) -> KpiIntervals:
    """The intervals of KPIs from rows with a key and the moments of its sessions, for a mean of points in parts.

    `total_0`, `of_sums_0` and `mixed_0` are those of the first KPI, and so on; the others are the same for all.
    """
    found: dict[_Key, dict[str, Interval | None]] = {}
    for row in rows:
        of_key = found.setdefault((row["score_date"], row["tenant_id"]), {})
        for place, kpi in enumerate(kpis):
            interval_of = rate_of_moments if kpi.is_rate else mean_of_moments
            own = {name: row[f"{name}_{place}"] for name in ("total", "of_sums", "mixed")}
            of_sums = interval_of(clusters=row["clusters"], size=row["size"], of_sizes=row["of_sizes"], **own)
            of_key[kpi.name] = of_sums and in_points(kpi, of_sums)
    return found


def in_points(kpi: Quotient, of_sums: Interval) -> Interval:
    """Converts an interval of summed parts of a point to points, 0 to 100; whole numbers may exceed that range."""
    if kpi.scale == 1:
        return of_sums
    return Interval(max(of_sums.low / kpi.scale, 0.0), min(of_sums.high / kpi.scale, _MOST_POINTS))
