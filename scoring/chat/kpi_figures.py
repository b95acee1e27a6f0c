"""The figure of each KPI by day and tenant, and the columns of the KPI table that store it.

All outputs compute their figures from KPI rows, so that the table agrees with what people see.

Source: SPEC 10.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.chat.kpis import ALL_TENANTS, KPI_KEYS, Quotient
from scoring.figures import Figure
from scoring.rules.arrow_types import empty_frame, field
from scoring.rules.polars_backend import to_polars
from scoring.stats.intervals import Interval, mean_of_moments, wilson_interval

_Key = tuple[date | None, str | None]
MeanIntervals = Mapping[_Key, Mapping[str, Interval | None]]
"""The intervals of means by day (None: all days together) and tenant (`*`: all), then by the KPI's name."""

_MOST_POINTS = 100.0
_ROWS_AT_ONCE = 100_000  # whole days; the sessions of a day take some ten megabytes


def kpi_figure(kpi: Quotient, row: Mapping[str, Any]) -> Figure:
    """The figure of a KPI with a target from one KPI row: a rate has Wilson's interval, a mean the interval stored in
    its row, if any.
    """
    assert kpi.target is not None, f"{kpi.name} has no target"
    value, rows = row[kpi.name], row["rows"]
    if kpi.is_rate:
        interval = None if value is None else wilson_interval(round(value * rows), rows)
    else:
        low, high = row.get(f"{kpi.name}_low"), row.get(f"{kpi.name}_high")
        interval = None if low is None or high is None else Interval(low, high)
    return Figure(kpi.title, value, rows, kpi.target, interval, kpi.is_rate)


def kpi_figures(kpis: Iterable[Quotient], row: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of the KPIs with a target from one KPI row, by name."""
    return {kpi.name: kpi_figure(kpi, row) for kpi in kpis if kpi.target}


def with_figures(kpis: pl.DataFrame, quotients: Sequence[Quotient], mean_intervals: MeanIntervals) -> pl.DataFrame:
    """A table of KPIs with three more columns per KPI with a target: the ends of its interval, and its verdict."""
    types = empty_frame(pa.schema(figure_fields(quotients))).schema
    rows = [
        _figure_columns(quotients, row, mean_intervals.get((row["score_date"], row["tenant_id"]), {}))
        for row in kpis.iter_rows(named=True)
    ]
    return kpis.hstack(pl.DataFrame(rows, schema=types))


def _figure_columns(
    quotients: Sequence[Quotient], row: Mapping[str, Any], mean_intervals: Mapping[str, Interval | None]
) -> dict[str, Any]:
    known = dict(row)
    for name, interval in mean_intervals.items():
        known |= {f"{name}_low": interval and interval.low, f"{name}_high": interval and interval.high}
    columns: dict[str, Any] = {}
    for name, figure in kpi_figures(quotients, known).items():
        columns[f"{name}_low"] = figure.interval and figure.interval.low
        columns[f"{name}_high"] = figure.interval and figure.interval.high
        columns[f"{name}_verdict"] = figure.verdict
    return columns


def figure_fields(quotients: Iterable[Quotient]) -> list[pa.Field]:
    """Three columns per quotient with a target: the ends of its interval, and its verdict."""
    fields = []
    for quotient in quotients:
        if quotient.target:
            fields.append(field(f"{quotient.name}_low", pa.float64(), f"{quotient.title} 95% 구간의 아래 끝"))
            fields.append(field(f"{quotient.name}_high", pa.float64(), f"{quotient.title} 95% 구간의 위 끝"))
            fields.append(field(f"{quotient.name}_verdict", pa.string(), "met | missed | undecided"))
    return fields


def means_with_target(quotients: Iterable[Quotient]) -> list[Quotient]:
    """The KPIs with a target that are means of scores."""
    return [kpi for kpi in quotients if kpi.target and not kpi.is_rate]


def mean_intervals(scores: pl.LazyFrame, quotients: Iterable[Quotient]) -> MeanIntervals:
    """The interval of each mean with a target, by day and tenant and by day for all tenants, from scored rows.

    Turns of a session are not independent: sessions are the clusters, and a turn without a session is its own cluster.
    The sums of sessions are held in memory for a few days at a time.
    """
    means = means_with_target(quotients)
    days = scores.group_by("score_date").len().sort("score_date").collect()
    portions = days.group_by(pl.col("len").cum_sum() // _ROWS_AT_ONCE, maintain_order=True)
    found: dict[_Key, Mapping[str, Interval | None]] = {}
    for _, portion in portions:
        of_days = scores.filter(pl.col("score_date").is_between(*portion["score_date"].gather([0, -1])))
        found |= _mean_intervals_together(of_days, means)
    return found


def _mean_intervals_together(scores: pl.LazyFrame, means: Sequence[Quotient]) -> MeanIntervals:
    totals = {mean.name: to_polars(mean.expression).sum() for mean in means}
    sessions = scores.group_by(*KPI_KEYS, cluster=pl.coalesce("session_id", "row_id")).agg(size=pl.len(), **totals)
    of_tenants, counted = sessions.collect(), pl.col("size", *totals)
    of_all = of_tenants.group_by("score_date", "cluster").agg(counted.sum(), tenant_id=pl.lit(ALL_TENANTS))
    clusters = pl.concat([of_tenants, of_all.select(of_tenants.columns)])
    exact = clusters.with_columns(counted.cast(pl.Int128))  # squared sums of large sessions
    return intervals_of_moments((mean, exact.group_by(KPI_KEYS).agg(**_moments(mean)).to_dicts()) for mean in means)


def _moments(mean: Quotient) -> dict[str, pl.Expr]:
    size, total = pl.col("size"), pl.col(mean.name)
    return {
        "clusters": pl.len(),
        "size": size.sum(),
        "total": total.sum(),
        "of_sums": (total * total).sum(),
        "mixed": (total * size).sum(),
        "of_sizes": (size * size).sum(),
    }


def intervals_of_moments(moments: Iterable[tuple[Quotient, Iterable[Mapping[str, Any]]]]) -> MeanIntervals:
    """The intervals of means, in parts of a point, from rows with a key and the arguments of `mean_of_moments`."""
    found: dict[tuple[date | None, str | None], dict[str, Interval | None]] = defaultdict(dict)
    for mean, rows in moments:
        for row in rows:
            sums = {name: value for name, value in row.items() if name not in KPI_KEYS}
            of_sums = mean_of_moments(**sums)
            found[row["score_date"], row["tenant_id"]][mean.name] = of_sums and in_points(mean, of_sums)
    return dict(found)


def in_points(kpi: Quotient, of_sums: Interval) -> Interval:
    """Converts an interval of summed parts of a point to points, 0 to 100; whole numbers may exceed that range."""
    if kpi.scale == 1:
        return of_sums
    return Interval(max(of_sums.low / kpi.scale, 0.0), min(of_sums.high / kpi.scale, _MOST_POINTS))
