"""Tables that sum scored rows: KPIs per day and tenant, and the cross table of two grades.

Sums are whole numbers, added chunk by chunk, and each quotient is divided once at the end: every engine and every order
of rows gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from scoring.expressions import Expression
from scoring.polars_backend import to_polars

ALL_TENANTS = "*"
_KPI_KEYS = ["score_date", "tenant_id"]


@dataclass(frozen=True)
class Measure:
    """A whole number summed over rows; conditions count as 1."""

    name: str
    expression: Expression
    title: str


@dataclass(frozen=True)
class Target:
    """What a KPI should reach."""

    operator: Literal[">=", "<="]
    value: float


@dataclass(frozen=True)
class Quotient:
    """A whole-number sum over rows divided by `scale` times the number of scored rows; NULL without rows.

    A rate sums a condition with scale 1; the mean of a score with one decimal sums tenths with scale 10.
    """

    name: str
    expression: Expression
    title: str
    source: str
    scale: int = 1
    target: Target | None = None


@dataclass(frozen=True)
class Crosstab:
    """A table of two grade columns with the means of some whole-number scores."""

    row_grade: str
    column_grade: str
    mean_scores: tuple[str, ...]


def kpi_sums(rows: pl.DataFrame, totals: Sequence[Measure | Quotient], count_as: str) -> pl.DataFrame:
    """One row per (`score_date`, `tenant_id`): the number of `rows` as `count_as`, and the sum of each total."""
    return rows.group_by(_KPI_KEYS).agg(
        pl.len().cast(pl.Int64).alias(count_as),
        *(to_polars(total.expression).sum().cast(pl.Int64).alias(total.name) for total in totals),
    )


def kpi_table(parts: Sequence[pl.DataFrame], measures: Sequence[Measure], quotients: Sequence[Quotient]) -> pl.DataFrame:
    """KPIs: one row per (`score_date`, `tenant_id`) and one per day for all tenants (`*`).

    `rows` is the denominator: scored rows. A day or tenant with excluded rows only has 0 rows and NULL quotients.
    `<kpi>_met` is NULL where the KPI is.
    """
    names = ["rows", "excluded", *(total.name for total in (*measures, *quotients))]
    empty = pl.DataFrame(
        schema={"score_date": pl.Date, "tenant_id": pl.String} | dict.fromkeys(names, pl.Int64)
    )
    by_tenant = pl.concat([empty, *parts], how="diagonal").group_by(_KPI_KEYS).agg(pl.col(names).sum())
    all_tenants = by_tenant.group_by("score_date").agg(pl.col(names).sum())
    together = pl.concat(
        [by_tenant, all_tenants.with_columns(tenant_id=pl.lit(ALL_TENANTS))], how="diagonal"
    )
    columns = [pl.col("score_date"), pl.col("tenant_id"), pl.col("rows"), pl.col("excluded")]
    columns.append(_divided(pl.col("excluded"), pl.col("rows") + pl.col("excluded")).alias("excluded_rate"))
    for quotient in quotients:
        value = _divided(pl.col(quotient.name), pl.col("rows") * quotient.scale)
        columns.append(value.alias(quotient.name))
        if quotient.target:
            goal = quotient.target
            columns.append(pl.lit(float(goal.value)).alias(f"{quotient.name}_target"))
            met = value >= goal.value if goal.operator == ">=" else value <= goal.value
            columns.append(met.alias(f"{quotient.name}_met"))
    columns.extend(pl.col(measure.name) for measure in measures)
    return together.select(columns).sort(_KPI_KEYS, nulls_last=True)


def crosstab_sums(rows: pl.DataFrame, crosstab: Crosstab) -> pl.DataFrame:
    """One row per day and pair of grades: how many rows, and the sum of each score."""
    return rows.group_by(["score_date", crosstab.row_grade, crosstab.column_grade]).agg(
        pl.len().cast(pl.Int64).alias("cnt"), pl.col(crosstab.mean_scores).sum()
    )


def crosstab_table(parts: Sequence[pl.DataFrame], crosstab: Crosstab) -> pl.DataFrame:
    """One row per day and pair of grades that occurs: `cnt`, `pct` of the day (2 decimals), means (1 decimal).

    Source: seed 002, 9.
    """
    keys = ["score_date", crosstab.row_grade, crosstab.column_grade]
    summed = pl.concat(parts).group_by(keys).agg(pl.col("cnt").sum(), pl.col(crosstab.mean_scores).sum())
    day_total = pl.col("cnt").sum().over("score_date")
    return summed.select(
        *keys,
        "cnt",
        _rounded(pl.col("cnt") * 100, day_total, digits=2).alias("pct"),
        *(
            _rounded(pl.col(score), pl.col("cnt"), digits=1).alias(f"avg_{score.removesuffix('_score')}")
            for score in crosstab.mean_scores
        ),
    ).sort(keys)


def _divided(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """One division of whole numbers; NULL by 0. A column divisor is a true division in Polars."""
    return numerator / pl.when(denominator != 0).then(denominator)


def _rounded(numerator: pl.Expr, denominator: pl.Expr, digits: int) -> pl.Expr:
    """A quotient of whole numbers rounded half away from zero, in whole numbers until the last step."""
    shifted = (numerator * (2 * 10**digits) + denominator) // (denominator * 2)
    return (shifted / 10**digits).round(digits)
