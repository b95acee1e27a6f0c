"""Whether the rows still say what the thresholds were drawn from: the seed's section 2, rebuilt from any scored rows.

Each figure stands beside the seed's with its interval. A figure has *drifted* when the whole interval lies further from
the seed's than `RATE_MARGIN` (rates) or `MEAN_MARGIN` (means, quantiles): of many thousand rows every difference is
sure, and only large ones matter. Nothing here changes a threshold. A row failed when it has a `failure_type`.

Source: SPEC 1.4 (threshold evidence); seed 002, 2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, Literal

import polars as pl

from scoring.rubrics.ola_monitoring.seed_evidence import (
    BASES,
    BUCKETS,
    METRICS,
    PRECISIONS,
    SAFE_FROM_TOKENS,
    Basis,
    SeedBucket,
    SeedMetric,
    SeedPrecision,
)
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Z_95, Interval, mean_of_clusters, wilson_interval

RATE_MARGIN = 0.05
MEAN_MARGIN = 0.10
# "No failure from 101 tokens up" still holds while at most one answer in a thousand fails there.
SAFE_FAILURE_RATE = 0.001

Verdict = Literal["kept", "drifted", "too_few", "unknown"]


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of `n` rows beside the seed's; `value` is None where there are no rows, or no such column.

    `margin` is how far it may be from the seed's; None where the seed counted something else.
    """

    seed: float
    value: float | None
    interval: Interval | None
    n: int
    margin: float | None

    @property
    def verdict(self) -> Verdict:
        """`too_few` below the least n of a verdict, `unknown` where there is nothing to compare."""
        if self.value is None or self.margin is None:
            return "unknown"
        if self.n < MIN_N_FOR_VERDICT or self.interval is None:
            return "too_few"
        away = self.interval.low > self.seed + self.margin or self.interval.high < self.seed - self.margin
        return "drifted" if away else "kept"


@dataclass(frozen=True)
class MetricEvidence:
    """A metric over good and failed answers. `is_share`: the figures are shares of rows."""

    metric: SeedMetric
    is_share: bool
    ok: ComparedFigure
    failed: ComparedFigure

    @property
    def ratio(self) -> float | None:
        """How many times the good answers have more; infinite where the failed ones have none."""
        return _ratio(self.ok.value, self.failed.value)

    @property
    def seed_ratio(self) -> float | None:
        """The same in the seed."""
        return _ratio(self.metric.ok, self.metric.failed)


@dataclass(frozen=True)
class BucketEvidence:
    """One bucket of tokens with its failure rate."""

    column: str
    bucket: SeedBucket
    failed: int
    rate: ComparedFigure


@dataclass(frozen=True)
class PrecisionEvidence:
    """How often an answer is good with and without an element."""

    element: SeedPrecision
    ok_with: ComparedFigure
    ok_without: ComparedFigure


@dataclass(frozen=True)
class ThresholdEvidence:
    """A threshold as it is, and what the rows would suggest; `basis` says in Korean how the seed drew it."""

    title: str
    value: float
    suggested: float | None
    interval: Interval | None
    verdict: Verdict
    basis: str
    source: str


@dataclass(frozen=True)
class Evidence:
    """The seed's section 2 over `rows` scored turns, of which `failed` failed."""

    rows: int
    failed: int
    failure_rate: Interval | None
    metrics: tuple[MetricEvidence, ...]
    buckets: tuple[BucketEvidence, ...]
    precisions: tuple[PrecisionEvidence, ...]
    thresholds: tuple[ThresholdEvidence, ...]


def threshold_evidence(rows: pl.LazyFrame) -> Evidence:
    """The evidence of rows of `monitoring_scores`; texts are not needed."""
    judged = rows.with_columns(failed=pl.col("failure_type").is_not_null())
    clusters = judged.group_by(pl.coalesce("session_id", "row_id").alias("cluster"), "failed").agg(_cluster_totals())
    counts, totals = pl.collect_all([judged.select(_counts()), clusters])
    found = counts.row(0, named=True)
    precisions = tuple(_precision(element, found) for element in PRECISIONS)
    return Evidence(
        rows=found["rows"],
        failed=found["failed"],
        failure_rate=wilson_interval(found["failed"], found["rows"]),
        metrics=tuple(_metric(metric, totals) for metric in METRICS),
        buckets=tuple(_bucket(column, bucket, found) for column, each in BUCKETS.items() for bucket in each),
        precisions=precisions,
        thresholds=(_safe_cut(found), *(_quantile(basis, found) for basis in BASES), *_element_points(precisions)),
    )


def _cluster_totals() -> Iterator[pl.Expr]:
    """Sum and number of each metric, per session: turns of one session are no independent witnesses."""
    for metric in METRICS:
        yield pl.col(metric.column).cast(pl.Float64).sum().alias(f"sum {metric.column}")
        yield pl.col(metric.column).count().alias(f"n {metric.column}")


def _counts() -> Iterator[pl.Expr]:
    """Everything that is counted over the rows, and the quantiles with both ends of their intervals."""
    failed = pl.col("failed")
    yield pl.len().alias("rows")
    yield failed.sum().alias("failed")
    for column, buckets in BUCKETS.items():
        for bucket in buckets:
            inside = _inside(column, bucket)
            yield inside.sum().alias(f"rows {column} {bucket.low}")
            yield (inside & failed).sum().alias(f"failed {column} {bucket.low}")
    for column in filter(None, (element.column for element in PRECISIONS)):
        for name, has in (("with", pl.col(column)), ("without", ~pl.col(column))):
            yield has.sum().alias(f"rows {name} {column}")
            yield (has & ~failed).sum().alias(f"ok {name} {column}")
    safe = pl.col("output_tokens") >= SAFE_FROM_TOKENS
    yield safe.sum().alias("rows safe")
    yield (safe & failed).sum().alias("failed safe")
    yield pl.col("output_tokens").filter(failed).max().alias("last failure")
    for basis in BASES:
        values = pl.col(basis.column).filter(~failed if basis.of == "ok" else pl.lit(value=True)).drop_nulls()
        # Order statistics: the rank of a quantile is binomial.
        reach = Z_95 * sqrt(basis.quantile * (1 - basis.quantile)) / values.len().cast(pl.Float64).sqrt()
        yield values.len().alias(f"n {basis.title}")
        for name, quantile in (
            ("low", basis.quantile - reach),
            ("value", pl.lit(basis.quantile)),
            ("high", basis.quantile + reach),
        ):
            yield values.quantile(quantile.clip(0, 1)).alias(f"{name} {basis.title}")


def _inside(column: str, bucket: SeedBucket) -> pl.Expr:
    above = pl.col(column) >= bucket.low
    # The seed's buckets are of whole tokens; each ends where the next starts, so that a fraction falls into one.
    return above if bucket.high is None else above & (pl.col(column) < bucket.high + 1)


def _metric(metric: SeedMetric, totals: pl.DataFrame) -> MetricEvidence:
    share = metric.column.startswith(("answer_has_", "question_has_"))

    def figure(seed: float, group: pl.DataFrame, margin: float | None) -> ComparedFigure:
        own = group.filter(pl.col(f"n {metric.column}") > 0)
        sums, sizes = own[f"sum {metric.column}"], own[f"n {metric.column}"]
        total, n = float(sums.sum()), int(sizes.sum())
        if not n:
            return ComparedFigure(seed, None, None, 0, margin)
        if share:
            return ComparedFigure(seed, total / n, wilson_interval(round(total), n), n, margin)
        return ComparedFigure(seed, total / n, mean_of_clusters(sums.to_numpy(), sizes.to_numpy()), n, margin)

    of_failed = RATE_MARGIN if share else MEAN_MARGIN * metric.failed
    return MetricEvidence(
        metric,
        share,
        figure(metric.ok, totals.filter(~pl.col("failed")), RATE_MARGIN if share else MEAN_MARGIN * metric.ok),
        figure(metric.failed, totals.filter("failed"), None if metric.note else of_failed),
    )


def _bucket(column: str, bucket: SeedBucket, found: Mapping[str, Any]) -> BucketEvidence:
    failed = found[f"failed {column} {bucket.low}"]
    rate = _rate(bucket.failed / bucket.rows, failed, found[f"rows {column} {bucket.low}"])
    return BucketEvidence(column, bucket, failed, rate)


def _precision(element: SeedPrecision, found: Mapping[str, Any]) -> PrecisionEvidence:
    figures = [
        _rate(seed, found[f"ok {name} {element.column}"], found[f"rows {name} {element.column}"])
        if element.column
        else ComparedFigure(seed, None, None, 0, RATE_MARGIN)
        for name, seed in (("with", element.ok_with), ("without", element.ok_without))
    ]
    return PrecisionEvidence(element, *figures)


def _rate(seed: float, count: int, n: int) -> ComparedFigure:
    return ComparedFigure(seed, count / n if n else None, wilson_interval(count, n), n, RATE_MARGIN)


def _safe_cut(found: Mapping[str, Any]) -> ThresholdEvidence:
    """The least number of tokens from which no answer failed."""
    failed, n, last = found["failed safe"], found["rows safe"], found["last failure"]
    interval = wilson_interval(failed, n)
    verdict: Verdict = "too_few"
    if interval and n >= MIN_N_FOR_VERDICT:
        verdict = "drifted" if interval.low > SAFE_FAILURE_RATE else "kept"
    return ThresholdEvidence(
        title="실패가 없는 출력 토큰의 시작",
        value=SAFE_FROM_TOKENS,
        suggested=None if last is None else float(int(last) + 1),
        interval=None,
        verdict=verdict,
        basis=f"{SAFE_FROM_TOKENS} 토큰 이상 {n:,}건 가운데 실패 {failed:,}건",
        source="seed 002, 2.2",
    )


def _quantile(basis: Basis, found: Mapping[str, Any]) -> ThresholdEvidence:
    n, value = found[f"n {basis.title}"], found[f"value {basis.title}"]
    interval = None if value is None else Interval(found[f"low {basis.title}"], found[f"high {basis.title}"])
    figure = ComparedFigure(basis.value, value, interval, n, MEAN_MARGIN * basis.value)
    rows = "정상 답변" if basis.of == "ok" else "전체 행"
    text = f"{rows} {n:,}건의 {basis.quantile:.0%} 분위수"
    return ThresholdEvidence(basis.title, basis.value, value, interval, figure.verdict, text, basis.source)


def _element_points(precisions: Sequence[PrecisionEvidence]) -> Iterator[ThresholdEvidence]:
    """The elements that earn points because an answer that has them is good."""
    for precision in precisions:
        figure = precision.ok_with
        if precision.element.column:
            yield ThresholdEvidence(
                title=f"{precision.element.title}: 있을 때 정상 비율",
                value=figure.seed,
                suggested=figure.value,
                interval=figure.interval,
                verdict=figure.verdict,
                basis=f"그 요소가 있는 행 {figure.n:,}건의 정상 비율",
                source="seed 002, 2.4",
            )


def _ratio(ok: float | None, failed: float | None) -> float | None:
    if ok is None or failed is None:
        return None
    return ok / failed if failed else inf
