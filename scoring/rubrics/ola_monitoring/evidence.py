"""Checks that rows still support the thresholds: recomputes the seed's section 2 from any scored rows.

Each figure is shown with the seed's and its interval. A figure has *drifted* if the whole interval is further from the
seed's than `RATE_MARGIN` (rates) or `MEAN_MARGIN` (means, quantiles): over many thousand rows every difference is
significant, and only large ones matter. It is *kept* if the whole interval is nearer, else undecided: few rows do not
show that nothing has changed. The seed's figure counts as exact: with as many rows as the seed had, one report in fifty
then names a drift that is the seed's own chance. Nothing here changes a threshold. A row failed if it has a
`failure_type`.

Source: SPEC 1.4 (threshold evidence); seed 002, 2.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, sqrt
from typing import Any, Generic, Literal, TypeVar

import polars as pl

from scoring.chat.rubric import FAILURE_NOTE, EvidenceReport
from scoring.markdown import percent, table
from scoring.rubrics.ola_monitoring.seed_evidence import (
    BASES,
    BUCKETS,
    METRICS,
    PRECISIONS,
    SAFE_FROM_TOKENS,
    SEED_ROWS,
    Basis,
    SeedBucket,
    SeedMetric,
    SeedPrecision,
)
from scoring.stats.exact import exact, rounded
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Z_95, Interval, mean_of_clusters, wilson_interval

RATE_MARGIN = 0.05
MEAN_MARGIN = 0.10
# "No failure from 101 tokens up" still holds while at most one answer in a thousand fails there.
SAFE_FAILURE_RATE = 0.001

Verdict = Literal["kept", "drifted", "undecided", "too_few", "unknown"]
_VERDICTS: dict[Verdict, str] = {
    "kept": "유지",
    "drifted": "⚠ 이탈",
    "undecided": "판단 보류",
    "too_few": "판단 보류",
    "unknown": "비교할 수 없음",
}
SeedLine = TypeVar("SeedLine", SeedMetric, SeedBucket, SeedPrecision)


@dataclass(frozen=True)
class ComparedFigure:
    """A figure over `n` rows and the seed's figure; `value` is None if there are no rows, or no such column.

    `margin` is the allowed difference; None if the seed counted something else.
    """

    seed: float
    value: float | None
    interval: Interval | None
    n: int
    margin: float | None

    @property
    def verdict(self) -> Verdict:
        """`too_few` below the minimum n of a verdict, `undecided` if the interval reaches over a margin, `unknown` if
        there is nothing to compare.
        """
        if self.value is None or self.margin is None:
            return "unknown"
        if self.n < MIN_N_FOR_VERDICT or self.interval is None:
            return "too_few"
        low, high = self.seed - self.margin, self.seed + self.margin
        if self.interval.low > high or self.interval.high < low:
            return "drifted"
        return "kept" if low <= self.interval.low and self.interval.high <= high else "undecided"

    def as_dict(self) -> dict[str, Any]:
        """The figure for programs."""
        interval = self.interval and asdict(self.interval)
        return {"seed": self.seed, "value": self.value, "interval": interval, "n": self.n, "verdict": self.verdict}


@dataclass(frozen=True)
class Compared(Generic[SeedLine]):
    """A line of one of the seed's tables, and each of its rates or means with that of the rows."""

    seed: SeedLine
    figures: tuple[ComparedFigure, ...]

    @property
    def verdict_text(self) -> str:
        """The verdicts of its figures in one word (Korean)."""
        found = {figure.verdict for figure in self.figures} - {"kept"} or {"kept"}
        return next(text for verdict, text in _VERDICTS.items() if verdict in found)

    def as_dict(self, *names: str) -> dict[str, Any]:
        """Its figures for programs, by these names."""
        return {name: figure.as_dict() for name, figure in zip(names, self.figures, strict=True)}


@dataclass(frozen=True)
class ThresholdEvidence:
    """A threshold, and the value that the rows would suggest; `basis` says in Korean how the seed derived it."""

    title: str
    value: float
    suggested: float | None
    interval: Interval | None
    verdict: Verdict
    basis: str
    source: str


@dataclass(frozen=True)
class Evidence:
    """The seed's section 2 over `rows` scored turns, of which `failed` failed; buckets by their column."""

    rows: int
    failed: int
    metrics: tuple[Compared[SeedMetric], ...]
    buckets: dict[str, tuple[Compared[SeedBucket], ...]]
    precisions: tuple[Compared[SeedPrecision], ...]
    thresholds: tuple[ThresholdEvidence, ...]


def threshold_evidence(rows: pl.LazyFrame) -> Evidence:
    """The evidence of rows of `monitoring_scores`; texts are not needed."""
    used = {one.column for one in METRICS} | {one.column for one in BASES}
    cluster, failed = pl.coalesce("session_id", "row_id"), pl.col("failure_type").is_not_null()
    found = rows.select(*sorted(used), cluster=cluster, failed=failed).collect()
    precisions = tuple(Compared(element, _precision(element, found)) for element in PRECISIONS)
    return Evidence(
        rows=found.height,
        failed=int(found["failed"].sum()),
        metrics=tuple(Compared(metric, _means(metric, found)) for metric in METRICS),
        buckets={
            column: tuple(Compared(bucket, (_failure_rate(column, bucket, found),)) for bucket in buckets)
            for column, buckets in BUCKETS.items()
        },
        precisions=precisions,
        thresholds=(_safe_cut(found), *(_quantile(basis, found) for basis in BASES), *_element_points(precisions)),
    )


def evidence_report(rows: pl.LazyFrame, period: str) -> EvidenceReport:
    """The evidence of the scored rows of `period`, in Korean markdown and as values for JSON."""
    evidence = threshold_evidence(rows)
    return EvidenceReport(evidence.rows, _markdown(evidence, period), _values(evidence))


def _means(metric: SeedMetric, rows: pl.DataFrame) -> tuple[ComparedFigure, ...]:
    """The means (of a condition: the shares of rows) over the good and over the failed answers."""

    def figure(seed: float, of: pl.DataFrame, *, known: bool) -> ComparedFigure:
        of = of.drop_nulls(metric.column)
        if metric.is_share:
            return _rate(seed, of[metric.column])
        margin = MEAN_MARGIN * seed if known else None
        if of.is_empty():
            return ComparedFigure(seed, None, None, 0, margin)
        # Turns of one session are not independent observations.
        values = pl.col(metric.column).cast(pl.Float64)
        clusters = of.group_by("cluster").agg(total=values.sum(), size=pl.len()).sort("cluster")
        interval = mean_of_clusters(clusters["total"].to_numpy(), clusters["size"].to_numpy())
        return ComparedFigure(seed, float(clusters["total"].sum()) / of.height, interval, of.height, margin)

    return (
        figure(metric.ok, rows.filter(~pl.col("failed")), known=True),
        figure(metric.failed, rows.filter("failed"), known=not metric.note),
    )


def _failure_rate(column: str, bucket: SeedBucket, rows: pl.DataFrame) -> ComparedFigure:
    inside = pl.col(column) >= bucket.low
    if bucket.high is not None:
        # The seed's buckets are of whole tokens; each ends where the next starts, so that a fraction falls into one.
        inside &= pl.col(column) < bucket.high + 1
    return _rate(bucket.failed / bucket.rows, rows.filter(inside)["failed"])


def _precision(element: SeedPrecision, rows: pl.DataFrame) -> tuple[ComparedFigure, ...]:
    if element.column is None:
        return tuple(ComparedFigure(seed, None, None, 0, RATE_MARGIN) for seed in (element.ok_with, element.ok_without))
    has = pl.col(element.column)
    return (
        _rate(element.ok_with, ~rows.filter(has)["failed"]),
        _rate(element.ok_without, ~rows.filter(~has)["failed"]),
    )


def _rate(seed: float, met: pl.Series, margin: float = RATE_MARGIN) -> ComparedFigure:
    n, count = met.len(), int(met.sum())
    return ComparedFigure(seed, count / n if n else None, wilson_interval(count, n), n, margin)


def _safe_cut(rows: pl.DataFrame) -> ThresholdEvidence:
    """The smallest number of tokens from which no answer failed."""
    safe = rows.filter(pl.col("output_tokens") >= SAFE_FROM_TOKENS)["failed"]
    rate, last = _rate(0.0, safe, SAFE_FAILURE_RATE), rows.filter("failed")["output_tokens"].max()
    return ThresholdEvidence(
        title="실패 유형이 없는 출력 토큰의 시작",
        value=SAFE_FROM_TOKENS,
        suggested=float(int(last) + 1) if isinstance(last, float) else None,
        interval=None,
        verdict=rate.verdict if rate.n else "too_few",
        basis=f"{SAFE_FROM_TOKENS} 토큰 이상 {rate.n:,}건 가운데 실패 유형이 있는 것 {safe.sum():,}건",
        source="seed 002, 2.2",
    )


def _quantile(basis: Basis, rows: pl.DataFrame) -> ThresholdEvidence:
    values = (rows if basis.of == "all" else rows.filter(~pl.col("failed")))[basis.column].drop_nulls()
    n, value, interval = values.len(), values.quantile(basis.quantile), None
    if n:
        # Order statistics: the rank of a quantile is binomial.
        reach = Z_95 * sqrt(basis.quantile * (1 - basis.quantile)) / sqrt(n)
        ends = max(0.0, basis.quantile - reach), min(1.0, basis.quantile + reach)
        interval = Interval(*(float(values.quantile(end) or 0) for end in ends))
    verdict = ComparedFigure(basis.value, value, interval, n, MEAN_MARGIN * basis.value).verdict
    of = "정상 답변" if basis.of == "ok" else "전체 행"
    text = f"{of} {n:,}건의 {basis.quantile:.0%} 분위수"
    return ThresholdEvidence(basis.title, basis.value, value, interval, verdict, text, basis.source)


def _element_points(precisions: Iterable[Compared[SeedPrecision]]) -> Iterator[ThresholdEvidence]:
    """The elements that earn points because answers with them are good."""
    for element, figure in ((one.seed, one.figures[0]) for one in precisions if one.seed.column):
        title = f"{element.title}: 있을 때 정상 비율"
        basis = f"그 요소가 있는 행 {figure.n:,}건의 정상 비율"
        yield ThresholdEvidence(
            title, figure.seed, figure.value, figure.interval, figure.verdict, basis, "seed 002, 2.4"
        )


def _values(evidence: Evidence) -> dict[str, Any]:
    failure_rate = wilson_interval(evidence.failed, evidence.rows)
    return {
        "rows": evidence.rows,
        "failed": evidence.failed,
        "failure_rate": failure_rate and asdict(failure_rate),
        "thresholds": [asdict(one) for one in evidence.thresholds],
        "metrics": [
            {"metric": one.seed.column, **one.as_dict("ok", "failed"), "ratio": ratio, "seed_ratio": seed_ratio}
            for one in evidence.metrics
            # JSON has no infinite number.
            for ratio, seed_ratio in [tuple(None if ratio == inf else ratio for ratio in _ratios(one))]
        ],
        "buckets": [
            {"column": column, "low": one.seed.low, "high": one.seed.high, "failed": _count(one), **one.as_dict("rate")}
            for column, buckets in evidence.buckets.items()
            for one in buckets
        ],
        "precisions": [
            {"element": one.seed.title, "column": one.seed.column, **one.as_dict("ok_with", "ok_without")}
            for one in evidence.precisions
        ],
    }


def _markdown(evidence: Evidence, period: str) -> str:
    failure_rate = evidence.failed / evidence.rows if evidence.rows else None
    between = _between(wilson_interval(evidence.failed, evidence.rows), percent)
    parts = [
        f"# 기준값 점검: {period}",
        f"- 채점한 행 {evidence.rows:,}건, 실패 유형이 있는 행 {evidence.failed:,}건"
        f" ({percent(failure_rate)}, 95% 구간 {between})\n"
        f"- 기준: 기준 문서의 {SEED_ROWS:,}건(2026-01-27 ~ 02-19). 정상은 실패 유형이 없는 행입니다.\n"
        f"- {FAILURE_NOTE}",
        _conclusion(evidence.thresholds),
        "## 기준값과 지금의 데이터",
        table(
            ["기준값", "지금 쓰는 값", "지금 데이터라면", "95% 구간", "판단", "근거"],
            map(_threshold_row, evidence.thresholds),
        ),
        "## 정상과 실패 유형이 있는 행의 차이",
        table(
            [
                "지표",
                *(title for of in ("정상", "유형 있음") for title in (f"{of} (기준)", f"{of} (지금)", "95% 구간")),
                *("배수 (기준)", "배수 (지금)", "판단"),
            ],
            map(_metric_row, evidence.metrics),
        ),
        *(f"- {metric.title}: {metric.note}" for metric in METRICS if metric.note),
        *_bucket_tables(evidence),
        "## 구조적 요소의 정밀도",
        table(
            ["요소", "있을 때 정상 (기준)", "지금", "95% 구간", "없을 때 정상 (기준)", "지금", "95% 구간", "판단"],
            ([one.seed.title, *_cells(one.figures, percent), one.verdict_text] for one in evidence.precisions),
        ),
        f"읽는 법: 95% 구간 전체가 기준에서 비율은 {percent(RATE_MARGIN, 0)}p, 평균과 분위수는 "
        f"{percent(MEAN_MARGIN, 0)}보다 더 떨어져 있으면 이탈, 구간 전체가 그 안에 있으면 유지, 걸쳐 있으면 판단 "
        f"보류입니다(행이 더 모이면 정해집니다). 행이 {MIN_N_FOR_VERDICT}건 미만이면 판단하지 않습니다. "
        "평균의 구간은 세션 단위로 계산했습니다. "
        "시장 언급과 원·% 기호는 점수 표에 따로 남지 않아 다시 계산할 수 없습니다.",
    ]
    return "\n\n".join(parts) + "\n"


def _conclusion(thresholds: Sequence[ThresholdEvidence]) -> str:
    drifted = [one.title for one in thresholds if one.verdict == "drifted"]
    kept = sum(one.verdict == "kept" for one in thresholds)
    if drifted:
        found = f"기준에서 벗어난 값 {len(drifted)}개: {', '.join(drifted)}."
    elif kept:
        found = f"판단할 수 있는 {kept}개 가운데 기준에서 벗어난 값이 없습니다."
    else:
        found = "판단할 만큼 행이 모이지 않았습니다."
    if kept + len(drifted) and (few := sum(one.verdict in ("undecided", "too_few") for one in thresholds)):
        found += f" 다른 {few}개는 행이 더 모여야 알 수 있습니다(판단 보류)."
    return (
        f"> {found} 기준값은 자동으로 바뀌지 않습니다. 바꾸려면 `scoring/rubrics/ola_monitoring/thresholds.py`의 값을 "
        "고치고 `VERSION`을 올리세요."
    )


def _threshold_row(one: ThresholdEvidence) -> list[str]:
    shown = percent if 0 < one.value <= 1 and one.source.endswith("2.4") else _number
    between = _between(one.interval, shown)
    return [one.title, shown(one.value), shown(one.suggested), between, _VERDICTS[one.verdict], one.basis]


def _metric_row(one: Compared[SeedMetric]) -> list[str]:
    cells = _cells(one.figures, percent if one.seed.is_share else _number)
    now, seed = ("–" if ratio is None else "∞" if ratio == inf else f"{_number(ratio)}배" for ratio in _ratios(one))
    return [one.seed.title, *cells, seed, now, one.verdict_text]


def _bucket_tables(evidence: Evidence) -> Iterator[str]:
    titles = {
        "output_tokens": "출력 토큰 구간별 실패 유형이 있는 비율",
        "input_tokens": "입력 토큰 구간별 실패 유형이 있는 비율",
    }
    for column, buckets in evidence.buckets.items():
        yield f"## {titles[column]}"
        yield table(
            ["구간", "전체 (기준)", "유형 있음 (기준)", "비율 (기준)", "전체", "유형 있음", "비율", "95% 구간", "판단"],
            map(_bucket_row, buckets),
        )
        if unknown := evidence.rows - sum(one.figures[0].n for one in buckets):
            yield f"토큰이 기록되지 않은 행 {unknown:,}건은 어느 구간에도 없습니다."


def _bucket_row(one: Compared[SeedBucket]) -> list[str]:
    low, high, (rate,) = one.seed.low, one.seed.high, one.figures
    tokens = f"{low:,} 이상" if high is None else f"{low:,}" if low == high else f"{low:,}~{high:,}"
    seed, *now = _cells(one.figures, percent)
    counts = [f"{count:,}" for count in (one.seed.rows, one.seed.failed, rate.n, _count(one))]
    return [tokens, *counts[:2], seed, *counts[2:], *now, one.verdict_text]


def _cells(figures: Iterable[ComparedFigure], shown: Callable[[float | None], str]) -> Iterator[str]:
    for figure in figures:
        yield from (shown(figure.seed), shown(figure.value), _between(figure.interval, shown))


def _between(interval: Interval | None, shown: Callable[[float | None], str]) -> str:
    return "–" if interval is None else f"{shown(interval.low).removesuffix('%')}~{shown(interval.high)}"


def _number(value: float | None) -> str:
    """About three significant digits, and no decimals for a whole number."""
    if value is None:
        return "–"
    if value == int(value) or value >= 1_000:
        return f"{rounded(exact(value), 0):,}"
    return str(rounded(exact(value), 3 if value < 1 else 2 if value < 10 else 1))


def _count(one: Compared[SeedBucket]) -> int:
    """The number of failed rows in a bucket."""
    (rate,) = one.figures
    return round((rate.value or 0) * rate.n)


def _ratios(one: Compared[SeedMetric]) -> tuple[float | None, float | None]:
    """The ratio of good to failed answers, now and in the seed; infinite if the failed ones have none."""
    ok, failed = one.figures
    pairs = (ok.value, failed.value), (ok.seed, failed.seed)
    now, seed = (None if a is None or b is None else a / b if b else inf for a, b in pairs)
    return now, seed
