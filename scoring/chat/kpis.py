"""Aggregated tables of scored rows: KPIs per day and tenant, and the cross table of two grades.

Sums are whole numbers, added chunk by chunk, and each quotient is divided once at the end: every engine and every order
of rows gives the same bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.figures import Target
from scoring.rules.arrow_types import described, field
from scoring.rules.expressions import Column, Compare, Expression, Value
from scoring.rules.polars_backend import to_polars

ALL_TENANTS = "*"
KpiRow = Mapping[str, Any]
"""A row of the KPI table: a day and a tenant, `*` for all tenants."""

KpisByDay = Mapping[date, Sequence[KpiRow]]
"""The KPI rows of several days and all tenants."""

RubricVersion = tuple[str | None, str | None]
"""The id of a rubric and its version, None if a row does not have them."""

KPI_KEYS = ["score_date", "tenant_id"]
"""The key of the KPI table."""


@dataclass(frozen=True)
class Measure:
    """A whole number summed over rows; conditions count as 1."""

    name: str
    expression: Expression
    title: str


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

    @property
    def is_rate(self) -> bool:
        """Whether it is the share of the rows that meet a condition, not the mean of a score."""
        return self.scale == 1 and not isinstance(self.expression, Column)

    @property
    def counted(self) -> Expression:
        """The condition of the rows that are listed for a rate: those that count against its target."""
        in_favour = self.target is not None and self.target.operator == ">="
        return Compare(self.expression, "!=" if in_favour else "=", Value(1))

    @property
    def counted_title(self) -> str:
        """The title of these rows (Korean): `실패율에 포함된 행`."""
        if self.target is None:
            return self.title
        return f"{self.title}에 {'포함되지 않은' if self.target.operator == '>=' else '포함된'} 행"


@dataclass(frozen=True)
class FramedPairs:
    """The framed (highlighted) pairs of grades of a cross table: their title, and what to do about them (Korean)."""

    row_grades: tuple[str, ...]
    column_grades: tuple[str, ...]
    title: str
    action: str


@dataclass(frozen=True)
class Crosstab:
    """A table of two grade columns with the means of some whole-number scores.

    `caption` describes its content, `note` the KPIs that can be read from it (Korean).
    """

    row_grade: str
    column_grade: str
    mean_scores: tuple[str, ...]
    caption: str
    note: str = ""
    framed: FramedPairs | None = None

    @property
    def keys(self) -> list[str]:
        """The key columns."""
        return ["score_date", self.row_grade, self.column_grade]

    @property
    def mean_columns(self) -> list[str]:
        """The columns of the means, in the order of the scores: `avg_q` of `q_score`."""
        return [f"avg_{score.removesuffix('_score')}" for score in self.mean_scores]


def rows_by_tenant(rows: Iterable[KpiRow]) -> dict[str | None, KpiRow]:
    """The KPI rows of one day by tenant."""
    return {row["tenant_id"]: row for row in rows}


def days_by_tenant(kpis: KpisByDay) -> dict[str | None, dict[date, KpiRow]]:
    """The KPI rows of each tenant, and of all tenants, by day."""
    found: dict[str | None, dict[date, KpiRow]] = {}
    for day, rows in kpis.items():
        for row in rows:
            found.setdefault(row["tenant_id"], {})[day] = row
    return found


def rows_of_tenant(kpis: KpisByDay, tenant: str | None = ALL_TENANTS) -> dict[date, KpiRow]:
    """The KPI row of one tenant, or of all tenants, on each day that has one."""
    return {day: row for day, rows in kpis.items() for row in rows if row["tenant_id"] == tenant}


def scored_and_excluded(row: KpiRow) -> int:
    """The number of rows of the day that were read and not rejected."""
    return int(row["rows"] + row["excluded"])


def rubric_version_of(row: KpiRow) -> RubricVersion:
    """The id and the version of the rubric that scored the day; None if the row does not have them."""
    return row.get("rubric"), row.get("rubric_version")


def kpi_sums(rows: pl.DataFrame, totals: Sequence[Measure | Quotient], count_as: str) -> pl.DataFrame:
    """One row per (`score_date`, `tenant_id`): the number of `rows` as `count_as`, and the sum of each total."""
    return rows.group_by(KPI_KEYS).agg(
        pl.len().cast(pl.Int64).alias(count_as),
        *map(_summed, totals),
    )


@cache
def _summed(total: Measure | Quotient) -> pl.Expr:
    """Cached: translation takes as long as summing a batch."""
    return to_polars(total.expression).sum().cast(pl.Int64).alias(total.name)


def merged_sums(parts: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Merges several results of `kpi_sums` or `crosstab_sums`; a total that is missing in a part counts as 0."""
    return pl.concat(parts, how="diagonal").group_by(keys).agg(pl.exclude(keys).sum())


def kpi_table(
    parts: Sequence[pl.DataFrame],
    measures: Sequence[Measure],
    quotients: Sequence[Quotient],
    days: Sequence[date | None] = (),
) -> pl.DataFrame:
    """KPIs: a row per (`score_date`, `tenant_id`) and one per day for all tenants (`*`), also for `days` without rows.

    `rows` is the denominator: scored rows. A day or tenant with excluded rows only has 0 rows and NULL quotients.
    `<kpi>_met` is NULL where the KPI is.
    """
    counted = ["rows", "excluded", *(measure.name for measure in measures), *(quotient.name for quotient in quotients)]
    nothing = pl.DataFrame(schema={"score_date": pl.Date, "tenant_id": pl.String} | dict.fromkeys(counted, pl.Int64))
    no_rows = pl.DataFrame({"score_date": days}, schema={"score_date": pl.Date})  # its sums are 0
    by_tenant = merged_sums([nothing, *parts], KPI_KEYS)
    all_tenants = pl.concat([by_tenant, no_rows], how="diagonal").group_by("score_date").agg(pl.col(counted).sum())
    together = pl.concat([by_tenant, all_tenants.with_columns(tenant_id=pl.lit(ALL_TENANTS))], how="diagonal")
    read = pl.col("rows") + pl.col("excluded")
    return together.select(
        *KPI_KEYS,
        "rows",
        "excluded",
        _divided(pl.col("excluded"), read).alias("excluded_rate"),
        *(column for quotient in quotients for column in _quotient_columns(quotient)),
        *(measure.name for measure in measures),
    ).sort(KPI_KEYS, nulls_last=True)


def _quotient_columns(quotient: Quotient) -> list[pl.Expr]:
    """The value of a quotient; with a target also the target and whether it is met."""
    value = _divided(pl.col(quotient.name), pl.col("rows") * quotient.scale)
    if quotient.target is None:
        return [value.alias(quotient.name)]
    goal = quotient.target.value
    met = value >= goal if quotient.target.operator == ">=" else value <= goal
    return [
        value.alias(quotient.name),
        pl.lit(float(goal)).alias(f"{quotient.name}_target"),
        met.alias(f"{quotient.name}_met"),
    ]


def crosstab_sums(rows: pl.DataFrame, crosstab: Crosstab) -> pl.DataFrame:
    """One row per day and pair of grades: the number of rows, and the sum of each score."""
    return rows.group_by(crosstab.keys).agg(pl.len().cast(pl.Int64).alias("cnt"), pl.col(crosstab.mean_scores).sum())


def crosstab_table(parts: Sequence[pl.DataFrame], crosstab: Crosstab) -> pl.DataFrame:
    """One row per day and pair of grades that occurs: `cnt`, `pct` of the day (2 decimals), means (1 decimal).

    Source: seed 002, 9.
    """
    nothing = pl.DataFrame(
        schema={"score_date": pl.Date, crosstab.row_grade: pl.String, crosstab.column_grade: pl.String}
        | dict.fromkeys(("cnt", *crosstab.mean_scores), pl.Int64)
    )
    day_total = pl.col("cnt").sum().over("score_date")
    return (
        merged_sums([nothing, *parts], crosstab.keys)
        .select(
            *crosstab.keys,
            "cnt",
            _rounded(pl.col("cnt") * 100, day_total, digits=2).alias("pct"),
            *(
                _rounded(pl.col(score), pl.col("cnt"), digits=1).alias(name)
                for score, name in zip(crosstab.mean_scores, crosstab.mean_columns, strict=True)
            ),
        )
        .sort(crosstab.keys)
    )


def _divided(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """One division of whole numbers; NULL for division by 0. A column as divisor makes Polars truly divide."""
    return numerator / pl.when(denominator != 0).then(denominator)


def _rounded(numerator: pl.Expr, denominator: pl.Expr, digits: int) -> pl.Expr:
    """A quotient of whole numbers rounded half away from zero, in integer arithmetic until the last step."""
    scale = 10**digits
    shifted: pl.Expr = (numerator * (2 * scale) + denominator) // (denominator * 2)
    return (shifted / pl.lit(scale)).round(digits)


def quotient_fields(quotients: Iterable[Quotient]) -> list[pa.Field]:
    """Up to three columns per quotient: its value, its target and whether the target is met."""
    fields = []
    for quotient in quotients:
        fields.append(field(quotient.name, pa.float64(), described(quotient.title, quotient.source)))
        if quotient.target:
            fields.append(field(f"{quotient.name}_target", pa.float64(), f"{quotient.title} 목표"))
            fields.append(field(f"{quotient.name}_met", pa.bool_(), f"{quotient.title} 목표 달성 여부"))
    return fields


def measure_fields(measures: Iterable[Measure]) -> list[pa.Field]:
    """A whole-number column per measure."""
    return [field(measure.name, pa.int64(), measure.title) for measure in measures]
