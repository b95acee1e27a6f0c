"""Confidence intervals of rates, means, differences and agreement, and how consistent repeats are.

Every interval covers 95 %. Repeats of one query (or turns of one session) are not independent observations: means and
agreement are resampled by cluster, never by row. Results are deterministic: the seed is fixed.

Source: SPEC 1.4 (threshold evidence), seed 000, 2.2; E. B. Wilson 1927; B. L. Welch 1947; T. Hesterberg 2015
(expanded percentiles).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, fsum, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from scoring.stats.distributions import Array, student_quantile
from scoring.stats.exact import exact, exact_sum

# Below 30 a rate near a target of 90 % is known to about ±11 points at best, and thirty times "no failure" still allows
# one in nine: a verdict would be a guess.
MIN_N_FOR_VERDICT = 30

TAIL = 0.025
"""The probability outside a 95% interval on either side."""
_NORMAL = NormalDist()
Z_95 = _NORMAL.inv_cdf(1 - TAIL)
_RESAMPLES, _SEED = 2_000, 0
_FLOAT_ERROR = 1e-9  # 3 degrees of freedom may be computed as 2.9999999999999996
# With more clusters the closed form is as good as resampling, and the normal distribution as good as Student's: a day
# of ten thousand sessions takes milliseconds, not seconds.
_MANY_CLUSTERS = 300
_LEAST_COMPARED_DAYS = 3  # two hardly determine the variance between days

KappaWeights = Literal["linear", "quadratic"]
Finding = Literal["better", "worse", "unclear", "too_few", "hollow"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% confidence interval; both ends are included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of `n` paired differences, candidate minus base; `interval` is None for fewer than two pairs."""

    mean: float
    n: int
    interval: Interval | None

    @property
    def finding(self) -> Finding:
        """The conclusion: undecided below `MIN_N_FOR_VERDICT` pairs and while the interval contains zero."""
        if self.interval is None or self.n < MIN_N_FOR_VERDICT:
            return "too_few"
        if self.interval.low > 0:
            return "better"
        return "worse" if self.interval.high < 0 else "unclear"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Agreement beyond chance: 1 is full agreement, 0 is chance level; None if all ratings are equal."""

    value: float | None
    interval: Interval | None

    def columns(self, name: str) -> dict[str, float | None]:
        """The columns `<name>_kappa`, `<name>_low` and `<name>_high` of a table."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return {f"{name}_kappa": self.value, f"{name}_low": low, f"{name}_high": high}


def wilson_interval(successes: int, n: int, z: float = Z_95) -> Interval | None:
    """Wilson's interval of the rate `successes / n`, which stays within 0..1 and is valid for 0 and n; None for n = 0.

    It reaches `z` standard errors to each side.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    return _wilson(successes / n, n, z) if n else None


def clustered_rate_interval(successes: Sequence[int], sizes: Sequence[int]) -> Interval | None:
    """The interval of a rate over clusters of rows, each with its successes and rows; None without rows.

    It is Wilson's interval for the effective sample size (rows divided by the design effect, from the variance between
    clusters). It is at least as wide as for one row per cluster, had all of them succeeded or failed: however similar
    the repeats of 89 queries are, they do not tell what other queries would do.
    """
    counted = [(passed, size) for passed, size in zip(successes, sizes, strict=True) if size]
    total, n, clusters = sum(passed for passed, _ in counted), sum(size for _, size in counted), len(counted)
    if not n:
        return None
    of_sizes = sum(size**2 for _, size in counted)
    of_sums, mixed = sum(passed**2 for passed, _ in counted), sum(passed * size for passed, size in counted)
    effect = min(_design_effect(clusters, n, total, of_sums, mixed, of_sizes), Fraction(of_sizes, n))
    return _clustered_wilson(total, n, clusters, effect)


def rate_of_moments(clusters: int, size: int, total: int, of_sums: int, mixed: int, of_sizes: int) -> Interval | None:
    """The 95% interval of a rate over rows from the moments of its clusters, as in `mean_of_moments`; None for no rows.

    As `clustered_rate_interval`, but it is as wide as the clusters differ also where the largest ones are the ones that
    fail: a session that repeats itself may be most of a day's failures.
    """
    if not size:
        return None
    effect = _design_effect(clusters, size, total, of_sums, mixed, of_sizes)
    return _clustered_wilson(total, size, clusters, effect)


def _design_effect(clusters: int, size: int, total: int, of_sums: int, mixed: int, of_sizes: int) -> Fraction:
    """How many times as many rows are as good as independent ones, from the moments of the clusters; at least 1."""
    if clusters == 1:
        return Fraction(of_sizes, size)
    if total in (0, size) or of_sizes == size:  # the same results, or one row per cluster
        return Fraction(1)
    apart = _squared_deviations(size, total, of_sums, mixed, of_sizes)
    return max(Fraction(clusters * apart, (clusters - 1) * size * total * (size - total)), Fraction(1))


def _clustered_wilson(total: int, size: int, clusters: int, effect: Fraction) -> Interval:
    found = _wilson(total / size, float(size / effect), Z_95)
    return Interval(min(found.low, _wilson(1, clusters, Z_95).low), max(found.high, _wilson(0, clusters, Z_95).high))


def _wilson(rate: float, n: float, z: float) -> Interval:
    shrink = 1 + z**2 / n
    centre = (rate + z**2 / (2 * n)) / shrink
    half = z / shrink * sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    # At the ends the formula is exact, but floats are not.
    return Interval(0.0 if rate == 0 else centre - half, 1.0 if rate == 1 else centre + half)


def cluster_bootstrap_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> Interval | None:
    """The bootstrap interval of the mean of `values`, resampled by cluster (one per value); None for fewer than two
    clusters.
    """
    cluster_of = _numbered(clusters)
    sums = np.bincount(cluster_of, weights=np.asarray(values, dtype=float))
    return mean_of_clusters(sums, np.bincount(cluster_of))


def mean_of_clusters(sums: Array, sizes: Array) -> Interval | None:
    """The same from each cluster's sum and number of values, for tables too long for a list of values."""
    if len(sizes) < 2:
        return None
    if len(sizes) > _MANY_CLUSTERS:
        return _closed_form(sums, sizes)
    return _bootstrap(np.column_stack([sums, sizes]), lambda drawn: drawn[:, 0] / drawn[:, 1])


def mean_of_moments(clusters: int, size: int, total: int, of_sums: int, mixed: int, of_sizes: int) -> Interval | None:
    """The same in closed form with the t distribution, from moments of the clusters; None for fewer than two clusters.

    `size` is the number of values and `total` their sum. Over the clusters, `of_sums` is the sum of their squared sums,
    `of_sizes` of their squared sizes, `mixed` of sum times size. All are whole numbers, so that the order of addition
    does not matter.
    """
    if clusters < 2:
        return None
    deviations = _squared_deviations(size, total, of_sums, mixed, of_sizes)
    half = _quantile(clusters - 1) * sqrt(Fraction(clusters * deviations, (clusters - 1) * size**4))
    return Interval(total / size - half, total / size + half)


def _squared_deviations(size: int, total: int, of_sums: int, mixed: int, of_sizes: int) -> int:
    """The squared deviations of the clusters' sums from mean times size, times size squared."""
    return size * size * of_sums - 2 * size * total * mixed + total * total * of_sizes


def _quantile(degrees: int) -> float:
    """The quantile of a 95% interval in standard errors, for so many degrees of freedom."""
    return Z_95 if degrees >= _MANY_CLUSTERS else student_quantile(degrees, TAIL)


def mean_of_days(sums: Sequence[int], sizes: Sequence[int]) -> Interval | None:
    """The interval of the mean of values over days, from each day's sum and number of values; None for fewer than two
    days.

    It is the closed form with the t distribution and days as clusters: dependence within a day does not matter.
    """
    days, size = len(sizes), sum(sizes)
    if days < 2:
        return None
    mean = sum(sums) / size
    half = student_quantile(days - 1, TAIL) * sqrt(_variance_of_days(sums, sizes))
    return Interval(mean - half, mean + half)


def _variance_of_days(sums: Sequence[int], sizes: Sequence[int]) -> float:
    """The variance of the mean over two or more days, from the differences between days."""
    days, size = len(sizes), sum(sizes)
    mean = sum(sums) / size
    # `sum` of floats is another one in Python 3.11 than later.
    deviations = fsum((total - mean * count) ** 2 for total, count in zip(sums, sizes, strict=True))
    return days / (days - 1) * deviations / size**2


def difference_of_days(
    sums_before: Sequence[int],
    sizes_before: Sequence[int],
    sums: Sequence[int],
    sizes: Sequence[int],
    *,
    is_rate: bool,
    looks: int = 1,
) -> Interval | None:
    """The interval of the difference of two such means, the later minus the earlier; None without three
    days of each.

    Its degrees of freedom are those of Welch and Satterthwaite: three days beside four weeks are known as badly as
    three days. For a rate it is never narrower than for as many independent rows, and no wider than rates can differ.
    If several differences are examined together (`looks`), all intervals hold at once with 95 % confidence.
    """
    if min(len(sizes_before), len(sizes)) < _LEAST_COMPARED_DAYS:
        return None
    variance = doubt = 0.0
    for totals, counts in ((sums_before, sizes_before), (sums, sizes)):
        rate, n = (sum(totals) + 1) / (sum(counts) + 2), sum(counts)
        own = max(_variance_of_days(totals, counts), rate * (1 - rate) / n if is_rate else 0.0)
        variance += own
        doubt += own**2 / (len(counts) - 1)
    degrees = int(variance**2 / doubt + _FLOAT_ERROR) if doubt else len(sizes) + len(sizes_before) - 2
    difference = sum(sums) / sum(sizes) - sum(sums_before) / sum(sizes_before)
    half = student_quantile(degrees, TAIL / looks) * sqrt(variance)
    low, high = difference - half, difference + half
    return Interval(max(low, -1.0), min(high, 1.0)) if is_rate else Interval(low, high)


def paired_difference(base: Sequence[float], candidate: Sequence[float]) -> Difference | None:
    """The mean difference of `candidate` and `base` over pairs; None without pairs."""
    if not base:
        return None
    differences = [after - before for before, after in zip(base, candidate, strict=True)]
    interval = cluster_bootstrap_mean(differences, range(len(differences)))
    mean = (exact_sum(map(exact, candidate)) - exact_sum(map(exact, base))) / len(differences)
    return Difference(float(mean), len(differences), interval)


def weighted_kappa(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable],
    weights: KappaWeights,
) -> Coefficient:
    """Agreement of two raters beyond chance; a disagreement has its distance, or the squared distance, as weight.

    The three sequences are parallel; ratings are numbers on one scale. Source: Cohen 1968.
    """
    scale = sorted({*first, *second})
    if len(scale) < 2:
        return Coefficient(None, None)
    index = {rating: position for position, rating in enumerate(scale)}
    distance = np.abs(np.subtract.outer(scale, scale)) ** (1 if weights == "linear" else 2)
    cells = np.array([index[a] * len(scale) + index[b] for a, b in zip(first, second, strict=True)])
    cluster_of = np.array(_numbered(clusters))
    members = int(cluster_of.max()) + 1
    counted = np.bincount(cluster_of * distance.size + cells, minlength=members * distance.size)
    tables = counted.reshape(members, distance.size).astype(float)

    def kappa(drawn: Array) -> Array:
        counts = drawn.reshape(-1, *distance.shape)
        observed = (counts * distance).sum((1, 2)) * counts.sum((1, 2))
        expected = np.einsum("ri,ij,rj->r", counts.sum(2), distance, counts.sum(1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - observed / expected)

    return Coefficient(float(kappa(tables.sum(0))[0]), _bootstrap(tables, kappa) if members > 1 else None)


def krippendorff_alpha(items: Sequence[Sequence[float]], clusters: Sequence[Hashable]) -> Coefficient:
    """Agreement beyond chance of any number of raters with missing ratings; the scale is ordinal.

    Each element of `items` holds the ratings of one item; items with a single rating do not count. The two sequences
    are parallel. The distance of two ratings is that of their mid-ranks among all ratings. Source: Krippendorff 2011
    (ordinal).
    """
    rated = [(ratings, cluster) for ratings, cluster in zip(items, clusters, strict=True) if len(ratings) > 1]
    scale = sorted({rating for ratings, _ in rated for rating in ratings})
    if len(scale) < 2:
        return Coefficient(None, None)
    cluster_of = _numbered([cluster for _, cluster in rated])
    tables = np.zeros((max(cluster_of) + 1, len(scale), len(scale)))
    for (ratings, _), cluster in zip(rated, cluster_of, strict=True):
        counts = np.bincount([scale.index(rating) for rating in ratings], minlength=len(scale))
        tables[cluster] += (np.outer(counts, counts) - np.diag(counts)) / (len(ratings) - 1)

    def alpha(drawn: Array) -> Array:
        pairs = drawn.reshape(-1, len(scale), len(scale))
        given = pairs.sum(1)
        ranks = given.cumsum(1) - given / 2
        distance = (ranks[:, :, None] - ranks[:, None, :]) ** 2
        observed = (pairs * distance).sum((1, 2)) * (given.sum(1) - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - observed / np.einsum("ri,rij,rj->r", given, distance, given))

    totals = tables.reshape(len(tables), -1)
    return Coefficient(float(alpha(totals.sum(0))[0]), _bootstrap(totals, alpha) if len(totals) > 1 else None)


def pass_hat_k(passed: int, n: int, k: int) -> Fraction | None:
    """The probability that `k` of the `n` executions, drawn without replacement, all pass; None for n < k.

    Averaged over queries, it is the share of queries that succeed `k` times in a row.
    """
    return Fraction(comb(passed, k), comb(n, k)) if n >= k else None


def mode_ratio(values: Sequence[Hashable]) -> Fraction:
    """The share of the most frequent of one or more values; a tie does not change it."""
    return Fraction(max(Counter(values).values()), len(values))


def _numbered(clusters: Sequence[Hashable]) -> list[int]:
    """Clusters numbered in the order of their first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]


def _bootstrap(totals: Array, statistic: Callable[[Array], Array]) -> Interval:
    """Percentiles of a statistic of summed clusters (one row each), widened as a t interval is for few clusters.

    Resamples for which the statistic is undefined (kappa with a single rating left) are left out.
    """
    count = len(totals)
    drawn = np.random.default_rng(_SEED).multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
    tail = _NORMAL.cdf(-sqrt(count / (count - 1)) * student_quantile(count - 1, TAIL))
    low, high = np.nanquantile(statistic(drawn @ totals), [tail, 1 - tail])
    return Interval(float(low), float(high))


def _closed_form(sums: Array, sizes: Array) -> Interval:
    """The interval of sum/size from its linearised variance over clusters."""
    count, size = len(sums), float(sizes.sum())
    mean = float(sums.sum()) / size
    half = Z_95 * sqrt(count / (count - 1) * float(((sums - mean * sizes) ** 2).sum())) / size
    return Interval(mean - half, mean + half)
